package tables

import (
	"context"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/link"
)

// N17: an upload tells of a site that cannot read its table by what it has said last. One that answers says it anew: B and
// C have just been linked, and nothing is on disk of what they read, but B answers.
func TestUploadTellsOfSitesThatCannotReadTheirTables(t *testing.T) {
	const waits = "process: waits\nversion: 1\nactivities:\n  a: {node: B, wait: {for: 1h}}\n  b: {node: C, wait: {for: 1h}}\n"
	w, b := newWorld(t), newWorld(t)
	w.links["B"], w.links["C"] = link.Status{Peer: "B"}, link.Status{Peer: "C"}
	w.Site = answering{w, b.Tables}
	all, _ := tablesOf(t, waits)
	got, err := w.Upload(context.Background(), api.UploadRequest{PlanOnly: true, Tables: all})
	if err != nil {
		t.Fatal(err)
	}
	told := slices.DeleteFunc(got.Warnings, func(line string) bool { return !strings.Contains(line, "cannot read its table yet") })
	if len(told) != 1 || !strings.Contains(told[0], "waits@1: C cannot read its table yet: it lacks table format ") {
		t.Errorf("told: %q", told)
	}
}
