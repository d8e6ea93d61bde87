package thread

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fmqm/behaviour"
	"fmqm/definition"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
	"fmqm/sim/generate"
)

// cutOff lets everything happen but what needs these nodes: they are down, and what is
// sent to them waits.
func (w *world) cutOff(nodes ...processtable.NodeID) (waiting []message.Message) {
	return w.holding(func(m message.Message) bool { return slices.Contains(nodes, m.Queue.Node) }, nodes...)
}

// dataOnly: a message of a data connector beside which there is no control connector.
func dataOnly(m message.Message) bool { return m.Control == message.Unresolved }

// holding is cutOff where these messages wait, wherever they are for.
func (w *world) holding(held func(message.Message) bool, nodes ...processtable.NodeID) (waiting []message.Message) {
	for {
		again := false
		for _, s := range w.sites {
			if slices.Contains(nodes, s.name) {
				continue
			}
			for !s.store.idle() || s.due() || len(s.running) > 0 {
				if len(s.running) > 0 {
					s.finish(0)
				}
				s.turn()
				s.send(s.store.commit(len(s.store.pending), func(*record.Tx) error { return nil }))
			}
		}
		for _, m := range slices.Clone(w.wire) {
			w.wire = w.wire[1:]
			if held(m) {
				waiting = append(waiting, m)
				continue
			}
			w.put(m)
			again = true
		}
		if !again {
			return waiting
		}
	}
}

// begin starts one instance of a process, everything having been opened.
func begin(t *testing.T, text string) *world {
	t.Helper()
	w := openWorld(t, "process: p\nversion: 1\n"+text, 1)
	for _, s := range w.sites {
		s.pump()
	}
	w.start(1, 0, "")
	w.starts[0].ask()
	return w
}

// sentBy gives what a node has sent, as its history says.
func (w *world) sentBy(node processtable.NodeID) (all []record.Sent) {
	for _, a := range w.site(node).store.audits {
		all = append(all, a.Sent...)
	}
	return all
}

// left says what messages are in a site's queue, as source -> activity.
func (s *site) left() []string {
	var out []string
	for e, messages := range s.store.entries {
		for k := range messages {
			out = append(out, fmt.Sprintf("%s -> %s", k.Source, e.Activity))
		}
	}
	slices.Sort(out)
	return out
}

// N6: a dead path does not wait for a dead node. B is down from the beginning to the
// instance's end; what it gets afterwards it absorbs, and nothing is left.
func TestN6ADeadPathPassesADeadNode(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		down       processtable.NodeID
		records    int    // what waits for the node that is down
		skipped    string // the activities that are skipped in the end
	}{
		{"a chain", `
activities:
  a: {node: A, program: x}
  b: {node: B, program: x}
  c: {node: C, program: x}
control: [{a -> b: _RC > 5}, b -> c]
`, "B", 1, "b c"},
		{"two in a row there, one of them twice", `
activities:
  a: {node: A, program: x}
  b: {node: B, program: x}
  b2: {node: B, program: x}
  c: {node: C, program: x}
  b3: {node: B, program: x}
control: [{a -> b: _RC > 5}, b -> b2, b2 -> c, c -> b3]
`, "B", 3, "b b2 b3 c"},
		{"a join behind it that runs", `
structures:
  S: {n: int}
activities:
  a: {node: A, program: x, output: S}
  b: {node: B, program: x, output: S}
  c: {node: C, program: x, input: S, start: any}
control: [{a -> b: _RC > 5}, b -> c, a -> c]
data: [b -> c, a -> c]
`, "B", 1, "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := begin(t, tc.text)
			waiting := w.cutOff(tc.down)
			w.expect(t, "sink", "ended")
			if len(waiting) != tc.records {
				t.Errorf("%d messages wait for %s, want %d: %v", len(waiting), tc.down, tc.records, waiting)
			}
			for _, m := range waiting {
				if !m.Onward || m.OnBehalf != tc.down || m.Control != message.False {
					t.Errorf("the record is %+v", m.Header)
				}
			}
			for _, s := range w.sites {
				if left := s.left(); len(left) > 0 {
					t.Errorf("%s has %v", s.name, left)
				}
			}
			for _, m := range waiting {
				w.put(m)
			}
			before := len(w.sentBy(tc.down))
			w.cutOff()
			if sent := w.sentBy(tc.down); len(sent) > before {
				t.Errorf("the host sends %v", sent)
			}
			var skipped []string
			for e, events := range w.audits() {
				if len(events[record.EventSkipped]) > 0 {
					skipped = append(skipped, string(e.Activity))
				}
			}
			slices.Sort(skipped)
			if got := strings.Join(skipped, " "); got != tc.skipped {
				t.Errorf("skipped are %s, want %s", got, tc.skipped)
			}
			for _, s := range w.sites {
				if n := len(s.store.entries) + len(s.store.records) + len(s.store.aside); n > 0 {
					t.Errorf("%s: %v are left, %d set aside", s.name, s.left(), len(s.store.aside))
				}
				s.atRest()
			}
		})
	}
}

