package commit_test

import (
	"errors"
	"fmt"
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
	last  uint64 // body staged so far
	out   strings.Builder
}

func entry(name string) message.Entry {
	return message.Entry{Instance: message.InstanceID{1}, Activity: processtable.ActivityID(name)}
}

func sizeOf(b *change.Batch) (n int64) {
	for i := range b.Ops {
		n += int64(len(b.Ops[i].Key) + len(b.Ops[i].Value))
	}
	return n
}

// The stories in testdata tell what the committer does, event by event:
//
//	open                          the process queue has a reader from now on
//	submit T1 [consume=e] [check=e] [put=e] [body=e] [send=B] [bytes=n] [take=n] [park] [table]
//	                              a transaction: it takes messages of e, is only decided on it, puts
//	                              a message for it (with a staged body), sends one to B, is so large,
//	                              takes out a refused message
//	taken e=1 f=2                 the reader has taken what was delivered up to these numbers
//	trim B=3                      B has acknowledged so much
//	next                          what the core wants now
//	written [fails] [token=n]     the answer to its write: it is on disk, or that is not known
//	answer [fails] [token=n]      the answer to its read
//	set-aside 1                   a refused message is in the store
//	stop                          nothing more is committed
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := &world{store: map[string][]byte{}}
		w.core = commit.New(commit.Config{Size: sizeOf, MaxBatch: 4000}, commit.NewState())
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
	case "set-aside":
		key := record.AppendSetAsideKey(nil, number(t, d.CmdArgs[0].Key))
		w.store[string(key)] = record.New(key, record.PlaceInline)
	case "next":
		w.next()
	case "written":
		e := commit.Written{Number: token(w.write.Number), Last: w.write.Number}
		if d.HasArg("fails") {
			e.Err = errors.New("the disk has failed")
		} else if e.Number == w.write.Number {
			for _, op := range w.write.Batch.Ops {
				w.store[string(op.Key)] = op.Value
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
		w.core.Step(e)
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
		work.Puts = append(work.Puts, commit.Put{Process: process, Entry: e})
		work.Replaces = append(work.Replaces, op(key, record.New(key, record.PlaceInline)))
	case "body":
		w.last++
		ref := record.BodyRef{ID: w.last, Count: 1, Size: 600}
		chunk, staged := record.AppendChunkKey(nil, w.last, 0), record.AppendStagedKey(nil, w.last)
		work.Stage = append(work.Stage, change.Op{Key: chunk, Value: record.New(chunk, make([]byte, 600)...)},
			change.Op{Key: staged, Value: record.New(staged, record.StagedContent(false, ref, nil)...)})
		work.Puts = append(work.Puts, commit.Put{Process: process, Entry: e})
		owner := op(key, record.New(key, record.AppendRef([]byte{record.PlaceStaged}, ref)...))
		work.Replaces = append(work.Replaces, owner)
		named := op(staged, record.New(staged, record.StagedContent(true, ref, key)...))
		work.Staged = append(work.Staged, commit.Staged{Ref: ref, Op: named, Owner: owner, Kept: true})
	case "send":
		key := record.AppendItemKey(nil, processtable.NodeID(value), 0, 0)
		content := append(make([]byte, record.ItemFixed), record.PlaceInline, 'm')
		at := op(key, record.New(key, content...))
		work.Items = append(work.Items, commit.Item{Peer: processtable.NodeID(value), Op: at, Staged: -1, Payload: []byte{'m'}})
	case "bytes":
		for n := range number(t, value) / 500 {
			op([]byte(fmt.Sprint("m padding ", n)), make([]byte, 500))
		}
	case "take":
		work.Takes = append(work.Takes, number(t, value))
		work.TakesOp = op(record.KeyAside, nil)
	case "park":
		work.Parks = append(work.Parks, process)
	case "table":
		work.Tables = append(work.Tables, commit.Table{Process: process, Definition: processtable.DefinitionHash{value[0]}})
		op([]byte("t"), []byte(value))
	default:
		t.Fatalf("a transaction has no %s", what)
	}
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
		}
		for _, r := range e.Refused {
			say("%s is refused: %v", r.Ticket, r.Err)
		}
		for _, done := range e.Done {
			say("%s is done", done.Ticket)
			for _, p := range done.Puts {
				if p.Deliver {
					say("  %s gets %d", p.Entry.Activity, p.Number)
				}
			}
		}
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
		case class == record.ClassLow:
			_, _, low, _ := record.ReadLow(op.Key, op.Value)
			fmt.Fprintf(&w.out, "  trimmed up to %d\n", low.Number)
		}
	}
}
