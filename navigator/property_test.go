package navigator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// drawn is one activity x between random predecessors and random targets, or a sink,
// with everything that can be in its queue.
type drawn struct {
	a        *Activity
	messages []message.Message
}

var conditions = []string{"", ": n > 1", ": n == _RC", ": text == 'x'", ": size(list) > 1", ": 10 / n > 2", ": list[1] == 2"}

func drawActivity(t *rapid.T, tb testing.TB) *drawn {
	pre := names("p", rapid.IntRange(1, 5).Draw(t, "predecessors"))
	post := names("q", rapid.IntRange(1, 5).Draw(t, "targets"))
	m := newModel(tb, slices.Concat([]processtable.ActivityID{"x"}, pre, post)...).at("N", post[0])
	target := processtable.ActivityID("x")
	if rapid.Bool().Draw(t, "sink") {
		target = processtable.Sink
	}
	for i, p := range pre {
		kind := rapid.IntRange(0, 2).Draw(t, "connector")
		if kind != 0 || i == 0 {
			m.control(fmt.Sprintf("%s -> %s", p, target))
		}
		if kind != 1 {
			m.data(fmt.Sprintf("%s -> %s: %s", p, target, rapid.SampledFrom([]string{"n = n", "list = list, text = text", "inner = inner", "n = _RC"}).Draw(t, "mapping")))
		}
	}
	otherwise := rapid.IntRange(-3, len(post)-1).Draw(t, "otherwise")
	for i, q := range post {
		kind := rapid.IntRange(0, 2).Draw(t, "connector")
		cond := rapid.SampledFrom(conditions).Draw(t, "condition")
		if i == otherwise {
			cond = ": otherwise"
		}
		if kind != 0 || i == 0 {
			m.control(fmt.Sprintf("x -> %s%s", q, cond))
		}
		if kind != 1 {
			m.data(fmt.Sprintf("x -> %s: n = n, inner.b = text", q))
		}
	}
	m.rows["x"].RCIsData = rapid.Bool().Draw(t, "_RC is data")
	if rapid.Bool().Draw(t, "exit") {
		m.exit("x", rapid.SampledFrom([]string{"n > 1", "_RC == 0", "10 / n > 2"}).Draw(t, "exit condition")).data("x -> x: n = n")
	}
	m.rows["x"].Retry.Attempts = rapid.IntRange(1, 3).Draw(t, "attempts")
	if rapid.Bool().Draw(t, "empty") {
		m.empty("x")
	}
	if rapid.Bool().Draw(t, "any") {
		m.start(target, strings.Join(predecessors(m.rows[target]), " || "))
	}
	if n := len(m.rows["x"].InControl); target == "x" && n > 1 && rapid.Bool().Draw(t, "first") {
		m.first("x", rapid.IntRange(1, n).Draw(t, "k"))
	}
	a := m.activity(target)
	return &drawn{a: a, messages: drawMessages(t, tb, a)}
}

func names(prefix string, n int) []processtable.ActivityID {
	out := make([]processtable.ActivityID, n)
	for i := range out {
		out[i] = processtable.ActivityID(fmt.Sprintf("%s%d", prefix, i))
	}
	return out
}

func drawOutput(t *rapid.T) string {
	return fmt.Sprintf(`{"n": %d, "text": %q, "list": %s}`, rapid.IntRange(0, 5).Draw(t, "n"),
		rapid.SampledFrom([]string{"x", "y"}).Draw(t, "text"), rapid.SampledFrom([]string{"[]", "[1]", "[1,2]"}).Draw(t, "list"))
}

