package oracle_test

import (
	"strings"
	"testing"

	"fmqm/definition"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/oracle"
)

const tellsOfAll = `
process: p
version: 1
deadline: {after: 1h}
notify:
  - {on: [end, error, deadline], staff: role("clerk")}
  - {on: end, program: x}
activities:
  a: {node: A, program: x, deadline: {after: 1s}}
  b: {node: B, program: x, deadline: {after: 1s}}
  c: {node: A, empty: true}
control: [a -> b, {a -> c: _TIMEOUT}, {b -> c: _TIMEOUT}]
`

// tellings are facts of an instance, in words apart by blanks:
//
//	error:PATH, late:PATH          it is in error, or was ended by its deadline, as its own site records
//	heard-error:PATH, heard-cleared:PATH, heard-late:PATH
//	ends, terminated, limit        of sink; limit: the deadline of the process has come
//	begins:N/I                     notice I, from 1, of the Nth thing
//	shown:N/I:WHAT, ran:N:WHAT     it comes to people, or its program has run; WHAT is end, error(PATH) or deadline(PATH)
func tellings(history string) (all []oracle.Fact) {
	digit := func(s string, at int) int { return int(s[at] - '0') }
	for word := range strings.FieldsSeq(history) {
		kind, rest, _ := strings.Cut(word, ":")
		r := &record.AuditRecord{Activity: processtable.ActivityID(rest)}
		f := oracle.Fact{Record: r}
		switch kind {
		case "error":
			r.Event = record.EventInError
		case "late":
			r.Event, r.TimedOut = record.EventTerminated, true
		case "ends":
			r.Event, r.Activity = record.EventEnded, processtable.Sink
		case "terminated":
			r.Event, r.Activity, r.By = record.EventStopped, processtable.Sink, strings.ReplaceAll(rest, "_", " ")
		case "limit":
			f = oracle.Fact{Came: &oracle.Due{Entry: message.Entry{Activity: processtable.Sink}, Key: message.Key{Source: "deadline"}}}
		case "heard-error", "heard-cleared":
			f = oracle.Fact{Heard: &oracle.Heard{Path: rest, On: processtable.OnError, Cleared: kind == "heard-cleared"}}
		case "heard-late":
			f = oracle.Fact{Heard: &oracle.Heard{Path: rest, On: processtable.OnDeadline}}
		case "begins":
			f = oracle.Fact{Begun: &oracle.Begun{Nth: digit(rest, 0), Number: digit(rest, 2) - 1}}
		case "shown", "ran":
			of, what, _ := strings.Cut(rest, ":")
			on, path, _ := strings.Cut(strings.TrimSuffix(what, ")"), "(")
			r.Activity, r.Iteration = processtable.Sink, digit(of, 0)
			r.Told = &message.Told{On: processtable.OccasionOf(on), Activity: processtable.ActivityID(path)}
			if r.Event, r.Reason = record.EventNotified, "x"; kind == "shown" {
				r.Event, r.Reason, r.Attempt = record.EventEscalated, "", digit(of, 2)
			}
		}
		all = append(all, f)
	}
	return all
}

// R58: what is told of an instance is held to what has happened to it.
func TestTellings(t *testing.T) {
	processes, wrong := definition.Load("p.yaml", []byte(tellsOfAll))
	if len(processes) != 1 {
		t.Fatal(wrong)
	}
	const ends = " ends begins:9/1 begins:9/2 shown:9/1:end ran:9:end "
	for _, tc := range []struct{ what, history, want string }{
		{"all is told", "late:a heard-late:a begins:1/1 shown:1/1:deadline(a) error:b heard-error:b begins:2/1 shown:2/1:error(b)" + ends, ""},
		{"so is a termination", "terminated begins:1/1 begins:1/2 ran:1:end shown:1/1:end", ""},
		{"and one by its deadline, which is told as well", "limit begins:1/1 shown:1/1:deadline terminated:its_deadline begins:2/1 begins:2/2 shown:2/1:end ran:2:end", ""},
		{"and not left out", "limit terminated:its_deadline begins:2/1 begins:2/2 shown:2/1:end ran:2:end", "deadline of the instance is not told"},
		{"nor told before it has come", "begins:1/1 limit shown:1/1:deadline terminated:its_deadline begins:2/1 begins:2/2 shown:2/1:end ran:2:end", "deadline of the instance is told, and has not happened before"},
		{"what is over before sink has told is not", "error:b heard-error:b heard-cleared:b" + ends, ""},
		{"what another lane has overtaken is not", "late:b" + ends + "heard-late:b", ""},
		{"what has happened beside sink is before", "late:a" + ends + "heard-late:a", "sink was not told of deadline of a before it ended"},
		{"the end is told", "ends", "end of the instance is not told"},
		{"by all its lines", "ends begins:1/1 shown:1/1:end", "notice 2 of end of the instance has begun 0 times, not 1"},
		{"and by each once", "ends begins:1/1 begins:1/2 shown:1/1:end shown:1/1:end ran:1:end", "was shown 2 times, not 1"},
		{"which begins once", "ends begins:1/1 begins:1/1 begins:1/2 shown:1/1:end ran:1:end", "has begun 2 times, not 1"},
		{"the program too", "ends begins:1/1 begins:1/2 shown:1/1:end ran:1:end ran:1:end", "program x was told of end of the instance 2 times, not 1"},
		{"once", ends + "begins:2/1 begins:2/2 shown:2/1:end ran:2:end", "end of the instance is told 2 times, and has happened 1 times"},
		{"not before", "begins:9/1 begins:9/2 ends shown:9/1:end ran:9:end", "is told, and has not happened before"},
		{"a deadline is told", "late:a heard-late:a" + ends, "deadline of a is not told"},
		{"and heard of", "late:b" + ends, "sink was not told of deadline of b"},
		{"and told once", "late:a heard-late:a begins:1/1 begins:2/1 shown:1/1:deadline(a) shown:2/1:deadline(a)" + ends, "deadline of a is told 2 times, and has happened 1 times"},
		{"an error is told", "error:b heard-error:b" + ends, "error of b was heard of, and is not told"},
		{"each anew", "error:b heard-error:b begins:1/1 shown:1/1:error(b) error:b heard-error:b" + ends, "error of b was heard of, and is not told"},
		{"which there was", "heard-error:b begins:1/1 shown:1/1:error(b)" + ends, "error of b is told, and has not happened before"},
		{"and nothing by another line", "error:b heard-error:b begins:1/2 ran:1:error(b)" + ends, "program x was told of error of b 1 times, not 0"},
		{"and of one thing one thing", "late:a heard-late:a error:b heard-error:b begins:1/1 shown:1/1:deadline(a) shown:1/1:error(b)" + ends, "the 1. thing that is told is deadline of a, and error of b"},
		{"what has begun is told", "late:a heard-late:a begins:1/1" + ends, "was never told, and a notice of it had begun"},
	} {
		wrong := strings.Join(oracle.Tellings(processes[0], "A", tellings(tc.history), oracle.Course{}), "\n")
		if (tc.want == "") != (wrong == "") || !strings.Contains(wrong, tc.want) {
			t.Errorf("%s: %q, not %q", tc.what, wrong, tc.want)
		}
	}
}
