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

// caught catches the errors of x and y, plain those of nobody; stop, at B, cancels long, and no other.
// M has activities in each block.
const blocks = `
process: blocks
version: 1
starts: [A]
activities:
  caught:
    node: A
    on_error: continue
    exit: _RC == 0
    max_iterations: 3
    activities:
      y: {node: C, program: p}
      deep:
        node: D
        activities:
          x: {node: M, program: p}
  plain:
    node: A
    activities:
      z: {node: M, program: p}
      beside: {node: A, program: p}
  report: {node: A, program: p}
  long: {node: A, program: p}
  short: {node: A, program: p}
  stop: {node: B, program: p, cancels: [long]}
  far:
    node: B
    activities:
      near: {node: A, program: p}
      theirs: {node: M, program: p}
control: [caught -> report: _ERROR != ""]
`

// Invariant 11: an activity is cancelled by who hosts what the table lets cancel it, or the block around it; a
// block is told of an error by who hosts an activity inside of it, if it catches errors; and what begins
// never comes from elsewhere. The first case of each is a message that is taken.
func TestWhatAPeerMaySayOfBlocks(t *testing.T) {
	table := definitiontest.TablesOf(t, blocks, definition.CompileOptions{})["A"]
	from := func(kind message.Kind, source processtable.ActivityID, in message.Scope, target processtable.ActivityID, scope message.Scope) message.Header {
		return message.Header{
			Queue: message.Queue{Process: table.Process, Node: "A"}, Definition: table.Definition.Short(), Instance: uuid.Must(uuid.NewV7()), Origin: "A",
			Kind: kind, Source: source, SourceScope: in, Activity: target, Scope: scope, Clock: 3, Lane: message.LaneControl,
		}
	}
	failed := from(message.KindReturn, "x", "caught#1/deep#1", "caught", "")
	failed.Lane = message.LaneData
	stopped := from(message.KindCancel, "stop", "", "long", "")
	given := from(message.KindCancel, "far", "", "near", "far#1")
	begun := from(message.KindBegin, "far", "", processtable.Source, "far#1")
	for _, tc := range []struct {
		name   string
		peer   processtable.NodeID
		h      message.Header
		change func(*message.Header)
		want   string // empty: it is taken
	}{
		{"error", "M", failed, func(*message.Header) {}, ""},
		{"error, of the last iteration", "M", failed, func(h *message.Header) { h.SourceScope = "caught#3/deep#1" }, ""},
		{"error, of an activity right inside", "C", failed, func(h *message.Header) { h.Source, h.SourceScope = "y", "caught#1" }, ""},
		{"error, of another's activity", "C", failed, func(*message.Header) {}, "activity x of blocks@1 is hosted at M, and the message came from C"},
		{"error, of no activity", "M", failed, func(h *message.Header) { h.Source = "nothing" }, "blocks@1 has no activity nothing"},
		{"error, of an activity that is not in that block", "M", failed, func(h *message.Header) { h.SourceScope = "caught#1" }, `blocks@1 has no activity x in the scope "caught#1"`},
		{"error, of an activity of another block", "M", failed, func(h *message.Header) { h.Source, h.SourceScope = "z", "caught#1/plain#1" }, `blocks@1 has no activity z in the scope "caught#1/plain#1"`},
		{"error, of a block that is not inside", "M", failed, func(h *message.Header) { h.SourceScope = "plain#1/deep#1" }, `blocks@1 has no activity x in the scope "plain#1/deep#1"`},
		{"error, through what is no block", "M", failed, func(h *message.Header) { h.SourceScope = "caught#1/y#1/deep#1" }, `blocks@1 has no activity x in the scope "caught#1/y#1/deep#1"`},
		{"error, through a block twice", "M", failed, func(h *message.Header) { h.SourceScope = "caught#1/caught#1/deep#1" }, `blocks@1 has no activity x in the scope "caught#1/caught#1/deep#1"`},
		{"error, of an iteration too many", "M", failed, func(h *message.Header) { h.SourceScope = "caught#4/deep#1" }, "iteration 4 of caught, and at most 3 are allowed"},
		{"error, of no iteration", "M", failed, func(h *message.Header) { h.SourceScope = "caught/deep#1" }, "the iteration of caught is missing"},
		{"error, of an element", "M", failed, func(h *message.Header) { h.SourceScope = "caught[1]#1/deep#1" }, "caught has no elements"},
		{"error, for a block that catches none", "M", failed, func(h *message.Header) { h.Source, h.SourceScope, h.Activity = "z", "plain#1", "plain" }, `has plain catch none there`},
		{"error, for what is no block", "M", failed, func(h *message.Header) { h.Source, h.SourceScope, h.Activity = "z", "plain#1", "short" }, `has short catch none there`},
		{"error, for a block elsewhere", "M", failed, func(h *message.Header) { h.Source, h.SourceScope, h.Activity = "theirs", "far#1", "far" }, "activity far of blocks@1 is not hosted at A"},
		{"error, for a block that is nowhere", "M", failed, func(h *message.Header) { h.Activity = "deep" }, "activity deep of blocks@1"},
		{"error, for a block in a scope", "M", failed, func(h *message.Header) { h.Scope = "caught#1" }, `scope "caught#1" has 1 composites, and 0 are around it`},
		{"what an iteration comes to", "A", failed, func(h *message.Header) { h.Source, h.SourceScope = processtable.Sink, "caught#1" }, "sink of a block never leaves its node"},
		{"that an iteration was given up", "M", failed, func(h *message.Header) { h.Source, h.SourceScope = processtable.Source, "caught#1" }, "source of a block never leaves its node"},
		{"error, of an origin that is none", "M", failed, func(h *message.Header) { h.Origin = "M" }, "blocks@1 may not be started there"},
		{"error, without an origin", "M", failed, func(h *message.Header) { h.Origin = "" }, "it does not say where its instance was started"},

		{"cancel", "B", stopped, func(*message.Header) {}, ""},
		{"cancel, in the name of another", "M", stopped, func(*message.Header) {}, "activity stop of blocks@1 is hosted at B, and the message came from M"},
		{"cancel, of what it may not", "B", stopped, func(h *message.Header) { h.Activity = "short" }, "it says that stop cancels short, which the table of blocks@1 here does not allow"},
		{"cancel, of a block that it may not", "B", stopped, func(h *message.Header) { h.Activity = "caught" }, "it says that stop cancels caught, which the table of blocks@1 here does not allow"},
		{"cancel, of what is inside of another block", "B", stopped, func(h *message.Header) { h.Activity, h.Scope, h.SourceScope = "beside", "plain#1", "plain#1" }, `blocks@1 has no activity stop in the scope "plain#1"`},
		{"cancel, by one beside it in its block", "M", stopped, func(h *message.Header) {
			h.Source, h.Activity, h.Scope, h.SourceScope = "z", "beside", "plain#1", "plain#1"
		}, "it says that z cancels beside, which the table of blocks@1 here does not allow"},
		{"cancel, of sink", "B", stopped, func(h *message.Header) { h.Activity = processtable.Sink }, "it says that stop cancels sink"},
		{"cancel, by source", "A", stopped, func(h *message.Header) { h.Source = processtable.Source }, "source of a block never leaves its node"},
		{"cancel, without an origin", "B", stopped, func(h *message.Header) { h.Origin = "" }, "it does not say where its instance was started"},

		{"cancel of what is inside", "B", given, func(*message.Header) {}, ""},
		{"cancel of what is inside, in the block's name", "M", given, func(*message.Header) {}, "activity far of blocks@1 is hosted at B, and the message came from M"},
		{"cancel from outside of the block", "B", given, func(h *message.Header) { h.Source = "stop" }, "it says that stop cancels near, and that is not inside of it"},
		{"cancel of what is inside of another block", "B", given, func(h *message.Header) { h.Activity, h.Scope = "beside", "plain#1" }, "it says that far cancels beside, and that is not inside of it"},
		{"cancel in a scope where it is not", "B", given, func(h *message.Header) { h.Scope = "plain#1" }, "is not the composite that is around it there, which is far"},
		{"cancel of an iteration too many", "B", given, func(h *message.Header) { h.Scope = "far#2" }, "iteration 2 of far, and at most 1 are allowed"},

		{"begin", "B", begun, func(*message.Header) {}, "a message of this kind never leaves its node"},
		{"begin, of a block here", "M", begun, func(h *message.Header) { h.Source, h.Scope = "plain", "plain#1" }, "a message of this kind never leaves its node"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.change(&tc.h)
			if _, err := message.Encode(message.Message{Header: tc.h}); err != nil {
				t.Fatalf("no peer can bring it: %v", err)
			}
			got := impossible("A", tc.h.Lane, &tc.h)
			if got == "" {
				got = prepared(t, table).Refuses(tc.peer, &tc.h)
			}
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("refused as %q, want %q", got, tc.want)
			}
		})
	}
}
