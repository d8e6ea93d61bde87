package tables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/queue/commit"
)

const one = `
process: one
version: 1
structures: {S: {n: int}}
activities:
  a: {node: A, program: p, output: S, exit: n >= 0}
  b: {node: B, program: p, output: S}
`

// encodedFor gives the table of a definition for a site.
func encodedFor(t *testing.T, text string, node processtable.NodeID) []byte {
	t.Helper()
	compiled := definitiontest.Compile(t, text, definition.CompileOptions{})
	for i, table := range compiled.Tables {
		if table.Node == node {
			return compiled.Encoded[i]
		}
	}
	t.Fatalf("there is no table for %s", node)
	return nil
}

// What may be stored: a table of this site, within its limit, of a version that is bound to
// nothing else (N3), by a definer whom it trusts. What is there already is no new one.
func TestWhatMayBeStored(t *testing.T) {
	w := newWorld(t)
	first := encodedFor(t, one, "A")
	refused := func(what string, encoded []byte, want string) {
		t.Helper()
		if _, isNew, err := w.Judge(encoded, false); isNew || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: new %t, %v, want %q", what, isNew, err, want)
		}
	}
	refused("what is no table", []byte("none"), "read process table")
	refused("a table of B", encodedFor(t, one, "B"), "table of one@1 is for node B, this is A")
	w.limit = len(first) - 1
	refused("one over the limit", first, "raise limits.table there, or split the process")
	w.limit = len(first)
	w.SetDefiners(trust.Definers{Required: true})
	refused("one that nobody signed", first, "one@1 is not signed")
	w.SetDefiners(trust.Definers{})
	w.store(first)
	if _, isNew, err := w.Judge(first, false); isNew || err != nil {
		t.Errorf("the same again: new %t, %v", isNew, err)
	}
	w.limit = 0
	refused("another definition", encodedFor(t, strings.Replace(one, "n >= 0", "n >= 1", 1), "A"), "one@1 has another definition at A: raise the version")
}

// A row of a behaviour that its site does not know is named, with what the site has.
func TestAnUnknownBehaviourIsNamed(t *testing.T) {
	table := &processtable.Table{
		Process: processtable.ProcessID{Name: "tally", Version: 1}, Node: "A",
		Activities: []*processtable.Activity{{Name: "plain"}, {Name: "total", Behaviour: "counter"}},
	}
	known := behaviour.Registry{"other": nil}.Names()
	want := "activity total of tally@1: its behaviour counter is not known there: the site has FlowMark's, other: upgrade A to a version that has it"
	if reason := strange(table, known); reason != want {
		t.Errorf("%q, want %q", reason, want)
	}
	if reason := strange(table, append(known, "counter")); reason != "" {
		t.Errorf("where it is known: %q", reason)
	}
}

// Every table of the store is made ready at the start, by name and version.
func TestLoad(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"two", "one"} {
		w.store(encodedFor(t, strings.Replace(one, "process: one", "process: "+name, 1), "A"))
	}
	all, err := w.Load()
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	for i, want := range []string{"one@1", "two@1"} {
		if got := all[i].Table().Process.String(); got != want {
			t.Errorf("table %d is of %s, want %s", i, got, want)
		}
	}
}

// Who has sent a table that was refused is told why, also if he does not say which he has sent, as an
// older site; nobody else is. It holds until the process has a table, or definers change.
func TestWhyATableWasRefused(t *testing.T) {
	w := newWorld(t)
	id, sent := processtable.ProcessID{Name: "one", Version: 1}, []byte("sent")
	told := func(sum string) string {
		t.Helper()
		r, err := w.Report(Question{Process: "one@1", Table: sum})
		if err != nil {
			t.Fatal(err)
		}
		return r.Refused
	}
	for _, end := range []struct {
		name string
		of   func()
	}{
		{"definers change", func() { w.SetDefiners(trust.Definers{}) }},
		{"many more are refused", func() {
			for i := range refusalsKept {
				w.Refused(processtable.ProcessID{Name: fmt.Sprintf("p%d", i), Version: 1}, sent, errors.New("no"))
			}
		}},
		{"it has a table", func() { w.store(encodedFor(t, one, "A")) }},
	} {
		w.Refused(id, sent, errors.New("no good"))
		if who, other, old := told(sumOf(sent)), told(sumOf([]byte("another"))), told(""); who != "no good" || other != "" || old != "no good" {
			t.Errorf("told %q, who sent another %q, an older site %q", who, other, old)
		}
		end.of()
		if still := told(sumOf(sent)); still != "" {
			t.Errorf("after %s: told %q", end.name, still)
		}
	}
	if len(w.refused) > refusalsKept {
		t.Errorf("%d are remembered", len(w.refused))
	}
}

