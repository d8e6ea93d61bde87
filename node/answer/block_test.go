package answer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// claim is a process of which the block documents has check and ask, and the block deeper has look,
// and is in documents; see claimTables.
const claim = `
process: claim
version: 1
starts: [A]
activities:
  begin: {node: A, program: p}
  documents: {node: A, program: p, exit: _RC == 1}
  check: {node: A, program: p}
  ask: {node: B, program: p}
  note: {node: B, program: p}
  deeper: {node: B, program: p, exit: _RC == 1}
  look: {node: A, program: p}
  pay: {node: B, program: p}
control: [begin -> documents, documents -> pay, check -> ask, ask -> deeper]
`

var claimID = processtable.ProcessID{Name: "claim", Version: 1}

// inClaim says what is inside of what.
var inClaim = map[processtable.ActivityID]processtable.ActivityID{"check": "documents", "ask": "documents", "note": "documents", "deeper": "documents", "look": "deeper"}

// claimTables are those of claim with its blocks, as a compiler would make them.
func claimTables(t testing.TB) map[processtable.NodeID]*processtable.Table {
	t.Helper()
	documents := processtable.Composite{Activity: "documents", Iterations: 10_000}
	paths := map[processtable.ActivityID][]processtable.Composite{
		"": nil, "documents": {documents}, "deeper": {documents, {Activity: "deeper", Iterations: 10_000}},
	}
	home := map[processtable.ActivityID]processtable.NodeID{"documents": "A", "deeper": "B"}
	out := map[processtable.NodeID]*processtable.Table{}
	for _, table := range definitiontest.Compile(t, claim, definition.CompileOptions{}).Tables {
		table.Format, table.Detours, table.Resolvers = processtable.BlockFormat, nil, nil
		for i, p := range table.Roster {
			table.Roster[i].Inside = inClaim[p.Activity]
		}
		var rows []*processtable.Activity
		for _, row := range table.Activities {
			block, inside := home[row.Name] != "", inClaim[row.Name]
			row.Path = paths[inside]
			outer := func(a processtable.ActivityID) bool {
				return !row.Added() && a != processtable.Source && inClaim[a] != inside
			}
			row.InControl = slices.DeleteFunc(row.InControl, func(c processtable.InControl) bool {
				return outer(c.From) || row.Name == processtable.Sink && c.From != "pay"
			})
			row.OutControl = slices.DeleteFunc(row.OutControl, func(c processtable.OutControl) bool {
				return c.To != processtable.Sink && outer(c.To) || row.Name == processtable.Source && c.To != "begin"
			})
			for c := range row.OutControl {
				if inside != "" && row.OutControl[c].To == processtable.Sink {
					row.OutControl[c].Node = home[inside]
				}
			}
			rows = append(rows, row)
			if !block {
				continue
			}
			row.Kind, row.Program = processtable.KindBlock, ""
			first, last := processtable.ActivityID("check"), processtable.ActivityID("deeper")
			if row.Name == "deeper" {
				first, last = "look", "look"
			}
			to := map[processtable.ActivityID]processtable.NodeID{"check": "A", "look": "A"}[first]
			source := &processtable.Activity{Name: processtable.Source, Kind: processtable.KindSource, Path: paths[row.Name], Input: container.Empty, Output: row.Input, Start: row.Start}
			source.OutControl = []processtable.OutControl{{To: first, Node: to}}
			if row.Name == "documents" {
				source.OutControl = append(source.OutControl, processtable.OutControl{To: "note", Node: "B"})
			}
			sink := &processtable.Activity{Name: processtable.Sink, Kind: processtable.KindSink, Path: paths[row.Name], Input: row.Output, Output: container.Empty, Start: row.Start}
			sink.InControl = []processtable.InControl{{From: last}}
			if row.Name == "documents" {
				sink.InControl = []processtable.InControl{{From: "note"}, {From: last}}
			}
			rows = append(rows, source, sink)
		}
		table.Activities = rows
		for _, a := range rows {
			if a.Added() && len(a.Path) > 0 {
				a.Start.Op, a.Start.Args, a.Start.Var = rows[0].Start.Op, nil, 0
			}
		}
		_, read, err := processtable.EncodeAsRead(table)
		if err != nil {
			t.Fatalf("table of %s: %v", table.Node, err)
		}
		out[table.Node] = read
	}
	return out
}

