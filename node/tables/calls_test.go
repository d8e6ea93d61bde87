package tables

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/api"
	"fmqm/link"
)

// N20: an upload tells of sites between which work goes, and no link does.
func TestUploadTellsOfSitesThatOnlyWorkJoins(t *testing.T) {
	const order = "process: order\nversion: 1\nstructures: {S: {x: string, l: [string]}}\ninput: S\nactivities:\n" +
		"  a: {node: A, program: p, input: S, for_each: x, at: {node: x, of: [A, B, C]}}\n  b: {node: D, program: p}\n" +
		"control:\n  - a -> b\ndata:\n  - source -> a: {x: l}\n"
	w := newWorld(t)
	w.links["B"] = link.Status{Peer: "B"}
	all, tables := tablesOf(t, order)
	got, err := w.Upload(context.Background(), api.UploadRequest{PlanOnly: true, Tables: all})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"order@1: work of `at` goes from A to C, and A has no link to C: its messages wait until one is configured",
		"order@1: a connector leads from A to D, and A has no link to D: its messages wait until one is configured",
	}
	told := slices.DeleteFunc(got.Warnings, func(line string) bool { return !strings.Contains(line, " has no link to ") })
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	// Source is where sink is: of two sites that may start it neither leads to the other.
	const two = "process: two\nversion: 1\nstructures: {S: {x: string}}\ninput: S\noutput: S\nstarts: [A, B]\nactivities:\n" +
		"  a: {node: C, program: p, input: S}\ndata:\n  - source -> a\n  - source -> sink\n"
	_, started := tablesOf(t, two)
	if got := unlinked(started[0], NodeReport{}); !slices.Equal(got, []string{"C"}) {
		t.Errorf("of A the source leads to %v, want C", got)
	}
	if got := unlinked(tables[1], NodeReport{}); !slices.Equal(got, []string{"A"}) {
		t.Errorf("where the work is done it returns to %v, want A", got)
	}
}

// N23, N24: an upload tells of sites that only an event joins, and of programs that only a notice runs, of an activity or
// of the process.
func TestUploadTellsOfEventsAndNotices(t *testing.T) {
	const order = "process: order\nversion: 1\nstructures: {S: {x: string}}\nevents: {e: {}}\ninput: S\n" +
		"notify: [{after: 2d, program: tell}]\nactivities:\n" +
		"  a: {node: A, wait: {for: 1d}}\n  b: {node: A, send: {event: e, to: C}}\n" +
		"  c: {node: A, send: {event: e, to: {node: x, of: [A, B, D]}}, input: S}\n" +
		"  d: {node: A, program: p, notify: [{after: 1d, program: remind}]}\n" +
		"data:\n  - source -> c\n"
	w := newWorld(t)
	w.links["B"] = link.Status{Peer: "B"}
	all, _ := tablesOf(t, order)
	got, err := w.Upload(context.Background(), api.UploadRequest{PlanOnly: true, Tables: all})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"order@1: program tell is not registered at A: add it to `programs` there, or its activities go in error",
		"order@1: program remind is not registered at A: add it to `programs` there, or its activities go in error",
		"order@1: an event goes from A to C, and A has no link to C: its messages wait until one is configured",
		"order@1: an event goes from A to D, and A has no link to D: its messages wait until one is configured",
	}
	slices.Sort(want)
	slices.Sort(got.Warnings)
	if diff := cmp.Diff(want, got.Warnings); diff != "" {
		t.Error(diff)
	}
}
