package admission

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/message"
	"fmqm/processtable"
)

// X, Y and Z start it; note, the block round with file in it, and visit, a call, are where it was started.
const originProcess = `
process: order
version: 1
structures:
  S: {shop: string}
input: S
starts: [X, Y, Z]
activities:
  note: {node: _ORIGIN, program: p}
  round:
    node: _ORIGIN
    on_error: continue
    activities:
      look: {node: C, program: p}
      file: {node: _ORIGIN, program: p}
    control: [look -> file]
  visit: {node: _ORIGIN, program: p, input: S, at: {node: shop, of: [C, D]}}
  check: {node: _ORIGIN, program: p}
  pack:  {node: C, program: p}
  ship:  {node: D, program: p}
control:
  - note -> pack
  - pack -> check
  - pack -> ship
  - check -> round
data: [source -> visit]
`

// R40, invariant 11: what is at the origin is taken where the message names this node as the origin, and only the origin
// speaks for it: no peer makes itself, or this node, the home of an activity of an instance of others.
func TestR40WhoSpeaksForTheOrigin(t *testing.T) {
	tables := definitiontest.TablesOf(t, originProcess, definition.CompileOptions{})
	says := func(at processtable.NodeID, kind message.Kind, source, target string, origin processtable.NodeID) message.Header {
		h := message.Header{
			Queue: message.Queue{Process: tables["C"].Process, Node: at}, Definition: tables["C"].Definition.Short(), Instance: uuid.Must(uuid.NewV7()),
			Origin: origin, Kind: kind, Source: processtable.ActivityID(source), Activity: processtable.ActivityID(target), Clock: 3, Lane: message.LaneControl,
		}
		if kind == message.KindConnector {
			h.Control = message.True
		}
		return h
	}
	in := func(scope, from message.Scope, h message.Header) message.Header {
		h.Scope, h.SourceScope = scope, from
		return h
	}
	dead := func(h message.Header) message.Header {
		h.Control = message.FalseSkipped
		return h
	}
	numbered := func(n uint64, h message.Header) message.Header {
		h.Number = n
		return h
	}
	const connector, back, begin, cancel = message.KindConnector, message.KindReturn, message.KindBegin, message.KindCancel
	for _, tc := range []struct {
		name string
		peer processtable.NodeID
		h    message.Header
		want string // empty: it is taken
	}{
		{"the origin, of what is there", "X", says("C", connector, "note", "pack", "X"), ""},
		{"another that may start it, in its name", "Y", says("C", connector, "note", "pack", "X"), "activity note of order@1 is hosted at X, and the message came from Y"},
		{"who has a part", "D", says("C", connector, "note", "pack", "X"), "activity note of order@1 is hosted at X, and the message came from D"},
		{"who may not start it, as the origin", "D", says("C", connector, "note", "pack", "D"), "order@1 may not be started there"},
		{"to the origin", "C", says("X", connector, "pack", "check", "X"), ""},
		{"to another that may be one", "C", says("Y", connector, "pack", "check", "X"), "activity check of order@1 is hosted where the instance was started, and it says that this was at X"},
		{"from one origin to another", "X", says("Y", connector, "check", "round", "X"), "activity round of order@1 is hosted where the instance was started"},
		{"from one origin, in the other's name", "X", says("Y", connector, "check", "round", "Y"), "activity check of order@1 is hosted at Y, and the message came from X"},
		{"into a block of the origin", "C", in("round#1", "round#1", says("X", connector, "look", "file", "X")), ""},
		{"into a block of another", "C", in("round#1", "round#1", says("Y", connector, "look", "file", "X")), "activity file of order@1 is hosted where"},
		{"from a block of the origin", "X", in("round#1", "round#1", says("C", connector, "source", "look", "X")), ""},
		{"from a block of another", "Y", in("round#1", "round#1", says("C", connector, "source", "look", "X")), "activity source of order@1 is hosted at X, and the message came from Y"},
		{"an error, to the block", "C", in("", "round#1", says("X", back, "look", "round", "X")), ""},
		{"an error, to another's", "C", in("", "round#1", says("Y", back, "look", "round", "X")), "activity round of order@1 is hosted where"},
		{"a call's work", "X", in("visit#1", "", says("C", begin, "visit", "visit", "X")), ""},
		{"in the name of the call", "Y", in("visit#1", "", says("C", begin, "visit", "visit", "X")), "activity visit of order@1 is hosted at X, and the message came from Y"},
		{"what comes back to the call", "C", in("", "visit#1", numbered(1, says("X", back, "visit", "visit", "X"))), ""},
		{"what comes back to another's", "C", in("", "visit#1", numbered(1, says("Y", back, "visit", "visit", "X"))), "activity visit of order@1 is hosted where"},
		{"the end of a block of the origin", "X", in("round#1", "", says("C", cancel, "round", "look", "X")), ""},
		{"the end of a block, by another", "Y", in("round#1", "", says("C", cancel, "round", "look", "X")), "activity round of order@1 is hosted at X, and the message came from Y"},
		// Dead paths: the origin passes one around C, for D.
		{"on behalf of what follows the origin", "X", dead(says("D", connector, "pack", "ship", "X")), ""},
		{"on behalf, by another", "Y", dead(says("D", connector, "pack", "ship", "X")), "activity pack of order@1 is hosted at C, and the message came from Y"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := impossible(tc.h.Queue.Node, tc.h.Lane, &tc.h)
			if got == "" {
				got = prepared(t, tables[tc.h.Queue.Node]).Refuses(tc.peer, &tc.h)
			}
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("refused as %q, want %q", got, tc.want)
			}
		})
	}
}
