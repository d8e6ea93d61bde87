package tables

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/container"
	"fmqm/link"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

const both = `
process: both
version: 1
starts: [A, B]
activities:
  a: {node: A, program: p}
  b: {node: B, program: p}
control: [a -> b]
`

const alone1 = `
process: alone
version: 1
activities:
  a: {node: A, program: p}
`

// retired stores a version at A and retires it.
func (w *world) retired(text string) (id processtable.ProcessID, table *processtable.Table) {
	w.t.Helper()
	encoded := encodedFor(w.t, text, "A")
	w.store(encoded)
	for id = range w.up {
		table = w.up[id].Table()
	}
	if _, err := w.Retire(w.t.Context(), table, api.RetireRequest{Number: 1}, "alice"); err != nil {
		w.t.Fatal(err)
	}
	return id, table
}

// round is one of RunRetired, in which everything is looked at again.
func (w *world) round() (missing bool) {
	w.t.Helper()
	w.mu.Lock()
	clear(w.again)
	w.mu.Unlock()
	missing, err := w.retiredRound(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return missing
}

func (w *world) commits(tx *record.Tx) {
	w.t.Helper()
	if err := w.Commit(w.t.Context(), tx); err != nil {
		w.t.Fatal(err)
	}
}

// line is a line of history of an instance that was started at A.
func line(id processtable.ProcessID, event record.Event) record.AuditRecord {
	a := record.AuditRecord{Time: time.Unix(1, 0), Process: id, Instance: message.InstanceID{6: 0x70, 8: 0x80, 15: 1}, Origin: "A", Activity: processtable.Source, Event: event}
	if event != record.EventStarted {
		a.Activity = processtable.Sink
	}
	return a
}

// stray is a message that lies in the queue of a process.
func stray(table *processtable.Table) message.Message {
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: table.Process, Node: "A"}, Instance: message.InstanceID{6: 0x70, 8: 0x80, 15: 2}, Definition: table.Definition.Short(), Origin: "A",
		Activity: "a", Source: processtable.Source, Kind: message.KindConnector, Control: message.True, Data: message.DataNone, Lane: message.LaneData,
	}}
}

// N31: a node gives its final word once a version has been retired for some time, nothing of it that began there goes on,
// and nothing of it lies there. From then on nothing begins, whatever was found before, and nobody takes that back.
func TestFinalWord(t *testing.T) {
	w := newWorld(t)
	w.retiredFor = time.Hour
	id, table := w.retired(both)
	given := func(when string, want bool) {
		t.Helper()
		if w.round(); w.Closed(id) != want || len(w.gave) > 0 != want {
			t.Errorf("%s: the final word is given: %t", when, w.Closed(id))
		}
	}
	given("before its time", false)
	w.retiredFor = 0
	w.commits(&record.Tx{Audit: []record.AuditRecord{line(id, record.EventStarted)}})
	given("while an instance goes on", false)
	m := stray(table)
	w.commits(&record.Tx{Audit: []record.AuditRecord{line(id, record.EventEnded)}, Put: []message.Message{m}})
	given("while something lies there", false)
	took := &record.Tx{Consume: []record.Consume{{Process: id, Entry: m.Entry(), Keys: []message.Key{m.Key()}}}}
	w.commits(took)
	w.meanwhile = func() error { // between the look and the word
		w.commits(&record.Tx{Put: []message.Message{m}})
		w.commits(took)
		return nil
	}
	given("when something came and went meanwhile", false)
	given("at rest", true)

	begins := line(id, record.EventStarted)
	begins.Instance[15] = 9
	start := stray(table)
	start.Kind, start.Activity, start.Source, start.Control, start.Data = message.KindStart, processtable.Source, "", 0, 0
	start.Body = message.EncodeStart(message.Start{Parent: message.Parent{Process: id, Node: "A", Instance: begins.Instance, Activity: "a", Iteration: 1, Attempt: 1}})
	for what, tx := range map[string]*record.Tx{"a start": {Audit: []record.AuditRecord{begins}}, "a subprocess": {Put: []message.Message{start}}} {
		if err := w.Commit(t.Context(), tx); !errors.Is(err, commit.ErrClosed) {
			t.Errorf("%s behind the final word: %v", what, err)
		}
	}
	_, err := w.Retire(t.Context(), table, api.RetireRequest{Number: 2, Undo: true}, "alice")
	if api.CodeOf(err) != api.CodeRefused || !strings.Contains(err.Error(), "A has given its final word") || !w.Queue.IsRetired(id) {
		t.Errorf("taken back: %v", err)
	}
	// Another site may have heard so before: then it is known, and nothing begins here all the same.
	said := &Said{Definition: table.Definition.String(), Number: 2, Undo: true}
	r, err := w.VersionTo(t.Context(), "B", VersionQuestion{Process: id.String(), Said: said})
	if err != nil || r.Said.Number != 2 || r.Finals["A"] != w.Queue.Incarnation().String() || !w.Queue.IsRetired(id) {
		t.Errorf("taken back elsewhere: %+v, %v", r, err)
	}
}

