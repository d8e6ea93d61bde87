package oracle_test

import (
	"strings"
	"testing"
	"time"

	"fmqm/definition"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/oracle"
)

const raced = `
process: p
version: 1
activities:
  a: {node: A, program: x, deadline: {after: 1s}, retry: {attempts: 3}}
  c: {node: B, program: x, cancels: [d, f]}
  d: {node: A, program: x}
  f: {node: A, program: x}
  b:
    node: A
    deadline: {after: 1s}
    on_error: continue
    activities:
      i: {node: B, program: x}
      j: {node: A, program: x}
    control: [i -> j]
  z: {node: A, program: x, start: any}
control: [{a -> z: _TIMEOUT}, {b -> z: _TIMEOUT}, c -> z, d -> z, d -> f]
`

// told are facts of an instance, one a line:
//
//	set PATH N, due PATH N                           its deadline, in N seconds
//	CLOCK PATH ran|skipped|cancelled|failed|in-error|timed-out|caught [reason] [iteration=N attempt=N]
//	... TRUE|FALSE                                   it sends that on
//	... with=a,b                                     what led into it from a and b was resolved
func told(t *testing.T, history string) (all []oracle.Fact) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(history)) {
		words := strings.Fields(line)
		place := func(path string) (e message.Entry) {
			at := strings.LastIndexByte(path, '/')
			if e.Activity = processtable.ActivityID(path[at+1:]); at > 0 {
				e.Scope = message.Scope(path[:at])
			}
			return e
		}
		number := func(text string) (n int) {
			for _, digit := range text {
				n = 10*n + int(digit-'0')
			}
			return n
		}
		if words[0] == "set" || words[0] == "due" {
			e := place(words[1])
			d := &oracle.Due{Entry: e, Key: message.DueKey(&e, "deadline", time.Unix(int64(number(words[2])), 0))}
			if words[0] == "set" {
				all = append(all, oracle.Fact{Set: d})
			} else {
				all = append(all, oracle.Fact{Came: d})
			}
			continue
		}
		e := place(words[1])
		r := &record.AuditRecord{Scope: e.Scope, Activity: e.Activity, Clock: uint64(number(words[0])), Iteration: 1, Attempt: 1}
		switch words[2] {
		case "ran":
			r.Event = record.EventTerminated
		case "skipped":
			r.Event, r.Iteration = record.EventSkipped, 0
		case "cancelled":
			r.Event = record.EventCancelled
		case "failed":
			r.Event = record.EventFailed
		case "in-error":
			r.Event, r.Reason = record.EventInError, "broken"
		case "timed-out":
			r.Event, r.TimedOut, r.RC = record.EventTerminated, true, -1
		case "sent", "received": // TOKEN, of the event paid, or NAME/TOKEN
			r.Event, r.About = record.EventSent, &message.EventRef{Name: "paid", Node: "A", Token: processtable.ActivityID(words[3])}
			if name, token, named := strings.Cut(words[3], "/"); named {
				r.About.Name, r.About.Token = processtable.EventID(name), processtable.ActivityID(token)
			}
			if words[2] == "received" {
				r.Event = record.EventReceived
			}
		case "caught":
			r.Event, r.Failure, r.RC = record.EventTerminated, strings.ReplaceAll(words[3], "_", " "), -1
		default:
			t.Fatal(line)
		}
		for _, w := range words[3:] {
			if n, is := strings.CutPrefix(w, "attempt="); is {
				r.Attempt = number(n)
			}
			if sources, is := strings.CutPrefix(w, "with="); is {
				for source := range strings.SplitSeq(sources, ",") {
					r.Consumed = append(r.Consumed, record.Consumed{Key: message.Key{Source: processtable.ActivityID(source)}, Control: message.True})
				}
			}
			if w == "TRUE" || w == "FALSE" {
				r.Sent = []record.Sent{{Target: "z", Control: map[string]message.Truth{"TRUE": message.True, "FALSE": message.False}[w]}}
			}
		}
		all = append(all, oracle.Fact{Record: r})
	}
	return all
}

