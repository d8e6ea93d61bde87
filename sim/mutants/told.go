package main

// ofTold are those of notices of what has happened to an instance (R58, R61).
var ofTold = []mutant{
	{"told-again", "sink tells of an error or a deadline twice", "told", people, []change{
		{"navigator/told.go", "	at.Telling.Upto = h.at\n", "	begun = append(begun, a.tellsOf(s, &at, &h.what)...)\n	at.Telling.Upto = h.at\n"},
	}},
	{"deadline-untold", "who was ended by its deadline does not tell sink", "told", timed, []change{
		{"navigator/told.go", "	if !e.Ends || !e.Outcome.TimedOut ||", "	if a.Kind != 0 || !e.Ends || !e.Outcome.TimedOut ||"},
	}},
	{"told-early", "sink tells of the end with whatever it comes to first", "told 3", people, []change{
		{"navigator/told.go", "	if !e.Ends || a.Kind != processtable.KindSink ||", "	if len(e.Put) > 0 && a.Kind == processtable.KindSink && a.top() && s.Record != nil && !e.Ends {\n		e.Put = append(e.Put, a.toldNotices(s, 1, &message.Told{On: processtable.OnEnd}, nil)...)\n	}\n	if !e.Ends || a.Kind != processtable.KindSink ||"},
	}},
	{"told-others", "notices of the process are shown to whom another one is for", "told N27 ends", people, []change{
		{"navigator/told.go", "s.Entry.Scope.Told(i, nth)\n", "s.Entry.Scope.Told(len(a.Notify)-1-i, nth)\n"},
	}},
}
