package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// wordWorld is site A of orders. Its pack is in error in an instance that was started at C, and
// it takes what alice asks at B. What peers bring, they bring as their links do.
type wordWorld struct {
	*keeper
	process processtable.ProcessID
	id      message.InstanceID // of the instance
}

func newWordWorld(t *testing.T) *wordWorld {
	t.Helper()
	w := &wordWorld{keeper: newKeeper(t, "A", orders), process: processtable.ProcessID{Name: "orders", Version: 1}, id: uuid.Must(uuid.NewV7())}
	for _, peer := range []processtable.NodeID{"B", "C", "X"} {
		w.queue.Transmission(peer).PeerReads(message.Current())
	}
	w.SetRemoteOperators(trust.Operators{{Site: "B", Operators: []string{"alice"}}})
	w.bring("B", message.LaneData, message.Message{Header: message.Header{
		Queue: message.Queue{Process: w.process, Node: "A"}, Definition: w.thread(w.process).Process().Definition(),
		Instance: w.id, Origin: "C", Source: "check", Activity: "pack", Kind: message.KindConnector, Control: message.True, Clock: 2,
	}})
	if got := w.events(w.id); got != "pack in-error" {
		t.Fatalf("the history is %q, want pack in error", got)
	}
	w.sent("C") // the notice
	return w
}

// bring lets a peer send messages in one batch, and waits until the site has done what it does.
func (w *wordWorld) bring(peer processtable.NodeID, lane message.Lane, messages ...message.Message) {
	w.Helper()
	f := (&inboxWorld{t: w.T, a: w.Node}).from(peer)
	f.lane, f.at = lane, f.Accepted(lane)
	f.sends(messages...)
	w.settled()
}

// word is of alice at B, about pack.
func (w *wordWorld) word() (message.Message, message.Word) {
	o := message.Word{ID: uuid.Must(uuid.NewV7()), Wish: message.WishRetry, Operator: "alice", Site: "B", Reply: true}
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: w.process, Node: "A"}, Instance: w.id, Activity: "pack",
		Number: message.WordNumber(o.ID), Kind: message.KindWord, Lane: message.LaneControl, Clock: 5,
	}}, o
}

// asked is a word that was asked here, of B's check. It is on its way.
func (w *wordWorld) asked() message.Word {
	w.Helper()
	o := message.Word{ID: uuid.Must(uuid.NewV7()), Wish: message.WishRetry, Operator: "olga", Site: "A", Reply: true}
	m := message.Message{Header: message.Header{
		Queue: message.Queue{Process: w.process, Node: "B"}, Instance: w.id, Activity: "check",
		Number: message.WordNumber(o.ID), Kind: message.KindWord, Lane: message.LaneControl, Clock: 1,
	}, Body: message.EncodeWord(o)}
	w.must(w.commit(context.Background(), &record.Tx{Put: []message.Message{m}, Audit: []record.AuditRecord{{
		Clock: m.Clock, Process: w.process, Instance: w.id, Origin: "C", Activity: "check", Event: record.EventAsked, By: o.By(),
		Word: &record.Word{ID: o.ID, Wish: o.Wish, Home: "B"},
	}}}))
	w.sent("B")
	return o
}

// answerTo is what B, which has done it, answers.
func (w *wordWorld) answerTo(o message.Word) (message.Message, message.Answer) {
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: w.process, Node: "A"}, Instance: w.id, Activity: "check",
		Number: message.WordNumber(o.ID), Kind: message.KindAnswer, Lane: message.LaneControl, Clock: 6,
	}}, message.Answer{Word: o.ID, Result: message.WordDone}
}

// events is the history of an instance here.
func (w *wordWorld) events(i message.InstanceID) string {
	w.Helper()
	history, err := w.queue.History(i)
	w.must(err)
	named := map[record.Event]string{
		record.EventInError: "in-error", record.EventRetried: "retried", record.EventAsked: "asked", record.EventAnswered: "answered",
	}
	var all []string
	for _, e := range history {
		all = append(all, fmt.Sprintf("%s %s", e.Activity, named[e.Event]))
	}
	return strings.Join(all, ", ")
}

// answers are those that wait for a peer: the results of words, with their texts.
func (w *wordWorld) answers(peer processtable.NodeID) (all []string) {
	w.Helper()
	for _, m := range w.sent(peer) {
		if m.Kind != message.KindAnswer {
			continue
		}
		a, err := message.DecodeAnswer(m.Body)
		w.must(err)
		all = append(all, fmt.Sprintf("%d %s", a.Result, a.Text))
	}
	return all
}

