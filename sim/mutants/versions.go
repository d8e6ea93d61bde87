package main

// ofVersions are those of versions that are retired, and of their tables that go (N31).
var ofVersions = []mutant{
	{"final-early", "a site gives its final word while an instance of the version goes on there", "N31", "", []change{
		{"node/tables/final.go", "	if n, err := t.Queue.Running(id); err != nil || n > 0 {\n		return false, err\n	}\n	word", "	word"},
		{"node/tables/final.go", "	if err != nil || !rest {\n		return false, err\n	}\n", "	if err != nil {\n		return false, err\n	}\n	_ = rest\n"},
	}},
	{"gone-early", "a table goes before all final words are there", "N31", "", []change{
		{"node/tables/remove.go", "	return len(t.missing(table)) > 0, nil\n", "	return false, nil\n"},
		{"node/tables/remove.go", "	if len(t.missing(table)) > 0 || !t.due(id) {", "	if !t.due(id) {"},
	}},
}
