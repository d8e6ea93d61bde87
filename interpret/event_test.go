package interpret

import (
	"fmt"
	"strings"
	"testing"

	"fmqm/definition"
)

// waited writes a run in lines as tellFamily, with what waits.
func waited(t *testing.T, text, in, results string) string {
	t.Helper()
	processes := families(t, text)
	programs, err := ParseResults(processes[0], []byte(results), processes...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(processes[0], input(t, processes[0], in), programs, Options{Processes: processes, Instance: "i"})
	if err != nil {
		return err.Error()
	}
	all := []string{string(r.State)}
	for a := range r.Family() {
		line := fmt.Sprintf("%s %s", a.Path(), a.State)
		switch {
		case a.Waits != nil:
			line += " for " + a.Waits.String()
		case a.TimedOut:
			line += " late"
		case a.State == Terminated && a.Event != "":
			line += " " + a.Event
		}
		if a.State == Terminated && len(a.Output.Fields) > 0 {
			line += " " + jsonOf(t, a.Output)
		}
		if a.Error != "" {
			line += ": " + a.Error
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

const eventHead = `
process: p
version: 1
structures: {S: {k: string, n: int}, D: {n: int}}
input: S
events: {a: D, b: {}}
`

// N24: what a receive gets.
func TestReceives(t *testing.T) {
	for _, tc := range []struct{ rule, activities, in, results, want string }{
		{
			"it takes what was sent before", `
activities:
  s: {node: A, send: {event: a, key: k}, input: S}
  r: {node: A, receive: {event: a, key: k}, input: S, output: D}
control: [s -> r]
data: [source -> s, source -> r]
`, `{"k": "x", "n": 5}`, ``, `
finished
s terminated
r terminated a {"n":5}`,
		},
		{
			"it waits for what is sent later, elsewhere too", `
activities:
  r: {node: A, receive: {one_of: [b, a], key: k}, input: S, output: D}
  s: {node: B, send: {event: a, key: k, to: A}, input: S}
data: [source -> s, source -> r]
`, `{"k": "x", "n": 5}`, ``, `
finished
r terminated a {"n":5}
s terminated`,
		},
		{
			"of another node, key or name it takes none; without a key only those without", `
activities:
  s: {node: B, send: {event: a, key: k}, input: S}
  t: {node: A, send: {event: a}, input: S}
  u: {node: A, send: {event: a, key: k + "2"}, input: S}
  v: {node: A, send: {event: b, key: k}, input: S}
  r: {node: A, receive: {event: a, key: k}, input: S}
  q: {node: A, receive: {event: a}, output: D}
data: [source -> s, source -> t, source -> u, source -> v, source -> r]
`, `{"k": "x", "n": 7}`, ``, `
running
s terminated
t terminated
u terminated
v terminated
r running for a, key x
q terminated a {"n":7}`,
		},
		{
			"each event goes to one, the oldest first, and who waits first gets the first", `
activities:
  r: {node: A, receive: {event: a, key: _INSTANCE}, output: D}
  q: {node: A, receive: {one_of: [b, a], key: _INSTANCE}, output: D}
  s: {node: A, send: {event: a, key: _INSTANCE}, input: D}
  t: {node: A, send: {event: a, key: _INSTANCE}, input: D}
  u: {node: A, receive: {event: a, key: _INSTANCE}, output: D}
control: [s -> t, t -> u]
data: [source -> s: {n: n}]
`, `{"n": 3}`, ``, `
running
r terminated a {"n":3}
q terminated a {"n":0}
s terminated
t terminated
u running for a, key i`,
		},
		{
			"the node may come from the data", `
activities:
  r: {node: A, receive: {event: b}}
  s: {node: B, send: {event: b, to: {node: k, of: [B, A]}}, input: S}
  t: {node: B, send: {event: b, to: {node: k + "2", of: [B, A]}}, input: S}
data: [source -> s, source -> t]
`, `{"k": "A"}`, ``, `
in-error
r terminated b
s terminated
t in-error: to: "A2" is none of B, A`,
		},
		{
			"a key is a text of 1 to 256 bytes", `
activities:
  r: {node: A, receive: {event: b, key: k}, input: S}
  s: {node: A, send: {event: b, key: k}, input: S}
data: [source -> s, source -> r]
`, `{}`, ``, `
in-error
r in-error: key: it is empty: give a text, or leave ` + "`key`" + ` out for events without a key
s in-error: key: it is empty: give a text, or leave ` + "`key`" + ` out for events without a key`,
		},
		{
			"its deadline comes if nothing else does", `
activities:
  r: {node: A, receive: {event: a, key: k}, input: S, output: D, deadline: {after: 5d}}
  s: {node: A, send: {event: b, key: k}, input: S}
  q: {node: A, receive: {event: b, key: k}, input: S, deadline: {after: 5d}}
control: [r -> s: _TIMEOUT, q -> e: _EVENT == ""]
data: [source -> s, source -> r, source -> q]
`, `{"k": "x"}`, ``, `
finished
r terminated late {"n":0}
s terminated
q terminated b
e skipped`,
		},
		{
			"in each iteration it takes another", `
activities:
  r: {node: A, receive: {event: a}, output: D, exit: n == 0}
  s: {node: A, send: {event: a}, input: D}
  t: {node: A, send: {event: a}, input: D}
control: [s -> t]
data: [source -> s: {n: n}]
`, `{"n": 4}`, ``, `
finished
r terminated a {"n":0}
s terminated
t terminated`,
		},
		{
			"in a block it goes on when what is outside has sent", `
activities:
  block:
    node: A
    output: D
    exit: n > 1
    activities:
      r: {node: A, receive: {event: a}, output: D}
      w: {node: A, program: w, input: D, output: D}
    control: [r -> w]
    data: [r -> w, w -> sink]
  s: {node: A, send: {event: a}, input: D}
  t: {node: A, send: {event: a}, input: D}
control: [s -> t]
data: [source -> t: {n: n}]
`, `{"n": 4}`, ``, `
finished
block terminated {"n":4}
block#1/r terminated a {"n":0}
block#1/w terminated {"n":0}
block#2/r terminated a {"n":4}
block#2/w terminated {"n":4}
s terminated
t terminated`,
		},
		{
			"the deadline of what is around it comes, too", `
activities:
  block:
    node: A
    deadline: {after: 1h}
    activities:
      r: {node: A, receive: {event: a}, output: D}
      w: {node: A, program: w}
    control: [r -> w]
  e: {node: A, empty: true}
control: [block -> e: _TIMEOUT]
`, `{"n": 4}`, ``, `
finished
block terminated late
block#1/r cancelled: the deadline of block has come
block#1/w cancelled: the deadline of block has come
e terminated`,
		},
		{
			"what cancels it takes it out, and its event is for others", `
activities:
  r: {node: A, receive: {event: a}, output: D}
  q: {node: A, receive: {event: a}, output: D}
  c: {node: A, program: c, cancels: [r]}
  s: {node: A, send: {event: a}, input: D}
control: [c -> s]
`, `{"n": 4}`, ``, `
running
r terminated a {"n":0}
q running for a
c terminated
s terminated`,
		},
		{
			"an entry says what comes from outside, whatever was sent", `
activities:
  s: {node: A, send: {event: a}, input: D}
  r: {node: A, receive: {one_of: [a, b]}, output: D, exit: _EVENT == "b"}
control: [s -> r]
`, `{}`, `{r: [{event: a, output: {n: 8}}, {}, {event: b}]}`, `
finished
s terminated
r terminated b {"n":0}`,
		},
		{
			"an entry says that the deadline comes first", `
activities:
  s: {node: A, send: {event: a}, input: D}
  r: {node: A, receive: {one_of: [a, b]}, output: D, deadline: {after: 1h}}
  e: {node: A, empty: true}
control: [s -> r, r -> e: _TIMEOUT]
`, `{}`, `{r: [{timeout: true}]}`, `
finished
s terminated
r terminated late {"n":0}
e terminated`,
		},
		{
			"what fails after it leaves it in error", `
activities:
  r: {node: A, receive: {event: a}, output: D}
  s: {node: A, send: {event: a}, input: D}
  e: {node: A, empty: true}
control: [r -> e: 1 / n > 0]
`, `{}`, ``, `
in-error
r in-error: transition condition "1 / n > 0" to e: evaluate condition "1 / n > 0": division by zero: check first that the divisor is not 0, as in d != 0 && n / d > 2
s terminated
e inactive`,
		},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			text := eventHead + strings.TrimPrefix(tc.activities, "\n")
			if strings.Contains(text, "q -> e:") {
				text = strings.Replace(text, "control:", "  e: {node: A, empty: true}\ncontrol:", 1)
			}
			if got, want := waited(t, text, tc.in, tc.results), strings.TrimSpace(tc.want); got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
		})
	}
}

// Events go between an instance and those that it has begun; what has waited in there goes on, and what is
// ended with it waits no more.
func TestEventsOfSubprocesses(t *testing.T) {
	const inner = `
---
process: q
version: 1
structures: {D: {n: int}}
output: D
starts: [A]
events: {a: D, back: {}}
activities:
  r: {node: A, receive: {event: a}, output: D}
  w: {node: A, send: {event: back}}
control: [r -> w]
data: [r -> sink]
`
	const outer = `
process: p
version: 1
structures: {D: {n: int}}
input: D
events: {a: D, back: {}}
activities:
  sub: {node: A, process: q, output: D, exit: n > 0, deadline: {after: 1h}}
  s: {node: A, send: {event: a}, input: D, start: any}
  r: {node: A, receive: {event: back}, deadline: {after: 1h}}
  e: {node: A, empty: true, start: any}
control: [r -> s: !_TIMEOUT, c -> s, sub -> e: _TIMEOUT, r -> e: _TIMEOUT]
data: [source -> s]
`
	for _, tc := range []struct{ rule, c, in, want string }{
		{
			"it goes on", "c: {node: A, send: {event: a}, input: D}", `{"n": 2}`, `
finished
sub terminated {"n":2}
sub#1/r terminated a {"n":0}
sub#1/w terminated
sub#2/r terminated a {"n":2}
sub#2/w terminated
s terminated
r terminated back
e skipped
c terminated`,
		},
		{
			"the deadline around it comes", "c: {node: A, program: c}", `{"n": 0}`, `
finished
sub terminated late {"n":0}
sub#1/r running for a
sub#1/w inactive
s terminated
r terminated late
e terminated
c terminated`,
		},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			text := strings.Replace(outer, "control:", "  "+tc.c+"\ncontrol:", 1)
			if got, want := waited(t, text+inner, tc.in, ``), strings.TrimSpace(tc.want); got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
		})
	}
}