// sites are A and B, of which each answers the other.
type sites struct {
	*world // A
	b      *world
	asked  []report.Question // of B
	down   bool              // B does not answer
	old    bool              // B knows no other question than for everything
	lies   func(*report.Report)
}

func newSites(t testing.TB) *sites {
	t.Helper()
	s := &sites{}
	tables := claimTables(t)
	make := func(node processtable.NodeID) *world {
		w := worldAt(t, node, newEngine(t, memory.Options{}), task.Goroutines{})
		t.Cleanup(w.close)
		p, err := navigator.Prepare(tables[node], nil)
		if err != nil {
			t.Fatal(err)
		}
		w.up[claimID] = p
		return w
	}
	s.world, s.b = make("A"), make("B")
	s.world.query = func(_ context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
		if s.down {
			return nil, fmt.Errorf("%s: %w", peer, link.ErrNotConnected)
		}
		return question.Answer(body, func(q report.Question) (report.Report, error) {
			if s.asked = append(s.asked, q); s.old {
				q.Scopes, q.Tree = nil, nil
			}
			r, err := s.b.ReportTo("A", q)
			if s.lies != nil {
				s.lies(&r)
			}
			return r, err
		})
	}
	return s
}

// story puts into the stores what lines say: SITE PATH WORD [NUMBER], such as
//
//	A documents#2/check terminated
//	B documents#2/ask from check
//	A documents begun 2
func (s *sites) story(id uuid.UUID, text string) {
	s.world.t.Helper()
	clock := uint64(0)
	tx := map[string]*record.Tx{"A": {}, "B": {}}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		clock++
		w := map[string]*world{"A": s.world, "B": s.b}[f[0]]
		scope, activity := api.CutScope(f[1])
		number := 1
		if len(f) > 3 {
			_, _ = fmt.Sscan(f[3], &number)
		}
		end := record.AuditRecord{
			Process: claimID, Instance: id, Origin: "A", Scope: message.Scope(scope), Activity: processtable.ActivityID(activity), Clock: clock,
			Time: time.Unix(int64(clock), 0).UTC(), Iteration: number,
		}
		m := message.Message{Header: message.Header{
			Queue: message.Queue{Process: claimID, Node: w.Self}, Definition: w.up[claimID].Definition(), Instance: id, Origin: "A", Clock: clock,
			Scope: end.Scope, SourceScope: end.Scope, Activity: end.Activity, Kind: message.KindSnapshot,
		}}
		events := map[string]record.Event{"terminated": record.EventTerminated, "skipped": record.EventSkipped, "started": record.EventStarted, "ended": record.EventEnded, "iterated": record.EventIterated}
		switch word := f[2]; word {
		case "from":
			m.Kind, m.Source, m.Control = message.KindConnector, processtable.ActivityID(f[3]), message.True
			tx[f[0]].Put = append(tx[f[0]].Put, m)
		case "begun", "error":
			m.Body = message.EncodeSnapshot(message.Snapshot{Iteration: number, Begun: word == "begun", Failed: word == "error", Error: map[string]string{"error": "broken"}[word], Cause: map[string]message.Cause{"error": message.CauseAttempts}[word], Started: end.Time})
			tx[f[0]].Put = append(tx[f[0]].Put, m)
		default:
			end.Event = events[word]
			tx[f[0]].Audit = append(tx[f[0]].Audit, end)
		}
	}
	s.world.commit(tx["A"])
	s.b.commit(tx["B"])
}