// Final words of others count while the version is retired here, for the store that gave them, and as they say themselves.
func TestFinalWordsOfOthers(t *testing.T) {
	w := newWorld(t)
	id, table := w.retired(both)
	w.round()
	first, second := record.Incarnation{1}, record.Incarnation{2}
	tells := func(peer processtable.NodeID, finals map[string]string) {
		t.Helper()
		if _, err := w.VersionTo(t.Context(), peer, VersionQuestion{Process: id.String(), Finals: finals}); err != nil {
			t.Fatal(err)
		}
	}
	lacks := func(when string, want bool) {
		t.Helper()
		if missing := w.missing(table); len(missing) > 0 != want {
			t.Errorf("%s: missing %v", when, missing)
		}
	}
	tells("B", map[string]string{"B": "no store", "C": first.String()})
	tells("M", map[string]string{"B": first.String()})
	lacks("what cannot be read, and from who has no part", true)
	if finals := w.Queue.Finals(id); len(finals) != 1 {
		t.Errorf("final words: %v", finals)
	}
	tells("B", map[string]string{"B": first.String()})
	lacks("B has given its word", false)
	if err := w.Queue.BindIncarnation("B", second); err != nil {
		t.Fatal(err)
	}
	lacks("B has come with another store", true)
	if missing := w.round(); !missing {
		t.Error("the table goes although the word of B is void")
	}
	tells("B", map[string]string{"B": second.String()})
	lacks("B has given it once more", false)
}

// A node that has lost the store with which it gave its word begins nothing once others say so, and gives another word
// when what it has under way again has ended.
func TestAFinalWordOfAnEarlierStore(t *testing.T) {
	w := newWorld(t)
	w.retiredFor = time.Hour
	id, table := w.retired(both)
	tells := func(store record.Incarnation) {
		t.Helper()
		if _, err := w.VersionTo(t.Context(), "B", VersionQuestion{Process: id.String(), Finals: map[string]string{"A": store.String()}}); err != nil {
			t.Fatal(err)
		}
	}
	tells(w.Queue.Incarnation())
	if w.Closed(id) {
		t.Error("it believes that it has said what its store does not know")
	}
	w.commits(&record.Tx{Audit: []record.AuditRecord{line(id, record.EventStarted)}})
	tells(record.Incarnation{7})
	if !w.Closed(id) {
		t.Error("something begins although others have its word")
	}
	w.round()
	if missing := w.missing(table); len(missing) != 2 || len(w.gave) > 0 {
		t.Errorf("while an instance goes on that had ended: missing %v", missing)
	}
	if err := w.hearFinals(t.Context(), version{id: id, nodes: table.Nodes()}, "B", &VersionReport{Removed: true}); err != nil || w.stranded != 1 {
		t.Errorf("where B has removed the table %d instances are told of (%v)", w.stranded, err)
	}
	w.commits(&record.Tx{Audit: []record.AuditRecord{line(id, record.EventEnded)}})
	w.round()
	if missing := w.missing(table); len(missing) != 1 || len(w.gave) != 1 {
		t.Errorf("once it has ended: missing %v", missing)
	}
}

