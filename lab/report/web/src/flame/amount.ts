// Values in words, as the other outputs of the lab print them.

const steps: Record<string, [number, string[]]> = {
  nanoseconds: [1000, ["ns", "µs", "ms", "s"]],
  microseconds: [1000, ["µs", "ms", "s"]],
  bytes: [1024, ["B", "KiB", "MiB", "GiB", "TiB"]],
};

export function amount(value: number, unit: string): string {
  if (value < 0) return `-${amount(-value, unit)}`;
  const [step, names] = steps[unit] ?? [1000, ["", "k", "M", "G", "T"]];
  let v = value;
  let i = 0;
  while (i < names.length - 1 && v >= step * 0.9995) {
    v /= step;
    i++;
  }
  return `${digits(v)}${names[i] ? ` ${names[i]}` : ""}`;
}

function digits(v: number): string {
  if (v === 0 || (Number.isInteger(v) && v < 1000)) return String(v);
  if (v >= 99.95) return v.toFixed(0);
  if (v >= 9.995) return v.toFixed(1);
  if (v >= 0.995) return v.toFixed(2);
  return v.toPrecision(3);
}

export function signed(value: number, unit: string): string {
  return (value > 0 ? "+" : "") + amount(value, unit);
}

export function percent(share: number): string {
  const v = share * 100;
  return `${v !== 0 && Math.abs(v) < 0.1 ? v.toPrecision(2) : v.toFixed(1)} %`;
}