// N24: what is received was sent before, and by nobody else received; and the receive waits for it.
func TestN24WhatAReceiveCanGet(t *testing.T) {
	processes, wrong := definition.Load("p.yaml", []byte(`
process: p
version: 1
events: {paid: {}, sent: {}}
activities:
  a: {node: A, receive: {event: paid}}
  b: {node: A, receive: {one_of: [sent, paid]}}
  s: {node: A, send: {event: paid}}
  t: {node: A, send: {event: sent}}
`))
	if len(processes) != 1 {
		t.Fatal(wrong)
	}
	for history, want := range map[string]string{
		"1 s sent x\n2 a received x":                                       "",
		"1 s sent x\n1 t sent sent/y\n2 a received x\n2 b received sent/y": "",
		"2 a received x":                             "a has received paid of A at 2, and nothing had sent it before",
		"1 s sent x\n2 a received y":                 "a has received paid of A at 2, and nothing had sent it before",
		"3 s sent x\n3 a received x":                 "a has received paid of A at 3, and nothing had sent it before",
		"2 a received x\n1 s sent x":                 "a has received paid of A at 2, and nothing had sent it before",
		"1 s sent x\n2 a received x\n3 b received x": "b has received an event that a had received",
		"1 t sent sent/y\n2 a received sent/y":       "a has received sent, and does not wait for it",
		"1 s sent x\n2 t received x":                 "t has received paid, and does not wait for it",
	} {
		got := oracle.Admissible(processes[0], told(t, history), false)
		if want == "" && len(got) > 0 || want != "" && (len(got) == 0 || !strings.HasPrefix(got[0], want)) {
			t.Errorf("%s: %q, want %q", history, got, want)
		}
	}
}

// N21: it is the bundle that begins with the first connectors, and not each of its elements once more.
func TestN21TheBundleIsDecidedAndNotItsElements(t *testing.T) {
	processes, wrong := definition.Load("p.yaml", []byte(`
process: p
version: 1
structures:
  In: {n: int}
activities:
  a: {node: A, program: x}
  b: {node: A, program: x}
  e: {node: A, program: x, start: first, input: In, for_each: n}
control: [a -> e, b -> e]
data: [{source -> e: {n: '([1, 2])'}}]
`))
	if len(processes) != 1 {
		t.Fatal(wrong)
	}
	if got := oracle.Admissible(processes[0], told(t, "2 e[0]/e ran\n3 e[1]/e ran"), false); len(got) > 0 {
		t.Errorf("of its elements: %q", got)
	}
	got := oracle.Admissible(processes[0], told(t, "4 e ran"), false)
	if want := "e ends with [], which it was not decided with"; len(got) != 1 || got[0] != want {
		t.Errorf("of the bundle: %q, want %q", got, want)
	}
}

