package thread

import (
	"testing"

	"github.com/google/uuid"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
)

// L5: a message that cannot take effect is set aside, and its activity is in error
// with the reason; it stops nobody else. N4: a restart leaves it so.
func TestL5RefusedMessage(t *testing.T) {
	w, s := one(t, pair)
	w.put(w.to("y", message.KindConnector, processtable.Source))
	s.turn()
	s.commitAll(commit.ErrStale) // it is read and refused again
	s.pump()
	const reason = "no connector leads from source to y"
	s.expectAside(t, reason)
	w.expect(t, "x", "running", "y", "in error: message from source was refused: "+reason)
	if notices := s.store.entries[w.entry(processtable.Sink)]; len(notices) != 1 {
		t.Errorf("sink has %v, want a notice", notices)
	}
	s.store.crash()
	s.open(1)
	s.pump()
	w.expect(t, "x", "running", "y", "in error: message from source was refused: "+reason)

	w.put(w.marker())
	s.pump()
	s.finish(0)
	s.pump()
	w.expect(t, "x", "stopped", "y", "stopped", "sink", "stopped")
	s.atRest()
}

// L5: an activity that runs goes on; only the message is set aside.
func TestL5RefusedMessageWhileItRuns(t *testing.T) {
	w, s := one(t, pair)
	w.put(w.to("x", message.KindConnector, "y"))
	s.pump()
	s.expectAside(t, "no connector leads from y to x")
	w.expect(t, "x", "running")
	s.end("x")
	s.pump()
	s.end("y")
	s.pump()
	w.expect(t, "sink", "ended")
	s.atRest()
}

// N7: what comes for what has ended is late, and makes no new entry; what is for an
// activity of another node says so. Late notices are of no account.
func TestN7LateAndStrayMessages(t *testing.T) {
	w, s := one(t, pair)
	s.end("x")
	s.pump()
	late := w.to("x", message.KindConnector, processtable.Source)
	late.Control = message.True
	w.put(late)
	w.put(w.to("z", message.KindConnector, "x"))
	s.pump()
	s.end("y")
	s.pump()
	notice := w.to(processtable.Sink, message.KindNotice, "elsewhere")
	w.put(notice)
	s.pump()
	s.expectAside(t, "late: the activity has already terminated", "activity z of p@1 is not hosted at A")
	w.expect(t, "x", "terminated", "sink", "ended", "z", "inactive")
	if len(s.store.entries) > 0 {
		t.Errorf("left: %v", s.store.sorted())
	}
	s.atRest()
}

// N7: a marker ends the program that runs early, and gives up the place of one that
// waits for it.
func TestN7TerminateEndsPrograms(t *testing.T) {
	w, s := one(t, "activities:\n  x: {node: A, program: x}\n  y: {node: A, program: x}\n  z: {node: A, program: x}\n")
	s.store.crash()
	s.open(1)
	s.pump()
	if len(s.running) != 1 {
		t.Fatalf("%d programs run in one place", len(s.running))
	}
	w.put(w.marker())
	s.pump()
	if !s.running[0].cancelled {
		t.Error("the program was not ended early")
	}
	s.finish(0)
	s.pump()
	w.expect(t, "x", "stopped", "y", "stopped", "z", "stopped", "sink", "stopped")
	s.atRest()
}

// What an older version of the program has taken from a peer, and none may send, makes no
// entry: it would run an ended activity once more, or send to a site that there is not.
func TestWhatNonePeerMaySendMakesNoEntry(t *testing.T) {
	w, s := one(t, pair)
	s.end("x")
	s.pump()
	scoped := w.to("x", message.KindConnector, processtable.Source)
	scoped.Control, scoped.Scope = message.True, "1"
	stray := w.to("x", message.KindConnector, processtable.Source)
	stray.Control, stray.Origin, stray.Instance = message.True, "nowhere", uuid.Must(uuid.NewV7())
	w.put(scoped)
	w.put(stray)
	s.pump()
	s.expectAside(t, `activity x of p@1: message format: scope: "1" does not begin with the name of an activity`, "it says that its instance was started at nowhere, and p@1 may not be started there")
	if len(s.running) != 1 {
		t.Errorf("%d programs run, want that of y", len(s.running))
	}
	s.end("y")
	s.pump()
	w.expect(t, "x", "terminated", "y", "terminated", "sink", "ended")
	s.atRest()
}

// An instance has one origin: who says otherwise would lead its end, and its output, to
// another site. The activity is in error, and an operator decides.
func TestAnInstanceHasOneOrigin(t *testing.T) {
	w, s := one(t, "starts: [A, B]\nactivities:\n  x: {node: A, program: x}\n  y: {node: B, program: x}\n  z: {node: A, program: x}\ncontrol: [x -> z, y -> z]\n")
	s.end("x")
	s.pump()
	other := w.to("z", message.KindConnector, "y")
	other.Control, other.Origin = message.True, "B"
	w.put(other)
	s.pump()
	s.expectAside(t, "message from y says that the instance was started at B, and what came for z before says at A")
	w.expect(t, "z", "in error: message from y was refused: message from y says that the instance was started at B, and what came for z before says at A")
}

// A marker that came before anything else of an instance, and names another origin, ends
// nothing of it: the identifier was guessed.
func TestAMarkerOfAnotherOriginEndsNothing(t *testing.T) {
	w := openWorld(t, "process: p\nversion: 1\n"+chain(2, "empty: true", ""), 1)
	s := w.sites[0]
	s.pump()
	w.start(1, 0, "")
	marker := w.marker()
	marker.Origin = "elsewhere"
	w.put(marker)
	s.pump()
	w.starts[0].ask()
	s.pump()
	w.expect(t, "a1", "terminated", "sink", "ended")
}