// drawMessages gives a connector message of each predecessor and, perhaps, snapshots,
// of which the last replaces the others, and what only sink gets.
func drawMessages(t *rapid.T, tb testing.TB, a *Activity) []message.Message {
	var out []message.Message
	for _, p := range a.process.table.Activities {
		_, control := a.inControl[p.Name]
		_, data := a.inData[p.Name]
		if control || data {
			m := from(tb, a, p.Name, rapid.SampledFrom([]message.Truth{T, F, skippedSource}).Draw(t, "truth"), drawOutput(t))
			m.Clock = rapid.Uint64Range(1, 9).Draw(t, "clock")
			m.Arrival.Commit = uint64(len(out) + 1)
			out = append(out, m)
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "snapshots") {
		input, err := container.EncodeCBOR(value(tb, drawOutput(t)))
		if err != nil {
			tb.Fatal(err)
		}
		m := own(a, message.KindSnapshot, message.EncodeSnapshot(message.Snapshot{
			Iteration: i + 1, Run: rapid.IntRange(0, 2).Draw(t, "run"), Input: input, Failed: rapid.Bool().Draw(t, "failed"),
		}))
		m.Clock = uint64(10 + i)
		out = append(out, m)
	}
	if a.Kind == processtable.KindSink {
		out = append(out,
			own(a, message.KindRecord, message.EncodeRecord(message.Record{Process: a.process.table.Process, Started: noon, Input: []byte{1}})),
			own(a, message.KindNotice, message.EncodeNotice(message.Notice{Error: "e", Time: noon})))
	}
	if rapid.IntRange(0, 9).Draw(t, "marker") == 0 {
		out = append(out, own(a, message.KindMarker, nil))
	}
	return out
}

// drawHistory gives the messages in any order, each at least once.
func drawHistory(t *rapid.T, messages []message.Message) []message.Message {
	again := rapid.SliceOfN(rapid.SampledFrom(messages), 0, 5).Draw(t, "repeats")
	return rapid.Permutation(slices.Concat(messages, again)).Draw(t, "order")
}

// canonical is a state without the order in which it came about.
func canonical(s *State) *State {
	c := s.clone()
	slices.SortFunc(c.Keys, func(a, b message.Key) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	slices.SortFunc(c.Consumed, func(a, b behaviour.Resolved) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return c
}

var whole = cmp.AllowUnexported(State{}, arrived{}, recalling{})

// R1: any order, and any repeat, of an entry's messages gives the same state, and what
// follows from it is the same.
func TestR1AnyOrderAndAnyRepeatGivesTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawActivity(rt, t)
		one := folded(t, d.a, drawHistory(rt, d.messages)...)
		two := folded(t, d.a, drawHistory(rt, d.messages)...)
		if diff := cmp.Diff(canonical(one), canonical(two), whole); diff != "" {
			rt.Fatalf("states differ: %s", diff)
		}
		if one.Bytes() != two.Bytes() {
			rt.Fatalf("%d and %d bytes", one.Bytes(), two.Bytes())
		}
		if diff := cmp.Diff(d.a.Decide(one, noon), d.a.Decide(two, noon)); diff != "" {
			rt.Fatalf("effects differ: %s", diff)
		}
	})
}

// Folding goes on from any state, and from a clone of it, which is of its own: what is
// folded into a clone, or done with what it gives, never changes the original.
func TestCloneIsIndependent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawActivity(rt, t)
		history := drawHistory(rt, d.messages)
		n := rapid.IntRange(0, len(history)).Draw(rt, "before")
		original, same := folded(t, d.a, history[:n]...), folded(t, d.a, history[:n]...)
		clone := original.clone()
		fold(t, d.a, clone, history[n:]...)
		if e := d.a.Decide(clone, noon); e.Invoke != nil {
			scribble(e.Invoke.Input)
		}
		if diff := cmp.Diff(original, same, whole); diff != "" {
			rt.Fatalf("the original changed: %s", diff)
		}
		if diff := cmp.Diff(clone, folded(t, d.a, history...), whole); diff != "" {
			rt.Fatalf("the clone is another: %s", diff)
		}
		fold(t, d.a, original, history[n:]...) // both grow from one backing array
		if diff := cmp.Diff(clone, folded(t, d.a, history...), whole); diff != "" {
			rt.Fatalf("the clone changed: %s", diff)
		}
	})
}

// scribble changes everything in a container that can be changed.
func scribble(s *container.Struct) {
	for i, v := range s.Fields {
		switch v := v.(type) {
		case []container.Value:
			for j := range v {
				v[j] = int64(-1)
			}
		case *container.Struct:
			scribble(v)
		}
		s.Fields[i] = nil
	}
}