// N31: the table goes when nobody needs it: nothing of the version lies here, or is in the audit, and no rebuilding and no
// erasing is under way. Until then it stays.
func TestATableThatIsNeededStays(t *testing.T) {
	refused := func(table *processtable.Table) []byte {
		encoded, err := message.Encode(stray(table))
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	for name, needs := range map[string]func(w *world, table *processtable.Table) (again *record.Tx){
		"a message": func(w *world, table *processtable.Table) *record.Tx {
			m := stray(table)
			w.commits(&record.Tx{Put: []message.Message{m}})
			return &record.Tx{Consume: []record.Consume{{Process: table.Process, Entry: m.Entry(), Keys: []message.Key{m.Key()}}}}
		},
		"a refused message": func(w *world, table *processtable.Table) *record.Tx {
			w.commits(&record.Tx{Refuse: []record.Refused{{Time: time.Unix(1, 0), Reason: "late", Message: refused(table)}}})
			return &record.Tx{Settle: []uint64{1}}
		},
		"a rebuilding": func(w *world, _ *processtable.Table) *record.Tx {
			w.commits(&record.Tx{Rebuild: &record.Rebuild{Peer: "B", Stage: record.StageSending}})
			return &record.Tx{Rebuild: &record.Rebuild{Peer: "B", Stage: record.StageDone}}
		},
		"an erasing": func(w *world, table *processtable.Table) *record.Tx {
			e := record.Erasing{Instance: message.InstanceID{6: 0x70, 8: 0x80}, Process: table.Process, Origin: "A", Members: container.Members{All: true}}
			w.commits(&record.Tx{Erasing: &e})
			over := e
			over.Gone = true
			return &record.Tx{Erasing: &over}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.retiredFor = time.Hour
			id, table := w.retired(alone1)
			over := needs(w, table)
			w.retiredFor = 0
			if w.round(); w.up[id] == nil {
				t.Fatal("the table is gone")
			}
			w.commits(over)
			if w.round(); w.up[id] != nil {
				t.Error("the table is here when nothing needs it")
			}
		})
	}
	t.Run("history", func(t *testing.T) {
		w := newWorld(t)
		id, _ := w.retired(alone1)
		w2 := newWorld(t)
		id2, _ := w2.retired(alone1)
		w2.retiredFor = time.Hour
		a := line(id2, record.EventStarted)
		w2.commits(&record.Tx{Audit: []record.AuditRecord{a}})
		w2.commits(&record.Tx{Audit: []record.AuditRecord{line(id2, record.EventEnded)}})
		w2.retiredFor = 0
		w.round()
		w2.round()
		if w.up[id] != nil || w2.up[id2] == nil || !w2.Closed(id2) {
			t.Errorf("without history it is here %t, with it %t", w.up[id] != nil, w2.up[id2] != nil)
		}
	})
}

// Where a version may be started its table stays until the other sites need theirs for nothing of their own.
func TestTheTableOfAnOriginGoesLast(t *testing.T) {
	const text = "process: far\nversion: 1\nstarts: [A]\nactivities:\n  a: {node: A, program: p}\n  b: {node: B, program: p}\ncontrol: [a -> b]\n"
	w := newWorld(t)
	id, _ := w.retired(text)
	if w.round(); w.up[id] == nil || !w.Closed(id) {
		t.Fatal("the table is gone though B needs its own")
	}
	tells := func(peer processtable.NodeID, needless ...string) VersionReport {
		t.Helper()
		r, err := w.VersionTo(t.Context(), peer, VersionQuestion{Process: id.String(), Needless: needless})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	tells("M", "A", "B")
	if r := tells("B", "C"); len(r.Needless) != 1 || r.Needless[0] != "A" || r.Finals["A"] == "" || r.Removed {
		t.Errorf("B is told %+v", r)
	}
	if w.round(); w.up[id] == nil {
		t.Fatal("the table is gone by the word of who has no part")
	}
	tells("B", "B")
	if w.round(); w.up[id] != nil {
		t.Error("the table stays though nobody needs it")
	}
	if r := tells("B"); !r.Removed || r.Said == nil || len(r.Needless) != 2 {
		t.Errorf("then B is told %+v", r)
	}
}

// What stays of a table that was removed: its name and its definition. Nobody brings it again, people are told, and what
// comes late is taken out.
func TestTombstone(t *testing.T) {
	w := newWorld(t)
	id, table := w.retired(alone1)
	w.commits(&record.Tx{Definitions: []record.Definition{{Process: id, Definition: table.Definition, Text: pack(alone1)}}})
	w.meanwhile = nil
	w.round()
	stone, gone := w.Queue.Tombstone(id)
	if _, bound := w.Queue.Bound(id); bound || !gone || stone.Definition != table.Definition || w.up[id] != nil {
		t.Fatalf("it is here: %t, %+v", bound, stone)
	}
	if d, err := w.Queue.Definition(id); err != nil || d != nil {
		t.Errorf("its text stays: %v", err)
	}
	if _, _, err := w.Judge(encodedFor(t, alone1, "A"), false); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "alone@1 was retired, and A has removed its table on 20") {
		t.Errorf("the same again: %v", err)
	}
	other := encodedFor(t, alone1+"  z: {node: A, program: p}\n", "A")
	if _, _, err := w.Judge(other, false); err == nil || !strings.Contains(err.Error(), "alone@1 has another definition at A") {
		t.Errorf("another definition: %v", err)
	}
	err := w.Commit(t.Context(), &record.Tx{Tables: []record.TableRecord{{Process: id, Definition: table.Definition, Encoded: other}}})
	if !errors.Is(err, commit.ErrBound) {
		t.Errorf("stored past the judge: %v", err)
	}
	a, err := w.Definitions()
	if err != nil || len(a.Definitions) != 1 || a.Definitions[0].State != api.VersionRemoved || a.Definitions[0].Removed.IsZero() || a.Definitions[0].Said != 1 {
		t.Errorf("people are told %+v, %v", a, err)
	}
	if _, _, err := w.Removed(id, true); api.CodeOf(err) != api.CodeRefused {
		t.Errorf("taken back: %v", err)
	}
	if r, gone, err := w.Removed(id, false); err != nil || !gone || r.Nodes[0].Result != api.ResultRemoved {
		t.Errorf("retired again: %+v, %v", r, err)
	}
	r, err := w.Report(about(table, encodedFor(t, alone1, "A")))
	if err != nil || r.Found || !strings.Contains(r.Untrusted, "was retired") {
		t.Errorf("who would upload it is told %+v, %v", r, err)
	}
	m := stray(table)
	w.commits(&record.Tx{Put: []message.Message{m}})
	w.round()
	if _, rest, err := w.Queue.AtRest(id); err != nil || !rest || w.absorbed != 1 {
		t.Errorf("what came late lies there: %d taken out, %v", w.absorbed, err)
	}
}

