package tables

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/api"
	"fmqm/link"
	"fmqm/processtable"
)

// R40: an upload tells of each site of starts that has not the program of what is at the origin, and of links to these:
// who leads there needs one to each, and what is there needs none to the rest of it.
func TestR40UploadTellsOfWhatTheOriginsLack(t *testing.T) {
	const order = "process: order\nversion: 1\nstarts: [A, B]\nactivities:\n" +
		"  a: {node: _ORIGIN, program: p}\n  b: {node: D, program: q}\n  c: {node: _ORIGIN, program: r}\n  d: {node: _ORIGIN, program: p}\ncontrol: [a -> b, b -> c, a -> d]\n"
	w := newWorld(t)
	w.links["B"] = link.Status{Peer: "B"}
	all, tables := tablesOf(t, order)
	got, err := w.Upload(context.Background(), api.UploadRequest{PlanOnly: true, Tables: all})
	if err != nil {
		t.Fatal(err)
	}
	told := slices.DeleteFunc(got.Warnings, func(line string) bool { return !strings.Contains(line, " at A") && !strings.Contains(line, " from A ") })
	want := []string{
		"order@1: program r is not registered at A: add it to `programs` there, or its activities go in error",
		"order@1: a connector leads from A to D, and A has no link to D: its messages wait until one is configured",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	d := tables[slices.IndexFunc(tables, func(t *processtable.Table) bool { return t.Node == "D" })]
	if got := unlinked(d, NodeReport{}); !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("D leads to %v, want A and B", got)
	}
}

// N27: an upload tells of each site that would offer work and has nobody to whom.
func TestUploadTellsOfWhatIsOfferedToNobody(t *testing.T) {
	const sample = "process: sample\nversion: 1\nstarts: [A]\nnotify: [{after: 9d, staff: manages(source)}]\nactivities:\n" +
		"  take: {node: A, staff: role(\"nurse\")}\n  look: {node: A, program: p, notify: [{after: 1d, program: p}, {after: 2d, staff: did(take)}]}\n  check: {node: A, staff: \"!did(take)\"}\ncontrol: [take -> look, take -> check]\n"
	for staffed, want := range map[bool][]string{
		false: {"sample@1: A has no staff: give `staff: {file: FILE}` in its configuration, or nobody there can do take, check", "sample@1: A has no staff: give `staff: {file: FILE}` in its configuration, or nobody there sees the notices of look, sample"},
		true:  {},
	} {
		w := newWorld(t)
		w.staffed = staffed
		all, _ := tablesOf(t, sample)
		got, err := w.Upload(context.Background(), api.UploadRequest{PlanOnly: true, Tables: all})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Warnings); diff != "" {
			t.Errorf("staffed %t: %s", staffed, diff)
		}
	}
}