// twice is an instance of which documents is in its second iteration: ask works at B.
const twice = `
	A source started
	A begin terminated
	A documents from begin
	A documents#1/source terminated
	A documents#1/check terminated
	B documents#1/ask terminated
	B documents#1/note terminated
	B documents#1/deeper#1/source terminated
	A documents#1/deeper#1/look terminated
	B documents#1/deeper#1/sink terminated
	B documents#1/deeper terminated 1
	A documents#1/sink terminated
	A documents iterated 1
	A documents begun 2
	A documents#2/source terminated
	A documents#2/check terminated
	B documents#2/ask from check
	B documents#2/note terminated
`

func lines(s api.Status) string {
	var out []string
	for _, a := range s.Activities {
		out = append(out, api.InScope(a.Scope, a.Activity)+" "+string(a.State))
	}
	return strings.Join(out, ", ")
}

// N18: a status shows the top, what is in one iteration, or all.
func TestN18StatusOfBlocks(t *testing.T) {
	const (
		top  = "begin terminated, documents running, pay inactive"
		one  = "documents#1/check terminated, documents#1/ask terminated, documents#1/note terminated, documents#1/deeper terminated"
		two  = "documents#2/check terminated, documents#2/ask ready, documents#2/note terminated, documents#2/deeper inactive"
		look = "documents#1/deeper#1/look terminated"
	)
	tree := "begin terminated, documents running, " + one + ", " + look + ", " + two + ", documents#2/deeper/look inactive, pay inactive"
	for _, c := range []struct {
		name  string
		of    api.StatusRequest
		scope string
		want  string
		next  string
	}{
		{"the top", api.StatusRequest{}, "", top, ""},
		{"the newest iteration", api.StatusRequest{Scope: "documents"}, "documents#2", two, ""},
		{"an iteration", api.StatusRequest{Scope: "documents#1"}, "documents#1", one, ""},
		{"a block in a block, which is over", api.StatusRequest{Scope: "documents#1/deeper"}, "documents#1/deeper#1", look, ""},
		{"a block in the newest, by its name", api.StatusRequest{Scope: "deeper"}, "documents#2/deeper", "documents#2/deeper/look inactive", ""},
		{"all", api.StatusRequest{Tree: true}, "", tree, ""},
		{"a page", api.StatusRequest{Tree: true, Limit: 4}, "", "begin terminated, documents running, documents#1/check terminated, documents#1/ask terminated", "documents#1/ask"},
		{"the next page", api.StatusRequest{Tree: true, Limit: 4, After: "documents#1/ask"}, "", "documents#1/note terminated, documents#1/deeper terminated, " + look + ", documents#2/check terminated", "documents#2/check"},
		{"the last page", api.StatusRequest{Tree: true, Limit: 4, After: "documents#2/note"}, "", "documents#2/deeper inactive, documents#2/deeper/look inactive, pay inactive", ""},
		{"some states", api.StatusRequest{Tree: true, States: []api.ActivityState{"ready", "running"}}, "", "documents running, documents#2/ask ready", ""},
		{"some states of the top", api.StatusRequest{States: []api.ActivityState{"running"}}, "", "documents running", ""},
		{"a page of the top", api.StatusRequest{Limit: 1, After: "begin"}, "", "documents running", "documents"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSites(t)
			id := uuid.Must(uuid.NewV7())
			s.story(id, twice)
			for _, s.old = range []bool{false, true} {
				st, err := s.StatusOf(t.Context(), id, c.of)
				if err != nil {
					t.Fatal(err)
				}
				if got := lines(st); got != c.want || st.Scope != c.scope || st.Next != c.next || st.State != api.InstanceRunning {
					t.Errorf("B is old: %t: %s in %q, next %q: %s\nwant %q, next %q: %s", s.old, st.State, st.Scope, st.Next, got, c.scope, c.next, c.want)
				}
			}
			for _, q := range s.asked {
				if q.Scopes == nil && q.Tree == nil {
					t.Errorf("B was asked for everything: %+v", q)
				}
			}
		})
	}
}

