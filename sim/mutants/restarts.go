package main

// restart is what is done in the worlds that have them.
const restart = "restart"

// ofRestarts are those of what operators restart (N30). The first two were once there.
var ofRestarts = []mutant{
	{"recall-anew", "a recall that is refused is answered again and again, while the activity goes on", "5 6 ends", restart, []change{
		{"navigator/tombstone.go", "return !t.answered && slices.Contains(taken, t.m.Key())", "return false && slices.Contains(taken, t.m.Key())"},
	}},
	{"recall-untimed", "a recall that is refused takes the timers of what is under way along", "ends", restart, []change{
		{"navigator/tombstone.go", "Put: []message.Message{a.answerTo(s, t, why)}, Timers: s.pending(), Outcome: o}, true", "Put: []message.Message{a.answerTo(s, t, why)}, Outcome: o}, true"},
	}},
	{"kept-unsent", "who has given back what is not restarted after all does not get it again", "7 ends", restart, []change{
		{"navigator/recall.go", "	e.Put = append(e.Put, back...)\n	if !told {\n", "	if !told {\n"},
	}},
	{"recall-late", "what was recalled counts although it comes after the recall", "3 4 5 7 ends", restart, []change{
		{"navigator/tombstone.go", "return t.answered && t.m.Source == m.Source && m.Number < t.m.Number", "return false && t.answered && t.m.Source == m.Source && m.Number < t.m.Number"},
	}},
	{"restart-alone", "an activity is restarted although not all have given back what it had come to", "2 3 4 5 7 ends", restart, []change{
		{"navigator/recall.go", "	case why == \"\" && len(open) > 0:\n		return behaviour.Effects{}\n", "	case why == \"\" && len(open) > len(at.Restart.Sent):\n		return behaviour.Effects{}\n"},
	}},
}
