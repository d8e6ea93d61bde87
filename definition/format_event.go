package definition

// needsEventFormat names what of events a process has, that only the newest format says; empty: nothing.
func needsEventFormat(p *Process) string {
	for _, a := range p.All() {
		switch {
		case a.Receive != nil:
			return "receive"
		case a.Send != nil:
			return "send"
		}
	}
	return ""
}
