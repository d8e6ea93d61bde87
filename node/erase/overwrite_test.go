package erase

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

const visits = `
process: visits
version: 1
structures:
  Visit: {patient: string, room: int}
  Result: {note: string, patient: string}
  Sent: {patient: string}
events: {seen: Sent}
input: Visit
output: Result
starts: [A]
activities:
  look: {node: A, program: p, input: Visit, output: Result}
  ask:  {node: A, staff: role("nurse"), offered_at: [B], input: Visit, output: Result}
  tell: {node: A, send: {event: seen, key: patient, to: A}, input: Visit}
control:
  - look -> tell
  - ask -> tell
data:
  - source -> ask
  - source -> look
  - source -> tell
  - look -> sink
`

func visit(t *testing.T, of *container.Type, text string) []byte {
	t.Helper()
	v, err := container.DecodeJSON(of, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := container.EncodeCBOR(v)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// Each record is read as what it is of; what cannot be read goes whole, and what else is there stays.
func TestWhatIsOverwrittenInARecord(t *testing.T) {
	table := definitiontest.TablesOf(t, visits, definition.CompileOptions{})["A"]
	row := func(a processtable.ActivityID) *processtable.Activity {
		return table.Activity(processtable.RowID{Name: a})
	}
	now := time.Unix(1_700_000_000, 0).UTC()
	input := visit(t, table.Input, `{"patient": "ann", "room": 3}`)
	result := visit(t, row("look").Output, `{"note": "ann is well", "patient": "ann"}`)
	offer := func(text string) []byte {
		return message.EncodeBegin(message.Begin{Input: visit(t, table.Input, text), Did: message.Doers{"look": {Person: "bob@A"}}, Due: now})
	}
	who := message.EncodeOffer(message.Offer{Claim: 1, By: message.Doer{Person: "bob@A"}, Claimed: now})
	sent := visit(t, row("tell").Send.Type, `{"patient": "ann"}`)
	event := message.EncodeEvent(message.Event{Name: "seen", Key: "ann", Data: sent, Sent: now, Node: "A", Sender: &message.Parent{
		Process: table.Process, Node: "A", Instance: message.InstanceID{6: 0x70, 15: 1}, Activity: "tell", Iteration: 1, Attempt: 1,
	}})
	for _, tc := range []struct {
		name    string
		record  record.AuditRecord
		members string // empty: all data
		want    []byte // of the output
		same    bool
	}{
		{"the start", record.AuditRecord{Activity: processtable.Source, Event: record.EventStarted, Output: input}, "patient", visit(t, table.Input, `{"room": 3}`), false},
		{"all of the start", record.AuditRecord{Activity: processtable.Source, Event: record.EventStarted, Output: input}, "", visit(t, table.Input, `{}`), false},
		{"an end", record.AuditRecord{Activity: "look", Event: record.EventTerminated, Output: result}, "note", visit(t, row("look").Output, `{"patient": "ann"}`), false},
		{"a member of another", record.AuditRecord{Activity: "look", Event: record.EventTerminated, Output: result}, "room", result, true},
		{"what was begun", record.AuditRecord{Activity: "look", Event: record.EventBegun, Output: input}, "room", visit(t, table.Input, `{"patient": "ann"}`), false},
		{"the end of the instance", record.AuditRecord{Activity: processtable.Sink, Event: record.EventEnded, Output: result}, "patient", visit(t, row("look").Output, `{"note": "ann is well"}`), false},
		{"what is offered elsewhere", record.AuditRecord{Activity: "ask", Event: record.EventOffered, Output: offer(`{"patient": "ann", "room": 3}`)}, "patient", offer(`{"room": 3}`), false},
		{"nothing of what is offered elsewhere", record.AuditRecord{Activity: "ask", Event: record.EventOffered, Output: offer(`{"room": 3}`)}, "patient", offer(`{"room": 3}`), true},
		{"what was offered, and cannot be read", record.AuditRecord{Activity: "ask", Event: record.EventOffered, Output: []byte{0xff, 1}}, "patient", nil, false},
		{"who has it", record.AuditRecord{Activity: "ask", Event: record.EventClaimed, Output: who}, "", who, true},
		{"of no known activity", record.AuditRecord{Activity: "gone", Event: record.EventTerminated, Output: result}, "room", nil, false},
		{"of another type", record.AuditRecord{Activity: "look", Event: record.EventTerminated, Output: []byte{0xff, 1}}, "room", nil, false},
		{"without output", record.AuditRecord{Activity: "look", Event: record.EventSkipped}, "", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := overwriter(table, tc.members, now)
			sum := tc.record.InputSum()
			changed := o.change(&tc.record)
			if changed == tc.same || !bytes.Equal(tc.record.Output, tc.want) {
				t.Errorf("changed %t, output %x, want %x", changed, tc.record.Output, tc.want)
			}
			if (tc.record.Erased != nil) != changed || tc.record.Event == record.EventStarted && (tc.record.Erased.Input != sum || tc.record.InputSum() != sum) {
				t.Errorf("it says %+v", tc.record.Erased)
			}
			if o.change(&tc.record) {
				t.Error("it changes once more")
			}
			if tc.record.Event == record.EventStarted && tc.record.InputSum() != sum {
				t.Error("the sum of the input has changed")
			}
		})
	}

	told := record.AuditRecord{Activity: "tell", Event: record.EventSent, Output: event, About: &message.EventRef{Name: "seen", Key: "ann", Node: "A"}}
	if !overwriter(table, "patient", now).change(&told) || bytes.Contains(told.Output, []byte("ann")) || told.About.Key != "" {
		t.Errorf("of an event stays %q, %+v", told.Output, told.About)
	}
	if e, err := message.DecodeEvent(told.Output); err != nil || e.Name != "seen" || e.Sender == nil {
		t.Errorf("it is %+v, %v", e, err)
	}
}

func overwriter(table *processtable.Table, members string, now time.Time) *overwriting {
	m := container.Members{All: members == ""}
	if !m.All {
		m.Paths = strings.Split(members, ",")
	}
	return &overwriting{table: table, members: m, now: now, children: map[message.InstanceID]processtable.ProcessID{}}
}

// A record into which the committer is still to write the number of a message is not touched.
func TestARecordOfWhatWaitsApartIsNotTouched(t *testing.T) {
	table := definitiontest.TablesOf(t, visits, definition.CompileOptions{})["A"]
	a := record.AuditRecord{
		Activity: "look", Event: record.EventTerminated, Output: visit(t, table.Activity(processtable.RowID{Name: "look"}).Output, `{"note": "ann"}`),
		Reason: "ann", Sent: []record.Sent{{Target: "x", Node: "B"}},
	}
	before := a
	o := overwriter(table, "", time.Unix(1, 0))
	o.apart = map[processtable.NodeID]bool{"B": true}
	if o.change(&a) || o.untaken != 1 || a.Reason != before.Reason || !bytes.Equal(a.Output, before.Output) || a.Erased != nil {
		t.Errorf("it is %+v", a)
	}
	a.Sent[0].Number = 7
	if !o.change(&a) || a.Sent[0].Number != 7 {
		t.Errorf("with its number it is %+v", a)
	}
}

// Reasons that the node itself has made of names stay: who reads a history learns from them why something ended.
func TestReasonsThatStay(t *testing.T) {
	for event, stays := range map[record.Event]bool{
		record.EventStarted: true, record.EventStopped: false, record.EventCancelled: true, record.EventRaced: true,
		record.EventFailed: false, record.EventInError: false, record.EventRetried: false, record.EventNotified: false, record.EventWithdrawn: false, record.EventEscalated: false,
	} {
		a := record.AuditRecord{Activity: "look", Event: event, Reason: "why", By: "alice at A", Stderr: "x"}
		overwriter(nil, "room", time.Unix(1, 0)).change(&a)
		if (a.Reason == "why") != stays || a.By != "alice at A" || a.Stderr != "" {
			t.Errorf("%d: %+v", event, a)
		}
	}
	for by, reason := range map[string]string{"alice at A": "instance terminated by alice at A", "": "instance terminated by an operator"} { // without a reason of hers
		a := record.AuditRecord{Activity: "look", Event: record.EventStopped, Reason: reason, By: by}
		if overwriter(nil, "room", time.Unix(1, 0)).change(&a); a.Reason != reason {
			t.Errorf("terminated by %q: %+v", by, a)
		}
	}
}

// What was overwritten no instance is found by any more; by the rest it is. Where nobody can tell what the input has become, it is
// found by nothing.
func TestWhatIsOverwrittenIsNotFound(t *testing.T) {
	table := definitiontest.TablesOf(t, strings.Replace(visits, "input: Visit\noutput", "input: Visit\nsearch: [patient, room]\noutput", 1), definition.CompileOptions{})["A"]
	input := visit(t, table.Input, `{"patient": "ann", "room": 3}`)
	by := record.SearchedOf(table, input)
	if len(by) != 2 {
		t.Fatalf("it is found by %v", by)
	}
	for members, stays := range map[string][]record.Searched{"patient": by[1:], "room": by[:1], "": {}, "note": by, "patient,room": {}} {
		a := record.AuditRecord{Activity: processtable.Source, Event: record.EventStarted, Output: input, Search: slices.Clone(by)}
		overwriter(table, members, time.Unix(1, 0)).change(&a)
		if !slices.EqualFunc(a.Search, stays, func(x, y record.Searched) bool { return x.Member == y.Member && bytes.Equal(x.Value, y.Value) }) {
			t.Errorf("without %q it is found by %v, want %v", members, a.Search, stays)
		}
	}
	for what, of := range map[string]struct {
		table *processtable.Table
		input []byte
	}{"no table": {nil, input}, "another input": {table, []byte{0xff, 1}}} {
		a := record.AuditRecord{Activity: processtable.Source, Event: record.EventStarted, Output: of.input, Search: slices.Clone(by)}
		if overwriter(of.table, "room", time.Unix(1, 0)).change(&a); len(a.Search) != 0 || len(a.Output) != 0 {
			t.Errorf("%s: it is found by %v, input %x", what, a.Search, a.Output)
		}
	}
}
