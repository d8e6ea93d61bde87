package commit_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

var process = processtable.ProcessID{Name: "p", Version: 1}

// world is a core, the store that its writes change, and who drives both by hand.
type world struct {
	core  *commit.Core
	store map[string][]byte
	write *commit.Write
	read  *commit.Read
	last  uint64                            // body staged so far
	from  record.AcceptedAt                 // what is submitted of B's
	parts record.Incoming                   // of these, the parts of a message that is not whole
	told  map[message.Entry]message.Arrival // of what was reported
	out   strings.Builder
}

func entry(name string) message.Entry {
	return message.Entry{Instance: message.InstanceID{1}, Activity: processtable.ActivityID(name)}
}

// config is what the stories' engine takes; of a record more than of a small commit.
var config = commit.Config{Size: sizeOf, MaxBatch: 4000, MaxKey: 1000, MaxValue: 5000}

func sizeOf(b *change.Batch) (n int64) {
	for i := range b.Ops {
		n += int64(len(b.Ops[i].Key) + len(b.Ops[i].Value))
	}
	return n
}

// The stories in testdata tell what the committer does, event by event:
//
//	open                          the process queue has a reader from now on
//	submit T1 [consume=e] [check=e] [put=e] [body=e] [send=B] [bytes=n] [record=n] [key=n] [settle=n] [park] [table]
//	                              a transaction: it takes messages of e, is only decided on it, puts
//	                              a message for it (with a staged body), sends one to B, is so large,
//	                              has a record or a key of so many bytes, settles a refused message
//	submit T1 meet|part|whole|new-store
//	                              a transaction of the link with B: it meets B, takes a part of a
//	                              large message of B's, its last part, meets another store of B
//	taken e=1 f=2                 the reader has taken what was delivered up to these numbers
//	trim B=3                      B has acknowledged so much
//	reads B [words] [errors] [tables=n]    B says that it reads operators' words, errors in a newer form, and tables up to a format
//	move M B=(1,2)                    the work that was asked for: what waits apart goes into the lanes
//	audit                         which numbers the audit says that messages have
//	next                          what the core wants now
//	written [fails] [token=n]     the answer to its write: it is on disk, or that is not known
//	answer [fails] [token=n]      the answer to its read
//	refused 1 [from=B]            a refused message is in the store, that B is charged with
//	restored 7                    the store is a copy of one with so many commits
//	arrivals e f                  when their messages came, as their records say
//	stop                          nothing more is committed
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := &world{store: map[string][]byte{}, told: map[message.Entry]message.Arrival{}}
		w.core = commit.New(config, commit.NewState())
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.out.Reset()
			w.do(t, d)
			if w.out.Len() == 0 {
				return "ok\n"
			}
			return w.out.String()
		})
	})
}

