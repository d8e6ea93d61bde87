package lane_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/inspect"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// apartMessages are a word, which B reads once it is upgraded once, a table of three parts, which it
// reads once it is upgraded twice, and connectors, of which the last is from another scope, which it
// reads with the word.
func apartMessages() []message.Message {
	header := func(activity string, kind message.Kind) message.Header {
		return message.Header{
			Queue: message.Queue{Process: procP, Node: "B"}, Instance: uuid.UUID{6: 0x70, 8: 0x80}, Origin: "A",
			Activity: processtable.ActivityID(activity), Kind: kind, Clock: 1,
		}
	}
	word := header("e", message.KindWord)
	word.Number = 1
	table := header("", message.KindTable)
	table.Instance, table.Definition = uuid.UUID{}, processtable.ShortHash{1}
	one, two := header("f", message.KindConnector), header("e", message.KindConnector)
	for _, h := range []*message.Header{&one, &two} {
		h.Source, h.Control, h.Data = "s", message.True, message.DataPresent
	}
	two.SourceScope = "b#1"
	return []message.Message{
		{Header: word, Body: []byte{0x82, 1, 0xa0}},
		{Header: table, Body: append([]byte{0xa1, 1, 23}, make([]byte, 2*record.PartSize)...)},
		{Header: one, Body: []byte{1}},
		{Header: two, Body: make([]byte, 40<<10)},
	}
}

// apartStory has A put them, and B upgraded twice, from wherever a kill has left the store.
func apartStory(d *memory.Disk, faults memory.Faults) error {
	engine, err := d.Open(memory.Options{Faults: faults})
	if err != nil {
		return err
	}
	m, err := queue.Open(engine, queue.Options{Node: "A"})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	by := task.Goroutines{}
	by.Go(func() {
		_, _, _ = m.Failed().Wait(ctx)
		cancel()
	})
	err = apartSteps(ctx, m, by)
	return errors.Join(err, m.Close(context.Background()))
}

// putApart has A put them while B was never heard.
func putApart(m *queue.Manager) error {
	all := apartMessages()
	tx := &record.Tx{Put: all}
	for i := range all {
		if all[i].Kind != message.KindConnector {
			continue
		}
		tx.Audit = append(tx.Audit, record.AuditRecord{
			Instance: uuid.UUID{6: 0x70, 8: 0x80}, Scope: all[i].SourceScope, Activity: all[i].Source, Event: record.EventIterated, Clock: uint64(i), Definition: processtable.ShortHash{2},
			Sent: []record.Sent{{Target: "nobody", Node: "A"}, {Target: all[i].Activity, Node: "B", Lane: all[i].Lane}},
		})
	}
	return submit(m, tx)
}

func apartSteps(ctx context.Context, m *queue.Manager, by task.Scheduler) error {
	b := m.Transmission("B")
	if count, _ := b.Size(); count == 0 && b.Last(0).Number == 0 {
		if err := putApart(m); err != nil {
			return err
		}
	}
	upgraded := message.Before()
	upgraded.Message.Max, upgraded.Bodies[message.KindWord] = 2, 1
	whole := upgraded
	whole.Table.Max = 23
	for _, now := range []struct {
		reads message.Reads
		apart uint64
	}{{upgraded, 3}, {whole, 0}} {
		b.PeerReads(now.reads)
		for {
			stats, err := b.Stats()
			if err != nil {
				return err
			}
			if stats.Apart <= now.apart {
				break
			}
			if _, err := by.Wait(ctx, b.Wake()); err != nil {
				return err
			}
		}
	}
	return nil
}

// N17: killed in any commit, whatever becomes of that one, all that waited apart comes into the
// lane once, in whole messages, with the numbers that the audit has of it, and nothing is left.
func TestWhatWaitsApartSurvivesAKill(t *testing.T) {
	for in := 1; ; in++ {
		died := false
		for _, kept := range []bool{false, true} {
			d := memory.NewDisk("A")
			err := apartStory(d, &memory.Killed{In: in, Kept: kept})
			died = err != nil
			d.Crash(false)
			if err := apartStory(d, nil); err != nil {
				t.Fatalf("killed in commit %d (kept: %t): %v, then %v", in, kept, err, err)
			}
			t.Run(fmt.Sprintf("%d %t", in, kept), func(t *testing.T) { checkApart(t, d) })
		}
		if !died {
			if in < 7 {
				t.Errorf("the story has only %d commits", in-1)
			}
			return
		}
	}
}