// broken is twice, with check and the block's own end in error beside what may go on.
const broken = `
	A source started
	A begin terminated
	A documents from begin
	A documents begun 1
	A documents#1/source terminated
	A documents#1/check from source
	A documents#1/check error
	B documents#1/note terminated
`

// N18: what is in error inside a block is counted, named, and decides whether the instance goes on.
func TestN18ErrorsInsideOfBlocks(t *testing.T) {
	for _, c := range []struct {
		name, story string
		down        bool
		state       api.InstanceState
		reason, why string
		errors      string
	}{
		{
			"nothing else goes on", broken, false, api.InstanceInError, "activity documents#1/check at A: broken",
			"documents#1/check: broken; waiting for an operator to retry", "documents#1/check",
		},
		{
			"B may go on, which does not answer", broken, true, api.InstanceRunning, "",
			"documents#1/check: broken; waiting for an operator to retry, documents#1/ask: B is unreachable, documents#1/note: B is unreachable, documents#1/deeper: B is unreachable, pay: B is unreachable", "documents#1/check",
		},
		{
			"something beside it goes on", strings.ReplaceAll(broken, "note terminated", "note from source"), false, api.InstanceRunning, "",
			"documents#1/check: broken; waiting for an operator to retry, documents#1/note: waiting for a free place of program p", "documents#1/check",
		},
		{
			"the end of the block", broken + "A documents#1/sink from note\nA documents#1/sink error", false, api.InstanceInError, "activity documents#1/check at A: broken",
			"documents#1/check: broken; waiting for an operator to retry, documents#1/sink: broken; waiting for an operator to retry", "documents#1/check documents#1/sink",
		},
		{
			"in a block in a block", twice + "B documents#2/ask terminated\nB documents#2/deeper from ask\nB documents#2/deeper begun 3\nB documents#2/deeper#3/source terminated\nA documents#2/deeper#3/look from source\nA documents#2/deeper#3/look error",
			false, api.InstanceInError, "activity documents#2/deeper#3/look at A: broken", "documents#2/deeper#3/look: broken; waiting for an operator to retry", "documents#2/deeper#3/look",
		},
		{"nothing is", twice, false, api.InstanceRunning, "", "documents#2/ask: waiting for a free place of program p", ""},
		{
			"what comes next is on its way", strings.ReplaceAll(twice, "B documents#2/ask from check", ""), false, api.InstanceRunning, "",
			"documents#2/ask: messages from check are on their way", "",
		},
		{
			"the first is on its way", broken[:strings.Index(broken, "	A documents#1/check from")], false, api.InstanceRunning, "",
			"documents#1/check: messages from source are on their way, documents#1/note: messages from source are on their way", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSites(t)
			id := uuid.Must(uuid.NewV7())
			s.story(id, c.story)
			s.down = c.down
			g, err := s.standing(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			var errors []string
			for _, a := range g.Errors() {
				errors = append(errors, api.InScope(a.Scope, a.Activity))
			}
			st := g.Status()
			if st.State != c.state || st.Reason != c.reason || strings.Join(errors, " ") != c.errors || st.InError != len(errors) {
				t.Errorf("%s because %q, %d in error: %s\nwant %s because %q: %s", st.State, st.Reason, st.InError, errors, c.state, c.reason, c.errors)
			}
			why, err := s.Why(t.Context(), id, api.WhyRequest{})
			if err != nil {
				t.Fatal(err)
			}
			var waits []string
			for _, w := range why.Waits {
				if waits = append(waits, api.InScope(w.Scope, w.Activity)+": "+w.For); w.Scope != "" && w.At != w.Node && w.Activity == "check" {
					t.Errorf("%s waits for %s", w.Activity, w.At)
				}
			}
			if got := strings.Join(waits, ", "); got != c.why {
				t.Errorf("why: %s\nwant %s", got, c.why)
			}
		})
	}
}