// aside is why messages were set aside.
func (w *wordWorld) aside() string { return (&inboxWorld{t: w.T, a: w.Node}).aside() }

// noWord fails the test if a word lies anywhere in the site's queues.
func (w *wordWorld) noWord() {
	w.Helper()
	entries, _, err := w.queue.BrowseFrom(w.process, message.Entry{}, 100)
	w.must(err)
	for _, e := range entries {
		if slices.ContainsFunc(e.Messages, func(m message.Message) bool { return m.Kind == message.KindWord || m.Kind == message.KindAnswer }) {
			w.Errorf("a word lies at %v", e.Entry)
		}
	}
}

// carriedOut is how a word is answered that is done.
const carriedOut = "1 "

// Invariant 11 of N15: what a peer may write into an operator's word. The first case is a word that
// is carried out; the others differ from it in one thing. Each is either set aside, or answered,
// and leaves nothing else: no message, no line of history, no entry.
func TestWhatAPeersOperatorMayWrite(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*message.Message, *message.Word)
		aside  string // why it is set aside
		answer string // or how it is answered
		line   string // of history, at the end
	}{
		{name: "a word", change: func(*message.Message, *message.Word) {}, answer: carriedOut, line: ", pack retried, pack in-error"},

		{name: "asked at another site", change: func(_ *message.Message, o *message.Word) { o.Site = "C" }, aside: "B: it says that it was asked at C, and B has brought it"},
		{name: "asked here", change: func(_ *message.Message, o *message.Word) { o.Site = "A" }, aside: "it says that it was asked at A, and B has brought it"},
		{name: "that wants no answer", change: func(_ *message.Message, o *message.Word) { o.Reply = false }, aside: "it wants no answer"},
		{name: "of another number", change: func(m *message.Message, _ *message.Word) { m.Number++ }, aside: "which is not that of word"},
		{name: "for another node", change: func(m *message.Message, _ *message.Word) { m.Queue.Node = "C" }, aside: "it is for node C, and this is A"},
		{name: "that tells an origin", change: func(m *message.Message, _ *message.Word) { m.Origin = "B" }, aside: "it says that its instance was started at B"},
		{name: "beyond any clock", change: func(m *message.Message, _ *message.Word) { m.Clock = message.MaxClock + 1 }, aside: "its logical clock is"},
		{name: "in the other lane", change: func(m *message.Message, _ *message.Word) { m.Lane = message.LaneData }, aside: "it came in lane 1 and belongs in lane 0"},
		{name: "of an output, in the lane for expedited messages", change: func(_ *message.Message, o *message.Word) { o.Output = []byte("{}") }, aside: "it came in lane 1, and a word like it goes in lane 0"},
		{name: "that cannot be read", change: func(_ *message.Message, o *message.Word) { o.ID[6] = 0 }, aside: "it cannot be read"},
		{name: "without a wish", change: func(_ *message.Message, o *message.Word) { o.Wish = "" }, aside: "it cannot be read"},
		{name: "that is a timer", change: func(m *message.Message, _ *message.Word) { m.Kind = message.KindDue }, aside: "a message of this kind never leaves its node"},

		{name: "of an operator who is not taken", change: func(_ *message.Message, o *message.Word) { o.Operator = "bob" }, answer: "2 A refuses retry from bob at B: its `remote_operators` does not allow it"},
		{name: "of nobody", change: func(_ *message.Message, o *message.Word) { o.Operator = "" }, answer: "2 A refuses retry from B: B did not say who asks"},
		{name: "of a name that is none", change: func(_ *message.Message, o *message.Word) { o.Operator = "a\nb" }, answer: "2 B gives its operator a name that cannot be one"},
		{name: "about an activity elsewhere", change: func(m *message.Message, _ *message.Word) { m.Activity = "check" }, answer: "2 activity check of orders@1 is not hosted at A"},
		{name: "about a process that is not here", change: func(m *message.Message, _ *message.Word) { m.Queue.Process.Name = "ghost" }, answer: "2 no table of ghost@1 at A"},
		{name: "about no scope of its activity", change: func(m *message.Message, _ *message.Word) { m.Scope, m.SourceScope = "pack#2", "pack#2" }, answer: `2 activity pack of orders@1: scope "pack#2" has 1 composites, and 0 are around it`},
		{name: "about an instance that never was", change: func(m *message.Message, _ *message.Word) { m.Instance = instanceOf(99) }, answer: "2 retry pack: it is not in error, it has not begun at A"},
		{name: "that wishes what is unknown, where nothing is", change: func(m *message.Message, o *message.Word) { m.Instance, o.Wish = instanceOf(99), "paint" }, answer: `2 A does not know what "paint" is: upgrade it`},
		{name: "that wishes what is unknown", change: func(_ *message.Message, o *message.Word) { o.Wish = "paint" }, answer: `2 A does not know what "paint" is: upgrade it`, line: ", pack answered"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWordWorld(t)
			m, o := w.word()
			tc.change(&m, &o)
			m.Body = message.EncodeWord(o)
			w.bring("B", message.LaneControl, m)
			if got := w.aside(); !strings.Contains(got, tc.aside) || (got == "") != (tc.aside == "") {
				t.Errorf("set aside: %q, want %q", got, tc.aside)
			}
			if got := strings.Join(w.answers("B"), "; "); got != tc.answer {
				t.Errorf("answered: %q, want %q", got, tc.answer)
			}
			w.left(m.Instance, tc.line)
		})
	}
}

