package thread

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// one is a world of one node A with one instance under way, whose programs wait to be
// ended by the test.
func one(t *testing.T, text string) (*world, *site) {
	t.Helper()
	w := openWorld(t, "process: p\nversion: 1\n"+text, 1)
	w.sites[0].pump()
	w.start(1, 0, "")
	w.starts[0].ask()
	w.sites[0].pump()
	return w, w.sites[0]
}

// pump lets everything happen but the ends of programs.
func (s *site) pump() {
	for !s.store.idle() || s.due() {
		s.turn()
		s.commitAll(nil)
	}
}

// commitAll writes all that was submitted; each transaction gets the next of errs.
func (s *site) commitAll(errs ...error) {
	s.store.commit(len(s.store.pending), func(*record.Tx) error {
		if len(errs) == 0 {
			return nil
		}
		err := errs[0]
		errs = errs[1:]
		return err
	})
}

// end ends the program of an activity of the first instance.
func (s *site) end(activity processtable.ActivityID) {
	s.world.t.Helper()
	i := slices.IndexFunc(s.running, func(r *invocation) bool { return r.entry == s.world.entry(activity) })
	if i < 0 {
		s.world.t.Fatalf("%s does not run", activity)
	}
	s.finish(i)
}

// entry is that of an activity of the first instance.
func (w *world) entry(activity processtable.ActivityID) message.Entry {
	return message.Entry{Instance: w.starts[0].call.Instance, Activity: activity}
}

// to is a message for an activity of the first instance.
func (w *world) to(activity processtable.ActivityID, kind message.Kind, source processtable.ActivityID) message.Message {
	s := w.sites[0]
	return message.Message{Header: message.Header{
		Queue:      message.Queue{Process: s.machine.id(), Node: s.name},
		Definition: s.process.Definition(), Instance: w.starts[0].call.Instance, Origin: s.name,
		Activity: activity, Source: source, Kind: kind,
	}}
}

func (w *world) marker() message.Message { return w.to("", message.KindMarker, "") }

// state says how an activity of the first instance ended, or how it is.
func (w *world) state(activity processtable.ActivityID) string {
	events := w.audits()[w.entry(activity)]
	for event, name := range map[record.Event]string{
		record.EventTerminated: "terminated", record.EventSkipped: "skipped", record.EventStopped: "stopped", record.EventEnded: "ended",
	} {
		if len(events[event]) > 0 {
			return name
		}
	}
	e := w.sites[0].machine.table.Get(w.entry(activity))
	switch {
	case e == nil:
		return "inactive"
	case e.State.InError():
		return "in error: " + e.Behaviour.View(e.State, w.now).Error
	}
	return [...]string{"waiting", "ready", "running", "settling"}[e.Phase]
}

// expect compares the states of activities, written as pairs.
func (w *world) expect(t *testing.T, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := w.state(processtable.ActivityID(pairs[i])); got != pairs[i+1] {
			t.Errorf("%s is %s, want %s", pairs[i], got, pairs[i+1])
		}
	}
}

func (s *site) expectAside(t *testing.T, reasons ...string) {
	t.Helper()
	var got []string
	for _, a := range s.store.aside {
		got = append(got, a.Reason)
		if _, err := message.Decode(a.Message); err != nil {
			t.Errorf("set aside: %v", err)
		}
	}
	if diff := cmp.Diff(reasons, got); diff != "" {
		t.Errorf("set aside: %s", diff)
	}
}

// chain is a definition of n activities at A, one after the other.
func chain(n int, kind, condition string) string {
	var b strings.Builder
	b.WriteString("activities:\n")
	for i := range n {
		fmt.Fprintf(&b, "  a%d: {node: A, %s}\n", i, kind)
	}
	b.WriteString("control:\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "  - a%d -> a%d%s\n", i, i+1, condition)
		condition = ""
	}
	return b.String()
}