// Invariant 11: a site that has a part in a version says of another one that it has given its final word, and needs nothing more, so that
// the table goes under what runs there. Of whoever has a link here only that one is believed; of others there is no better word.
func TestASiteSpeaksForItself(t *testing.T) {
	const text = "process: wide\nversion: 1\nstarts: [A, B, C]\nactivities:\n  a: {node: A, program: p}\n  b: {node: B, program: p}\n  c: {node: C, program: p}\ncontrol: [a -> b, a -> c]\n"
	w := newWorld(t)
	id, table := w.retired(text)
	w.links["B"] = link.Status{State: link.StateConnecting} // it was not heard for a while
	w.links["C"] = link.Status{State: link.StateConnected}
	w.round()
	store := record.Incarnation{1}.String()
	says := func(peer processtable.NodeID) {
		t.Helper()
		q := VersionQuestion{Process: id.String(), Finals: map[string]string{"B": store, "C": store}, Needless: []string{"B", "C"}}
		if _, err := w.VersionTo(t.Context(), peer, q); err != nil {
			t.Fatal(err)
		}
	}
	if says("C"); !slices.Equal(w.missing(table), []processtable.NodeID{"B"}) {
		t.Errorf("C has spoken for B: missing are %v", w.missing(table))
	}
	if w.round(); w.up[id] == nil {
		t.Error("the table is gone by the word of C for B")
	}
	delete(w.links, "B")
	if says("C"); len(w.missing(table)) > 0 {
		t.Errorf("of B, with whom A has no link, C is not believed: missing are %v", w.missing(table))
	}
}

// A site that has given its final word hears that the version was taken back elsewhere: nothing begins here, and yet retiring it once more
// is a new word, which the others take.
func TestRetiringOnceMoreWhatOthersHaveTakenBack(t *testing.T) {
	w := newWorld(t)
	id, table := w.retired(both)
	w.round()
	if !w.Closed(id) {
		t.Fatal("A has not given its word")
	}
	undo := &Said{Definition: table.Definition.String(), Number: 2, Undo: true}
	if _, err := w.VersionTo(t.Context(), "B", VersionQuestion{Process: id.String(), Said: undo}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Retire(t.Context(), table, api.RetireRequest{Number: 3}, "alice"); err != nil {
		t.Fatal(err)
	}
	if said, _ := w.Queue.Retirement(id); said.Number != 3 || said.Undo {
		t.Errorf("said is number %d, undo %t", said.Number, said.Undo)
	}
}
