package queuetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// dump shows all that a manager has stored, by its reading methods.
func (s *site) dump() string {
	s.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "incarnation %s\ntables %v\nparked %v\n", s.Incarnation(), s.Tables(), s.Parked())
	for _, p := range []processtable.ProcessID{procP, procQ} {
		found, _, err := s.BrowseFrom(p, message.Entry{}, 1<<20)
		s.check(err)
		for _, e := range found {
			fmt.Fprintf(&b, "entry %v\n%s", e.Entry, show(e.Messages))
		}
		records, _, err := s.Records(p, message.InstanceID{}, 1<<20)
		s.check(err)
		fmt.Fprintf(&b, "records\n%s", show(records))
	}
	for _, peer := range []processtable.NodeID{"B", "C"} {
		inc, known := s.KnownIncarnation(peer)
		fmt.Fprintf(&b, "peer %s %s %v\n", peer, inc, known)
		for lane := range message.Lane(2) {
			tr := s.Transmission(peer)
			fmt.Fprintf(&b, "lane %d from %+v to %+v, accepted %+v\n", lane, tr.Low(lane), tr.Last(lane), s.Accepted(peer, lane))
			for _, i := range s.items(peer, lane) {
				fmt.Fprintf(&b, "%d %s %x\n", i.Number, i.Hash, sha256.Sum256(i.Payload))
			}
		}
	}
	instances, err := s.Instances(audit.ListOptions{States: audit.AllStates, Limit: 1 << 20})
	s.check(err)
	for _, i := range instances {
		history, err := s.History(i.Started.Instance)
		s.check(err)
		fmt.Fprintf(&b, "history %v\n", history)
	}
	refused, err := s.RefusedList(1 << 20)
	s.check(err)
	keys := s.keys()
	fmt.Fprintf(&b, "%d refused, %d timers, %d markers, %d bodies, %d chunks\n", len(refused), keys["d"], keys["k"], keys["b"], keys["c"])
	return b.String()
}

func (s *site) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func show(messages []message.Message) string {
	var b strings.Builder
	for i := range messages {
		fmt.Fprintf(&b, "  %+v %x\n", messages[i].Header, sha256.Sum256(messages[i].Body))
	}
	return b.String()
}

// model is what a manager should have: plain maps, changed by the same transactions.
type model struct {
	local map[message.Entry]map[message.Key]message.Message
	dirty map[message.Entry]bool // put, and not taken out of the mailbox
	sent  map[processtable.NodeID][]message.Message
	audit int
}

// testModel submits random transactions and compares with the model; now and then the
// node stops, or crashes, and everything must be as it was.
func testModel(t *testing.T, open storetest.Open) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newSite(t, open)
		s.check(s.NoteRecreated()) // else a connector comes only once
		s.must(&record.Tx{Tables: []record.TableRecord{{Process: procP, Definition: defP}}})
		mb := s.Mailbox(procP)
		m := model{
			local: map[message.Entry]map[message.Key]message.Message{}, dirty: map[message.Entry]bool{},
			sent: map[processtable.NodeID][]message.Message{},
		}
		transaction := func(rt *rapid.T) {
			tx, stale := m.draw(rt)
			err := s.try(tx)
			switch {
			case stale && !errors.Is(err, commit.ErrStale):
				rt.Fatalf("a stale transaction gives %v", err)
			case !stale && err != nil:
				rt.Fatalf("transaction: %v", err)
			case err == nil:
				m.apply(tx)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"transaction": transaction, "another": transaction, "one more": transaction,
			"take": func(*rapid.T) {
				for _, d := range mb.Take(1000) {
					if !m.dirty[d.Entry] {
						rt.Fatalf("delivery for %v, for which nothing came", d.Entry)
					}
					delete(m.dirty, d.Entry)
				}
				if len(m.dirty) > 0 {
					rt.Fatalf("no delivery for %v", m.dirty)
				}
			},
			"restart": func(rt *rapid.T) {
				before := s.dump()
				if rapid.Bool().Draw(rt, "crash") {
					s.crash()
				} else {
					s.reopen()
				}
				if after := s.dump(); after != before {
					rt.Fatalf("after a restart:\n%s\nbefore:\n%s", after, before)
				}
				mb = s.Mailbox(procP)
				clear(m.dirty)
			},
			"": func(rt *rapid.T) { m.compare(rt, s) },
		})
		if err := s.Close(t.Context()); err != nil {
			rt.Fatal(err)
		}
	})
}

func drawSize(t *rapid.T) int {
	return rapid.SampledFrom([]int{0, 1, 200, 33 << 10, 300 << 10}).Draw(t, "size")
}

