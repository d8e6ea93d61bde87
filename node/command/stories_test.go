package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// N15 at the seams of the room, told line by line: who asks, what a link brings, what the process
// thread answers, and what stops in between. Each file of testdata is a story.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			s := story{w, d}
			told := s.do()
			w.rest()
			told = append(told, w.told...)
			w.told = nil
			if len(told) == 0 {
				told = []string{"nothing"}
			}
			return w.named(strings.Join(told, "\n")) + "\n"
		})
		w.kill()
	})
}

// story is one command of a story.
type story struct {
	*world
	d *datadriven.TestData
}

func (s *story) do() []string {
	switch s.d.Cmd {
	case "ask": // OPERATOR ACTIVITY [id=N] [asked] [output]: for a retry
		r := api.RetryRequest{Activity: s.arg(1), Asked: s.d.HasArg("asked")}
		if s.d.HasArg("id") {
			r.Word = s.word()
		}
		if s.d.HasArg("output") {
			r.Output = json.RawMessage(`{}`)
		}
		s.ask(s.arg(0), s.arg(0), r)
	case "leave": // OPERATOR: he waits no more
		s.asks[s.arg(0)]()
	case "brings": // PEER word|answer id=N [of=N] ...: about the second instance, say
		return s.brings(processtable.NodeID(s.arg(0)))
	case "thread": // answers all words that lie here, as done, or [refused], which leaves [no-line]
		return s.thread()
	case "sent": // PEER: what waits for it
		return s.sent(processtable.NodeID(s.arg(0)))
	case "history":
		return s.history()
	case "observed": // of history, as soon as it was on disk
		told := s.observed
		s.observed = nil
		return told
	case "lies":
		return s.lies()
	case "pass": // DURATION
		d, err := time.ParseDuration(s.arg(0))
		s.must(err)
		s.pass(d)
	case "slow": // DURATION: of each commit from now on
		d, err := time.ParseDuration(s.arg(0))
		s.must(err)
		s.slow = d
	case "quota": // BYTES
		quota, err := strconv.Atoi(s.arg(0))
		s.must(err)
		s.quota = int64(quota)
	case "hears": // PEER
		reads := message.Current()
		s.heard[processtable.NodeID(s.arg(0))].Reads = &reads
	case "takes": // OPERATOR: of B
		s.SetRemote(trust.Operators{{Site: "B", Operators: []string{s.arg(0)}}})
	case "restart":
		s.kill()
		s.open(trust.Operators{})
	default:
		s.t.Fatalf("the story has no command %s", s.d.Cmd)
	}
	return nil
}

func (s *story) arg(i int) string { return s.d.CmdArgs[i].Key }

func (s *story) text(key string) string {
	if !s.d.HasArg(key) {
		return ""
	}
	for _, a := range s.d.CmdArgs {
		if a.Key == key {
			return strings.Join(a.Vals, ", ")
		}
	}
	return ""
}

func (s *story) word() message.WordID {
	if s.text("id") == "last" {
		return s.last
	}
	n, err := strconv.ParseUint(s.text("id"), 10, 64)
	s.must(err)
	return wordID(n)
}

// brings lets a peer's link bring a word about x, or an answer to one about y, as admission takes
// it: judged, put in one transaction, told.
func (s *story) brings(peer processtable.NodeID) []string {
	h := message.Header{
		Queue: message.Queue{Process: s.id(), Node: "A"}, Instance: instance, Number: message.WordNumber(s.word()),
		Lane: message.LaneControl, Clock: 5,
	}
	if of := s.text("of"); of != "" {
		h.Instance[0] = of[0] - '0'
	}
	m := message.Message{Header: h}
	if s.arg(1) == "word" {
		m.Kind, m.Activity = message.KindWord, "x"
		m.Body = message.EncodeWord(message.Word{ID: s.word(), Wish: message.WishRetry, Operator: s.text("by"), Site: peer, Reply: true})
	} else {
		m.Kind, m.Activity = message.KindAnswer, "y"
		a := message.Answer{Word: s.word(), Result: message.WordDone}
		if text := s.text("refused"); text != "" {
			a.Result, a.Text = message.WordRefused, text
		}
		m.Body = message.EncodeAnswer(a)
	}
	var told []string
	s.run(func() {
		r, err := s.Rule(peer, &m, len(s.text("beside")), func() (bool, error) { return false, nil })
		s.must(err)
		if told = []string{s.ruled(&r)}; r.Aside != "" {
			return
		}
		tx := &record.Tx{}
		switch {
		case r.Word:
			m.From = peer
			tx.Put = append(tx.Put, m)
		case r.Reply != nil:
			tx.Put = append(tx.Put, *r.Reply)
		case r.Line != nil:
			tx.Audit = append(tx.Audit, *r.Line)
		default:
			return
		}
		s.must(fake{s.world}.Commit(context.Background(), tx))
		if r.Stored != nil {
			r.Stored()
		}
	})
	return told
}

