package message_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"fmqm/internal/goldentest"
	"fmqm/message"
	"fmqm/processtable"
)

// kept is a message whose bytes are kept, with what its body says; nil: it is not read
// here.
type kept struct {
	message message.Message
	body    any
}

// beginning is a message of composite documents for the source of its second iteration.
func beginning() message.Message {
	h := full().Header
	h.Kind, h.Activity, h.Scope, h.Source, h.SourceScope = message.KindBegin, "source", "documents#2", "documents", ""
	h.Control, h.Data, h.OnBehalf, h.Onward = 0, 0, "", false
	return message.Message{Header: h, Body: message.EncodeBegin(message.Begin{Input: []byte{0x81, 3}})}
}

// returning is the message with which that iteration comes back.
func returning() message.Message {
	m := beginning()
	m.Kind, m.Activity, m.Scope, m.Source, m.SourceScope = message.KindReturn, "documents", "", "sink", "documents#2"
	m.Body = message.EncodeReturn(message.Return{Output: []byte{0x81, 4}})
	return m
}

// least is a connector message with no more than it needs.
func least() message.Message {
	return message.Message{Header: message.Header{Queue: full().Queue, Instance: instance, Activity: "credit", Source: "receive", Kind: message.KindConnector, Control: message.False}}
}

// messages are of every kind, each with a body of every version.
func messages() map[string]kept {
	header := func(kind message.Kind) message.Header {
		h := full().Header
		h.Kind, h.Scope, h.SourceScope = kind, "", ""
		return h
	}
	at := time.Date(2026, 11, 22, 20, 0, 0, 5, time.UTC)
	record := message.Record{Process: full().Queue.Process, Started: at, InputHash: [32]byte{9, 8}, Key: "order 7", Input: []byte{0x82, 5, 0x61, 'x'}}
	snapshot := message.Snapshot{
		Iteration: 3, Run: 1, Attempt: 2, Due: at.Add(time.Hour), Quick: 1, Input: []byte{0x81, 1}, Error: "no such account", Failed: true,
		HasOutput: true, Output: []byte{0x81, 2}, RC: -4, LastFailure: "exit 4", Started: at,
	}
	caused := snapshot
	caused.Cause, caused.Source = message.CauseRefused, "receive"
	begun := message.Snapshot{Iteration: 2, Run: 1, Started: at, Begun: true}
	timed := message.Snapshot{Iteration: 1, Deadline: at.Add(time.Hour), Until: at.Add(time.Minute), Cancelled: 900, Ending: message.Ending{TimedOut: true, Failure: "no answer"}}
	cancelling, words := beginning(), full()
	cancelling.Kind, cancelling.Activity, cancelling.Body = message.KindCancel, "check", message.EncodeCancel(message.Cancel{Reason: "the deadline of documents has come"})
	words.Data = message.DataWords
	urgent := full()
	urgent.Rank = message.RankOf(0)
	skipped, failed, caught := least(), least(), words
	skipped.Control, failed.Control, caught.Control = message.FalseSkipped, message.FalseFailed, message.TrueFailed
	caught.OnBehalf, caught.Onward = "", false
	unreturned := returning()
	unreturned.Body = message.EncodeReturn(message.Return{Error: "too large"})
	notice := message.Notice{Error: "no such account", Attempts: 3, Time: at}
	cleared := message.Notice{Cleared: true, Time: at}
	marker := message.Marker{Reason: "terminated", Time: at}
	by := message.Marker{Reason: "terminated by alice at B", Time: at, By: "alice at B"}
	suspends := message.Mark{
		ID: uuid.MustParse("019aa8f0-7b00-7001-8002-030405060709"), Scope: "documents#2", Activity: "check", By: "alice at B", Reason: "stock-taking",
		Time: at, Until: at.Add(time.Hour), New: true, Spread: true, Noted: true,
	}
	resumes := suspends.Expired()
	expedites := message.Mark{ID: suspends.ID, By: "alice at B", Reason: "the customer waits", Time: at, New: true, Spread: true, Rank: message.RankOf(9)}
	begin, back, numbered := full(), full(), full()
	begin.Scope, begin.SourceScope = "block#2", ""
	back.Scope, back.SourceScope, back.Number = "", "line[3]#1/pick~1#4", 1<<40
	numbered.Number = 7
	word := message.Word{
		ID: uuid.MustParse("019aa8f0-7b00-7001-8002-030405060708"), Wish: message.WishRetry, Saw: &message.Execution{Iteration: 2, Run: 1},
		Operator: "alice", Site: "B", Reply: true, Why: "the account is open again", Asked: at, Output: []byte(`{"approved": true}`),
	}
	blind := message.Word{ID: word.ID, Wish: message.WishRetry, Site: "B"}
	ordered := header(message.KindWord)
	ordered.Source, ordered.Control, ordered.Data, ordered.OnBehalf, ordered.Onward = "", 0, 0, "", false
	ordered.Number = message.WordNumber(word.ID)
	again := message.Word{ID: word.ID, Wish: message.WishRetry, Site: "B", Input: []byte(`{"account": 7}`)}
	given := message.Word{ID: word.ID, Wish: "transfer", Site: "B", Operator: "alice", Person: "ann@B", To: "bob@B", Claim: 3}
	vouched := message.Word{ID: word.ID, Wish: "claim", Site: "B", Saw: &message.Execution{Iteration: 2}, Person: "ann@B", For: "bob@B", ToFor: "carl@B"}
	offer := message.Offer{Claim: 3, By: message.Doer{Person: "ann@B", For: "bob@B"}, Claimed: at, Asked: word.ID}
	freed := message.Offer{Claim: 3}
	dated := message.Begin{Input: []byte{0x81, 3}, Did: message.Doers{"assess": {Person: "carl@A"}}, Due: at}
	offering := func(kind message.Kind, number uint64, body []byte) message.Message {
		h := beginning().Header
		h.Kind, h.Activity, h.Scope, h.Source, h.SourceScope, h.Number = kind, "approve", "approve#2", "approve", "", number
		return message.Message{Header: h, Body: body}
	}
	answer := message.Answer{Word: word.ID, Result: message.WordOvertaken, Text: "retry credit: overtaken: it has ended", Time: at}
	remedied := message.Answer{Word: word.ID, Result: message.WordRefused, Text: "B refuses it", Remedy: "ask at B", Time: at}
	wrong := message.Answer{Word: word.ID, Result: message.WordRefused, Text: "output: no", Time: at, Problems: []message.Problem{
		{Path: "approved", What: "expected bool, found 5", Remedy: "write true or false", Token: 3},
	}}
	due := message.Message{Header: message.Header{
		Queue: full().Queue, Instance: instance, Scope: "block/2", Activity: "credit", SourceScope: "block/2", Source: "deadline",
		Kind: message.KindDue, Number: message.DueNumber(at), Lane: message.LaneControl,
	}}
	table := header(message.KindTable)
	table.Instance, table.Activity, table.Source, table.Control, table.Data = uuid.Nil, "", "", 0, 0
	table.OnBehalf, table.Onward = "", false
	now := table
	now.Kind = message.KindCurrent
	subprocess, ended := record, message.Marker{Reason: "its parent was cancelled", Time: at, By: "its parent", Relay: true}
	of := parent()
	subprocess.Parent = &of
	child := message.Snapshot{Iteration: 3, Run: 1, Attempt: 1, Started: at, Begun: true, Child: message.Child{Instance: of.Child(label, 1), Process: label}}
	overdue := message.Notice{Cleared: true, TimedOut: true, Time: at}
	told := message.Snapshot{Iteration: 1, Input: []byte{0x81, 1}, Told: &message.Told{
		On: processtable.OnError, Scope: "documents#2", Activity: "check", Text: "no such account", Time: at,
	}}
	telling := message.Snapshot{Iteration: 1, Telling: &message.Telling{Count: 3, Upto: message.Arrival{Commit: 70, Index: 2}}}
	received := snapshot
	received.Event = "part-arrived"
	element, worked, chunk := returning(), returning(), header(message.KindChunk)
	element.Activity, element.Source, element.SourceScope = "count", "count", "count[7]"
	late := message.Return{Output: []byte{0x81, 4}, RC: -1, Ending: message.Ending{TimedOut: true}, Failed: true}
	element.Body = message.EncodeReturn(late)
	worked.Activity, worked.Scope, worked.Source, worked.SourceScope, worked.Number = "count", "count[7]", "count", "count[7]/count#1", 2
	chunk.Source, chunk.Control, chunk.Data, chunk.OnBehalf, chunk.Onward, chunk.Number = "", 0, 0, "", false, 3
	outcomes := message.Chunk{Level: 1, Outcomes: []message.Outcome{{Element: 4, Output: []byte{0x81, 4}}, {Element: 2, Error: "deadline", RC: -1}}}
	gathered := message.Snapshot{Iteration: 1, Started: at, Begun: true, Gathered: &message.Gathered{
		Next: 9, Open: []int{3, 7, 8}, Done: 6, Failed: 2, Bytes: 80, Chunk: 3, Chunks: []uint64{1, 3}, Closed: true, Told: 1,
	}}
	called := message.Snapshot{Iteration: 1, Started: at, Begun: true, At: "s08"}
	offered := message.Snapshot{Iteration: 2, Deadline: at.Add(time.Hour), Item: &message.Item{Offered: at}}
	claimed := message.Snapshot{Iteration: 1, Item: &message.Item{
		Offered: at, Claim: 3, By: message.Doer{Person: "ann@ward", For: "carl@ward"}, Claimed: at.Add(time.Minute), Draft: []byte{0x81, 4}, Saved: 2,
	}}
	first := message.Snapshot{Iteration: 1, Input: []byte{0x81, 3}, Counted: []processtable.ActivityID{"south", "rate"}, Came: []processtable.ActivityID{"north"}}
	noticed := message.Snapshot{Iteration: 2, Due: at, Input: []byte{0x81, 3}, Deadline: at.Add(time.Hour), Notices: true, Every: 30 * time.Minute}
	shown := noticed
	shown.Attempt, shown.Item = 1, &message.Item{Offered: at, Did: message.Doers{"assess": {Person: "carl@A"}}}
	finished, left := begun, begun
	recalling, edition := least(), least()
	recalling.Kind, recalling.Control, recalling.Number, recalling.Origin, recalling.Body = message.KindRecall, 0, 3, "A", message.EncodeRecall(message.Recall{})
	again24, answered24 := recalling, recalling
	again24.Body, answered24.Body = message.EncodeRecall(message.Recall{Again: true}), message.EncodeRecall(message.Recall{Answered: true})
	edition.Number = 3
	recalled := message.Snapshot{
		Iteration: 2, Run: 1, HasOutput: true, Output: []byte{0x81, 2}, RC: 3, Started: at, Edition: 3, Restart: &message.Restart{
			Word: word.ID, By: "alice at B", Why: "wrong tariff", Input: []byte{0x81, 4}, Doer: message.Doer{Person: "ann@B"},
			Consumed: []message.Connected{{Activity: "rate", Control: message.True, Data: message.DataPresent, Clock: 4}},
			Sent:     []message.Connected{{Activity: "pay", Node: "B", Number: 2, Control: message.True, Data: message.DataPresent, Lane: message.LaneControl, Clock: 5}, {Activity: "note", Node: "A", Number: 2, Control: message.False}},
			Refused:  "pay has been decided on assess's result", Told: true, Settled: []processtable.ActivityID{"pay"},
		},
	}
	nextRun := message.Snapshot{Iteration: 1, Run: 2, Edition: 3}
	finished.Cancelled, finished.Hand = 900, &message.Hand{Output: []byte{0x81, 3}, By: "alice at B", Why: "done on paper"}
	left.Hand = &message.Hand{Skip: true, By: "alice at B"}
	person, asked, stands := record, beginning(), starting()
	person.Parent, person.By = &of, message.Doer{Person: "ann@ward", For: "carl@ward"}
	who := message.Begin{Input: []byte{0x81, 3}, Did: message.Doers{"take": {Person: "ann@ward"}, "assess": person.By}}
	asked.Body = message.EncodeBegin(who)
	startedBy := message.Start{Parent: of, Input: []byte{0x81, 3}, By: message.Doer{Person: "b.o_b-2@office"}}
	stands.Body = message.EncodeStart(startedBy)
	all := map[string]kept{
		"record 3":             {message.Message{Header: header(message.KindRecord), Body: message.EncodeRecord(person)}, person},
		"begin 2":              {asked, who},
		"start 2":              {stands, startedBy},
		"snapshot 6":           {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(finished)}, finished},
		"snapshot 6, skip":     {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(left)}, left},
		"snapshot 5, event":    {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(received)}, received},
		"snapshot 5, notice":   {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(noticed)}, noticed},
		"snapshot 6, offered":  {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(offered)}, offered},
		"snapshot 6, notice":   {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(shown)}, shown},
		"snapshot 6, claimed":  {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(claimed)}, claimed},
		"snapshot 5, first":    {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(first)}, first},
		"return of an element": {element, late},
		"return of a call":     {worked, message.Return{Output: []byte{0x81, 4}}},
		"chunk":                {message.Message{Header: chunk, Body: message.EncodeChunk(outcomes)}, outcomes},
		"snapshot 5":           {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(gathered)}, gathered},
		"snapshot 5, call":     {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(called)}, called},
		"start":                {starting(), message.Start{Parent: of, Input: []byte{0x81, 3}}},
		"return of a child":    {ofChild(), message.Return{Output: []byte{0x81, 4}}},
		"record 2":             {message.Message{Header: header(message.KindRecord), Body: message.EncodeRecord(subprocess)}, subprocess},
		"snapshot 4":           {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(child)}, child},
		"marker 3":             {message.Message{Header: header(message.KindMarker), Body: message.EncodeMarker(ended)}, ended},
		"connector":            {full(), nil},
		"connector, FALSE":     {least(), nil},
		"FALSE, skipped":       {skipped, nil},
		"FALSE, failed":        {failed, nil},
		"TRUE, failed":         {caught, nil},
		"into a composite":     {begin, nil},
		"out of composites":    {back, nil},
		"numbered":             {numbered, nil},
		"due":                  {due, nil},
		"record":               {message.Message{Header: header(message.KindRecord), Body: message.EncodeRecord(record)}, record},
		"snapshot 1":           {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(snapshot)}, snapshot},
		"snapshot 2":           {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(caused)}, caused},
		"snapshot 3":           {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(begun)}, begun},
		"begin":                {beginning(), message.Begin{Input: []byte{0x81, 3}}},
		"return":               {returning(), message.Return{Output: []byte{0x81, 4}}},
		"snapshot 3, times":    {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(timed)}, timed},
		"cancel":               {cancelling, message.Cancel{Reason: "the deadline of documents has come"}},
		"connector, words":     {words, nil},
		"return, error":        {unreturned, message.Return{Error: "too large"}},
		"notice":               {message.Message{Header: header(message.KindNotice), Body: message.EncodeNotice(notice)}, notice},
		"notice 2":             {message.Message{Header: header(message.KindNotice), Body: message.EncodeNotice(overdue)}, overdue},
		"snapshot 8":           {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(told)}, told},
		"snapshot 8, sink":     {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(telling)}, telling},
		"notice, cleared":      {message.Message{Header: header(message.KindNotice), Body: message.EncodeNotice(cleared)}, cleared},
		"marker 1":             {message.Message{Header: header(message.KindMarker), Body: message.EncodeMarker(marker)}, marker},
		"marker 2":             {message.Message{Header: header(message.KindMarker), Body: message.EncodeMarker(by)}, by},
		"word":                 {message.Message{Header: ordered, Body: message.EncodeWord(word)}, word},
		"word, blind":          {message.Message{Header: ordered, Body: message.EncodeWord(blind)}, blind},
		"word 2":               {message.Message{Header: ordered, Body: message.EncodeWord(again)}, again},
		"word 2, person":       {message.Message{Header: ordered, Body: message.EncodeWord(given)}, given},
		"answer":               {ordered.Reply("B", answer), answer},
		"answer, remedy":       {ordered.Reply("B", remedied), remedied},
		"answer, output":       {ordered.Reply("B", wrong), wrong},
		"suspend":              {suspends.Message(header(message.KindMark).Queue, header(message.KindMark).Instance, "A", 7), suspends},
		"expedite":             {expedites.Message(header(message.KindMark).Queue, header(message.KindMark).Instance, "A", 9), expedites},
		"connector, priority":  {urgent, nil},
		"resume":               {resumes.Message(header(message.KindMark).Queue, header(message.KindMark).Instance, "A", 8), resumes},
		"offer":                {offering(message.KindOffer, offer.Change(), message.EncodeOffer(offer)), offer},
		"offer, again":         {offering(message.KindOffer, freed.Change(), message.EncodeOffer(freed)), freed},
		"begin 3":              {offering(message.KindBegin, 0, message.EncodeBegin(dated)), dated},
		"word 2, elsewhere":    {message.Message{Header: ordered, Body: message.EncodeWord(vouched)}, vouched},
		"recall":               {recalling, message.Recall{}},
		"recall, again":        {again24, message.Recall{Again: true}},
		"recall, answered":     {answered24, message.Recall{Answered: true}},
		"recalled":             {recalling.Recalled("A", ""), message.Recalled{Taken: true}},
		"recalled, decided":    {recalling.Recalled("A", "pay has been decided on assess's result"), message.Recalled{Why: "pay has been decided on assess's result"}},
		"connector, restarted": {edition, nil},
		"snapshot 7":           {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(recalled)}, recalled},
		"snapshot 7, next run": {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(nextRun)}, nextRun},
		"current":              {message.Message{Header: now, Body: []byte{0xa1, 1, 2}}, nil},
		"table":                {message.Message{Header: table, Body: []byte{0xa1, 1, 2}}, nil},
	}
	maps.Copy(all, ofEvents())
	return all
}