// N6, N7: a dead activity to which data are still on their way is an entry that only
// absorbs: what leads out of it was resolved with the transaction that made it dead, the
// data end it, and nothing makes a second entry.
func TestN6AbsorbsData(t *testing.T) {
	w := begin(t, `
starts: [A]
structures:
  S: {n: int}
activities:
  late: {node: B, program: x, output: S}
  a: {node: A, program: x}
  c: {node: A, program: x, input: S}
  d: {node: C, program: x}
control: [late -> a, {a -> c: _RC > 5}, c -> d]
data: [late -> c]
`)
	waiting := w.holding(dataOnly)
	a := w.site("A")
	w.expect(t, "c", "waiting", "d", "skipped", "sink", "ended")
	e := a.machine.table.Get(w.entry("c"))
	if v := e.Behaviour.View(e.State, w.now); v.Progress != behaviour.Absorbing || len(v.Waits) > 0 || a.machine.table.Len() != 1 {
		t.Errorf("c is told as %+v", v)
	}
	a.store.crash() // what was folded is read back
	a.open(1)
	w.cutOff()
	w.expect(t, "c", "waiting")
	if n := len(w.audits()[w.entry("c")][record.EventPassed]); n != 1 {
		t.Errorf("c was passed %d times", n)
	}
	for _, m := range waiting {
		w.put(m)
	}
	w.cutOff()
	w.expect(t, "c", "skipped")
	for _, s := range w.sites {
		if n := len(s.store.entries) + len(s.store.records) + len(s.store.aside); n > 0 {
			t.Errorf("%s: %v are left", s.name, s.left())
		}
	}
}

// N6, S4: who resolves connectors on another's behalf has the record of what was sent.
func TestN6HistoryOfWhatWasSent(t *testing.T) {
	w := begin(t, `
activities:
  a: {node: A, program: x}
  b: {node: B, program: x}
  c: {node: C, program: x}
control: [{a -> b: _RC > 5}, b -> c]
`)
	w.cutOff("B")
	passed := w.audits()[w.entry("b")][record.EventPassed]
	want := []record.Sent{{Target: "c", Node: "C", Control: message.False, Lane: message.LaneControl}}
	if len(passed) != 1 || !cmp.Equal(passed[0].Sent, want) || len(passed[0].Consumed) > 0 || passed[0].Origin != "A" {
		t.Errorf("b's record at A: %+v", passed)
	}
	if a := w.audits()[w.entry("a")][record.EventTerminated][0]; passed[0].Clock != a.Clock+1 {
		t.Errorf("b has clock %d after a's %d", passed[0].Clock, a.Clock)
	}
}

// N6: a node that has no link to where a dead activity's connectors lead leaves them to
// its host.
func TestN6WithoutALinkTheHostDoesIt(t *testing.T) {
	w := begin(t, `
activities:
  a: {node: A, program: x}
  b: {node: B, program: x}
  c: {node: C, program: x}
control: [{a -> b: _RC > 5}, b -> c]
`)
	w.site("A").step(Reach{Nodes: []processtable.NodeID{"B"}})
	waiting := w.cutOff("B")
	w.expect(t, "b", "inactive", "c", "inactive", "sink", "waiting")
	if len(waiting) != 1 || waiting[0].Onward || waiting[0].OnBehalf != "" {
		t.Fatalf("waiting for B: %+v", waiting)
	}
	w.put(waiting[0])
	w.cutOff()
	w.expect(t, "b", "skipped", "c", "skipped", "sink", "ended")
}

