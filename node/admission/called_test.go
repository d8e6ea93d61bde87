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

// called has the work of calls done at B and C: of each element of count, and of one. M hosts what is inside of the
// blocks of lines.
const called = `
process: called
version: 1
starts: [A]
structures:
  Visit: {shop: string}
  Plan: {shops: [string]}
input: Plan
activities:
  count: {node: A, program: p, input: Visit, output: Visit, for_each: shop, at: {node: shop, of: [B, C]}}
  one: {node: A, program: p, input: Visit, output: Visit, at: {node: shop, of: [B, C]}}
  lines:
    node: A
    for_each: shop
    input: Visit
    activities:
      pick: {node: M, program: p}
control: [count -> one, count -> lines]
data:
  - source -> count: {shop: shops}
  - source -> lines: {shop: shops}
`

// Invariant 11: the work of a call returns from a node that may do it, which says that it is that one; it is begun by
// the call's home; and a bundle is told of errors by who hosts what is inside of an element. The first case
// of each is a message that is taken.
func TestWhatAPeerMaySayOfCalls(t *testing.T) {
	tables := definitiontest.TablesOf(t, called, definition.CompileOptions{})
	from := func(kind message.Kind, source processtable.ActivityID, in message.Scope, target processtable.ActivityID, scope message.Scope, number uint64) message.Header {
		return message.Header{
			Queue: message.Queue{Process: tables["A"].Process, Node: "A"}, Definition: tables["A"].Definition.Short(), Instance: uuid.Must(uuid.NewV7()), Origin: "A",
			Kind: kind, Source: source, SourceScope: in, Activity: target, Scope: scope, Clock: 3, Lane: message.LaneData, Number: number,
		}
	}
	returned := from(message.KindReturn, "count", "count[7]/count#1", "count", "count[7]", 1)
	alone := from(message.KindReturn, "one", "one#1", "one", "", 2)
	erring := from(message.KindNotice, "pick", "lines[3]/lines#1", "lines", "", 0)
	begun := from(message.KindBegin, "count", "count[7]", "count", "count[7]/count#1", 0)
	begun.Queue.Node = "B"
	for _, tc := range []struct {
		name   string
		peer   processtable.NodeID
		h      message.Header
		change func(*message.Header)
		want   string // empty: it is taken
	}{
		{"return", "B", returned, func(*message.Header) {}, ""},
		{"return, of another node", "C", returned, func(h *message.Header) { h.Number = 2 }, ""},
		{"return, in another's place", "C", returned, func(*message.Header) {}, "with the number 1, came from C"},
		{"return, without a number", "B", returned, func(h *message.Header) { h.Number = 0 }, "with the number 0, came from B"},
		{"return, of a node that is none of the list", "M", returned, func(*message.Header) {}, "came from M"},
		{"return, in the home's name", "A", returned, func(*message.Header) {}, "came from A"},
		{"return, of an iteration too many", "B", returned, func(h *message.Header) { h.SourceScope = "count[7]/count#2" }, "iteration 2 of count, and at most 1 are allowed"},
		{"return, of an element of an element", "B", returned, func(h *message.Header) { h.SourceScope = "count[7]/count[1]" }, "the iteration of count is missing"},
		{"return, to the bundle", "B", returned, func(h *message.Header) { h.SourceScope, h.Scope, h.Number = "count[7]", "", 0 }, "activity count of called@1 is hosted at A, and the message came from B"},
		{"return of one", "C", alone, func(*message.Header) {}, ""},
		{"return of one, as an element", "C", alone, func(h *message.Header) { h.SourceScope = "one[1]" }, "the iteration of one is missing"},

		{"notice", "M", erring, func(*message.Header) {}, ""},
		{"notice, of another's activity", "B", erring, func(*message.Header) {}, "activity pick of called@1 is hosted at M, and the message came from B"},
		{"notice, to another bundle", "M", erring, func(h *message.Header) { h.Activity = "count" }, "is not inside of count"},
		{"notice, to no bundle", "M", erring, func(h *message.Header) { h.Activity = "one" }, "one"},
		{"notice, of no element", "M", erring, func(h *message.Header) { h.SourceScope = "lines#1" }, "lines"},
		{"notice of work", "C", erring, func(h *message.Header) { h.Activity, h.Source, h.SourceScope = "count", "count", "count[7]/count#1" }, ""},

		{"begin", "A", begun, func(*message.Header) {}, ""},
		{"begin, by another", "C", begun, func(*message.Header) {}, "activity count of called@1 is hosted at A, and the message came from C"},
		{"begin, of the other call", "A", begun, func(h *message.Header) { h.Source, h.Activity, h.SourceScope, h.Scope = "one", "one", "", "one#1" }, ""},
		{"begin, of an element", "A", begun, func(h *message.Header) { h.SourceScope, h.Scope = "", "count[7]" }, "count"},
		{"begin, of an iteration too many", "A", begun, func(h *message.Header) { h.Scope = "count[7]/count#2" }, "iteration 2 of count, and at most 1 are allowed"},
		{"begin, at the home", "A", begun, func(h *message.Header) { h.Queue.Node = "A" }, "has 2 composites, and 0 are around it"},
		{"begin, where nothing is done", "A", begun, func(h *message.Header) { h.Queue.Node = "M" }, "count"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.change(&tc.h)
			if _, err := message.Encode(message.Message{Header: tc.h}); err != nil {
				t.Fatalf("no peer can bring it: %v", err)
			}
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
