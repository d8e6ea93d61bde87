package message_test

import (
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/message"
	"fmqm/processtable"
)

// parent is an execution that begins an instance.
func parent() message.Parent {
	return message.Parent{
		Process: full().Queue.Process, Node: "A", Instance: instance, Scope: "documents#2", Activity: "print", Iteration: 3, Run: 1, Attempt: 2,
	}
}

var label = processtable.ProcessID{Name: "label", Version: 4}

// starting is the message that begins its child, in the queue of label.
func starting() message.Message {
	p := parent()
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: label, Node: "A"}, Instance: p.Child(label, 1), Origin: "A", Activity: "source", Kind: message.KindStart,
		Clock: 9, Trace: full().Trace,
	}, Body: message.EncodeStart(message.Start{Parent: p, Input: []byte{0x81, 3}})}
}

// ofChild is the message with which that comes back.
func ofChild() message.Message {
	p := parent()
	child := message.Child{Instance: p.Child(label, 1), Process: label}
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: p.Process, Node: p.Node}, Instance: p.Instance, Origin: "A", Scope: p.Scope, Activity: p.Activity,
		SourceScope: p.Scope, Source: "sink", Kind: message.KindReturn, Number: child.Number(), Clock: 20,
	}, Body: message.EncodeReturn(message.Return{Output: []byte{0x81, 4}})}
}

// N19: an identifier stays what it is for one execution and version, and is another one for another;
// it keeps the time of the outermost instance, and says how deep it is.
func TestTheIdentifierOfAChild(t *testing.T) {
	p := parent()
	first := p.Child(label, 1)
	if again := p.Child(label, 1); again != first {
		t.Errorf("%s, and once more %s", first, again)
	}
	seen := map[message.InstanceID]string{first: "the first"}
	for what, change := range map[string]func(*message.Parent, *processtable.ProcessID){
		"process":   func(p *message.Parent, _ *processtable.ProcessID) { p.Process.Version++ },
		"instance":  func(p *message.Parent, _ *processtable.ProcessID) { p.Instance[15]++ },
		"scope":     func(p *message.Parent, _ *processtable.ProcessID) { p.Scope = "documents#3" },
		"activity":  func(p *message.Parent, _ *processtable.ProcessID) { p.Activity = "file" },
		"iteration": func(p *message.Parent, _ *processtable.ProcessID) { p.Iteration++ },
		"run":       func(p *message.Parent, _ *processtable.ProcessID) { p.Run++ },
		"attempt":   func(p *message.Parent, _ *processtable.ProcessID) { p.Attempt++ },
		"version":   func(_ *message.Parent, of *processtable.ProcessID) { of.Version++ },
		"name":      func(_ *message.Parent, of *processtable.ProcessID) { of.Name = "labels" },
	} {
		p, of := parent(), label
		change(&p, &of)
		id := p.Child(of, 1)
		if other, double := seen[id]; double {
			t.Errorf("with another %s it is that of %s", what, other)
		}
		seen[id] = what
		if [6]byte(id[:6]) != [6]byte(p.Instance[:6]) || id.Version() != 8 || id.Variant() != uuid.RFC4122 {
			t.Errorf("with another %s it is %s", what, id)
		}
	}
	if want := "01970000-0000-8007-b44d-99712eab35eb"; first.String() != want { // stored: it never changes
		t.Errorf("it is %s", first)
	}
}

func TestHowDeepAnInstanceIs(t *testing.T) {
	p := parent()
	for _, root := range []message.InstanceID{instance, uuid.Must(uuid.NewV7()), {6: 0x80, 8: 0x80}} {
		p.Instance = root
		for depth := range message.MaxDepth {
			if got := message.DepthOf(p.Instance); got != depth {
				t.Fatalf("%s is %d deep, want %d", p.Instance, got, depth)
			}
			p.Instance = p.Child(label, 1)
		}
		if got := message.DepthOf(p.Instance); got != message.MaxDepth {
			t.Errorf("%s is %d deep, want %d", p.Instance, got, message.MaxDepth)
		}
		changed := p.Instance
		changed[10] ^= 1
		if got := message.DepthOf(changed); got != 0 {
			t.Errorf("%s, which nothing has begun, is %d deep", changed, got)
		}
	}
}

// N19: each of several counts as more than one, so that all of them together have a limit.
func TestSeveralSubprocessesGoLessDeep(t *testing.T) {
	p := parent()
	for several, want := range map[int]int{0: 1, 1: 1, 2: 3, 3: 5, 4: 5, 5: 7, 8: 7, 9: 9, 10_000: 29} {
		if got := message.DepthOf(p.Child(label, several)); got != want || message.Deeper(0, several) != want {
			t.Errorf("one of %d is %d deep, and counts as %d, want %d", several, got, message.Deeper(0, several), want)
		}
	}
	for several := 1; several < 100; several++ {
		under, depth := 1, 0
		for depth = message.Deeper(depth, several); depth <= message.MaxDepth; depth = message.Deeper(depth, several) {
			under *= several
		}
		if under > 1<<16 {
			t.Errorf("of %d each there are %d under way", several, under)
		}
	}
}

// What only later versions have is written in these, and read of no other.
func TestVersionsOfBodiesOfSubprocesses(t *testing.T) {
	at, p := time.Unix(0, 5).UTC(), parent()
	for _, tc := range []struct {
		name    string
		data    []byte
		version byte
		read    func([]byte) error
	}{
		{"record", message.EncodeRecord(message.Record{Process: label, Started: at, Parent: &p}), 2, func(b []byte) error { _, err := message.DecodeRecord(b); return err }},
		{"snapshot", message.EncodeSnapshot(message.Snapshot{Iteration: 1, Begun: true, Child: message.Child{Instance: instance, Process: label}}), 4, func(b []byte) error { _, err := message.DecodeSnapshot(b); return err }},
		{"marker", message.EncodeMarker(message.Marker{Reason: "r", Relay: true}), 3, func(b []byte) error { _, err := message.DecodeMarker(b); return err }},
	} {
		if tc.data[1] != tc.version || tc.read(tc.data) != nil {
			t.Errorf("%s: it is %x, and read with %v", tc.name, tc.data, tc.read(tc.data))
		}
		for other := byte(1); other < tc.version; other++ {
			tc.data[1] = other
			if err := tc.read(tc.data); !errors.Is(err, message.ErrFormat) {
				t.Errorf("%s: said to be of version %d it is read: %v", tc.name, other, err)
			}
		}
	}
}

func TestParentsThatAreNone(t *testing.T) {
	for _, bad := range []string{"8201a0", "8201a100a0", "8201a101" + "40"} {
		data, err := hex.DecodeString(bad)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := message.DecodeStart(data); !errors.Is(err, message.ErrFormat) {
			t.Errorf("%s is read as %+v, %v", bad, s, err)
		}
	}
	for what, change := range map[string]func(*message.Parent){
		"scope": func(p *message.Parent) { p.Scope = "[" }, "node": func(p *message.Parent) { p.Node = "" },
		"process": func(p *message.Parent) { p.Process.Version = 0 }, "activity": func(p *message.Parent) { p.Activity = "no name" },
	} {
		p := parent()
		change(&p)
		if _, err := message.DecodeStart(message.EncodeStart(message.Start{Parent: p})); !errors.Is(err, message.ErrFormat) {
			t.Errorf("with such a %s it is read: %v", what, err)
		}
	}
}
