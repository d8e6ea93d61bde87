package tables

import (
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/link"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// without has an operator at A write B off, or say so.
func (w *world) without(table *processtable.Table, r api.RetireRequest) (api.Result, error) {
	a, err := w.WriteOff(w.t.Context(), table, r, "alice at A")
	if err != nil || len(a.Nodes) != 1 {
		return "", err
	}
	return a.Nodes[0].Result, nil
}

// N31: the table goes without a node that an operator has written off: as if it had given its word and needed nothing. Who
// has said so, and why, stays.
func TestANodeThatIsWrittenOff(t *testing.T) {
	w := newWorld(t)
	id, table := w.retired(both)
	r := api.RetireRequest{Without: "B", Reason: "branch closed"}
	if now, err := w.without(table, r); err != nil || now != api.ResultAwaited || len(w.off) != 0 {
		t.Errorf("only asked: %s, %v, %v", now, err, w.off)
	}
	if missing := w.round(); !missing || w.up[id] == nil {
		t.Fatal("the table goes without the word of B")
	}
	if d, err := w.Definitions(); err != nil || len(d.Definitions[0].Awaited) != 1 || d.Definitions[0].Awaited[0] != "B" {
		t.Errorf("awaited: %+v, %v", d, err)
	}
	r.Do = true
	if now, err := w.without(table, r); err != nil || now != api.ResultWithout {
		t.Fatalf("%s, %v", now, err)
	}
	if told := w.finals(id); len(told) != 1 || told["A"] == "" {
		t.Errorf("other sites are told of final words %v", told)
	}
	if told := w.needlessAt(&version{id: id, nodes: table.Nodes()}); len(told) > 0 && told[0] != "A" || len(told) > 1 {
		t.Errorf("other sites are told that %v need nothing", told)
	}
	if w.round(); w.up[id] != nil {
		t.Error("the table is here")
	}
	d, err := w.Definitions()
	if err != nil || len(d.Definitions) != 1 || len(d.Definitions[0].WrittenOff) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	if o := d.Definitions[0].WrittenOff[0]; o.Node != "B" || o.By != "alice at A" || o.Reason != "branch closed" || o.Time.IsZero() {
		t.Errorf("people are told %+v", o)
	}
}

// What is no node that can be missing is refused, and changes nothing.
func TestWhoIsNotWrittenOff(t *testing.T) {
	w := newWorld(t)
	id, table := w.retired(both)
	refused := func(r api.RetireRequest, want string) {
		t.Helper()
		r.Do = true
		if _, err := w.without(table, r); api.CodeOf(err) != api.CodeRefused || !strings.Contains(err.Error(), want) || len(w.off) != 0 {
			t.Errorf("%+v: %v", r, err)
		}
	}
	refused(api.RetireRequest{Without: "A"}, "A gives its final word itself")
	refused(api.RetireRequest{Without: "C"}, `"C" has no part in both@1`)
	refused(api.RetireRequest{Without: "B", Undo: true}, "B is not written off of both@1")
	if _, err := w.without(table, api.RetireRequest{Without: "B", Do: true, Reason: strings.Repeat("x", record.MaxWhy+1)}); api.CodeOf(err) != api.CodeUsage {
		t.Errorf("a long reason: %v", err)
	}
	w.links["B"] = link.Status{Peer: "B", State: link.StateConnected}
	refused(api.RetireRequest{Without: "B"}, "B is connected to A")
	delete(w.links, "B")

	told := VersionQuestion{Process: id.String(), Finals: map[string]string{"B": record.Incarnation{1}.String()}, Needless: []string{"B"}}
	if _, err := w.VersionTo(t.Context(), "B", told); err != nil {
		t.Fatal(err)
	}
	refused(api.RetireRequest{Without: "B"}, "nothing is missing of B")

	w2 := newWorld(t)
	_, table = w2.retired(both)
	if _, err := w2.Retire(t.Context(), table, api.RetireRequest{Number: 2, Undo: true}, "alice"); err != nil {
		t.Fatal(err)
	}
	if _, err := w2.without(table, api.RetireRequest{Without: "B", Do: true}); api.CodeOf(err) != api.CodeRefused || !strings.Contains(err.Error(), "is not retired at A") {
		t.Errorf("a version that is not retired: %v", err)
	}
}

// A node that has given its word, and went before it said that it needs nothing, can be written off all the same; and one
// that has a part but may not start the version.
func TestAWriteOffOfWhoMayNeedTheTable(t *testing.T) {
	w := newWorld(t)
	id, table := w.retired(both)
	if _, err := w.VersionTo(t.Context(), "B", VersionQuestion{Process: id.String(), Finals: map[string]string{"B": record.Incarnation{1}.String()}}); err != nil {
		t.Fatal(err)
	}
	if w.round(); w.up[id] == nil {
		t.Fatal("the table is gone though B needs its own")
	}
	if now, err := w.without(table, api.RetireRequest{Without: "B", Do: true}); err != nil || now != api.ResultWithout {
		t.Fatalf("%s, %v", now, err)
	}
	if w.round(); w.up[id] != nil {
		t.Error("the table is here")
	}
}

// Who is written off and is heard is not gone: it counts again, and stays counted. With another store it counts also where
// it was never heard.
func TestANodeThatWasWrittenOffIsBack(t *testing.T) {
	for name, back := range map[string]func(w *world, id processtable.ProcessID){
		"it answers": func(w *world, id processtable.ProcessID) {
			if _, err := w.VersionTo(w.t.Context(), "B", VersionQuestion{Process: id.String()}); err != nil {
				w.t.Fatal(err)
			}
			if n := len(w.off); n != 2 || !w.off[1].Undo || len(w.Queue.Without(id)) != 0 {
				w.t.Errorf("written off: %+v", w.off)
			}
		},
		"it is connected": func(w *world, _ processtable.ProcessID) {
			w.links["B"] = link.Status{Peer: "B", State: link.StateConnected}
		},
		"another store": func(w *world, _ processtable.ProcessID) {
			if err := w.Queue.BindIncarnation("B", record.Incarnation{2}); err != nil {
				w.t.Fatal(err)
			}
		},
		"taken back": func(w *world, id processtable.ProcessID) {
			if now, err := w.without(w.up[id].Table(), api.RetireRequest{Without: "B", Undo: true}); err != nil || now != api.ResultAwaited {
				w.t.Errorf("%s, %v", now, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			id, table := w.retired(both)
			if _, err := w.without(table, api.RetireRequest{Without: "B", Do: true}); err != nil {
				t.Fatal(err)
			}
			back(w, id)
			if missing := w.round(); !missing || w.up[id] == nil {
				t.Error("the table goes without it")
			}
		})
	}
}