func (s *story) ruled(r *Ruling) string {
	switch {
	case r.Aside != "":
		return "set aside: " + r.Aside
	case r.Word:
		return "it is put"
	case r.Reply != nil:
		a, err := message.DecodeAnswer(r.Reply.Body)
		s.must(err)
		return "answered at once: " + a.Text
	case r.Line != nil:
		return "it is a line of history"
	}
	return "nothing is done"
}

// lying gives the words that lie here.
func (s *story) lying() (all []message.Message) {
	for _, activity := range []processtable.ActivityID{"x", "y"} {
		found, err := s.Queue.Browse(s.id(), message.Entry{Instance: instance, Activity: activity})
		s.must(err)
		all = append(all, found...)
	}
	return all
}

func (s *story) lies() (told []string) {
	s.run(func() {
		for _, m := range s.lying() {
			o, err := message.DecodeWord(m.Body)
			s.must(err)
			told = append(told, fmt.Sprintf("%s about %s, of %s", o.ID, m.Activity, o.By()))
		}
	})
	return told
}

// thread does with the words that lie here what a process thread does.
func (s *story) thread() (told []string) {
	s.run(func() {
		s.mail.Take(100)
		for _, m := range s.lying() {
			o, err := message.DecodeWord(m.Body)
			s.must(err)
			a := message.Answer{Word: o.ID, Result: message.WordDone}
			if s.d.HasArg("refused") {
				a.Result, a.Text = message.WordRefused, "it is not in error"
			}
			tx := &record.Tx{Consume: []record.Consume{{Process: s.id(), Entry: m.Entry(), Keys: []message.Key{m.Key()}}}}
			if !s.d.HasArg("no-line") {
				tx.Audit = []record.AuditRecord{{
					Clock: m.Clock + 1, Process: s.id(), Instance: instance, Origin: "A", Activity: m.Activity,
					Event: record.EventRetried, By: o.By(), Reason: a.Text, Word: &record.Word{ID: o.ID, Wish: o.Wish, Result: a.Result},
				}}
			}
			if o.Reply {
				tx.Put = append(tx.Put, m.Header.Reply(o.Site, a))
			}
			s.must(fake{s.world}.Commit(context.Background(), tx))
			s.Answered(m.Entry(), a)
			told = append(told, fmt.Sprintf("%s is answered", o.ID))
		}
	})
	return told
}

// sent gives what waits for a peer.
func (s *story) sent(peer processtable.NodeID) (told []string) {
	s.run(func() {
		t := s.Queue.Transmission(peer)
		for lane := range message.Lane(record.Lanes) {
			items, err := t.Read(lane, t.Low(lane).Number+1, 1<<20)
			s.must(err)
			for _, item := range items {
				piece, err := record.Unpack(item.Payload)
				s.must(err)
				m, err := message.Decode(piece.Data)
				s.must(err)
				told = append(told, s.shown(&m))
			}
		}
	})
	return told
}

func (s *story) shown(m *message.Message) string {
	if m.Kind == message.KindAnswer {
		a, err := message.DecodeAnswer(m.Body)
		s.must(err)
		return strings.TrimSuffix(fmt.Sprintf("answer to %s: %d: %s", a.Word, a.Result, a.Text), ": ")
	}
	o, err := message.DecodeWord(m.Body)
	s.must(err)
	return fmt.Sprintf("%s about %s, of %s", o.ID, m.Activity, o.By())
}

func (s *story) history() (told []string) {
	s.run(func() {
		all, err := s.Queue.History(instance)
		s.must(err)
		for i := range all {
			told = append(told, lineOf(&all[i]))
		}
	})
	return told
}

func lineOf(r *record.AuditRecord) string {
	event := map[record.Event]string{record.EventAsked: "asked", record.EventAnswered: "answered", record.EventRetried: "retried"}
	return strings.TrimSuffix(fmt.Sprintf("%s %s by %s, %s: %s", r.Activity, event[r.Event], r.By, r.Word.ID, r.Reason), ": ")
}

// An output that no message carries is refused where it is given, with what to do.
func TestAnOutputThatNoMessageCarries(t *testing.T) {
	w := newWorld(t)
	defer w.kill()
	w.ask("ann", "ann", api.RetryRequest{Activity: "y", Output: make([]byte, message.MaxBody)})
	w.rest()
	want := "ann is told: refused: retry y: output: its JSON has 8388608 bytes, which is more than a message carries: pass a reference (a file name, a URL) instead of the data"
	if len(w.told) != 1 || w.told[0] != want {
		t.Errorf("%q, want %s", w.told, want)
	}
	s := story{w, nil}
	if lies, line := s.lies(), s.history(); len(lies)+len(line) != 0 {
		t.Errorf("there is %q and %q", lies, line)
	}
}
