package tables

import (
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/processtable"
)

// onBehalfProcess is compiled to format 2: dead paths pass around B (N6).
const onBehalfProcess = `
process: p
version: 1
structures:
  S: {n: int}
activities:
  a: {node: A, program: x, output: S}
  b: {node: B, program: x, output: S}
  c: {node: C, program: x, output: S}
  d: {node: D, program: x, input: S}
control: [a -> b, b -> c, c -> d, a -> d]
data: [b -> d, c -> d]
`

// L6, N6: an upload sends no table that its node cannot read, and mixes no formats of one
// process; what is there already in another format stays, as long as nothing is added.
func TestL6FormatsOfAnUpload(t *testing.T) {
	tables := map[int]map[processtable.NodeID]*processtable.Table{
		1: definitiontest.TablesOf(t, onBehalfProcess, definition.CompileOptions{TableFormat: 1}),
		2: definitiontest.TablesOf(t, onBehalfProcess, definition.CompileOptions{}),
	}
	tables[4] = definitiontest.TablesOf(t, onBehalfProcess, definition.CompileOptions{})
	for _, table := range tables[4] {
		table.Format = 4
	}
	has := func(format int) Report {
		return Report{Found: true, Definition: tables[2]["A"].Definition.String(), Format: format, Reads: 2}
	}
	for _, tc := range []struct {
		name   string
		upload int
		b      Report // C's answer is that it has none, and reads all formats
		plans  string // of B, C
		reason string
	}{
		{"new at both", 2, Report{Reads: 2}, "add add", ""},
		{"one of them is old", 2, Report{}, "refuse add", "B reads process tables up to format 1, and this upload is of format 2: upgrade it, or upload with --table-format 1"},
		{"format 1 for it", 1, Report{}, "add add", ""},
		{"there in the same format", 2, has(2), "unchanged add", ""},
		{"there in an older one", 2, has(1), "unchanged refuse", "B has its table of p@1 in format 1, and this upload is of format 2: upload with --table-format 1, or raise the version"},
		{"there in a newer one", 1, has(2), "unchanged refuse", "B has its table of p@1 in format 2, and this upload is of format 1: upload with --table-format 2"},
		{"there at a node that tells no format", 2, has(0), "unchanged refuse", "B has its table of p@1 in format 1"},
		{"of a format that no definition can do without", 4, Report{Reads: 3}, "refuse add", "B reads process tables up to format 3, and this upload is of format 4: upgrade it\n"},
		{"the same, and it is there", 4, has(2), "unchanged refuse", "B has its table of p@1 in format 2, and this upload is of format 4: raise the version"},
		{"another definition", 2, Report{Found: true, Definition: "other", Format: 1}, "refuse add", "has another definition"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := &upload{formats: map[processtable.ProcessID]otherFormat{}}
			for _, asked := range []struct {
				node   processtable.NodeID
				answer Report
			}{{"B", tc.b}, {"C", Report{Reads: 4}}} {
				table := tables[tc.upload][asked.node]
				line := api.UploadNode{Node: string(asked.node)}
				u.planAnswered(table, asked.answer, &line)
				u.tables, u.answer.Nodes = append(u.tables, table), append(u.answer.Nodes, line)
			}
			u.refuseMixed()
			var plans, reasons []string
			for _, line := range u.answer.Nodes {
				plans, reasons = append(plans, string(line.Plan)), append(reasons, line.Reason)
			}
			if got := strings.Join(plans, " "); got != tc.plans || !strings.Contains(strings.Join(reasons, "\n")+"\n", tc.reason) {
				t.Errorf("plans %s, want %s; reasons %q, want %q", got, tc.plans, reasons, tc.reason)
			}
		})
	}
}

// L6: what all have already, in whatever format, is no reason to refuse.
func TestL6ARepeatedUploadChangesNothing(t *testing.T) {
	u := &upload{formats: map[processtable.ProcessID]otherFormat{}}
	for node, table := range definitiontest.TablesOf(t, onBehalfProcess, definition.CompileOptions{}) {
		line := api.UploadNode{Node: string(node)}
		u.planAnswered(table, Report{Found: true, Definition: table.Definition.String()}, &line)
		u.tables, u.answer.Nodes = append(u.tables, table), append(u.answer.Nodes, line)
	}
	u.refuseMixed()
	for _, line := range u.answer.Nodes {
		if line.Plan != api.PlanUnchanged || line.Reason != "" {
			t.Errorf("%+v", line)
		}
	}
}
