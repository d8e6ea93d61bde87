// Package definitiontest compiles definitions for tests.
package definitiontest

import (
	"testing"

	"fmqm/definition"
	"fmqm/processtable"
)

// Compile gives the tables of a definition of one process; one that has errors fails the test.
func Compile(t testing.TB, text string, o definition.CompileOptions) *definition.Compiled {
	t.Helper()
	processes, problems := definition.Load("test.yaml", []byte(text))
	if definition.HasErrors(problems) {
		t.Fatal(problems)
	}
	compiled, err := definition.CompileWith(processes[0], o)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// TablesOf is Compile, with the tables by their nodes.
func TablesOf(t testing.TB, text string, o definition.CompileOptions) map[processtable.NodeID]*processtable.Table {
	t.Helper()
	tables := map[processtable.NodeID]*processtable.Table{}
	for _, table := range Compile(t, text, o).Tables {
		tables[table.Node] = table
	}
	return tables
}
