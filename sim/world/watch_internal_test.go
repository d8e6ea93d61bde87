package world

import (
	"context"
	"strings"
	"testing"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// What a check is there for it sees: each is shown what it must not let pass.

func small() Plan {
	return given(1, `
starts: [A]
activities:
  a: {node: A, program: many}
  b: {node: B, program: many}
control: [a -> b]
`)
}

// Invariant 1: a record of any class that nobody can read, under a key of that class or another.
func TestARecordThatNobodyCanReadIsSeen(t *testing.T) {
	e := message.Entry{Activity: "b"}
	p := processtable.ProcessID{Name: "p", Version: 1}
	parked := record.Parked{Process: p, Peer: "B"}
	for what, key := range map[string][]byte{
		"table":     record.AppendProcess(nil, record.ClassTable, p),
		"connector": record.AppendMessageKey(nil, p, &e, message.Key{Kind: message.KindConnector, Source: "a"}),
		"record":    record.AppendMessageKey(nil, p, &e, message.Key{Kind: message.KindRecord}),
		"marker":    record.AppendMessageKey(nil, p, &e, message.Key{Kind: message.KindMarker}),
		"item":      record.AppendItemKey(nil, "B", 0, 1),
		"low":       record.AppendLane(nil, record.ClassLow, "B", 0),
		"accepted":  record.AppendLane(nil, record.ClassAccepted, "B", 0),
		"part":      record.AppendPartKey(nil, "B", 0, 1, 0),
		"refused":   record.AppendRefusedKey(nil, 1),
		"timer":     append([]byte{record.ClassTimer}, "garbage"...),
		"staged":    record.AppendStagedKey(nil, 1),
		"parked":    parked.Key(),
		"apart":     record.AppendApartKey(nil, "B", 1),
		"usage":     append([]byte{record.ClassUsage}, "garbage"...),
		"start":     append([]byte{record.ClassStart}, "garbage"...),
		"peer":      append([]byte{record.ClassPeer}, "garbage"...),
		"chunk":     append([]byte{record.ClassChunk}, "garbage"...),
		"end":       record.AppendEndKey(nil, &e),
		"removed":   record.RemovedKey(e.Instance),
		"unknown":   []byte("Z"),
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(small(), Options{})
			w.watch.written(w.site("A"), 1, &store.Batch{Ops: []store.Op{{Key: key, Value: record.New(key, []byte("garbage")...)}}})
			if w.broken == nil || w.broken.Invariant != "1" {
				t.Errorf("%v", w.broken)
			}
		})
	}
}

// Invariant 11: a record of a site that nobody has configured.
func TestARecordOfAStrangerIsSeen(t *testing.T) {
	inc := make([]byte, len(record.Incarnation{}))
	charge := record.Charge{Peer: stranger, Kind: record.UsageRefused}
	parked := record.Parked{Process: processtable.ProcessID{Name: "p", Version: 1}, Peer: stranger}
	for what, op := range map[string]store.Op{
		"peer":   {Key: record.AppendName([]byte{record.ClassPeer}, string(stranger)), Value: inc},
		"part":   {Key: record.AppendPartKey(nil, stranger, 0, 1, 0), Value: []byte{record.PlaceInline, 1}},
		"parked": {Key: parked.Key(), Value: []byte{record.PlaceInline, 1}},
		"usage":  {Key: charge.Key(make([]byte, 8))},
		"began":  {Key: record.BeganKey(stranger), Value: inc},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(small(), Options{})
			op.Value = record.New(op.Key, op.Value...)
			w.watch.written(w.site("A"), 1, &store.Batch{Ops: []store.Op{op}})
			if w.broken == nil || w.broken.Invariant != "11" {
				t.Errorf("%v", w.broken)
			}
		})
	}
}

// Invariant 1: a chunk of a body is not there, which the record by itself does not tell.
func TestABodyThatIsNotWholeIsSeen(t *testing.T) {
	w := newWorld(small(), Options{})
	s := w.site("A")
	e, err := s.disk.Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key := record.AppendPartKey(nil, "B", 0, 1, 0)
	value := record.New(key, record.AppendRef([]byte{record.PlaceStaged}, record.BodyRef{ID: 1, Count: 1, Size: 1})...)
	node := record.New(record.KeyNode, 'A')
	if err := e.Commit(1, &store.Batch{Ops: []store.Op{{Key: record.KeyNode, Value: node}, {Key: key, Value: value}}}); err != nil || w.broken != nil {
		t.Fatal(err, w.broken)
	}
	if w.watch.whole(s); w.broken == nil || w.broken.Invariant != "1" {
		t.Errorf("%v", w.broken)
	}
}