func drawEntry(t *rapid.T) message.Entry {
	return entry(rapid.IntRange(0, 2).Draw(t, "instance"), processtable.ActivityID(rapid.SampledFrom([]string{"b", "b1", "sink"}).Draw(t, "activity")))
}

func drawMessage(t *rapid.T, node processtable.NodeID) message.Message {
	e := drawEntry(t)
	m := msg(node, 0, processtable.ActivityID(rapid.SampledFrom([]string{"a", "c"}).Draw(t, "source")), e.Activity, noise(drawSize(t), rapid.Byte().Draw(t, "seed"))...)
	m.Instance = e.Instance
	m.Clock = rapid.Uint64().Draw(t, "clock")
	if rapid.Bool().Draw(t, "snapshot") {
		m = kind(m, message.KindSnapshot)
	}
	return m
}

// draw gives a transaction, and whether it is stale.
func (m *model) draw(t *rapid.T) (tx *record.Tx, stale bool) {
	tx = &record.Tx{}
	for range rapid.IntRange(0, 2).Draw(t, "consumes") {
		e := drawEntry(t)
		if slices.ContainsFunc(tx.Consume, func(c record.Consume) bool { return c.Entry == e }) {
			continue
		}
		c := record.Consume{Process: procP, Entry: e}
		for _, k := range slices.SortedFunc(maps.Keys(m.local[e]), compareKeys) {
			if rapid.Bool().Draw(t, "take") {
				c.Keys = append(c.Keys, k)
			}
		}
		if rapid.Bool().Draw(t, "knows") {
			c.Replaces = []message.Key{}
			for k := range m.local[e] {
				if !slices.Contains(c.Keys, k) {
					c.Replaces = append(c.Replaces, k)
				}
			}
		}
		tx.Consume = append(tx.Consume, c)
		stale = stale || m.dirty[e]
	}
	for range rapid.IntRange(0, 3).Draw(t, "local") {
		tx.Put = append(tx.Put, drawMessage(t, "A"))
	}
	for range rapid.IntRange(0, 2).Draw(t, "remote") {
		tx.Put = append(tx.Put, drawMessage(t, processtable.NodeID(rapid.SampledFrom([]string{"B", "C"}).Draw(t, "peer"))))
	}
	if rapid.Bool().Draw(t, "audit") {
		tx.Audit = []record.AuditRecord{{
			Instance: uuid.UUID{0: 9, 15: byte(m.audit)}, Activity: processtable.Source, Event: record.EventStarted,
			Time: noon.Add(time.Duration(m.audit)), Output: noise(drawSize(t), 1),
		}}
	}
	return tx, stale
}

func compareKeys(a, b message.Key) int {
	return bytes.Compare([]byte{byte(a.Kind)}, []byte{byte(b.Kind)})*2 + strings.Compare(string(a.Source), string(b.Source))
}

func (m *model) apply(tx *record.Tx) {
	for _, c := range tx.Consume {
		for _, k := range c.Keys {
			delete(m.local[c.Entry], k)
		}
	}
	for _, msg := range tx.Put {
		if msg.Queue.Node != "A" {
			m.sent[msg.Queue.Node] = append(m.sent[msg.Queue.Node], msg)
			continue
		}
		e := msg.Entry()
		if m.local[e] == nil {
			m.local[e] = map[message.Key]message.Message{}
		}
		m.local[e][msg.Key()] = msg
		m.dirty[e] = true
	}
	m.audit += len(tx.Audit)
}

func (m *model) compare(t *rapid.T, s *site) {
	large, all := 0, 0
	for e, messages := range m.local {
		all += len(messages)
		var want []message.Message
		for _, k := range slices.SortedFunc(maps.Keys(messages), compareKeys) {
			want = append(want, messages[k])
			if len(messages[k].Body) > 32<<10 {
				large++
			}
		}
		got := s.stored(e)
		if show(got) != show(want) {
			t.Fatalf("entry %v has\n%swant\n%s", e, show(got), show(want))
		}
	}
	if got := s.messages(procP); got != all {
		t.Fatalf("%d messages are counted, want %d", got, all)
	}
	items := 0
	for peer, want := range m.sent {
		for _, i := range s.checkLane(peer, 0, record.Position{}, want...) {
			if len(i.Payload) > 32<<10 {
				items++
			}
		}
	}
	if got := s.keys()["b"]; got != large+items {
		t.Fatalf("%d bodies are staged, want %d", got, large+items)
	}
	list, err := s.Instances(audit.ListOptions{States: audit.AllStates, Limit: 1000})
	if err != nil || len(list) != m.audit {
		t.Fatalf("%d instances, %v, want %d", len(list), err, m.audit)
	}
}
