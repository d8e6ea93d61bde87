package processtable

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fmqm/condition"
	"fmqm/container"
)

// TestRefusals breaks one thing of a whole table at a time. Encode must refuse it;
// and where it can be written at all, Decode must refuse the bytes.
func TestRefusals(t *testing.T) {
	receive, ship, file := 1, 2, 3
	ofShip := func(t *Table) *Activity { return t.Activities[ship] }
	for _, tc := range []struct {
		name   string
		change func(t *Table)
		want   string
	}{
		{"no format", func(t *Table) { t.Format = 0 }, "unknown table format 0: this version writes formats 1, 2 and 4 to 9"},
		{"newer format", func(t *Table) { t.Format = 10 }, "unknown table format 10: this version writes formats 1, 2 and 4 to 9"},
		{"the number of envelopes", func(t *Table) { t.Format = 3 }, "unknown table format 3: this version writes formats 1, 2 and 4 to 9"},
		{"process name", func(t *Table) { t.Process.Name = "a b" }, `process "a b" is not a name`},
		{"no version", func(t *Table) { t.Process.Version = 0 }, "version 0 is not between 1 and"},
		{"node name", func(t *Table) { t.Node = "@origin" }, `node "@origin" is not a name`},
		{"no hash", func(t *Table) { t.Definition = DefinitionHash{} }, "purchase-order@3.A: the definition hash is missing"},
		{"no starts", func(t *Table) { t.Starts = nil }, "no node may start it"},
		{"starts twice", func(t *Table) { t.Starts = []NodeID{"A", "A"} }, `starts: "A" is not a name, or occurs twice`},
		{"starts name", func(t *Table) { t.Starts = []NodeID{"A", "."} }, `starts: "." is not a name`},
		{"input missing", func(t *Table) { t.Input = nil }, "input: want a structure"},
		{"output scalar", func(t *Table) { t.Output = container.Scalar(container.Int) }, "output: want a structure"},

		{"roster: reserved name", func(t *Table) { t.Roster[1].Activity = Sink }, `roster: "sink" cannot name an activity`},
		{"roster: hyphen", func(t *Table) { t.Roster[1].Activity = "a-b" }, `roster: "a-b" cannot name an activity`},
		{"roster: node", func(t *Table) { t.Roster[1].Node = "" }, `roster: credit: node "" is not a name`},
		{"roster: twice", func(t *Table) { t.Roster[1].Activity = "ship" }, "roster: ship occurs twice"},
		{"hosted too few", func(t *Table) { t.Activities = t.Activities[:4] }, "it has 4 activities, but the roster calls for 5"},
		{"hosted elsewhere", func(t *Table) { t.Roster[2].Node = "B"; t.Roster[1].Node = "A" }, `activity 2 is "ship", but the roster calls for credit`},
		{"no source", func(t *Table) { t.Starts = []NodeID{"C"} }, "it has 5 activities, but the roster calls for 3"},
		{"nil activity", func(t *Table) { t.Activities[1] = nil }, "activity 1 is nil"},

		{"kind", func(t *Table) { t.Activities[receive].Kind = 99 }, "activity receive: kind 99 is unknown"},
		{"kind of source", func(t *Table) { t.Activities[0].Kind = KindEmpty }, "activity source: kind 2 does not fit the name"},
		{"kind of an activity", func(t *Table) { t.Activities[file].Kind = KindSink }, "activity file: kind 4 does not fit the name"},
		{"program missing", func(t *Table) { t.Activities[receive].Program = "" }, `activity receive: program "" is not a name`},
		{"program of empty", func(t *Table) { t.Activities[file].Program = "x" }, "activity file: program x: an activity of this kind has no program"},
		{"activity without input", func(t *Table) { t.Activities[file].Input = nil }, "file: input: want a structure"},
		{"output of source", func(t *Table) { t.Activities[0].Output = creditType() }, "activity source: its output is not the input of what it is the source of"},
		{"input of sink", func(t *Table) { t.Activities[4].Input = orderType() }, "activity sink: its input is not the output of what it is the sink of"},
		{"source with retry", func(t *Table) { t.Activities[0].Retry.Attempts = 1 }, "activity source: it runs no program"},
		{"sink with exit", func(t *Table) { t.Activities[4].Exit = checked("a") }, "activity sink: it runs no program"},
		{"max_iterations", func(t *Table) { t.Activities[file].MaxIterations = 0 }, "activity file: max_iterations is below 1"},
		{"attempts", func(t *Table) { t.Activities[file].Retry.Attempts = 0 }, "activity file: retry: attempts is below 1"},
		{"attempts negative", func(t *Table) { t.Activities[file].Retry.Attempts = -1 }, "activities[3]: file: retry: byte 888: expected unsigned integer, not negative integer"},
		{"again", func(t *Table) { t.Activities[receive].Again.Max = 0 }, "activity receive: again: want 0 <= after <= max"},
		{"backoff", func(t *Table) { t.Activities[receive].Retry.Backoff.After = -time.Second }, "activity receive: retry: want 0 <= backoff"},
		{"feedback without exit", func(t *Table) { ofShip(t).Exit = nil }, "activity ship: it has feedback, but no exit condition"},

		{"continue without data", func(t *Table) { ofShip(t).RCIsData = false }, "activity ship: on_rc is continue, but the return code is not data"},

		{"in control unknown", func(t *Table) { ofShip(t).InControl[1].From = "nobody" }, `activity ship: incoming control connector from "nobody": it is not another activity`},
		{"in control itself", func(t *Table) { ofShip(t).InControl[1].From = "ship" }, `incoming control connector from "ship": it is not another activity`},
		{"in control twice", func(t *Table) { ofShip(t).InControl[1].From = "receive" }, "incoming control connector from receive: it occurs twice"},
		{"in control from sink", func(t *Table) { ofShip(t).InControl[1].From = Sink }, `incoming control connector from "sink": it is not another activity`},
		{"in control beside source", func(t *Table) {
			t.Activities[receive].InControl = append(t.Activities[receive].InControl, InControl{"credit"})
		}, "activity receive: control connectors from source and from activities"},
		{"in control not sent", func(t *Table) {
			t.Activities[file].InControl = append(t.Activities[file].InControl, InControl{"receive"})
		}, "activity file: incoming control connector from receive: receive has none to it"},
		{"out control unknown", func(t *Table) { ofShip(t).OutControl[0].To = "nobody" }, `activity ship: outgoing control connector to "nobody": it is not another activity`},
		{"out control to source", func(t *Table) { ofShip(t).OutControl[0].To = Source }, `outgoing control connector to "source": it is not another activity`},
		{"out control elsewhere", func(t *Table) { t.Activities[receive].OutControl[0].Node = "C" }, `activity receive: outgoing control connector to credit: it says node "C", but the roster says B`},
		{"out control twice", func(t *Table) { t.Activities[receive].OutControl[1] = t.Activities[receive].OutControl[0] }, "outgoing control connector to credit: it occurs twice"},
		{"out control not taken", func(t *Table) { t.Activities[receive].OutControl[0] = OutControl{To: "file", Node: "A"} }, "outgoing control connector to file: file has none from it"},
		{"condition and otherwise", func(t *Table) { t.Activities[receive].OutControl[0].Otherwise = true }, "outgoing control connector to credit: it cannot have a condition"},
		{"condition to sink", func(t *Table) { t.Activities[file].OutControl[0].Condition = checked("a") }, "outgoing control connector to sink: it cannot have a condition"},
		{"condition of source", func(t *Table) { t.Activities[0].OutControl[0].Condition = checked("a") }, "outgoing control connector to receive: it cannot have a condition"},
		{"otherwise of source", func(t *Table) { t.Activities[0].OutControl[0].Otherwise = true }, "outgoing control connector to receive: it cannot have a condition"},
		{"first match", func(t *Table) { t.Activities[receive].FirstMatch = true }, "activity receive: format 1 has no choice of the first match"},
		{"sink beside others", func(t *Table) {
			ofShip(t).OutControl = append(ofShip(t).OutControl, OutControl{To: Sink, Node: Origin})
			t.Activities[4].InControl = append(t.Activities[4].InControl, InControl{"ship"})
		}, "activity ship: control connectors to sink and to activities"},
		{"otherwise alone", func(t *Table) { ofShip(t).OutControl[0] = OutControl{To: "file", Node: "A", Otherwise: true} }, "activity ship: want at most one otherwise, beside other"},
		{"otherwise twice", func(t *Table) {
			t.Activities[receive].OutControl[0] = OutControl{To: "credit", Node: "B", Otherwise: true}
		}, "activity receive: want at most one otherwise"},
		{"source has predecessors", func(t *Table) { t.Activities[0].InControl = []InControl{{"credit"}} }, "activity source: it has control connectors on the wrong side"},
		{"sink has successors", func(t *Table) { t.Activities[4].OutControl = []OutControl{{To: "credit", Node: "B"}} }, "activity sink: it has control connectors on the wrong side"},

		{"start: connector", func(t *Table) { t.Activities[file].Start = and(variable(1)) }, "activity file: start condition: connector 1 of 1"},
		{"start: negative", func(t *Table) { t.Activities[file].Start = and(variable(-1)) }, "variable: byte 867: expected unsigned integer, not negative integer"},
		{"start: not of two", func(t *Table) {
			ofShip(t).Start = condition.Logic{Op: condition.LogicNot, Args: []condition.Logic{variable(0), variable(1)}}
		}, "start condition: not takes one argument"},
		{"start: at_least 0", func(t *Table) { ofShip(t).Start = condition.Logic{Op: condition.LogicAtLeast} }, "start condition: at_least 0 of 0"},
		{"start: at_least too many", func(t *Table) {
			ofShip(t).Start = condition.Logic{Op: condition.LogicAtLeast, N: 2, Args: []condition.Logic{variable(0)}}
		}, "start condition: at_least 2 of 1"},
		{"start: number", func(t *Table) { ofShip(t).Start = condition.Logic{Op: condition.LogicAnd, N: 1} }, "only at_least has a number"},
		{"start: index", func(t *Table) { ofShip(t).Start = condition.Logic{Op: condition.LogicOr, Var: 1} }, "only a connector has an index"},
		{"start: operator", func(t *Table) { ofShip(t).Start = condition.Logic{Op: 9} }, "start condition: operator 9 is unknown"},
		{"start: missing", func(t *Table) { ofShip(t).Start = condition.Logic{} }, "start condition: operator 0 is unknown"},
		{"start: deep", func(t *Table) {
			for range maxLogic {
				ofShip(t).Start = condition.Logic{Op: condition.LogicNot, Args: []condition.Logic{ofShip(t).Start}}
			}
		}, "the start condition is nested deeper than 4096"},

		{"in data unknown", func(t *Table) { ofShip(t).InData[0].From = "nobody" }, `activity ship: incoming data connector from "nobody"`},
		{"in data twice", func(t *Table) { ofShip(t).InData = append(ofShip(t).InData, ofShip(t).InData[0]) }, "incoming data connector from credit: it occurs twice"},
		{"in data empty", func(t *Table) { ofShip(t).InData[0].Mappings = nil }, "incoming data connector from credit: it maps nothing"},
		{"in data not sent", func(t *Table) {
			ofShip(t).OutData = nil
			t.Activities[4].InData[0].From = "receive"
			t.Activities[4].InData[0].Mappings[0] = Mapping{RC: true, To: container.Path{2}, Type: container.Scalar(container.Int)}
		}, "activity sink: incoming data connector from receive: receive does not have the same one to it"},
		{"out data unknown", func(t *Table) { ofShip(t).OutData[0].To = "nobody" }, `outgoing data connector to "nobody"`},
		{"out data elsewhere", func(t *Table) { ofShip(t).OutData[0].Node = "A" }, `outgoing data connector to sink: it says node "A", but the roster says @origin`},
		{"out data not taken", func(t *Table) {
			t.Activities[0].OutData[0].To = "ship"
			t.Activities[0].OutData[0].Mappings[0].To = container.Path{1, 0}
		}, "outgoing data connector to ship: ship does not have the same one from it"},
		{"data into source", func(t *Table) { t.Activities[0].InData = ofShip(t).InData }, "activity source: it has data connectors on the wrong side"},

		{"mapping: type missing", func(t *Table) { ofShip(t).Feedback[0].Type = nil }, "ship: mapping attempts to attempts: the type is missing"},
		{"mapping: other type", func(t *Table) { ofShip(t).Feedback[0].Type = container.Scalar(container.Bool) }, "activity ship: feedback: mapping 0 (attempts to attempts): from: path [2] of Credit leads to int, not bool"},
		{"mapping: no such member", func(t *Table) { ofShip(t).Feedback[0].To = container.Path{9} }, "to: path [9]: Credit has no member number 9"},
		{"mapping: empty path", func(t *Table) { ofShip(t).Feedback[0].From = nil }, "from: the path is empty"},
		{"mapping: negative path", func(t *Table) { ofShip(t).Feedback[0].From = container.Path{-1} }, "from[0]: byte 768: expected unsigned integer, not negative integer"},
		{"mapping: through a scalar", func(t *Table) { t.Activities[receive].OutData[0].Mappings[0].From = container.Path{0, 0} }, "activity receive: outgoing data connector to credit: mapping 0 (lines to order.lines): from:"},
		{"mapping: _RC with a path", func(t *Table) { ofShip(t).InData[0].Mappings[0].From = container.Path{0} }, "_RC is an int, of an activity, without members"},
		{"mapping: _RC of source", func(t *Table) {
			t.Activities[0].OutData[0].Mappings[0].RC = true
			t.Activities[0].OutData[0].Mappings[0].From = nil
		}, "_RC is an int, of an activity"},

		{"condition without expression", func(t *Table) { ofShip(t).Exit = &condition.Checked{Text: "a"} }, "the checked expression is missing"},
		{"condition too long", func(t *Table) { ofShip(t).Exit = checked(strings.Repeat("a", condition.MaxText+1)) }, "conditions[2]: text: byte 301: text of 4097 bytes is over the limit of 4096"},
		{"not UTF-8", func(t *Table) { ofShip(t).Exit = checked("\xff") }, "text: byte 300: text is not UTF-8"},
		{"name too long", func(t *Table) { t.Process.Name = strings.Repeat("p", 65) }, "process: byte 6: text of 65 bytes is over the limit of 64"},

		{"structure name", func(t *Table) { t.Input = container.NewStructure("a b", nil) }, `structures[0]: byte 112: "a b" is not a name`},
		{"member name", func(t *Table) { t.Input = structureOf("x-y", container.Scalar(container.Int), nil) }, `members[0]: byte 120: "x-y" is not a name`},
		{"member default", func(t *Table) { t.Input = structureOf("x", container.Scalar(container.Int), "one") }, "structure S: member x: default: expected int"},
		{"member twice", func(t *Table) {
			m := container.Member{Name: "x", Type: container.Scalar(container.Int)}
			t.Input = container.NewStructure("S", []container.Member{m, m})
		}, `the name "x" occurs twice`},
		{"too deep", func(t *Table) {
			deep := container.Scalar(container.Int)
			for range container.MaxNesting {
				deep = container.NewList(deep)
			}
			t.Input = structureOf("x", deep, nil)
		}, "want a structure, nested no deeper than 16"},
		{"mapping too deep", func(t *Table) {
			deep := container.Scalar(container.Int)
			for range container.MaxNesting + 1 {
				deep = container.NewList(deep)
			}
			ofShip(t).Feedback[0].Type = deep
		}, "is nested deeper than 16"},
		{"too large when empty", func(t *Table) {
			wide := container.Scalar(container.Int)
			for level := range 6 {
				var members []container.Member
				for i := range 16 {
					members = append(members, container.Member{Name: fmt.Sprintf("m%d", i), Type: wide})
				}
				wide = container.NewStructure(fmt.Sprintf("S%d", level), members)
			}
			t.Input = wide
		}, "takes more than 1048576 bytes even when it is empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := sample()
			tc.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Encode: %v\nwant %s", err, tc.want)
			}
			b, err := encode(table)
			if err != nil {
				return // it has no encoded form
			}
			if _, err := Decode(b); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Decode: %v\nwant %s", err, tc.want)
			}
		})
	}
}

func structureOf(name string, t *container.Type, d container.Value) *container.Type {
	return container.NewStructure("S", []container.Member{{Name: name, Type: t, Default: d}})
}

func TestTooLargeATable(t *testing.T) {
	table := sample()
	wide := checked("wide")
	wide.Expr = make([]byte, MaxEncoded)
	table.Activities[2].Exit = wide
	_, err := Encode(table)
	if err == nil || !strings.Contains(err.Error(), "above the limit of 8388608: split the process") {
		t.Errorf("Encode: %v", err)
	}
	_, err = Decode(make([]byte, MaxEncoded+1))
	if err == nil || !strings.Contains(err.Error(), "8388609 bytes are above the limit of 8388608") {
		t.Errorf("Decode: %v", err)
	}
	if _, err := Encode(nil); err == nil || !strings.Contains(err.Error(), "there is no table") {
		t.Errorf("Encode(nil): %v", err)
	}
}