// checkApart looks at what the story leaves.
func checkApart(t *testing.T, d *memory.Disk) {
	engine, err := d.Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := queue.Open(engine, queue.Options{Node: "A"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close(context.Background()) }()
	items, err := m.Transmission("B").Read(0, 1, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[processtable.ActivityID][]uint64{}
	var got []string
	var parts []byte
	at := record.Position{}
	for _, i := range items {
		if at = (record.Position{Number: i.Number, Hash: record.HashNext(at.Hash, i.Payload)}); at.Hash != i.Hash {
			t.Fatalf("item %d has another hash", i.Number)
		}
		piece, err := record.Unpack(i.Payload)
		if err != nil {
			t.Fatal(err)
		}
		first := i.Number - uint64(piece.Index)
		if parts = append(parts, piece.Data...); !piece.Last() {
			continue
		}
		msg, err := message.Decode(parts)
		if err != nil {
			t.Fatal(err)
		}
		got, parts = append(got, fmt.Sprintf("%d %s", msg.Kind, msg.Activity)), nil
		if msg.Kind == message.KindConnector {
			numbers[msg.Activity] = append(numbers[msg.Activity], first)
		}
		i := slices.IndexFunc(apartMessages(), func(o message.Message) bool { return o.Kind == msg.Kind && o.Activity == msg.Activity })
		if !bytes.Equal(msg.Body, apartMessages()[i].Body) {
			t.Errorf("the body of %s is another one", msg.Activity)
		}
	}
	if want := []string{"1 f", "8 e", "1 e", "6 "}; !slices.Equal(got, want) {
		t.Errorf("the lane has %q, expected %q", got, want)
	}
	audited := map[processtable.ActivityID][]uint64{}
	records := read.Records{Reader: engine}
	err = records.Each(store.ScanOptions{Prefix: []byte{record.ClassHistory}}, func(key, value []byte) error {
		a, err := records.Audit(key, value)
		if err == nil {
			if a.Sent[0].Number != 0 {
				t.Errorf("what was put here has number %d", a.Sent[0].Number)
			}
			audited[a.Sent[1].Target] = append(audited[a.Sent[1].Target], a.Sent[1].Number)
		}
		return err
	})
	for _, n := range audited {
		slices.Sort(n)
	}
	if err != nil || !maps.EqualFunc(numbers, audited, slices.Equal) {
		t.Errorf("the audit has %v, the lane %v (%v)", audited, numbers, err)
	}
	report, err := inspect.Verify(engine)
	if err != nil || len(report.Problems) > 0 || report.Records["item apart"] != 0 || report.Records["staged body"] != 4 {
		t.Errorf("what is left: %+v, %v", report, err)
	}
	if count, size := m.Transmission("B").Size(); count != uint64(len(items)) || size == 0 {
		t.Errorf("it says that %d items wait (%d bytes), and there are %d", count, size, len(items))
	}
}

// N17: what a peer has said last holds after a restart, also where it reads less since; what waits
// apart counts for the quota of its queue, and says what the peer lacks.
func TestWhatAPeerReadsIsKept(t *testing.T) {
	d, by := memory.NewDisk("A"), task.Goroutines{}
	reads := message.Current()
	for i, step := range []struct {
		says        *message.Reads
		last, apart uint64
		lacks       string
	}{
		{nil, 0, 1, "message format 2, and it reads 1 to 1"}, // never heard
		{&reads, 2, 0, ""}, // the next one has a number at once
		{nil, 3, 0, ""},    // and so after a restart, where it is not heard
		{new(message.Before()), 3, 1, "message format 2, and it reads 1 to 1"}, // it goes back to the version before
		{nil, 3, 2, "message format 2, and it reads 1 to 1"},
	} {
		engine, err := d.Open(memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := queue.Open(engine, queue.Options{Node: "A"})
		if err != nil {
			t.Fatal(err)
		}
		b := m.Transmission("B")
		if step.says != nil {
			b.PeerReads(*step.says)
		}
		for stats, err := b.Stats(); step.says == &reads && stats.Apart > 0; stats, err = b.Stats() {
			if _, waited := by.Wait(t.Context(), b.Wake()); err != nil || waited != nil {
				t.Fatal(err, waited)
			}
		}
		word := apartMessages()[0]
		word.Number = uint64(i + 1)
		if err := submit(m, &record.Tx{Put: []message.Message{word}}); err != nil {
			t.Fatal(err)
		}
		stats, err := b.Stats()
		count, size := b.Size()
		if err != nil || stats.Apart != step.apart || stats.Lacks != step.lacks || b.Last(0).Number != step.last {
			t.Errorf("%d: %+v, %d have numbers, %v; expected %+v", i, stats, b.Last(0).Number, err, step)
		}
		if count != step.last+step.apart || count != stats.Count || size != stats.Bytes || stats.Oldest.IsZero() || len(m.Peers()) != 1 {
			t.Errorf("%d: %d items of %d bytes count, and %+v is there", i, count, size, stats)
		}
		if err := m.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		d.Crash(false)
	}
}
