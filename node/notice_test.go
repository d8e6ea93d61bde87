package node

import (
	"testing"

	"github.com/google/uuid"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// noticed says whether a notice of an instance of secret lies in A's queue of sink.
func (w *inboxWorld) noticed(table *processtable.Table, i message.InstanceID) bool {
	w.t.Helper()
	found, err := w.a.queue.BrowseInstance(table.Process, i)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range found {
		if m.Kind == message.KindNotice && m.Activity == processtable.Sink {
			return true
		}
	}
	return false
}

// notice is C's, of an error of s2.
func notice(table *processtable.Table, i message.InstanceID) message.Message {
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: table.Process, Node: "A"}, Definition: table.Definition.Short(), Instance: i, Origin: "A",
		Activity: processtable.Sink, Source: "s2", Kind: message.KindNotice, Clock: 5,
	}, Body: message.EncodeNotice(message.Notice{Error: "no luck"})}
}

// A notice is for an instance that was started here. Of any other it is refused, and counts
// for the peer that brought it: sink would wait with it for ever.
func TestANoticeOfNoInstanceIsRefused(t *testing.T) {
	w, table, known := secretWorld(t)
	c, unknown := w.from("C"), uuid.Must(uuid.NewV7())
	c.sends(notice(table, unknown), notice(table, known))
	if got, want := w.aside(), "C: it tells of an error in an instance of secret@1 that was started at A, but A did not start it"; got != want {
		t.Errorf("set aside %q, want %q", got, want)
	}
	if l := w.a.queue.Usage("C"); l.Refused != 1 {
		t.Errorf("%+v is counted", l)
	}
	if !w.noticed(table, known) || w.noticed(table, unknown) {
		t.Error("the notice of the instance is to be there, and the other one not")
	}
}

// S4: where this node's store is not its first, as the first beginning of a conversation
// shows, its client may start the instance again: the notice waits for that.
func TestANoticeWaitsForAStartThatIsRepeated(t *testing.T) {
	w, table, _ := secretWorld(t)
	c, lost := w.from("C"), uuid.Must(uuid.NewV7())
	begin := [record.Lanes]record.Position{{Number: 4}, {}}
	if err := (&identity{node: w.a, peer: "C"}).Begin(begin); err != nil {
		t.Fatal(err)
	}
	c.at = begin[message.LaneData]
	c.sends(notice(table, lost))
	if got := w.aside(); got != "" || !w.noticed(table, lost) {
		t.Errorf("the notice does not wait, and %q was set aside", got)
	}
	if anew, err := w.a.queue.Recreated(); err != nil || !anew {
		t.Errorf("the store says that it is its node's first (%v)", err)
	}
}