// N5, N6: a long dead path over other nodes is bounded as one at home is: its few
// transactions hold a thousand operations; what is over the bound is the host's to send.
func TestN6IsWithinTheBoundsOfN5(t *testing.T) {
	var b strings.Builder
	b.WriteString("activities:\n  a0: {node: A, program: x}\n")
	for i := 1; i < 2000; i++ {
		fmt.Fprintf(&b, "  a%d: {node: %s, program: x}\n", i, []string{"B", "C"}[i%2])
	}
	b.WriteString("control:\n  - a0 -> a1: _RC > 5\n")
	for i := 1; i < 1999; i++ {
		fmt.Fprintf(&b, "  - a%d -> a%d\n", i, i+1)
	}
	w := begin(t, b.String())
	largest := 0
	for busy := true; busy; {
		busy = false
		for _, s := range w.sites {
			if len(s.running) > 0 {
				s.finish(0)
			}
			if s.store.idle() && len(s.events) == 0 {
				continue
			}
			busy = true
			s.turn()
			for _, p := range s.store.pending {
				n := len(p.tx.Put) + len(p.tx.Consume) + len(p.tx.Audit)
				for _, c := range p.tx.Consume {
					n += len(c.Keys)
				}
				largest = max(largest, n)
			}
			w.wire = append(w.wire, s.store.commit(len(s.store.pending), func(*record.Tx) error { return nil })...)
		}
		for _, m := range w.wire {
			w.put(m)
			busy = true
		}
		w.wire = nil
	}
	w.expect(t, "a1", "skipped", "a1999", "skipped", "sink", "ended")
	if largest < 500 || largest > cascadeOps+10 {
		t.Errorf("the largest transaction has %d operations", largest)
	}
	onward := 0
	for _, events := range w.audits() {
		for _, r := range events[record.EventSkipped] {
			onward += len(r.Sent)
		}
		for _, r := range events[record.EventPassed] {
			onward += len(r.Sent)
		}
	}
	if onward != 1999 {
		t.Errorf("%d connectors out of 1999 dead activities were sent", onward)
	}
	for _, s := range w.sites {
		if s.store.seq > 2100 {
			t.Errorf("%s: %d transactions", s.name, s.store.seq)
		}
		s.atRest()
	}
}

// N5: a dead branch at one node whose activities all wait for data costs few durable
// writes too: they are passed in the transaction that makes the first of them dead.
func TestN6ADeadBranchThatWaitsForDataIsOneTransaction(t *testing.T) {
	var b strings.Builder
	b.WriteString("starts: [A]\nstructures:\n  S: {n: int}\nactivities:\n  late: {node: B, program: x, output: S}\n  a0: {node: A, program: x}\n")
	for i := 1; i < 200; i++ {
		fmt.Fprintf(&b, "  a%d: {node: A, program: x, input: S}\n", i)
	}
	b.WriteString("control:\n  - late -> a0\n  - a0 -> a1: _RC > 5\n")
	for i := 1; i < 199; i++ {
		fmt.Fprintf(&b, "  - a%d -> a%d\n", i, i+1)
	}
	b.WriteString("data:\n")
	for i := 1; i < 200; i++ {
		fmt.Fprintf(&b, "  - late -> a%d\n", i)
	}
	w := begin(t, b.String())
	waiting := w.holding(dataOnly)
	a := w.site("A")
	w.expect(t, "sink", "ended")
	if a.store.seq != 2 { // the start, and the end of a0
		t.Errorf("%d durable writes, want 2", a.store.seq)
	}
	if n := len(a.process.Table().Activities); n != 202 {
		t.Fatalf("%d activities", n)
	}
	w.expect(t, "a1", "waiting", "a199", "waiting")
	for _, m := range waiting {
		w.put(m)
	}
	w.cutOff()
	w.expect(t, "a1", "skipped", "a199", "skipped")
	if len(a.store.entries)+len(a.store.records)+len(a.store.aside) > 0 {
		t.Errorf("%v are left", a.left())
	}
}

