package node

import (
	"context"
	"slices"
	"strings"
	"testing"

	"fmqm/container"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/processtable"
)

// In orders, B hosts check and has no right to start anything; pack and label are at A, and
// nothing of B leads to label.
const orders = `
process: orders
version: 1
starts: [C]
activities:
  pack: {node: A, program: p}
  label: {node: A, program: p}
  check: {node: B, program: p}
control: [check -> pack, pack -> label]
`

// order is a control connector of B's to an activity at A, of an instance started at C.
func (w *inboxWorld) order(source, target processtable.ActivityID) message.Message {
	m := w.connector()
	m.Origin, m.Source, m.Activity, m.Data, m.Body = "C", source, target, message.DataNone, nil
	return m
}

// told waits until something waits for a peer: here that an activity is in error, since no
// program is registered.
func (w *inboxWorld) told(peer processtable.NodeID) {
	w.t.Helper()
	for !slices.Contains(w.a.queue.Peers(), peer) {
		if _, err := w.a.thread(w.table.Process).Gauges(context.Background()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// A peer who is a site of the process starts nothing that it may not start, stops no
// activity that nothing of it leads to, and names no site that messages would wait for. What
// it tries is set aside and leaves nothing else: no entry, no error, no transmission queue.
func TestHostilePeerLeavesNothingBehind(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*message.Message)
		reason string
	}{
		"it starts an instance":                  {func(m *message.Message) { m.Source, m.Origin = processtable.Source, "B" }, "orders@1 may not be started there"},
		"it goes on with an instance of its own": {func(m *message.Message) { m.Origin = "B" }, "orders@1 may not be started there"},
		"it names an origin that is no site":     {func(m *message.Message) { m.Origin = "nowhere" }, "orders@1 may not be started there"},
		"it puts an activity in error":           {func(m *message.Message) { m.Activity = "label" }, "no connector of orders@1 leads from check to label"},
		"it tells an activity of an error":       {func(m *message.Message) { m.Kind, m.Control = message.KindNotice, 0 }, "a notice goes to sink"},
		"it runs an ended activity again":        {func(m *message.Message) { m.Scope, m.SourceScope = "pack#2", "pack#2" }, "activity pack of orders@1: scope \"pack#2\" has 1 composites, and 0 are around it"},
		"it breaks the clock":                    {func(m *message.Message) { m.Clock = 1<<64 - 1 }, "its logical clock is"},
		"it fills the markers":                   {func(m *message.Message) { m.Kind, m.Control, m.Source = message.KindMarker, 0, "" }, "a marker is for an instance"},
	} {
		t.Run(name, func(t *testing.T) {
			w := inboxWorldOf(t, orders, true)
			good, bad := w.order("check", "pack"), w.order("check", "pack")
			tc.change(&bad)
			w.accept(bad, good)
			if got := w.aside(); !strings.HasPrefix(got, "B: ") || !strings.Contains(got, tc.reason) || strings.Contains(got, "\n") {
				t.Errorf("set aside: %q, want %q", got, tc.reason)
			}
			w.told("C")
			for _, i := range []message.InstanceID{good.Instance, bad.Instance} {
				found, err := w.a.queue.BrowseInstance(w.table.Process, i)
				if want := i == good.Instance; err != nil || (len(found) > 0) != want {
					t.Errorf("of the instance there is %v (%v), want any: %t", found, err, want)
				}
			}
			if marker, err := w.a.queue.Marker(w.table.Process, bad.Instance); err != nil || marker != nil {
				t.Errorf("there is a marker: %+v (%v)", marker, err)
			}
			if peers := w.a.queue.Peers(); slices.ContainsFunc(peers, func(p processtable.NodeID) bool { return p != "C" }) {
				t.Errorf("messages wait for %v", peers)
			}
		})
	}
}

// A site with a part makes up an instance at a site that is not its origin. What its own
// activities lead to runs there, but for what has data from source too: only the origin sends
// that (docs/security.md says so).
func TestDataFromSourceKeepsInventedInstancesOut(t *testing.T) {
	const guarded = `
process: guarded
version: 1
structures: {S: {text: string}}
input: S
starts: [C]
activities:
  check: {node: B, program: p}
  open: {node: A, program: p, start: any}
  pack: {node: A, program: p, input: S, start: any}
control: [check -> open, check -> pack]
data: [source -> pack]
`
	w := inboxWorldOf(t, guarded, true)
	toOpen, toPack := w.order("check", "open"), w.order("check", "pack")
	toPack.Instance = toOpen.Instance
	data := toPack
	body, err := container.EncodeValues([]container.Value{"mine"})
	if err != nil {
		t.Fatal(err)
	}
	data.Source, data.Control, data.Data, data.Body = processtable.Source, message.Unresolved, message.DataPresent, body
	w.accept(toPack, data, toOpen)
	if got, want := w.aside(), "B: activity source of guarded@1 is hosted at C, and the message came from B"; got != want {
		t.Errorf("set aside: %q, want %q", got, want)
	}
	expect := func(want string) {
		t.Helper()
		settled(t, w.a)
		r, err := w.a.answers.Report(report.Question{Instance: toOpen.Instance})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range r.Activities {
			got = append(got, a.Activity+" "+string(a.State))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	expect("open in-error, pack waiting") // no program is registered: what runs is in error
	w.from("C").sends(data)
	expect("open in-error, pack in-error")
}