func (w *world) do(t *testing.T, d *datadriven.TestData) {
	token := func(awaited uint64) uint64 {
		var n uint64
		if d.MaybeScanArgs(t, "token", &n) {
			return n
		}
		return awaited
	}
	switch d.Cmd {
	case "open":
		w.core.Step(commit.Opened{Process: process})
	case "submit":
		w.core.Step(w.work(t, d))
	case "taken":
		e := commit.Taken{Process: process}
		for _, a := range d.CmdArgs {
			e.Entries = append(e.Entries, commit.TakenEntry{Entry: entry(a.Key), Upto: number(t, a.Vals[0])})
		}
		w.core.Step(e)
	case "trim":
		for _, a := range d.CmdArgs {
			w.core.Step(commit.Trim{Peer: processtable.NodeID(a.Key), Upto: number(t, a.Vals[0])})
		}
	case "reads":
		e := commit.Reads{Peer: processtable.NodeID(d.CmdArgs[0].Key), Reads: message.Before()}
		if d.HasArg("words") {
			e.Reads.Message.Max, e.Reads.Bodies[message.KindWord] = 2, 1
		}
		if d.HasArg("errors") {
			e.Reads.Bodies[message.KindNotice] = 2
		}
		if d.HasArg("tables") {
			var max int
			d.ScanArgs(t, "tables", &max)
			e.Reads.Table.Max = uint8(max)
		}
		w.core.Step(e)
	case "move":
		w.core.Step(w.move(t, d))
	case "audit":
		w.audit()
	case "refused":
		key := record.AppendRefusedKey(nil, number(t, d.CmdArgs[0].Key))
		w.store[string(key)] = record.New(key, record.PlaceInline)
		if d.HasArg("from") {
			w.store[string(record.AppendName(record.RefusedClaim(number(t, d.CmdArgs[0].Key)), d.CmdArgs[1].Vals[0]))] = []byte{}
		}
	case "next":
		w.next()
	case "written":
		e := commit.Written{Number: token(w.write.Number), Last: w.write.Number}
		if d.HasArg("fails") {
			e.Err = errors.New("the disk has failed")
		} else if e.Number == w.write.Number {
			for _, op := range w.write.Batch.Ops {
				if w.store[string(op.Key)] = op.Value; op.Value == nil {
					delete(w.store, string(op.Key))
				}
			}
		}
		w.core.Step(e)
	case "answer":
		e := commit.Answer{Token: token(w.read.Token), Values: make([][]byte, len(w.read.Keys))}
		if d.HasArg("fails") {
			e.Err = errors.New("the disk cannot be read")
		}
		for i, key := range w.read.Keys {
			e.Values[i] = w.store[string(key)]
		}
		for _, prefix := range w.read.Under {
			e.First = append(e.First, w.firstUnder(prefix))
		}
		w.core.Step(e)
	case "restored":
		state := commit.NewState()
		state.Before = number(t, d.CmdArgs[0].Key)
		w.core = commit.New(config, state)
	case "arrivals":
		w.arrivals(t, d)
	case "stop":
		w.core.Step(commit.Stop{Err: errors.New("the store is closed")})
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
}

func number(t *testing.T, s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// work makes a transaction as its submitter does.
func (w *world) work(t *testing.T, d *datadriven.TestData) *commit.Work {
	work := &commit.Work{Ticket: d.CmdArgs[0].Key}
	for _, a := range d.CmdArgs[1:] {
		for _, v := range append(a.Vals, "")[:max(1, len(a.Vals))] {
			w.add(t, work, a.Key, v)
		}
	}
	work.Size = sizeOf(&change.Batch{Ops: work.Ops})
	return work
}

func (w *world) add(t *testing.T, work *commit.Work, what, value string) {
	e := entry(value)
	key := record.AppendMessageKey(nil, process, &e, message.Key{Kind: message.KindConnector, Source: "s"})
	op := func(key, value []byte) int {
		work.Ops = append(work.Ops, change.Op{Key: key, Value: value})
		return len(work.Ops) - 1
	}
	switch what {
	case "check":
		work.Consumes = append(work.Consumes, commit.Consume{Process: process, Entry: e})
	case "consume":
		work.Consumes = append(work.Consumes, commit.Consume{Process: process, Entry: e, Takes: true})
		work.Replaces = append(work.Replaces, op(key, nil))
	case "put":
		at := op(key, record.End(append(record.BeginMessage(nil), record.PlaceInline)))
		work.Puts = append(work.Puts, commit.Put{Process: process, Entry: e, Op: at})
		work.Replaces = append(work.Replaces, at)
	case "body":
		w.last++
		ref := record.BodyRef{ID: w.last, Count: 1, Size: 600}
		chunk, staged := record.AppendChunkKey(nil, w.last, 0), record.AppendStagedKey(nil, w.last)
		work.Stage = append(work.Stage, change.Op{Key: chunk, Value: record.New(chunk, make([]byte, 600)...)},
			change.Op{Key: staged, Value: record.New(staged, record.StagedContent(false, ref, nil)...)})
		owner := op(key, record.End(record.AppendRef(append(record.BeginMessage(nil), record.PlaceStaged), ref)))
		work.Puts = append(work.Puts, commit.Put{Process: process, Entry: e, Op: owner})
		work.Replaces = append(work.Replaces, owner)
		named := op(staged, record.New(staged, record.StagedContent(true, ref, key)...))
		work.Staged = append(work.Staged, commit.Staged{Ref: ref, Op: named, Owner: owner, Kept: true})
	case "send":
		key := record.AppendItemKey(nil, processtable.NodeID(value), 0, 0)
		content := append(make([]byte, record.ItemFixed), record.PlaceInline, 'm')
		at := op(key, record.New(key, content...))
		work.Items = append(work.Items, commit.Item{Peer: processtable.NodeID(value), Op: at, Staged: -1, Payload: []byte{'m'}})
	case "word", "large-word", "connector", "table-to", "error", "over":
		w.tell(work, what, value, op)
	case "bytes":
		for n := range number(t, value) / 500 {
			op([]byte(fmt.Sprint("m padding ", n)), make([]byte, 500))
		}
	case "record": // one of so many bytes
		op([]byte("m record"), make([]byte, number(t, value)))
	case "key":
		op(append([]byte("m"), make([]byte, number(t, value)-1)...), []byte{})
	case "settle":
		work.Settle = append(work.Settle, number(t, value))
		work.SettleOp = op(record.KeySettled, nil)
	case "park":
		work.Parks = append(work.Parks, process)
	case "table":
		work.Tables = append(work.Tables, commit.Table{Process: process, Definition: processtable.DefinitionHash{value[0]}, Stores: true})
		op([]byte("t"), []byte(value))
	case "bound": // a table that was here when the transaction was prepared
		work.Tables = append(work.Tables, commit.Table{Process: process, Definition: processtable.DefinitionHash{value[0]}})
	case "meet", "part", "whole", "new-store":
		w.link(work, what, op)
	default:
		t.Fatalf("a transaction has no %s", what)
	}
}

// link adds what the link with B has to say.
func (w *world) link(work *commit.Work, what string, op func(key, value []byte) int) {
	lane := record.LaneKey{Peer: "B"}
	switch what {
	case "meet":
		w.from.Incarnation[0]++
		work.Bind = &commit.Bind{Peer: "B", Incarnation: w.from.Incarnation}
	case "new-store":
		w.from = record.AcceptedAt{Incarnation: record.Incarnation{w.from.Incarnation[0] + 1}}
		w.parts = record.Incoming{}
		began := record.BeganKey("B")
		work.Bind = &commit.Bind{Peer: "B", Incarnation: w.from.Incarnation, Start: &commit.Start{
			NewStore: true, Op: op(began, record.New(began, make([]byte, record.BeganSize)...)),
		}}
	case "part":
		w.from.Number++
		if w.parts.Count == 0 {
			w.parts.First = w.from.Number
		}
		key := record.AppendPartKey(nil, "B", 0, w.parts.First, w.parts.Count)
		op(key, record.New(key, record.PlaceInline))
		w.parts.Count++
		in := w.parts
		work.Accept = &commit.Accept{LaneKey: lane, To: w.from, Count: 1, Incoming: &in}
	case "whole":
		w.from.Number++
		work.Accept = &commit.Accept{LaneKey: lane, To: w.from, Count: 1, Whole: []uint64{w.parts.First}, Incoming: &record.Incoming{}}
		w.parts = record.Incoming{}
	}
	op(record.AppendLane(nil, record.ClassAccepted, "B", 0), []byte{})
}

// firstUnder gives the first key of the store with a prefix, nil if there is none.
func (w *world) firstUnder(prefix []byte) (first []byte) {
	for key := range w.store {
		if strings.HasPrefix(key, string(prefix)) && (first == nil || key < string(first)) {
			first = []byte(key)
		}
	}
	return first
}

func names(works []*commit.Work) string {
	if len(works) == 0 {
		return "nothing"
	}
	var all []string
	for _, w := range works {
		all = append(all, w.Ticket.(string))
	}
	return strings.Join(all, " ")
}

func (w *world) next() {
	say := func(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }
	switch e := w.core.Next().(type) {
	case nil:
		say("nothing")
	case *commit.Failed:
		say("failed: %v", e.Err)
	case *commit.Read:
		w.read = e
		for _, key := range e.Keys {
			say("read %d: %s", e.Token, record.Readable(key))
		}
		for _, prefix := range e.Under {
			say("read %d: what begins with %s", e.Token, record.Readable(prefix))
		}
	case *commit.Write:
		w.write = e
		how := ""
		if e.Large {
			how = ", as a large one"
		}
		say("write %d: %s%s", e.Number, names(e.Works), how)
		w.others(e.Batch.Ops)
		if e.Staging {
			say("  of one that is not in it")
		}
	case *commit.Report:
		for _, l := range e.Lanes {
			end := l.Ends[0]
			say("lane to %s: %d to %d", l.Peer, end.Low.Number+1, end.Last.Number)
			if a := l.Apart; a.Count > 0 {
				say("  apart: %d, %d bytes: %s", a.Count, a.Bytes, l.Reads.Lacks(a.Needs))
			}
		}
		for _, m := range e.Moves {
			say("move for %s: %d", m.Peer, m.Numbers)
		}
		for _, r := range e.Refused {
			say("%s is refused: %v", r.Ticket, r.Err)
		}
		for _, done := range e.Done {
			say("%s is done", done.Ticket)
			for _, p := range done.Puts {
				w.told[p.Entry] = p.Arrival
				if p.Deliver {
					say("  %s gets %d", p.Entry.Activity, p.Number)
				}
			}
		}
	}
}

// tell sends a message for an entry to B, as "B/entry": a word, which needs format 2 of messages, a
// connector, or a table of format 4. The audit says that it was sent.
func (w *world) tell(work *commit.Work, what, value string, op func(key, value []byte) int) {
	peer, name, _ := strings.Cut(value, "/")
	m := &message.Message{Header: message.Header{
		Queue: message.Queue{Process: process, Node: processtable.NodeID(peer)}, Instance: message.InstanceID{1},
		Activity: processtable.ActivityID(name), Kind: message.KindConnector,
	}}
	switch what {
	case "word", "large-word":
		m.Kind, m.Number = message.KindWord, 1
	case "table-to":
		m.Kind, m.Body = message.KindTable, []byte{0xa1, 1, 4}
	case "error":
		m.Kind, m.Body = message.KindNotice, []byte{0x82, 2, 0xa0}
	case "over":
		m.Kind, m.Body = message.KindNotice, []byte{0x82, 1, 0xa0}
	}
	payload := []byte{'m'}
	if what == "large-word" {
		payload = make([]byte, config.MaxValue-100)
	}
	key := record.AppendItemKey(nil, m.Queue.Node, 0, 0)
	at := op(key, record.New(key, append(append(make([]byte, record.ItemFixed), record.PlaceInline), payload...)...))
	work.Items = append(work.Items, commit.Item{Peer: m.Queue.Node, Op: at, Staged: -1, Payload: payload, Message: m, First: true})
	key = append(append([]byte{record.ClassHistory}, make([]byte, 24)...), make([]byte, 12)...)
	audit := op(key, record.New(key, append([]byte(what), make([]byte, 8)...)...))
	work.Audits = append(work.Audits, commit.Audit{Op: audit, History: true, Sent: 1})
	work.Links = append(work.Links, commit.Link{Audit: len(work.Audits) - 1, Item: len(work.Items) - 1})
}

// move is the work that moves what waits apart.
func (w *world) move(t *testing.T, d *datadriven.TestData) *commit.Work {
	peer := processtable.NodeID(d.CmdArgs[1].Key)
	work := &commit.Work{Ticket: d.CmdArgs[0].Key, Move: &commit.Move{Peer: peer}}
	for _, v := range d.CmdArgs[1].Vals {
		key := record.AppendApartKey(nil, peer, number(t, v))
		a, err := record.ReadApart(key, w.store[string(key)])
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		key = record.AppendItemKey(nil, peer, a.Lane, 0)
		work.Ops = append(work.Ops, change.Op{Key: key, Value: record.New(key, append(append(make([]byte, record.ItemFixed), record.PlaceInline), a.Place.Inline...)...)})
		work.Items = append(work.Items, commit.Item{Peer: peer, Lane: a.Lane, Op: len(work.Ops) - 1, Staged: -1, Payload: a.Place.Inline})
		work.Move.Items = append(work.Move.Items, commit.Moved{Number: a.Number, Sent: a.Sent})
	}
	work.Size = sizeOf(&change.Batch{Ops: work.Ops})
	return work
}

// audit shows which numbers of the link it has.
func (w *world) audit() {
	for _, key := range slices.Sorted(maps.Keys(w.store)) {
		if key[0] != record.ClassHistory {
			continue
		}
		content, err := record.Open([]byte(key), []byte(w.store[key]))
		if err != nil {
			fmt.Fprintf(&w.out, "%v\n", err)
			continue
		}
		at := len(content) - 8
		fmt.Fprintf(&w.out, "%s: %d\n", content[:at], binary.BigEndian.Uint64(content[at:]))
	}
	for _, key := range slices.Sorted(maps.Keys(w.store)) {
		if key[0] == record.ClassApart {
			a, err := record.ReadApart([]byte(key), w.store[key])
			fmt.Fprintf(&w.out, "apart %d: %v %v\n", a.Number, a.Needs, err)
		}
	}
}

// arrivals shows when messages came: records and reports say the same.
func (w *world) arrivals(t *testing.T, d *datadriven.TestData) {
	for _, a := range d.CmdArgs {
		e := entry(a.Key)
		key := record.AppendMessageKey(nil, process, &e, message.Key{Kind: message.KindConnector, Source: "s"})
		at, err := record.ReadArrival(key, w.store[string(key)])
		if said, ok := w.told[e]; err != nil || ok && said != at {
			t.Fatalf("%s: arrived as %v, and its record says %v, %v", a.Key, said, at, err)
		}
		fmt.Fprintf(&w.out, "%s: %d.%d\n", a.Key, at.Commit, at.Index)
	}
}

// others shows what of a batch is about bodies, chunks and trims.
func (w *world) others(ops []change.Op) {
	for _, op := range ops {
		switch class := op.Key[0]; {
		case class == record.ClassChunk && op.Value != nil:
			fmt.Fprintf(&w.out, "  chunk of body %d\n", op.Key[8])
		case class == record.ClassChunk:
			fmt.Fprintf(&w.out, "  without chunk of body %d\n", op.Key[8])
		case class == record.ClassPart && op.Value == nil:
			fmt.Fprintf(&w.out, "  without part %s\n", record.Readable(op.Key))
		case class == record.ClassUsage && op.Value == nil:
			fmt.Fprintf(&w.out, "  nobody is charged with it: %s\n", record.Readable(op.Key))
		case class == record.ClassLow:
			_, _, low, _ := record.ReadLow(op.Key, op.Value)
			fmt.Fprintf(&w.out, "  trimmed up to %d\n", low.Number)
		}
	}
}