// N6, invariants 3 and 5: the host's transaction that sends what its record does not say
// was sent may come too early, or crash before or after its commit: what leads out is
// sent once.
func TestN6TheHostSendsOnce(t *testing.T) {
	for _, tc := range []struct {
		name    string
		refuse  error
		crashes bool
	}{{"in peace", nil, false}, {"too early", commit.ErrStale, false}, {"crash after it", nil, true}, {"crash before it", errors.New("never written"), true}} {
		t.Run(tc.name, func(t *testing.T) {
			w := begin(t, `
starts: [A]
structures:
  S: {n: int}
activities:
  late: {node: C, program: x, output: S}
  a: {node: A, program: x, output: S}
  b: {node: B, program: x, input: S}
  c: {node: D, program: x}
control: [late -> a, {a -> b: _RC > 5}, b -> c]
data: [late -> b, a -> b]
`)
			w.site("A").step(Reach{Nodes: []processtable.NodeID{"B", "C"}})
			waiting := w.cutOff("B", "D")
			b := w.site("B")
			i := slices.IndexFunc(waiting, func(m message.Message) bool { return m.Source == "a" })
			if i < 0 || waiting[i].Onward {
				t.Fatalf("A has sent %v", waiting)
			}
			w.put(waiting[i])
			waiting = slices.Delete(waiting, i, i+1)
			b.turn()
			if len(b.store.pending) != 1 {
				t.Fatalf("%d transactions", len(b.store.pending))
			}
			w.wire = append(w.wire, b.store.commit(1, func(*record.Tx) error { return tc.refuse })...)
			if tc.crashes {
				b.store.crash()
				b.open(1)
			}
			w.cutOff()
			w.expect(t, "b", "inactive", "c", "skipped", "sink", "ended")
			if e := b.machine.table.Get(w.entry("b")); e == nil || e.Behaviour.View(e.State, w.now).Progress != behaviour.Absorbing {
				t.Error("b is not passed")
			}
			for _, m := range waiting {
				w.put(m)
			}
			w.cutOff()
			w.expect(t, "b", "skipped")
			for _, s := range w.sites {
				if n := len(s.store.entries) + len(s.store.aside); n > 0 {
					t.Errorf("%s: %v are left, %d set aside", s.name, s.left(), len(s.store.aside))
				}
			}
			if n := len(w.audits()[w.entry("b")][record.EventPassed]); n != 1 {
				t.Errorf("b was passed %d times", n)
			}
		})
	}
}

// N6, invariants 2 to 5 and 7: in whatever order messages cross the network, wherever
// there is no link, under whatever bound of a transaction and with tables of either
// format, and though sites crash, every instance is as the interpreter says; no activity
// ends or is passed twice, and nothing is left or set aside.
func TestN6AgreesWithTheInterpreter(t *testing.T) {
	passed, held := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		for range 10 {
			c := generate.DeadWood().Draw(rt, "case")
			w := newWorld(rt, c)
			old := rapid.IntRange(0, 3).Draw(rt, "format 1") == 0 && w.sites[0].process.Table().Format < processtable.BlockFormat
			if old {
				w.recompile(definition.CompileOptions{TableFormat: 1})
			}
			for _, s := range w.sites {
				far := rapid.SliceOfN(rapid.SampledFrom(generate.Nodes), 0, 1).Draw(rt, "without a link from "+string(s.name))
				s.reach = Reach{}
				for _, node := range generate.Nodes {
					if !slices.Contains(far, node) {
						s.reach.Nodes = append(s.reach.Nodes, processtable.NodeID(node))
					}
				}
				s.bound = rapid.SampledFrom([]int{1, 5, 20, cascadeOps}).Draw(rt, "bound")
				s.open(2)
			}
			w.stales = rapid.IntRange(0, 5).Draw(rt, "stale refusals")
			w.crashes = rapid.IntRange(0, 3).Draw(rt, "crashes")
			w.start(rapid.IntRange(1, 3).Draw(rt, "instances"), c.Start, c.Input)
			w.run()
			w.compare(c)
			for _, s := range w.sites {
				s.atRest()
			}
			for e, events := range w.audits() {
				n := len(events[record.EventPassed])
				if n > 1 || n == 1 && len(events[record.EventSkipped]) != 1 {
					rt.Fatalf("%s was passed %d times and skipped %d times\n%s", e.Activity, n, len(events[record.EventSkipped]), c)
				}
				if n == 0 {
					continue
				}
				passed++
				host, _ := w.sites[0].process.Table().NodeOf(e.Row())
				if slices.ContainsFunc(w.site(host).store.audits, func(a record.AuditRecord) bool {
					return a.Event == record.EventPassed && a.Activity == e.Activity && a.Instance == e.Instance
				}) {
					held++
				} else if old {
					rt.Fatalf("%s was passed around with tables of format 1\n%s", e.Activity, c)
				}
			}
		}
	})
	t.Logf("%d activities were passed, %d of them by their own hosts", passed, held)
	if passed < 1000 || held < 20 {
		t.Errorf("%d activities were passed, %d of them by their own hosts: too few to show anything", passed, held)
	}
}

// recompile gives the sites tables of another compilation, before anything has happened.
func (w *world) recompile(o definition.CompileOptions) {
	compiled, err := definition.CompileWith(w.def, o)
	if err != nil {
		w.t.Fatal(err)
	}
	for i, s := range w.sites {
		p, err := navigator.Prepare(compiled.Tables[i], nil)
		if err != nil {
			w.t.Fatal(err)
		}
		s.process = p
		s.open(2)
	}
}
