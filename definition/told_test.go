package definition

import (
	"strings"
	"testing"

	"fmqm/processtable"
)

const telling = `
process: delivery
version: 1
structures: {S: {n: int}}
input: S
starts: [A, B]
notify:
  - {on: [error, end]}
  - {after: 1d, program: remind}
  - {on: DEADLINE, program: tell, staff: role("lead")}
activities:
  x: {node: A, program: p, input: S, output: S, deadline: {after: 1h}}
  y: {node: C, program: p}
control:
  - x -> y: _TIMEOUT
data:
  - source -> x
`

// R58: notices of what has happened are in the tables, of format 9: where an instance may be started; without anybody named they are for
// who has started it. Every node knows whether deadlines are told.
func TestNoticesOfWhatHasHappened(t *testing.T) {
	for on, deadlines := range map[string]bool{"deadline": true, "end": false} {
		c := compileOne(t, strings.Replace(telling, "DEADLINE", on, 1))
		if len(c.Tables) != 3 {
			t.Fatalf("%d tables", len(c.Tables))
		}
		for _, table := range c.Tables {
			if table.Format != processtable.ToldFormat || table.Deadlines != deadlines {
				t.Errorf("%s: format %d, deadlines %t", table.Node, table.Format, table.Deadlines)
			}
			sink := table.Activity(processtable.RowID{Name: processtable.Sink})
			if table.Node == "C" {
				if sink != nil {
					t.Error("C has a sink")
				}
				continue
			}
			if got, want := showNotices(sink.Notify), "on end or error, for did(source); after 1d remind; on "+on+" tell, for role(\"lead\")"; got != want {
				t.Errorf("%s has %s\nwant %s", table.Node, got, want)
			}
		}
	}
}

// What is told, and to whom, is a part of a definition's meaning; the order of what is told is none.
func TestWhatIsToldIsInTheHash(t *testing.T) {
	of := func(from, to string) string {
		c := compileOne(t, strings.Replace(strings.Replace(telling, "DEADLINE", "deadline", 1), from, to, 1))
		return c.Tables[0].Definition.String()
	}
	first := of("", "")
	if of("[error, end]", "[end, error]") != first {
		t.Error("the order matters")
	}
	for _, other := range []string{"[error, deadline]", "end", "end, staff: did(source)"} {
		if of("[error, end]", other) == first {
			t.Errorf("%s means the same", other)
		}
	}
}