// N17: messages of every kind, with bodies of every version, stay readable for ever, and
// are still written so: each in the lowest version that can say it. A line of the file is
// a name, a tab and the bytes; it is never changed.
func TestMessagesStayAsTheyAre(t *testing.T) {
	write := func(k kept) ([]byte, error) { return message.Encode(k.message) }
	goldentest.Stay(t, "testdata/messages.txt", messages(), write, func(t *testing.T, want kept, data []byte) {
		got, err := message.Decode(data)
		if d := cmp.Diff(want.message, got); err != nil || d != "" {
			t.Fatalf("%v (-want +got):\n%s", err, d)
		}
		if body, err := bodyOf(got); err != nil || cmp.Diff(want.body, body) != "" {
			t.Errorf("its body is %+v, %v", body, err)
		}
	})
}

// bodyOf reads the body of a kind that has a form of its own.
func bodyOf(m message.Message) (body any, err error) {
	switch m.Kind {
	case message.KindRecord:
		return message.DecodeRecord(m.Body)
	case message.KindSnapshot:
		return message.DecodeSnapshot(m.Body)
	case message.KindNotice:
		return message.DecodeNotice(m.Body)
	case message.KindMarker:
		return message.DecodeMarker(m.Body)
	case message.KindMark:
		return message.DecodeMark(m.Body)
	case message.KindOffer:
		return message.DecodeOffer(m.Body)
	case message.KindRecall:
		return message.DecodeRecall(m.Body)
	case message.KindRecalled:
		return message.DecodeRecalled(m.Body)
	case message.KindWord:
		return message.DecodeWord(m.Body)
	case message.KindAnswer:
		return message.DecodeAnswer(m.Body)
	case message.KindCancel:
		return message.DecodeCancel(m.Body)
	case message.KindBegin:
		return message.DecodeBegin(m.Body)
	case message.KindReturn:
		return message.DecodeReturn(m.Body)
	case message.KindStart:
		return message.DecodeStart(m.Body)
	case message.KindChunk:
		return message.DecodeChunk(m.Body)
	case message.KindEvent:
		return message.DecodeEvent(m.Body)
	case message.KindWait:
		return message.DecodeWait(m.Body)
	case message.KindPast:
		return message.DecodePast(m.Body)
	default:
		return nil, nil
	}
}
