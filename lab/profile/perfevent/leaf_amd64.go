package perfevent

// leafRegisters are BP, SP and IP (enum perf_event_x86_regs).
const leafRegisters = 1<<6 | 1<<7 | 1<<8