// N14: each outcome has one cause, which came before it; what has none is named.
func TestN14WhatAHistoryCanBe(t *testing.T) {
	processes, wrong := definition.Load("p.yaml", []byte(raced))
	if len(processes) != 1 {
		t.Fatal(wrong)
	}
	const inside = "\n3 b#1/source ran"
	for _, tc := range []struct {
		name, history string
		finished      bool
		want          string // the beginning of what is wrong; empty: nothing
	}{
		{"a deadline comes", "set a 5\ndue a 5\n4 a timed-out", false, ""},
		{"after failed attempts", "set a 5\n2 a failed\ndue a 5\n4 a timed-out attempt=2", false, ""},
		{"no deadline comes", "set a 5\n4 a timed-out", false, "a has timed out, and its deadline has not come"},
		{"that of another activation comes", "set a 5\ndue a 4\n4 a timed-out", false, "a has timed out, and its deadline has not come"},
		{"it comes afterwards", "set a 5\n4 a timed-out\ndue a 5", false, "a has timed out, and its deadline has not come"},
		{"it is counted anew", "set a 5\nset a 7", false, "a has a deadline at 7"},
		{"what has no deadline times out", "4 d timed-out", false, "d has timed out, and its deadline has not come"},
		{"attempts that nobody made", "set a 5\ndue a 5\n4 a timed-out attempt=3", false, "a has ended in attempt 3, and 0 have failed"},

		{"a block times out", "set b 5" + inside + "\ndue b 5\n4 b timed-out\n6 b#1/i cancelled", false, ""},
		{"a block that has returned times out", "set b 5" + inside + "\n4 b#1/sink ran\ndue b 5\n5 b timed-out", false, "b has timed out, and its iteration 1 had returned"},
		{"a block that stands in error times out", "set b 5" + inside + "\n4 b#1/sink ran\n5 b in-error\ndue b 5\n6 b timed-out", false, ""},

		{"another cancels", "2 c ran\n4 d cancelled", false, ""},
		{"another does not run", "2 c skipped\n4 d cancelled", false, "d is cancelled, and nothing that cancels it came before"},
		{"another cancels later", "4 c ran\n4 d cancelled", false, "d is cancelled, and nothing that cancels it came before"},
		{"one that does not cancel it", "2 d ran\n4 c cancelled", false, "c is cancelled, and nothing that cancels it came before"},
		{"what is inside is not cancelled by another", "2 c ran\n4 b#1/i cancelled", false, "b#1/i is cancelled, and nothing"},
		{"what is cancelled sends TRUE", "2 c ran\n4 d cancelled TRUE", false, "d is cancelled, and sends to z"},
		{"the end of another iteration", "set b 5\ndue b 5\n4 b timed-out\n6 b#2/i cancelled", false, "b#2/i is cancelled, and nothing"},
		{"what was cancelled ends once more", "2 c ran\n4 d cancelled\n6 d ran", false, "d ends twice"},

		{"an error is caught", "2 b#1/i in-error\n4 b caught i:_broken", false, ""},
		{"none was there", "4 b caught i:_broken", false, `b has caught "i: broken", and nothing inside of it was in error so`},
		{"another one", "2 b#1/i in-error\n4 b caught i:_lost", false, `b has caught "i: lost"`},
		{"of another activity", "2 b#1/j in-error\n4 b caught i:_broken", false, `b has caught "i: broken"`},
		{"of outside", "2 d in-error\n4 b caught d:_broken", false, `b has caught "d: broken"`},
		{"what is not to go on", "4 d caught x", false, "d goes on after an error, and is not to"},

		{"all has ended", "1 a ran\n1 c ran\n1 d ran\n1 f skipped\n1 b skipped\n1 z ran with=a,b,c,d", true, ""},
		{"something has not", "1 a ran\n1 c ran\n1 d ran\n1 f skipped\n1 b skipped", true, "z has not ended, and the instance has"},
		{"an iteration has returned", "1 a ran\n1 c ran\n1 d ran\n1 f skipped\n1 z ran with=a,b,c,d\n1 b#1/source ran\n2 b#1/i ran\n3 b#1/j ran with=i\n4 b#1/sink ran\n5 b ran", true, ""},
		{"it has not", "1 a ran\n1 c ran\n1 d ran\n1 f skipped\n1 z ran with=a,b,c,d\n1 b#1/source ran\n2 b#1/i ran\n3 b#1/j ran with=i\n5 b ran", true, "b#1 has begun, and has neither returned nor was it cancelled"},
		{"something inside is left", "set b 5\n1 a ran\n1 c ran\n1 d ran\n1 f skipped\n1 z ran with=a,b,c,d\n1 b#1/source ran\ndue b 5\n4 b timed-out\n5 b#1/sink cancelled\n6 b#1/i cancelled", true, "b#1/j has not ended"},

		{"all that leads into it is resolved", "1 a ran\n3 z ran with=a,b,c,d", false, ""},
		{"something that leads into it is not", "1 a ran\n3 z ran with=a,b,c", false, "z has ended, and what leads into it from d was not resolved"},
		{"it is cancelled before that", "2 c ran\n4 f cancelled FALSE", false, "f has ended, and what leads into it from d was not resolved"},
		{"it is cancelled, and says nothing", "2 c ran\n4 f cancelled", false, ""},
		{"it was skipped before that", "3 z skipped with=a", false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := oracle.Admissible(processes[0], told(t, tc.history), tc.finished)
			if tc.want == "" && len(got) > 0 || tc.want != "" && (len(got) == 0 || !strings.HasPrefix(got[0], tc.want)) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// N23: a program runs beside the work once for each time that it was due, and not once that has ended.
func TestN23ANoticeHasItsTime(t *testing.T) {
	text := strings.Replace(raced, "cancels: [d, f]}", "cancels: [d, f], notify: [{after: 1s, program: x}]}", 1)
	processes, wrong := definition.Load("p.yaml", []byte(text))
	if len(processes) != 1 {
		t.Fatal(wrong)
	}
	e := message.Entry{Scope: message.Scope("").Notice(0), Activity: "c"}
	came := oracle.Fact{Came: &oracle.Due{Entry: e, Key: message.DueKey(&e, "", time.Unix(1, 0))}}
	runs := func(activity processtable.ActivityID) oracle.Fact {
		return oracle.Fact{Record: &record.AuditRecord{Activity: activity, Clock: 5, Event: record.EventNotified, Iteration: 1}}
	}
	ends := oracle.Fact{Record: &record.AuditRecord{Activity: "c", Clock: 6, Event: record.EventTerminated, Iteration: 1}}
	for _, tc := range []struct {
		facts []oracle.Fact
		want  string
	}{
		{[]oracle.Fact{came, runs("c"), ends}, ""},
		{[]oracle.Fact{runs("c"), came, ends}, "a notice of c has run, and none was due"},
		{[]oracle.Fact{came, runs("c"), runs("c")}, "a notice of c has run, and none was due"},
		{[]oracle.Fact{came, ends, runs("c")}, "a notice of c has run, and that had ended"},
		{[]oracle.Fact{came, runs("d")}, "d has no notices, and one has run; a notice of d has run, and none was due"},
	} {
		if got := strings.Join(oracle.Admissible(processes[0], tc.facts, false), "; "); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// N27: people are shown a notice once for each time that it was due, and take off what they are shown.
func TestN27ANoticeIsShownWhenItIsDue(t *testing.T) {
	text := strings.Replace(raced, "cancels: [d, f]}", "cancels: [d, f], notify: [{after: 1s, program: x}, {after: 1s, every: 1s, staff: role(\"x\")}, {after: 1s, staff: role(\"x\"), program: x}]}", 1)
	processes, wrong := definition.Load("p.yaml", []byte(text))
	if len(processes) != 1 {
		t.Fatal(wrong)
	}
	came := func(number int) oracle.Fact {
		e := message.Entry{Scope: message.Scope("").Notice(number), Activity: "c"}
		return oracle.Fact{Came: &oracle.Due{Entry: e, Key: message.DueKey(&e, "", time.Unix(1, 0))}}
	}
	tells := func(number, iteration int, by string) oracle.Fact {
		return oracle.Fact{Record: &record.AuditRecord{Activity: "c", Clock: 5, Event: record.EventEscalated, Iteration: iteration, Attempt: number + 1, By: by}}
	}
	ends := oracle.Fact{Record: &record.AuditRecord{Activity: "c", Clock: 6, Event: record.EventTerminated, Iteration: 1}}
	for _, tc := range []struct {
		facts []oracle.Fact
		want  string
	}{
		{[]oracle.Fact{came(1), tells(1, 1, ""), tells(1, 2, "ann@A"), came(1), tells(1, 2, ""), ends, tells(1, 3, "ann@A")}, ""},
		{[]oracle.Fact{came(2), tells(2, 1, ""), {Record: &record.AuditRecord{Activity: "c", Clock: 5, Event: record.EventNotified, Iteration: 1}}}, ""},
		{[]oracle.Fact{tells(1, 1, "")}, "a notice of c has come to people, and none was due"},
		{[]oracle.Fact{came(2), tells(1, 1, "")}, "a notice of c has come to people, and none was due"},
		{[]oracle.Fact{came(1), tells(1, 1, "ann@A")}, "ann@A takes a notice of c off, and nobody is shown it"},
		{[]oracle.Fact{came(1), tells(1, 1, ""), tells(1, 1, "ann@A"), tells(1, 1, "bob@A")}, "bob@A takes a notice of c off, and nobody is shown it"},
		{[]oracle.Fact{came(0), tells(0, 1, "")}, "notice 0 of c is for nobody, and has come to people"},
		{[]oracle.Fact{came(2), tells(2, 2, "")}, "notice 2 of c has come for the 2. time, and is not to come again"},
		{[]oracle.Fact{came(1), ends, tells(1, 1, "")}, "a notice of c has come to people, and that had ended"},
		{[]oracle.Fact{came(1), tells(3, 1, "")}, "c has no notice 3, and it has come"},
	} {
		if got := strings.Join(oracle.Admissible(processes[0], tc.facts, false), "; "); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
