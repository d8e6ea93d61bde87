package node

import (
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/processtable"
)

// L6, N6: an upload sends no table that its node cannot read, and mixes no formats of one
// process; what is there already in another format stays, as long as nothing is added.
func TestL6FormatsOfAnUpload(t *testing.T) {
	tables := map[int]map[processtable.NodeID]*processtable.Table{
		1: tablesOf(t, onBehalfProcess, definition.CompileOptions{TableFormat: 1}),
		2: tablesOf(t, onBehalfProcess, definition.CompileOptions{}),
	}
	has := func(format int) tableReport {
		return tableReport{Found: true, Definition: tables[2]["A"].Definition.String(), Format: format, Reads: 2}
	}
	for _, tc := range []struct {
		name   string
		upload int
		b      tableReport // C's answer is that it has none, and reads all formats
		plans  string      // of B, C
		reason string
	}{
		{"new at both", 2, tableReport{Reads: 2}, "add add", ""},
		{"one of them is old", 2, tableReport{}, "refuse add", "B reads process tables up to format 1, and this upload is of format 2: upgrade it, or upload with --table-format 1"},
		{"format 1 for it", 1, tableReport{}, "add add", ""},
		{"there in the same format", 2, has(2), "unchanged add", ""},
		{"there in an older one", 2, has(1), "unchanged refuse", "B has its table of p@1 in format 1, and this upload is of format 2: upload with --table-format 1, or raise the version"},
		{"there in a newer one", 1, has(2), "unchanged refuse", "B has its table of p@1 in format 2, and this upload is of format 1: upload with --table-format 2"},
		{"there at a node that tells no format", 2, has(0), "unchanged refuse", "B has its table of p@1 in format 1"},
		{"another definition", 2, tableReport{Found: true, Definition: "other", Format: 1}, "refuse add", "has another definition"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := &upload{formats: map[processtable.ProcessID]otherFormat{}}
			for _, asked := range []struct {
				node   processtable.NodeID
				answer tableReport
			}{{"B", tc.b}, {"C", tableReport{Reads: 2}}} {
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
			if got := strings.Join(plans, " "); got != tc.plans || !strings.Contains(strings.Join(reasons, "\n"), tc.reason) {
				t.Errorf("plans %s, want %s; reasons %q, want %q", got, tc.plans, reasons, tc.reason)
			}
		})
	}
}

// L6: what all have already, in whatever format, is no reason to refuse.
func TestL6ARepeatedUploadChangesNothing(t *testing.T) {
	u := &upload{formats: map[processtable.ProcessID]otherFormat{}}
	for node, table := range tablesOf(t, onBehalfProcess, definition.CompileOptions{}) {
		line := api.UploadNode{Node: string(node)}
		u.planAnswered(table, tableReport{Found: true, Definition: table.Definition.String()}, &line)
		u.tables, u.answer.Nodes = append(u.tables, table), append(u.answer.Nodes, line)
	}
	u.refuseMixed()
	for _, line := range u.answer.Nodes {
		if line.Plan != api.PlanUnchanged || line.Reason != "" {
			t.Errorf("%+v", line)
		}
	}
}