// N18: of a PATH why and history tell what is inside of it; of source and sink of a block the iteration that
// begins and returns with them.
func TestN18WhyAndHistoryOfAPath(t *testing.T) {
	s := newSites(t)
	id := uuid.Must(uuid.NewV7())
	s.story(id, twice)
	for _, c := range []struct {
		of   api.HistoryRequest
		want string
	}{
		{api.HistoryRequest{}, "source started, begin terminated, documents begun 1, documents#1/check terminated 1, documents#1/ask terminated 1, documents#1/note terminated 1, documents#1/deeper begun 1, documents#1/deeper#1/look terminated 1, documents#1/deeper returned 1, documents#1/deeper terminated 1, documents returned 1, documents iterated 1, documents begun 2, documents#2/check terminated 1, documents#2/note terminated 1"},
		{api.HistoryRequest{Activity: "documents#2"}, "documents begun 2, documents#2/check terminated 1, documents#2/note terminated 1"},
		{api.HistoryRequest{Activity: "documents#1/deeper"}, "documents#1/deeper begun 1, documents#1/deeper#1/look terminated 1, documents#1/deeper returned 1, documents#1/deeper terminated 1"},
		{api.HistoryRequest{Activity: "deeper", Since: 10}, "documents#1/deeper returned 1, documents#1/deeper terminated 1"},
		{api.HistoryRequest{Activity: "check"}, "documents#1/check terminated 1, documents#2/check terminated 1"},
		{api.HistoryRequest{Activity: "documents#2/check"}, "documents#2/check terminated 1"},
		{api.HistoryRequest{Activity: "source"}, "source started"},
	} {
		h, err := s.History(t.Context(), id, c.of)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range h.Events {
			text := api.InScope(e.Scope, e.Activity) + " " + string(e.Event)
			if e.Iteration > 0 && e.Activity != "source" && e.Activity != "begin" {
				text += fmt.Sprintf(" %d", e.Iteration)
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%+v: %s\nwant %s", c.of, strings.Join(got, ", "), c.want)
		}
	}
	for _, q := range s.asked {
		if q.History && q.Activity == "documents#2/check" {
			return
		}
	}
	t.Error("B was not told of what it was asked for a history")
}

// What is asked for and is not there has an error that says what is.
func TestN18WhatIsNotThere(t *testing.T) {
	for _, c := range []struct {
		of   api.StatusRequest
		down bool
		want string
		code api.Code
	}{
		{api.StatusRequest{Scope: "document"}, false, "claim@1 has no activity document: did you mean documents? See fmqm status for its activities", api.CodeNotFound},
		{api.StatusRequest{Scope: "documents#1/check"}, false, "scope documents#1/check: check is no block: nothing is inside of it: name a block, or leave --scope out", api.CodeUsage},
		{api.StatusRequest{Scope: "documents#3"}, false, "there is no documents#3: it has begun 2 iterations: see fmqm status for how often it has begun", api.CodeNotFound},
		{api.StatusRequest{Scope: "documents#0"}, false, `scope documents#0: message format: scope: "documents#0": want a number from 1 to 2147483647 behind #: write blocks with their iterations, such as documents#2, or documents for its newest`, api.CodeUsage},
		{api.StatusRequest{Scope: "documents#1/documents#1"}, false, "scope documents#1/documents#1: documents is not inside of documents#1: write documents", api.CodeNotFound},
		{api.StatusRequest{Scope: "documents#1/deeper"}, true, "only B, where deeper is, can say which is the newest, and it does not answer: name an iteration, such as documents#1/deeper#1", api.CodeUnreachable},
		{api.StatusRequest{Tree: true, After: "documents#1/chek"}, false, "claim@1 has no activity chek: did you mean check? See fmqm status for its activities", api.CodeNotFound},
	} {
		s := newSites(t)
		id := uuid.Must(uuid.NewV7())
		s.story(id, twice)
		s.down = c.down
		if _, err := s.StatusOf(t.Context(), id, c.of); err == nil || err.Error() != c.want || api.CodeOf(err) != c.code {
			t.Errorf("%+v: %v (%s)\nwant %s (%s)", c.of, err, api.CodeOf(err), c.want, c.code)
		}
	}
}

// N18: what is inside of a block that was skipped is skipped, and of one that has not begun inactive; there is
// nothing of it anywhere.
func TestN18InsideOfWhatHasNotBegun(t *testing.T) {
	for _, c := range []struct{ story, tree, scope string }{
		{
			"A source started\nA begin terminated\nA documents skipped",
			"begin terminated, documents skipped, documents/check skipped, documents/ask skipped, documents/note skipped, documents/deeper skipped, documents/deeper/look skipped, pay inactive",
			"documents/check skipped, documents/ask skipped, documents/note skipped, documents/deeper skipped",
		},
		{
			"A source started",
			"begin inactive, documents inactive, documents/check inactive, documents/ask inactive, documents/note inactive, documents/deeper inactive, documents/deeper/look inactive, pay inactive",
			"documents/check inactive, documents/ask inactive, documents/note inactive, documents/deeper inactive",
		},
	} {
		s := newSites(t)
		id := uuid.Must(uuid.NewV7())
		s.story(id, c.story)
		for want, of := range map[string]api.StatusRequest{c.tree: {Tree: true}, c.scope: {Scope: "documents"}} {
			if st, err := s.StatusOf(t.Context(), id, of); err != nil || lines(st) != want {
				t.Errorf("%+v: %s, %v\nwant %s", of, lines(st), err, want)
			}
		}
	}
}

// Invariant 11: what B tells of scopes in which its activities cannot be, or of what it does not host, is not
// believed; and what it tells of an iteration that has not begun makes nothing of others. An iteration that is
// over has ended, whatever B says.
func TestN18APeerSpeaksForItsOwnScopesOnly(t *testing.T) {
	says := func(scope, activity string, state api.ActivityState) api.Activity {
		return api.Activity{Scope: scope, Activity: activity, Node: "B", State: state, Kind: "lie"}
	}
	const want = "begin terminated, documents running, documents#1/check terminated, documents#1/ask terminated, documents#1/note terminated, documents#1/deeper terminated, documents#1/deeper#1/look terminated, " +
		"documents#2/check terminated, documents#2/ask ready, documents#2/note terminated, documents#2/deeper inactive, documents#2/deeper/look inactive, "
	for _, c := range []struct {
		name string
		lies func(*report.Report)
		want string
	}{
		{"of what A hosts", func(r *report.Report) {
			r.Activities = append(r.Activities, says("documents#2", "check", api.ActivitySkipped), says("documents#2", "sink", api.ActivityInError), says("", "documents", api.ActivitySkipped))
			r.Begun = append(r.Begun, "documents#7", "documents#2/deeper/x", "x#1")
			r.Heard = append(r.Heard, "pay/check", "documents/check", "check")
		}, want + "pay inactive"},
		{"in scopes that cannot be", func(r *report.Report) {
			r.Activities = append(r.Activities, says("", "ask", api.ActivityInError), says("documents#1/deeper#1", "ask", api.ActivityInError), says("documents", "ask", api.ActivityInError), says("documents#2", "pay", api.ActivityInError))
			r.Waits = append(r.Waits, report.Waiting{Scope: "deeper#1", Activity: "ask", For: []string{"check"}})
		}, want + "pay inactive"},
		{"in an iteration that has not begun", func(r *report.Report) {
			r.Activities = append(r.Activities, says("documents#9", "ask", api.ActivityRunning))
		}, want + "documents#9/ask running, pay inactive"},
		{"in one that is over", func(r *report.Report) {
			for i := range r.Activities {
				if a := &r.Activities[i]; a.Scope == "documents#1" && a.Activity == "ask" {
					a.State = api.ActivityInError
				}
			}
		}, strings.ReplaceAll(want, "documents#1/ask terminated", "documents#1/ask unknown") + "pay inactive"},
		{"that it has told no more", func(r *report.Report) { r.Upto = "begin" }, want + "pay inactive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSites(t)
			id := uuid.Must(uuid.NewV7())
			s.story(id, twice)
			s.lies = c.lies
			st, err := s.StatusOf(t.Context(), id, api.StatusRequest{Tree: true, After: map[bool]string{true: "begin"}[strings.HasPrefix(c.name, "that it")]})
			if want := strings.TrimPrefix(c.want, map[bool]string{true: "begin terminated, "}[strings.HasPrefix(c.name, "that it")]); err != nil || lines(st) != want || st.State != api.InstanceRunning || st.InError > 0 {
				t.Errorf("%s, %d in error, %v: %s\nwant %s", st.State, st.InError, err, lines(st), want)
			}
			for _, a := range st.Activities {
				if want := map[bool]string{true: api.KindBlock, false: api.KindProgram}[a.Activity == "documents" || a.Activity == "deeper"]; a.Kind != want && a.Kind != "" {
					t.Errorf("%s is of kind %q", a.Activity, a.Kind)
				}
			}
		})
	}
}