// left fails the test if there is more than the history of the instance that is in error, with
// line at its end: of it, and of another one that was named.
func (w *wordWorld) left(named message.InstanceID, line string) {
	w.Helper()
	w.noWord()
	if got := w.events(w.id); got != "pack in-error"+line {
		w.Errorf("the history is %q, want %q at its end", got, line)
	}
	if named == w.id {
		return
	}
	found, err := w.queue.BrowseInstance(w.process, named)
	w.must(err)
	if got := w.events(named); got != "" || len(found) > 0 {
		w.Errorf("of an instance that never was there is %q and %v", got, found)
	}
}

// Who has no part in a process is told of it what somebody is told where there is none.
func TestAStrangersWordLearnsNothing(t *testing.T) {
	w := newWordWorld(t)
	for _, activity := range []processtable.ActivityID{"pack", "check"} {
		m, o := w.word()
		o.Site, m.Activity = "X", activity
		m.Body = message.EncodeWord(o)
		w.bring("X", m.Lane, m)
		if got, want := w.answers("X"), []string{"2 no table of orders@1 at A"}; !slices.Equal(got, want) {
			t.Errorf("%s: answered %q, want %q", activity, got, want)
		}
	}
	w.left(w.id, "")
}

// A word is carried out once. A repeat is answered as it was, and so is what has its identifier and
// says something else; while the first lies here the other one is set aside, and a repeat is no
// cause for alarm.
func TestAWordIsCarriedOutOnce(t *testing.T) {
	sameAgain := func(w *wordWorld) (first, other message.Message) {
		first, o := w.word()
		first.Body = message.EncodeWord(o)
		other = first
		o.Wish, o.Why = "finish", "because"
		other.Body = message.EncodeWord(o)
		return first, other
	}
	t.Run("one by one", func(t *testing.T) {
		w := newWordWorld(t)
		first, other := sameAgain(w)
		for _, m := range []message.Message{first, first, other} {
			w.bring("B", m.Lane, m)
		}
		if got := w.answers("B"); !slices.Equal(got, []string{carriedOut, carriedOut, carriedOut}) {
			t.Errorf("answered %q, want three times that it is done", got)
		}
		if got := w.aside(); got != "" {
			t.Errorf("set aside: %q", got)
		}
		w.left(w.id, ", pack retried, pack in-error")
	})
	t.Run("at once", func(t *testing.T) {
		w := newWordWorld(t)
		first, other := sameAgain(w)
		w.bring("B", first.Lane, first, first, other)
		if got := w.answers("B"); !slices.Equal(got, []string{carriedOut}) {
			t.Errorf("answered %q, want once that it is done", got)
		}
		if got, want := w.aside(), "B: a word with its identifier lies here for pack, and says something else: the earlier one counts"; got != want {
			t.Errorf("set aside: %q, want %q", got, want)
		}
		w.left(w.id, ", pack retried, pack in-error")
	})
}