// N14, N25: a receive that has got an event is not cancelled before, also where what sends it comes later in the run than
// what cancels it: that is in the block around it, and the send is not.
func TestAReceiveThatGetsAnEventIsNotCancelled(t *testing.T) {
	p := load(t, eventHead+`
activities:
  b:
    node: A
    activities:
      r: {node: A, receive: {event: a}, output: D}
      c: {node: A, program: p, cancels: [r]}
  s: {node: A, send: {event: a}, input: S}
data: [source -> s]
`)
	for got, want := range map[*Got]string{{Event: "a", From: "s"}: "finished b#1/r terminated", nil: "finished b#1/r cancelled"} {
		r, err := Run(p, input(t, p, `{"n": 6}`), raced{EchoAll, func(a *definition.Activity, at At) Race {
			if a.Name != "r" || at.Iteration == 0 {
				return Race{}
			}
			if got == nil {
				return Race{First: Canceller}
			}
			return Race{Got: got}
		}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for a := range r.All() {
			if a.Activity == "r" && string(r.State)+" "+a.Path()+" "+string(a.State) != want {
				t.Errorf("%s %s %s, want %s", r.State, a.Path(), a.State, want)
			}
		}
	}
}

// N14: outcomes say which event a receive has got: of which send of the run, or one from outside.
func TestOutcomesOfReceives(t *testing.T) {
	const text = `
activities:
  r: {node: A, receive: {one_of: [a, b]}, output: D}
  q: {node: A, receive: {event: a}, output: D}
  s: {node: A, send: {event: a}, input: D}
  t: {node: A, send: {event: a}, input: S}
  u: {node: A, send: {event: a, to: B}, input: S}
control: [s -> t]
data: [source -> t, source -> u]
`
	p := load(t, eventHead+text)
	for _, tc := range []struct {
		rule  string
		races map[string]Race
		want  string
	}{
		{"of which send", map[string]Race{"r": {Got: &Got{Event: "a", From: "t"}}, "q": {Got: &Got{Event: "a", From: "s"}}}, `finished r a {"n":6} q a {"n":0}`},
		{"nothing of the run", map[string]Race{"r": {Stays: true}}, `running r waits q a {"n":0}`},
		{"of what is not sent to it", map[string]Race{"r": {Got: &Got{Event: "a", From: "u"}}}, `running r waits q a {"n":0}`},
		{"not its event", map[string]Race{"q": {Got: &Got{Event: "b"}}}, `run p@1: q: it cannot have got b: it receives a`},
	} {
		r, err := Run(p, input(t, p, `{"n": 6}`), raced{EchoAll, func(a *definition.Activity, at At) Race {
			if at.Iteration == 0 {
				return Race{}
			}
			return tc.races[a.Name]
		}}, Options{})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = string(r.State)
			for _, a := range r.Activities[:2] {
				if a.Waits != nil {
					got += " " + a.Activity + " waits"
					continue
				}
				got += fmt.Sprintf(" %s %s %s", a.Activity, a.Event, jsonOf(t, a.Output))
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s\nwant %s", tc.rule, got, tc.want)
		}
	}
}

// What results say of events names their place.
func TestBadResultsOfEvents(t *testing.T) {
	p := load(t, eventHead+`
activities:
  r: {node: A, receive: {one_of: [a, b]}, output: D}
  s: {node: A, send: {event: a}}
  c: {node: A, program: c}
`)
	for text, want := range map[string]string{
		"r: [{event: arrived}]":           "1:13: r receives a, b",
		"r: [{output: {n: 1}}]":           "1:5: r: output without event: write which event has it, {event: a, output: {...}}",
		"r: [{event: a, output: {m: 1}}]": "1:24: r: output: m: unknown member",
		"r: [{event: a, timeout: true}]":  "1:16: r has no deadline",
		"r: [{rc: 0}]":                    "1:6: r receives events and runs no program: write {event: a, output: {...}}",
		"s: [{event: a}]":                 "1:1: activity s sends an event and runs no program: remove it here",
		"c: [{event: a}]":                 "1:6: c receives no events: remove event here",
	} {
		if _, err := ParseResults(p, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}