// What is on disk is not told of before it is taken up: what is asked next must be answered by it.
func TestATableIsFoundOnceItIsTakenUp(t *testing.T) {
	w := newWorld(t)
	encoded := encodedFor(t, one, "A")
	w.store(encoded)
	p := w.up
	w.up = nil
	for _, c := range []struct {
		name  string
		found bool
	}{{"stored", false}, {"taken up", true}} {
		r, err := w.Report(Question{Process: "one@1"})
		if err != nil || r.Found != c.found || (r.Definition != "") != c.found {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
		w.up = p
	}
	if stored, _, _, err := w.Queue.Table(processtable.ProcessID{Name: "one", Version: 1}); err != nil || !bytes.Equal(stored, encoded) {
		t.Errorf("it was stored otherwise: %v", err)
	}
}

// Of two uploads of one definition at one moment, in two formats, the first is what the store
// keeps and the node runs; the second finds the table there, and one of another definition is
// refused.
func TestUploadsAtOneMoment(t *testing.T) {
	one := strings.ReplaceAll(one, "node: B", "node: A")
	upload := func(text string, format int) (*definition.Compiled, api.UploadRequest) {
		c := definitiontest.Compile(t, text, definition.CompileOptions{TableFormat: format})
		table := c.Tables[0]
		return c, api.UploadRequest{Tables: []api.Table{{
			Node: "A", Process: table.Process.String(), Definition: table.Definition.String(), Table: c.Encoded[0],
		}}}
	}
	first, _ := upload(one, 1)
	for _, tc := range []struct {
		name   string
		text   string
		raced  error
		result api.Result
		reason string
	}{
		{"the same definition", one, commit.ErrTabled, api.ResultUnchanged, ""},
		{"another definition", strings.Replace(one, "n >= 0", "n >= 1", 1), commit.ErrBound, api.ResultRefused, "one@1 has another definition at A: raise the version"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.meanwhile = func() error {
				w.store(first.Encoded[0])
				return fmt.Errorf("table of one@1: %w", tc.raced)
			}
			_, request := upload(tc.text, 0)
			if bytes.Equal(request.Tables[0].Table, first.Encoded[0]) {
				t.Fatal("the two are the same bytes")
			}
			answer, err := w.Upload(t.Context(), request)
			if err != nil || len(answer.Nodes) != 1 || answer.Nodes[0].Result != tc.result || !strings.Contains(answer.Nodes[0].Reason, tc.reason) {
				t.Errorf("%+v, %v, want %s", answer.Nodes, err, tc.result)
			}
			stored, _, _, err := w.Queue.Table(first.Tables[0].Process)
			if err != nil || !bytes.Equal(stored, first.Encoded[0]) {
				t.Errorf("the store has not what came first: %v", err)
			}
			if runs := w.up[first.Tables[0].Process].Table().Format; runs != first.Tables[0].Format {
				t.Errorf("the node runs format %d, what came first is %d", runs, first.Tables[0].Format)
			}
		})
	}
}

// What is stored is taken up, and is on its way over a link that there is, also where who uploads it
// does not wait for that.
func TestAnUploadWhoseCallerLeaves(t *testing.T) {
	w := newWorld(t)
	c := definitiontest.Compile(t, one, definition.CompileOptions{})
	var r api.UploadRequest
	for i, table := range c.Tables {
		r.Tables = append(r.Tables, api.Table{
			Node: string(table.Node), Process: table.Process.String(), Definition: table.Definition.String(), Table: c.Encoded[i],
		})
	}
	ctx, leave := context.WithCancel(t.Context())
	w.meanwhile = func() error {
		leave()
		return nil
	}
	answer, err := w.Upload(ctx, r)
	if _, stored := w.Queue.Bound(c.Tables[0].Process); !stored || w.up[c.Tables[0].Process] == nil {
		t.Errorf("stored %t, taken up: %v; %+v, %v", stored, w.up, answer, err)
	}
	if _, linked := w.LinkTo("B"); !linked {
		t.Error("there is no link to B")
	}
}
