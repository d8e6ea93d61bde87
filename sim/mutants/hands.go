package main

// ofHands are those of what operators end by hand (N30).
var ofHands = []mutant{
	{"hand-leaves", "what is inside of a composite that is ended by hand is left", "5 7 races ends", "", []change{
		{"navigator/hand.go", "	at.Hand, at.Due, at.Cancelled = &hand, time.Time{}, 0\n", "	at.Hand, at.Due, at.Begun = &hand, time.Time{}, false\n"},
	}},
	{"skip-untold", "what leads out of an activity that is skipped by hand is not resolved", "5 7 ends", "", []change{
		{"navigator/hand.go", "e := behaviour.Effects{Ends: true, Put: a.dead(s), Outcome", "e := behaviour.Effects{Ends: true, Outcome"},
	}},
	{"word-stays", "a word that is carried out stays in the queue", "3 5 15 ends", "", []change{
		{"node/thread/wish.go", "	s.tx.Consume[0].Keys = append(slices.Clone(s.tx.Consume[0].Keys), c.message.Key())\n", "	s.tx.Consume[0].Keys = slices.Clone(s.tx.Consume[0].Keys)\n"},
	}},
	{"hand-let-go", "what a program says last, which was ended for an operator's hand, is heard before the hand", "races ends", "", []change{
		{"node/thread/consider.go", "	for _, w := range slices.Clone(m.held[e.Key]) {\n", "	m.held[e.Key] = nil\n	m.consider(e)\n	for _, w := range slices.Clone(m.held[e.Key]) {\n"},
	}},
	{"suspend-unheard", "of a suspend with nothing else to do about it what is in memory does not hear", "N29 ends", "", []change{
		{"node/thread/mark.go", "			heeds, h.acts, h.wakes = true, h.acts", "			heeds, h.acts, h.wakes = heeds || mark.New, h.acts"},
	}},
	{"suspend-unread", "what is read from the store is not read with its suspends", "N29", "", []change{
		{"node/thread/arrive.go", "	tellMarks(e, marks, startedAt(d.Messages))\n", "	tellMarks(e, nil, startedAt(d.Messages))\n"},
	}},
	{"element-unreturned", "one execution of a bundle that is skipped by hand does not come back", "5 7 ends", bundling, []change{
		{"navigator/hand.go", "	if !a.Begun() {\n		return e\n", "	if a.Begun() || !a.Begun() {\n		return e\n"},
	}},
}