// many is an instance of which documents has begun so often, and is in its last iteration.
func (s *sites) many(iterations int) uuid.UUID {
	id := uuid.Must(uuid.NewV7())
	s.story(id, "A source started\nA begin terminated\nA documents from begin")
	var text strings.Builder
	for i := 1; i <= iterations; i++ {
		for _, a := range []string{"A documents#%d/source", "A documents#%d/check", "B documents#%d/ask", "B documents#%d/note", "B documents#%d/deeper", "A documents#%d/sink"} {
			fmt.Fprintf(&text, a+" terminated\n", i)
		}
		if i%500 == 0 || i == iterations {
			s.story(id, text.String())
			text.Reset()
		}
	}
	s.story(id, fmt.Sprintf("A documents begun %d", iterations+1))
	return id
}

// What a status of the top or of one iteration costs does not grow with the iterations that were; a page is
// made of their keys, and what it shows.
func TestN18AStatusCostsWhatItShows(t *testing.T) {
	s := newSites(t)
	few, many := s.many(10), s.many(1000)
	for name, of := range map[string]api.StatusRequest{"top": {}, "newest": {Scope: "documents"}, "iteration": {Scope: "documents#7"}} {
		cost := func(id uuid.UUID) float64 {
			return testing.AllocsPerRun(3, func() {
				if st, err := s.StatusOf(t.Context(), id, of); err != nil || len(st.Activities) < 3 {
					t.Fatal(lines(st), err)
				}
			})
		}
		if x, y := cost(few), cost(many); y > 1.2*x {
			t.Errorf("%s: %.0f allocations after 10 iterations, %.0f after 1000", name, x, y)
		}
	}
	st, err := s.StatusOf(t.Context(), many, api.StatusRequest{Tree: true, After: "documents#998/ask", Limit: 5})
	const want = "documents#998/note terminated, documents#998/deeper terminated, documents#998/deeper/look inactive, documents#999/check terminated, documents#999/ask terminated"
	if err != nil || lines(st) != want || st.Next != "documents#999/ask" {
		t.Errorf("%s, next %s, %v\nwant %s", lines(st), st.Next, err, want)
	}
	seen, pages := 0, 0
	for of := (api.StatusRequest{Tree: true}); pages == 0 || of.After != ""; pages++ {
		st, err := s.StatusOf(t.Context(), many, of)
		if err != nil || pages > 10 {
			t.Fatal(pages, err)
		}
		seen, of.After = seen+len(st.Activities), st.Next
	}
	if seen != 3+5*1000 || pages != 6 {
		t.Errorf("%d activities on %d pages", seen, pages)
	}
}
