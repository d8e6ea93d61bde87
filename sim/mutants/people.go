package main

// people is the kind of processes of which people do activities.
const people = "people"

// ofPeople are those of what people do, at home and at several sites (N26, N27).
var ofPeople = []mutant{
	{"two-holders", "who claims an item gets it, whoever has it", "N27", people, []change{
		{"navigator/manual.go", "	return behaviour.Effects{}, has(item, &w.By)\n}\n\n// letGo", "	return a.with(s, handed(item, w.By, now), behaviour.Claimed, w), nil\n}\n\n// letGo"},
	}},
	{"not-his", "who has not got an item may complete it", "N27", people, []change{
		{"navigator/manual.go", "	if err := has(&next, &w.By); err != nil {\n		return nil, nil, err\n	}\n", "	next.By = w.By\n"},
	}},
	{"four-eyes", "who did the other activity is not barred", "N27 7", people, []change{
		{"staff/who/question.go", "t.sure.has(person) || doubt && t.maybe.has(person)", "!doubt && t.sure.has(person)"},
	}},
	{"namesake", "who has the name of somebody of another site is not barred with him", "N27 7", people, []change{
		{"staff/who/question.go", "t.sure.has(person) || doubt && t.maybe.has(person)", "t.sure.has(person)"},
	}},
	{"doer-lost", "who did an activity is not told to those who ask for him", "N27 7", people, []change{
		{"navigator/doers.go", "		all[d.From] = doer\n", "		_ = doer\n"},
	}},
	// The staff of the node that offers an item looks first: home's own look shows only without that.
	{"unasked", "nobody's staff is asked before somebody elsewhere is given an item", "N27", people, []change{
		{"node/work/elsewhere.go", "	if !may.Is {\n", "	if !may.Is && found.Could == \"\" && may.Why == \"\" {\n"},
		{"node/work/elsewhere.go", "may.Doer, may.Is = doer, !barred; barred {", "may.Doer, may.Is = doer, true; barred && doer == (message.Doer{}) {"},
	}},
	{"not-told-no", "who asks elsewhere for an item, and has no answer, is told that it is his", "7 N27", people, []change{
		{"node/work/elsewhere.go", "		d.giveUp(i.Key, o.Word)\n	}\n	return unknown, err\n", "		d.giveUp(i.Key, o.Word)\n		return unknown, nil\n	}\n	return unknown, err\n"},
	}},
	{"any-claim", "a claim that was given up takes the item from who has claimed it once more", "N27", people, []change{
		{"navigator/manual.go", "	if w.Claim != 0 && w.Claim != item.Claim {\n", "	if w.Claim != 0 && w.Claim > item.Claim {\n"},
	}},
	{"at-home-too", "the people of home are offered what is offered elsewhere only", "7 N27", people, []change{
		{"navigator/offer.go", "	item.Away = len(a.elsewhere) > 0 && !a.Manual.OfferedAt(a.process.table.Node, a.process.table.Node)\n", ""},
	}},
	{"offers-stay", "what is offered elsewhere stays so once somebody has completed it", "ends", people, []change{
		{"navigator/offer.go", "	e.Put = append(e.Put, a.cancelsOf(s, a.offersOf(s, at), reason)...)\n", "	_ = reason\n"},
	}},
	{"offers-of-before", "what is offered elsewhere stays so where the activity is done once more", "ends", people, []change{
		{"navigator/offer.go", "what != behaviour.InError && what != behaviour.Iterated {", "what != behaviour.InError {"},
	}},
	{"offers-once", "a home that has lost its store does not hear that its offers had ended", "ends", people, []change{
		{"navigator/offer.go", "(has == \"\" || has == string(nodes[r.number-1]))", "has == string(nodes[r.number-1])"},
	}},
	{"not-withdrawn", "people are not told that an item is taken from them", "N27", people, []change{
		{"navigator/manual.go", "	e.Lines = append(e.Lines, behaviour.Outcome{What: behaviour.Withdrawn,", "	_ = append(e.Lines, behaviour.Outcome{What: behaviour.Withdrawn,"},
	}},
	{"draft-only", "what somebody gives as he completes an item is left out", "7 ends races", people, []change{
		{"navigator/manual.go", "	output, err := a.changed(s, item, w.Output)\n", "	output, err := a.changed(s, item, nil)\n"},
	}},
	{"by-nobody", "conditions and mappings are not told who did an activity", "7 ends races", people, []change{
		{"navigator/manual.go", "Result{Output: output, By: next.By,", "Result{Output: output,"},
	}},
	{"late-work", "an item is completed though its deadline has come", "races 7 ends N27", people, []change{
		{"navigator/manual.go", " || a.isCancelled(s) || a.isExpired(s) {", " || a.isCancelled(s) {"},
	}},
}