// L5: a message that is refused leaves the state as it was.
func TestRefusedMessagesChangeNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawActivity(rt, t)
		history := drawHistory(rt, d.messages)
		s := folded(t, d.a, history[:rapid.IntRange(0, len(history)).Draw(rt, "before")]...)
		before := s.clone()
		bad := d.messages[0]
		rapid.SampledFrom([]func(){
			func() { bad.Source = "nobody" },
			func() { bad.Definition[0]++ },
			func() { bad.Origin = "" },
			func() { bad.Control = map[message.Truth]message.Truth{message.Unresolved: T}[bad.Control] },
			func() { bad.Data, bad.Body = message.DataPresent, []byte{0xff} },
			func() { bad = own(d.a, message.KindSnapshot, []byte{0xff}) },
			func() { bad = own(d.a, message.KindRecord, []byte{0xff}) },
			func() { bad = own(d.a, message.KindTable, nil) },
		}).Draw(rt, "damage")()
		var refusal *behaviour.Refusal
		err := d.a.Fold(s, bad)
		if !errors.As(err, &refusal) || refusal.Reason == "" {
			rt.Fatalf("%+v: %v, want a refusal", bad, err)
		}
		if diff := cmp.Diff(before, s, whole); diff != "" {
			rt.Fatalf("%v: the state changed: %s", err, diff)
		}
	})
}

// Invariant 4: whatever ends an entry sends one message to each target, and resolves
// every outgoing connector once; a skipped one sends FALSE and "no data" only.
func TestInvariant4EveryConnectorIsResolvedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawActivity(rt, t)
		s := folded(t, d.a, drawHistory(rt, d.messages)...)
		checkEnd(rt, d.a, s, d.a.Decide(s, noon))
		r := ran(t, rapid.Int64Range(0, 2).Draw(rt, "rc"), drawOutput(rt))
		if rapid.Bool().Draw(rt, "failed") {
			r = failed("no such file")
		}
		if d.a.Kind != processtable.KindSink {
			checkEnd(rt, d.a, s, d.a.Conclude(s, r, noon))
		}
	})
}

func checkEnd(t *rapid.T, a *Activity, s *State, e behaviour.Effects) {
	if !e.Ends {
		for _, m := range e.Put {
			if m.Kind == message.KindConnector {
				t.Fatalf("connectors are resolved and the entry goes on: %s", show(a.process, e))
			}
		}
		return
	}
	control, data := map[processtable.ActivityID]int{}, map[processtable.ActivityID]int{}
	seen := map[processtable.ActivityID]bool{}
	for _, m := range e.Put {
		if m.Kind != message.KindConnector || m.Source != a.Name || seen[m.Activity] || e.Outcome.What == behaviour.Stopped {
			t.Fatalf("put %+v", m.Header)
		}
		seen[m.Activity] = true
		if m.Control != message.Unresolved {
			control[m.Activity]++
		}
		if m.Data != message.DataNone {
			data[m.Activity]++
		}
		if e.Outcome.What == behaviour.Skipped && (m.Control == message.True || m.Data == message.DataPresent || m.Body != nil) {
			t.Fatalf("a dead path sends %+v", m)
		}
		if m.Clock <= s.Clock {
			t.Fatalf("clock %d after %d", m.Clock, s.Clock)
		}
		target := a.process.activities.Get(rowOf(m))
		if err := target.Fold(&State{}, m); err != nil {
			t.Fatalf("%s refuses it: %v", m.Activity, err)
		}
	}
	if e.Outcome.What == behaviour.Stopped {
		return
	}
	for _, c := range a.OutControl {
		control[c.To]--
	}
	for _, c := range a.OutData {
		data[c.To]--
	}
	for to, n := range control {
		if n != 0 {
			t.Fatalf("control connectors to %s: %+d", to, n)
		}
	}
	for to, n := range data {
		if n != 0 {
			t.Fatalf("data connectors to %s: %+d", to, n)
		}
	}
}