// Invariant 12: something of an instance that nobody starts, and of a process that nobody uploads.
func TestWhatIsRefusedLeavesNothing(t *testing.T) {
	e, other := message.Entry{Activity: "a"}, message.Entry{Instance: message.InstanceID{1}, Activity: "a"}
	p, never := processtable.ProcessID{Name: "p", Version: 1}, processtable.ProcessID{Name: never, Version: 1}
	k := message.Key{Kind: message.KindMarker}
	for what, c := range map[string]struct {
		key  []byte
		seen bool
	}{
		"a message":                         {record.AppendMessageKey(nil, p, &e, k), false},
		"a table":                           {record.AppendProcess(nil, record.ClassTable, p), false},
		"an end":                            {record.AppendEndKey(nil, &e), false},
		"a message of another instance":     {record.AppendMessageKey(nil, p, &other, k), true},
		"a message of another process":      {record.AppendMessageKey(nil, never, &e, k), true},
		"a table of another process":        {record.AppendProcess(nil, record.ClassTable, never), true},
		"an end of another instance":        {record.AppendEndKey(nil, &other), true},
		"that another instance was removed": {record.RemovedKey(other.Instance), true},
	} {
		w := newWorld(small(), Options{})
		w.watch.starts[e.Instance], w.watch.uploads[p] = true, true
		w.watch.wanted(w.site("A"), &store.Op{Key: c.key})
		if (w.broken != nil && w.broken.Invariant == "12") != c.seen {
			t.Errorf("%s: %v", what, w.broken)
		}
	}
}

// Invariant 12: what a refusal has put on disk, or taken from it.
func TestWhatARefusalChangesIsSeen(t *testing.T) {
	w := newWorld(small(), Options{})
	s, e, p := w.site("A"), message.Entry{Activity: "a"}, processtable.ProcessID{Name: "p", Version: 1}
	marker := record.AppendMessageKey(nil, p, &e, message.Key{Kind: message.KindMarker})
	put, gone := store.Op{Key: marker, Value: []byte("x")}, store.Op{Key: marker}
	low := store.Op{Key: record.AppendLane(nil, record.ClassLow, "B", 0), Value: []byte("x")}
	for what, c := range map[string]struct {
		ops  []store.Op
		seen bool
	}{
		"nothing":              {nil, false},
		"a number of a link":   {[]store.Op{low}, false},
		"put":                  {[]store.Op{put}, true},
		"put and taken":        {[]store.Op{put, gone}, false},
		"taken":                {[]store.Op{gone}, true},
		"taken, and put again": {[]store.Op{gone, put}, true},
	} {
		changes := changes{}
		for i := range c.ops {
			changes.note(s, c.ops[i:i+1])
		}
		if left := changes.left(); (left != "") != c.seen {
			t.Errorf("%s: %q", what, left)
		}
	}
}

// breaksIn runs a small world in which something is done once all is up.
func breaksIn(t *testing.T, invariant, text string, f func(*World)) {
	t.Helper()
	w := newWorld(small(), Options{Lines: true})
	w.control.AfterFunc(10*time.Second, func() { f(w) })
	if r := w.run(); r.Broken == nil || r.Broken.Invariant != invariant || !strings.Contains(r.Broken.Text, text) {
		t.Errorf("%v", r.Broken)
	}
}

// Invariant 6: an answer that comes once its time is over is none.
func TestAnAnswerThatComesTooLateIsSeen(t *testing.T) {
	breaksIn(t, "6", "nobody waits any more", func(w *World) {
		_ = w.ask("A", "nothing", func(ctx context.Context, _ *node.Node) error {
			return task.Sleep(ctx, w.site("A").life.by, time.Hour)
		})
	})
}

// Invariant 11: a site that does not hang up on a stranger.
func TestWhoDoesNotHangUpIsSeen(t *testing.T) {
	breaksIn(t, "11", "not hung up", func(w *World) {
		w.wires.ports["A"].accept = func(link.Conn) {}
		w.knock("A", 0)
	})
}

// A recovery is a node on a store that was not new: neither its first start, nor one that fails.
func TestARecoveryIsOfAStoreThatWasNotNew(t *testing.T) {
	p := small()
	for crashes := range 3 {
		if crashes > 0 {
			p.Events = append(p.Events, Event{At: time.Duration(10*crashes) * time.Second, Do: Crash, Site: "A", For: time.Second})
		}
		if r := Run(p, Options{Lines: true}); r.Broken != nil || r.Recoveries != crashes {
			t.Errorf("%d recoveries of %d\n%s", r.Recoveries, crashes, Story(r))
		}
	}
}

// R36: a notice that what cancels it ends says nothing. Only a time may lie in its place then, which came as it ended
// (seeds 1904, 1920).
func TestWhatIsLeftOfANotice(t *testing.T) {
	notice := message.Entry{Scope: "source[1]", Activity: "b"}
	for name, c := range map[string]struct {
		left  []message.Kind
		empty bool
	}{
		"nothing": {nil, true}, "a time": {[]message.Kind{message.KindDue}, true}, "a word": {[]message.Kind{message.KindWord}, true},
		"its state": {[]message.Kind{message.KindSnapshot}, false}, "its state and a time": {[]message.Kind{message.KindDue, message.KindSnapshot}, false},
	} {
		d := newShadow()
		d.messages[notice] = map[message.Key]bool{}
		for _, kind := range c.left {
			d.messages[notice][message.Key{Kind: kind}] = true
		}
		if d.isEmpty(notice) != c.empty {
			t.Errorf("%s is left: empty is %t", name, !c.empty)
		}
	}
}
