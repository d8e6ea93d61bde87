package tables

import (
	"context"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/link"
	"fmqm/message"
	"fmqm/processtable"
)

// N17: an upload tells of a site that cannot read its table by what it has said last. One that answers says it
// anew: of B and C the same is on disk, but B answers. Of D, which was never heard, nothing is known.
func TestUploadTellsOfSitesThatCannotReadTheirTables(t *testing.T) {
	const waits = "process: waits\nversion: 1\nactivities:\n  a: {node: B, wait: {for: 1h}}\n  b: {node: C, wait: {for: 1h}}\n  c: {node: D, wait: {for: 1h}}\n"
	w, b := newWorld(t), newWorld(t)
	older := message.Current()
	older.Table.Max = 4
	for _, peer := range []processtable.NodeID{"B", "C", "D"} {
		w.links[peer] = link.Status{Peer: peer}
		if peer != "D" {
			w.Queue.Transmission(peer).PeerReads(older)
		}
	}
	w.store(encodedFor(t, one, "A")) // is on disk after what they read
	w.Site = answering{w, b.Tables}
	all, _ := tablesOf(t, waits)
	got, err := w.Upload(context.Background(), api.UploadRequest{PlanOnly: true, Tables: all})
	if err != nil {
		t.Fatal(err)
	}
	told := slices.DeleteFunc(got.Warnings, func(line string) bool { return !strings.Contains(line, "cannot read its table yet") })
	if len(told) != 1 || !strings.Contains(told[0], "waits@1: C cannot read its table yet: it lacks table format 5, and it reads 1 to 4: ") {
		t.Errorf("told: %q", told)
	}
}
