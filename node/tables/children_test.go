package tables

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/link"
	"fmqm/processtable"
)

// answering is a world in which the site B answers, as a Tables of its own says.
type answering struct {
	*world
	b *Tables
}

func (w answering) Query(_ context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
	if peer != "B" || kind != AskNode && kind != AskTable {
		return nil, errors.New("nobody answers")
	}
	if kind == AskTable {
		var q Question
		if err := json.Unmarshal(body, &q); err != nil {
			return nil, err
		}
		r, err := w.b.Report(q)
		if err != nil {
			return nil, err
		}
		return json.Marshal(r)
	}
	var q NodeQuestion
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	return json.Marshal(w.b.ReportNode(q))
}

// has is a behaviour.Process of which only its table is asked for.
type has struct {
	behaviour.Process
	table *processtable.Table
}

func (h has) Table() *processtable.Table { return h.table }

func tablesOf(t *testing.T, text string) (all []api.Table, tables []*processtable.Table) {
	compiled := definitiontest.Compile(t, text, definition.CompileOptions{})
	for i, table := range compiled.Tables {
		all = append(all, api.Table{
			Node: string(table.Node), Process: table.Process.String(), Definition: table.Definition.String(), Table: compiled.Encoded[i],
		})
	}
	return all, compiled.Tables
}

// N19: an upload tells of processes that a site would begin, and that neither it has nor the upload.
func TestUploadTellsOfSubprocessesThatAreNotThere(t *testing.T) {
	const order = "process: order\nversion: 1\nactivities:\n" +
		"  a: {node: B, process: pack-lines}\n  b: {node: B, process: pack-line@2}\n  c: {node: B, process: pack-line}\n" +
		"  d: {node: B, process: elsewhere}\n  e: {node: B, process: given}\n  f: {node: C, process: unheard}\n  g: {node: A, process: nowhere}\n"
	w, b := newWorld(t), newWorld(t)
	for _, text := range []string{
		"process: pack-line\nversion: 1\nactivities:\n  a: {node: B, program: p}\n",
		"process: elsewhere\nversion: 1\nstarts: [C]\nactivities:\n  a: {node: B, program: p}\n",
	} {
		_, tables := tablesOf(t, text)
		b.up[tables[0].Process] = has{table: tables[0]}
	}
	w.links["B"], w.links["C"] = link.Status{Peer: "B"}, link.Status{Peer: "C"}
	w.Site = answering{w, b.Tables}
	request := api.UploadRequest{PlanOnly: true}
	for _, text := range []string{order, "process: given\nversion: 1\nactivities:\n  a: {node: B, program: p}\n"} {
		all, _ := tablesOf(t, text)
		request.Tables = append(request.Tables, all...)
	}
	got, err := w.Upload(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"order@1: A has no current nowhere and none is given: upload it too",
		"order@1: B has no current pack-lines and none is given: upload it too; it has pack-line@1",
		"order@1: B has no current pack-line@2 and none is given: upload it too; it has pack-line@1",
		"order@1: B has no current elsewhere and none is given: upload it too; it has pack-line@1",
	}
	told := slices.DeleteFunc(got.Warnings, func(line string) bool { return !strings.Contains(line, " has no current ") })
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

// Of many processes only some are named.
func TestWhatASiteHasInstead(t *testing.T) {
	id := func(text string) processtable.ProcessID {
		p, err := processtable.ParseProcessID(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var has []processtable.ProcessID
	for _, text := range []string{"a@1", "a@2", "b@1", "c@1", "d@1", "e@7", "e@8"} {
		has = append(has, id(text))
	}
	for asked, want := range map[string]string{"a@3": "a@2", "e@1": "e@8", "x": "a@2, b@1, c@1 and 2 more"} {
		if got := instead(id(asked), has); got != want {
			t.Errorf("%s: %q, want %q", asked, got, want)
		}
	}
	if got := instead(id("x"), nil); got != "" {
		t.Error(got)
	}
}
