package verdict

// Advice returns a sentence about what to do if a gate fails; empty if the text of the gate is
// sufficient. open reports whether the run was an open loop.
func Advice(gate string, open bool) string {
	switch gate {
	case "answers":
		return "Send one request with curl -v, and compare the answer with --status and --check."
	case "errors":
		return "Look at the kinds of errors and at the server's log. If some are expected, say how many with --threshold 'errors<1%'."
	case "unanswered":
		return "The server does not answer all connections: look at its log, or use fewer connections with -c."
	case "steady":
		return "Give the server more time before the window with --warmup."
	case "steal":
		return "Run again when the host is quiet, or on a machine with dedicated CPUs."
	case "stall":
		return "Run again, with nothing else on the generator's core; give it one with --cpu."
	case "foreign CPU":
		return "Stop the other processes, or keep them off the CPUs of server and generator."
	case "generator":
		if open {
			return "Spread the load over several generators with --workers, or lower the rate."
		}
		return "Spread the load over several generators with --workers, or give the generator a core of its own with --cpu."
	case "achieved":
		return "Lower the rate, or give the load more connections with -c. To find the highest rate that the server keeps up with, use --find."
	case "send lag":
		return "Give the load more connections with -c, lower the rate, or give the generator a quiet core with --cpu."
	case "pacing":
		return "Lower the rate, or give the generator a quiet core with --cpu."
	case "workers":
		return "The table of the generators shows the reason. Run again when all of them can run to the end."
	case "given up":
		return "Remove the reason, and run again."
	case "events":
		return "Check with curl -N that the stream sends data, and that --sse, --ndjson, --length-delimited or --websocket fits it."
	case "read lag":
		return "Spread the subscribers over several generators with --workers, or give the generator a quiet core with --cpu."
	case "clocks":
		return "Synchronise the clocks of both machines (chrony, NTP), or run the generator where the server runs."
	case "complete":
		return "Look for what the server drops: queues that are full, subscribers that are registered after the head of their answer, several writers of one stream."
	case "published":
		return "Lower --publish-rate; see how long the answers to publishes take, in the line published."
	case "publish errors":
		return "Publish one event with curl -d, and look at the status of the answer."
	case "publish lag":
		return "Spread the subscribers over several generators with --workers, or give the generator a quiet core with --cpu."
	case "standing":
		return "Look at the errors, and at the server's limits of connections and descriptors. If subscribers may leave, set a limit with --threshold 'standing>990'."
	}
	return ""
}