// What a peer may write into the answer to a word that was asked here: the first case is the
// answer, and becomes a line of history. The others are set aside, and leave nothing else.
func TestWhatAPeerMayAnswer(t *testing.T) {
	for _, tc := range []struct {
		name   string
		peer   processtable.NodeID
		change func(*message.Message, *message.Answer)
		aside  string
	}{
		{"the answer", "B", func(*message.Message, *message.Answer) {}, ""},
		{"of another site", "C", func(*message.Message, *message.Answer) {}, "C: it answers a word that was not asked of C here"},
		{"of a stranger", "X", func(*message.Message, *message.Answer) {}, "X: it answers a word that was not asked of X here"},
		{"to what nobody has asked", "B", func(m *message.Message, a *message.Answer) {
			a.Word = uuid.Must(uuid.NewV7())
			m.Number = message.WordNumber(a.Word)
		}, "B: it answers a word that was not asked of B here"},
		{"about another activity", "B", func(m *message.Message, _ *message.Answer) { m.Activity = "pack" }, "not asked of B here"},
		{"about another scope", "B", func(m *message.Message, _ *message.Answer) { m.Scope, m.SourceScope = "pack#2", "pack#2" }, "not asked of B here"},
		{"about another instance", "B", func(m *message.Message, _ *message.Answer) { m.Instance = instanceOf(99) }, "not asked of B here"},
		{"about another process", "B", func(m *message.Message, _ *message.Answer) { m.Queue.Process.Version = 2 }, "not asked of B here"},
		{"of another number", "B", func(m *message.Message, _ *message.Answer) { m.Number++ }, "which is not that of word"},
		{"of no result", "B", func(_ *message.Message, a *message.Answer) { a.Result = 9 }, "it cannot be read: "},
		{"that tells an origin", "B", func(m *message.Message, _ *message.Answer) { m.Origin = "B" }, "it says that its instance was started at B"},
		{"for another node", "B", func(m *message.Message, _ *message.Answer) { m.Queue.Node = "C" }, "it is for node C, and this is A"},
		{"beyond any clock", "B", func(m *message.Message, _ *message.Answer) { m.Clock = message.MaxClock + 1 }, "its logical clock is"},
		{"in the lane for data", "B", func(m *message.Message, _ *message.Answer) { m.Lane = message.LaneData }, "the answer to a word goes in the lane for expedited messages"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWordWorld(t)
			o := w.asked()
			m, a := w.answerTo(o)
			tc.change(&m, &a)
			m.Body = message.EncodeAnswer(a)
			w.bring(tc.peer, m.Lane, m)
			if got := w.aside(); !strings.Contains(got, tc.aside) || (got == "") != (tc.aside == "") {
				t.Errorf("set aside: %q, want %q", got, tc.aside)
			}
			line := ", check asked"
			if tc.aside == "" {
				line = ", check asked, check answered"
			}
			w.noWord()
			if got := w.sorted(w.events(w.id)); got != w.sorted("pack in-error"+line) {
				t.Errorf("the history is %q, want %q at its end", got, line)
			}
			if got := w.events(instanceOf(99)); got != "" {
				t.Errorf("of another instance there is %q", got)
			}
		})
	}
}

