package main

// timed is the kind of processes that have them.
const timed = "timed"

// ofTimes are those of notices, of the deadlines of processes, and of histories that keep few iterations (N16, N23).
var ofTimes = []mutant{
	{"notice-early", "a program runs beside the work before its time", "races", timed, []change{
		{"navigator/notice.go", "	case !s.Came(behaviour.Timer{Due: s.at.Due}):\n		return behaviour.Effects{}\n", ""},
	}},
	{"notice-again", "a program that runs beside the work once runs again and again", "races ends", timed, []change{
		{"navigator/notice.go", "	if s.at.Every == 0 {\n		return behaviour.Effects{Ends: true, Outcome: told}\n	}\n", ""},
		{"navigator/notice.go", "	if at.Due = at.Due.Add(at.Every); !at.Due.After(now) {\n		at.Due = now.Add(at.Every)\n", "	if at.Due = at.Due.Add(max(at.Every, time.Hour)); !at.Due.After(now) {\n		at.Due = now.Add(max(at.Every, time.Hour))\n"},
	}},
	{"notice-stays", "a notice goes on when its activity has ended", "races ends", timed, []change{
		{"navigator/notice.go", "	case message.KindCancel:\n		s.over = true\n", "	case message.KindCancel:\n"},
	}},
	{"notice-anew", "each iteration begins the notices of its activity anew", "3 races ends", timed, []change{
		{"navigator/snapshot.go", "Came: at.Came, Notices: at.Notices}", "Came: at.Came}"},
	}},
	{"limit-early", "the deadline of a process ends its instances before it has come", "races ends 7", timed, []change{
		{"navigator/limit.go", "	case !s.expired():\n		return behaviour.Effects{}\n", ""},
	}},
	{"limit-silent", "the deadline of a process ends nothing", "ends", timed, []change{
		{"navigator/limit.go", "	e.Put = append(e.Put, message.Message{\n", "	_ = append(e.Put, message.Message{\n"},
	}},
	{"thinned-more", "the history loses iterations that it is to keep", "ends 7", timed, []change{
		{"node/retention/iterations.go", "below := l.Iteration - p.Table().History + 1", "below := l.Iteration + 1"},
	}},
}
