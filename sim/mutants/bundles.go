package main

// bundling is the kind of processes that have them.
const bundling = "bundling"

// ofBundles are those of bundles and calls (N20, N21).
var ofBundles = []mutant{
	// What came back of another run is let go of in memory as well, so both defences of each go.
	{"other-run", "what came back of another run of a block, a bundle or a call counts", "4 7 ends", bundling, []change{
		{"navigator/block.go", "return r.scope == within && r.source == source", "return r.scope.Leave() == within.Leave() && r.source == source"},
		{"navigator/gather.go", "	case of.run != at.Run:\n		return of.run < at.Run\n", ""},
		{"navigator/gather.go", "open && of.run == at.Run {", "open {"},
		{"navigator/begun.go", "r.scope == within && r.number == number", "r.scope.Leave() == within.Leave() && r.number == number"},
		{"navigator/block.go", "f.Iteration == at.Iteration && f.Run < at.Run", "f.Iteration == at.Iteration && f.Run < 0"},
	}},
	{"begun-twice", "elements of a bundle begin in one transaction, and that they have in another, so that a crash between the two begins them twice", "3", bundling, []change{
		{"node/execute/turn.go", "	t.of.Queue.Submit(tx)\n", "	rest, done := &record.Tx{}, tx.Done\n	for i := 0; i < len(tx.Put); i++ {\n		m := tx.Put[i]\n		begins := m.Kind == message.KindSnapshot && slices.ContainsFunc(tx.Put, func(o message.Message) bool { return o.Kind == message.KindBegin && o.Activity == m.Activity })\n		if begins {\n			rest.Put, tx.Put = append(rest.Put, m), append(tx.Put[:i:i], tx.Put[i+1:]...)\n			i--\n		}\n	}\n	tx.Done = func(err error) {\n		if done(err); err == nil && len(rest.Put) > 0 {\n			t.programs.Go(func() { t.of.Queue.Submit(rest) })\n		}\n	}\n	t.of.Queue.Submit(tx)\n"},
	}},
	{"arrival-order", "the results of a bundle are in the order in which they came", "7 ends", bundling, []change{
		{"navigator/bundle.go", "	take := func(o message.Outcome) {\n", "	n := -1\n	take := func(o message.Outcome) {\n		n++\n		o.Element = n\n"},
	}},
	{"chunk-twice", "of results that were put together the number counts twice", "7 ends", bundling, []change{
		{"navigator/bundle.go", "	done, failed := r.g.Done, r.g.Failed\n", "	done, failed := r.g.Done+len(r.g.Chunks), r.g.Failed\n"},
	}},
	{"chunk-lost", "results that are put together with others are not among the results", "7 ends", bundling, []change{
		{"navigator/bundle.go", "		if _, err := message.EachOutcome(s.elements.chunks[number].body, take); err != nil {\n", "		n := 0\n		if _, err := message.EachOutcome(s.elements.chunks[number].body, func(o message.Outcome) {\n			if n++; n%2 == 0 {\n				take(o)\n			}\n		}); err != nil {\n"},
	}},
	{"until-leaves", "until ends a bundle, and does not cancel what is left", "3 5 7 races ends", bundling, []change{
		{"navigator/bundle.go", "	if r.g.Closed && len(r.g.Open) > len(r.came) {\n", "	if r.g.Closed && len(r.g.Open) > len(r.came)+r.total {\n"},
	}},
	{"until-late", "until is evaluated once for all that has come back, and not after each", "7 races ends", bundling, []change{
		{"navigator/bundle.go", "		if ends {\n			r.g.Closed, r.came = true, r.came[:i+1]\n", "		if ends && i == len(r.came)-1 {\n			r.g.Closed, r.came = true, r.came[:i+1]\n"},
	}},
	{"failed-uncounted", "an element that has ended with an error does not count as failed", "7 ends", bundling, []change{
		{"navigator/gather.go", "return o.counted || o.err != \"\" || o.ending != message.Ending{}", "return o.counted"},
	}},
	{"parallel", "a bundle begins more elements than may be under way", "4", bundling, []change{
		{"navigator/bundle.go", "	return min(a.Bundle.Parallel-(len(r.g.Open)-len(r.came)), ", "	return min(a.Bundle.Parallel+1-(len(r.g.Open)-len(r.came)), "},
	}},
	{"element-uncancelled", "a bundle that ends early leaves the first element that is under way", "3 5 7 races ends", bundling, []change{
		{"navigator/begun.go", "		for _, n := range at.Gathered.Open {\n", "		for _, n := range at.Gathered.Open[min(1, len(at.Gathered.Open)):] {\n"},
	}},
	{"errors-untold", "a bundle does not tell that elements are in error", "7 ends", bundling, []change{
		{"navigator/bundle.go", "	told := erring != r.g.Told\n", "	told := erring != r.g.Told && erring == 0\n"},
	}},
	{"call-elsewhere", "the work of a call is done at the first node of its list, whatever its expression gives", "7 ends", bundling, []change{
		{"navigator/begun.go", "	return processtable.NodeID(node), nil\n", "	return a.Call.Of[0], nil\n"},
	}},
	{"other-node", "what returns to a call says another node than the one that has done the work", "3 5 7 ends", bundling, []change{
		{"navigator/begun.go", "	return message.Work(a.process.table.WorkersOf(a.Name).Nodes, a.process.table.Node)\n", "	of := a.process.table.WorkersOf(a.Name).Nodes\n	return message.Work(of, a.process.table.Node)%uint64(len(of)) + 1\n"},
	}},
	{"call-uncancelled", "a call that ends before its work leaves that", "5 7 races ends", bundling, []change{
		{"navigator/begun.go", "		if s.backFromCall(a, at) == nil {\n", "		if at.At == \"\" {\n"},
	}},
	// Nothing but a loss brings anything for what is begun before its begin, so that it is decided before shows only
	// in what it is decided with.
	{"unbegun", "what a bundle or a call begins is decided without the input that comes with its begin", "7 ends", bundling, []change{
		{"navigator/begun.go", "DecodeCBOR(a.Input, s.inner.input)", "DecodeCBOR(a.Input, s.inner.input)\n	if empty := container.New(a.Input); err == nil {\n		v = empty\n	}"},
	}},
}