// sorted forgets the order of events, which is that of the logical clock.
func (w *wordWorld) sorted(events string) string {
	all := strings.Split(events, ", ")
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// An answer is taken once, and the first one counts. A word of another site that has the identifier of
// ours, and is answered here, is not taken for the answer to ours.
func TestAnAnswerIsTakenOnce(t *testing.T) {
	for name, send := range map[string]func(*wordWorld, ...message.Message){
		"in one batch": func(w *wordWorld, all ...message.Message) { w.bring("B", message.LaneControl, all...) },
		"one by one": func(w *wordWorld, all ...message.Message) {
			for _, m := range all {
				w.bring("B", message.LaneControl, m)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWordWorld(t)
			o := w.asked()
			theirs, of := w.word()
			of.ID, theirs.Number = o.ID, message.WordNumber(o.ID)
			theirs.Body = message.EncodeWord(of)
			w.bring("B", theirs.Lane, theirs)

			m, a := w.answerTo(o)
			m.Body = message.EncodeAnswer(a)
			other := m
			a.Result, a.Text = message.WordRefused, "no"
			other.Body = message.EncodeAnswer(a)
			send(w, m, m, other)
			if got := w.aside(); got != "" {
				t.Errorf("set aside: %q", got)
			}
			asked, answered, err := w.queue.Word(m.Entry(), "B", o.ID)
			w.must(err)
			if asked == nil || answered == nil || answered.Word.Result != message.WordDone {
				t.Fatalf("asked %+v, answered %+v, want that it is done", asked, answered)
			}
			if got := w.events(w.id); strings.Count(got, "check answered") != 1 {
				t.Errorf("the history is %q, want one answer", got)
			}
		})
	}
}

// A word that was set aside is not put into the queue later by its number, since who asked is not
// proved any more: it can be dropped, and its operator can ask again.
func TestARefusedWordIsNotTakenLater(t *testing.T) {
	w := newWordWorld(t)
	m, o := w.word()
	o.Site = "C"
	m.Queue.Process.Name = "ghost" // its table may still come
	m.Body = message.EncodeWord(o)
	w.bring("B", m.Lane, m)
	list, err := w.queue.RefusedList(10)
	w.must(err)
	if len(list) != 1 {
		t.Fatalf("%d are set aside, want 1", len(list))
	}
	if _, err := w.RetryRefused(t.Context(), list[0].Number); err == nil || !strings.Contains(err.Error(), "its operator can ask again") {
		t.Errorf("retried: %v", err)
	}
	if _, err := w.DropRefused(t.Context(), list[0].Number, api.DropRequest{}); err != nil || w.aside() != "" {
		t.Errorf("dropped: %v; there is %q", err, w.aside())
	}
	if s, found, err := w.queue.AuditSizeOf(w.id); err != nil || !found || s.Origin != "C" {
		t.Errorf("where the instance was started is not known any more, so that retention keeps it for ever: %+v, %v", s, err)
	}
	w.left(w.id, "")
}

// Refused words are answered up to the quota of the transmission queue; beyond it they are set
// aside, where what one peer may leave is bounded.
func TestAFloodOfRefusedWordsIsBounded(t *testing.T) {
	const quota, words = 8 << 10, 200
	w := newWordWorld(t)
	w.limits.Store(&Limits{Transmission: quota})
	for range words {
		m, o := w.word()
		o.Operator = "mallory"
		m.Body = message.EncodeWord(o)
		w.bring("B", m.Lane, m)
	}
	_, bytes := w.queue.Transmission("B").Size()
	answers, aside := len(w.answers("B")), strings.Count(w.aside(), "B: A refuses retry from mallory at B")
	if bytes > quota+1<<10 {
		t.Errorf("%d bytes wait for B, and the quota is %d", bytes, quota)
	}
	if answers == 0 || answers == words || aside != min(words-answers, 100) {
		t.Errorf("%d are answered and %d are seen to be set aside, of %d", answers, aside, words)
	}
	if l := w.queue.Usage("B"); l.Refused != words-answers {
		t.Errorf("%+v is counted for B, want %d set aside", l, words-answers)
	}
	w.left(w.id, "")
}

// So are the answers to words of an operator who may command: those have as much room again, since
// work that waits for the peer must not keep them out.
func TestAFloodOfWordsThatAreTakenIsBounded(t *testing.T) {
	const quota, words = 8 << 10, 200
	w := newWordWorld(t)
	w.limits.Store(&Limits{Transmission: quota})
	over := 0 // words that are taken while the queue is at its quota
	for range words {
		_, before := w.queue.Transmission("B").Size()
		aside := w.queue.Usage("B").Refused
		m, o := w.word()
		m.Instance = instanceOf(99) // it is only answered: there is nothing to retry
		m.Body = message.EncodeWord(o)
		w.bring("B", m.Lane, m)
		if before >= quota && w.queue.Usage("B").Refused == aside {
			over++
		}
	}
	_, bytes := w.queue.Transmission("B").Size()
	answers, aside := len(w.answers("B")), w.queue.Usage("B").Refused
	if bytes < quota || bytes > 2*quota+1<<10 {
		t.Errorf("%d bytes wait for B, and the quota is %d", bytes, quota)
	}
	if over == 0 || answers+aside != words || !strings.Contains(w.aside(), "B: the answers that wait for B have no more room (limits.transmission)") {
		t.Errorf("%d are answered, %d of them beyond the quota; %d are set aside, of %d", answers, over, aside, words)
	}
	// Once it takes them, it is heard again.
	m, o := w.word()
	m.Body = message.EncodeWord(o)
	w.bring("B", m.Lane, m)
	if got := w.answers("B"); !slices.Equal(got, []string{carriedOut}) {
		t.Errorf("answered %q, want that it is done", got)
	}
}

// Who observes is told of every line of history, also of one that a link has brought, once it is on disk.
func TestWhatALinkBringsIsObserved(t *testing.T) {
	w := newWordWorld(t)
	o := w.asked()
	m, a := w.answerTo(o)
	m.Body = message.EncodeAnswer(a)
	w.bring("B", message.LaneControl, m)
	var last record.AuditRecord
	for len(w.ends) > 0 {
		last = <-w.ends
	}
	if last.Event != record.EventAnswered || last.Activity != "check" || last.Word == nil || last.Word.ID != o.ID {
		t.Errorf("observed at last was %+v", last)
	}
}
