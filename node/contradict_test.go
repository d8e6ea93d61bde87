package node

import (
	"strings"
	"sync"
	"testing"

	"fmqm/container"
	"fmqm/link"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// other is what B says in the second place of the connector that it has resolved.
func (w *inboxWorld) other(m message.Message) message.Message {
	w.t.Helper()
	body, err := container.EncodeValues([]container.Value{int64(8)})
	if err != nil {
		w.t.Fatal(err)
	}
	m.Body = body
	return m
}

// stored is what lies in A's queue of an instance.
func (w *inboxWorld) stored(m message.Message) []message.Message {
	w.t.Helper()
	found, err := w.a.queue.BrowseInstance(m.Queue.Process, m.Instance)
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

const saidBefore = "B: it contradicts an earlier message from there for here, and the earlier one counts"

// Invariants 2 and 4: what comes of a connector a second time and says something else
// replaces nothing, neither in memory nor in the store, also within one transaction. The same
// once more is no cause for alarm.
func TestWhatComesFirstCounts(t *testing.T) {
	for name, send := range map[string]func(*inboxWorld, ...message.Message){
		"one by one": func(w *inboxWorld, all ...message.Message) {
			for _, m := range all {
				w.accept(m)
			}
		},
		"at once": (*inboxWorld).accept,
	} {
		t.Run(name, func(t *testing.T) {
			w := newInboxWorld(t, true)
			first := w.connector()
			dead := first
			dead.Control, dead.Data, dead.Body = message.False, message.DataAbsent, nil
			send(w, first, first, w.other(first), dead)
			if got := w.aside(); got != saidBefore+"\n"+saidBefore {
				t.Errorf("set aside:\n%s", got)
			}
			if found := w.stored(first); len(found) != 1 || string(found[0].Body) != string(first.Body) || found[0].Control != message.True {
				t.Errorf("the store has %+v, want the first", found)
			}
		})
	}
}

// The same of messages that wait for their table.
func TestWhatComesFirstCountsAmongWhatWaits(t *testing.T) {
	w := newInboxWorld(t, false)
	first := w.connector()
	w.accept(first, w.other(first))
	w.giveTable()
	w.unparked()
	if got := w.aside(); got != saidBefore {
		t.Errorf("set aside:\n%s", got)
	}
	if found := w.stored(first); len(found) != 1 || string(found[0].Body) != string(first.Body) {
		t.Errorf("the store has %+v, want the first", found)
	}
}

// Two lanes bring it at the same moment: one of the two counts, in memory and in the store.
func TestOneOfTwoThatComeAtOnceCounts(t *testing.T) {
	w := newInboxWorld(t, true)
	const many = 50
	var batches [link.Lanes]link.Batch
	var all []message.Message
	for lane := range batches {
		batches[lane] = link.Batch{From: w.b.Incarnation(), Lane: message.Lane(lane), After: w.inbox.Accepted(message.Lane(lane))}
	}
	for range many {
		m := w.connector()
		all = append(all, m)
		for lane := range batches {
			b := &batches[lane]
			m.Lane = message.Lane(lane)
			encoded, err := message.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			payload := append([]byte{0}, encoded...)
			at := b.After
			if n := len(b.Items); n > 0 {
				at = link.Position{Number: b.Items[n-1].Number, Hash: b.Items[n-1].Hash}
			}
			b.Items = append(b.Items, link.Item{Number: at.Number + 1, Hash: queue.HashNext(at.Hash, payload), Payload: payload})
			m = w.other(m)
		}
	}
	var done sync.WaitGroup
	for _, b := range batches {
		done.Add(1)
		go w.inbox.Accept(b, func(err error) {
			if err != nil {
				t.Error(err)
			}
			done.Done()
		})
	}
	done.Wait()
	if got := strings.Count(w.aside(), saidBefore); got != many {
		t.Errorf("%d are set aside, want one of each two:\n%s", got, w.aside())
	}
	for _, m := range all {
		found := w.stored(m)
		if len(found) != 1 {
			t.Fatalf("the store has %d of one connector", len(found))
		}
		id := message.Entry{Instance: m.Instance, Activity: "here"}
		if e, err := w.a.queue.Message(w.table.Process, id, message.Key{Kind: message.KindConnector, Source: processtable.ActivityID("there")}); err != nil || e == nil {
			t.Errorf("by its key: %v, %v", e, err)
		}
	}
}
