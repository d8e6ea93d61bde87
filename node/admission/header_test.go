package admission

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/behaviour"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
)

// A dead path of b and c passes around B and C; d has another predecessor as well.
const onBehalfProcess = `
process: p
version: 1
structures:
  S: {n: int}
activities:
  a: {node: A, program: x, output: S}
  b: {node: B, program: x, output: S}
  c: {node: C, program: x, output: S}
  d: {node: D, program: x, input: S}
control: [a -> b, b -> c, c -> d, a -> d]
data: [b -> d, c -> d]
`

// Invariant 11: a message whose source another node hosts is taken from a peer only if
// the table lets that peer resolve it on the host's behalf (N6), and only if it says that
// the source is dead: a peer that claims more is refused.
func TestInvariant11OnBehalf(t *testing.T) {
	const hosted = "and the message came from"
	dead := message.Header{Kind: message.KindConnector, Control: message.False}
	noData := message.Header{Kind: message.KindConnector, Data: message.DataAbsent}
	both := message.Header{Kind: message.KindConnector, Control: message.False, Data: message.DataAbsent}
	for _, tc := range []struct {
		name             string
		at, peer         processtable.NodeID
		source, activity processtable.ActivityID
		says             message.Header
		want             string // empty: it is taken
	}{
		{"the host itself", "D", "C", "c", "d", message.Header{Kind: message.KindConnector, Control: message.True, Data: message.DataPresent}, ""},
		{"A, which resolves b and with it c", "D", "A", "c", "d", both, ""},
		{"B, which resolves c", "D", "B", "c", "d", both, ""},
		{"data only, of b", "D", "A", "b", "d", noData, ""},
		{"a step earlier", "C", "A", "b", "c", dead, ""},
		{"to sink at the origin", "A", "A", "d", processtable.Sink, dead, "activity d of p@1 is hosted at D, " + hosted + " A"},

		{"TRUE on behalf", "D", "A", "c", "d", message.Header{Kind: message.KindConnector, Control: message.True}, "activity c of p@1 is hosted at C: A may only say on its behalf that it was skipped"},
		{"data on behalf", "D", "B", "c", "d", message.Header{Kind: message.KindConnector, Control: message.False, Data: message.DataPresent}, "B may only say on its behalf that it was skipped"},
		{"only data, which is there", "D", "A", "b", "d", message.Header{Kind: message.KindConnector, Data: message.DataPresent}, "A may only say on its behalf that it was skipped"},
		{"a notice on behalf", "A", "C", "b", processtable.Sink, message.Header{Kind: message.KindNotice}, "activity b of p@1 is hosted at B, " + hosted + " C"},
		{"C, which is below b", "D", "C", "b", "d", noData, "activity b of p@1 is hosted at B, " + hosted + " C"},
		{"of what does not die alone", "D", "B", "a", "d", dead, "activity a of p@1 is hosted at A, " + hosted + " B"},
		{"a peer that is not in the process", "D", "X", "c", "d", both, "activity c of p@1 is hosted at C, " + hosted + " X"},
		{"an activity that there is not", "D", "A", "z", "d", both, "p@1 has no activity z"},
		{"for an activity elsewhere", "D", "A", "b", "c", dead, "activity c of p@1 is not hosted at D"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tables := definitiontest.TablesOf(t, onBehalfProcess, definition.CompileOptions{})
			h := tc.says
			h.Source, h.Activity, h.Origin = tc.source, tc.activity, "A"
			got := prepared(t, tables[tc.at]).Refuses(tc.peer, &h)
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("refused as %q, want %q", got, tc.want)
			}
			// A table of format 1 lets nobody but the host.
			old := definitiontest.TablesOf(t, onBehalfProcess, definition.CompileOptions{TableFormat: 1})
			if got := prepared(t, old[tc.at]).Refuses(tc.peer, &h); tc.name != "the host itself" && got == "" {
				t.Error("with a table of format 1 it is taken")
			}
		})
	}
}

func prepared(t *testing.T, table *processtable.Table) behaviour.Process {
	t.Helper()
	p, err := navigator.Prepare(table, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// In trust only S starts; b and c follow on a, which is at A; d is at S, and follows on b.
// M has a part, and nothing of it follows on its activity at B.
const trusting = `
process: trust
version: 1
starts: [S, T]
structures:
  V: {n: int}
input: V
activities:
  a: {node: A, program: x, input: V, output: V}
  b: {node: B, program: x, input: V}
  c: {node: C, program: x}
  d: {node: S, program: x}
  m: {node: M, program: x, start: any}
control: [a -> b, a -> c, b -> d, c -> m, a -> m]
data: [source -> a, a -> b]
`

// Invariant 11, field by field: what a peer may write into a header. The first case of
// each is a message that is taken, the others differ from it in one field.
func TestWhatAPeerMayWrite(t *testing.T) {
	tables := definitiontest.TablesOf(t, trusting, definition.CompileOptions{})
	short := tables["A"].Definition.Short()
	connector := func(at processtable.NodeID, source, target processtable.ActivityID) message.Header {
		return message.Header{
			Queue: message.Queue{Process: tables["A"].Process, Node: at}, Definition: short, Instance: uuid.Must(uuid.NewV7()),
			Origin: "S", Source: source, Activity: target, Kind: message.KindConnector, Control: message.True, Clock: 3, Lane: message.LaneControl,
		}
	}
	start := connector("A", processtable.Source, "a")
	start.Data, start.Lane = message.DataPresent, message.LaneData
	end := connector("S", "m", processtable.Sink)
	notice := connector("S", "b", processtable.Sink)
	notice.Kind, notice.Control = message.KindNotice, message.Unresolved
	marker := connector("C", "", "")
	marker.Kind, marker.Control, marker.Definition = message.KindMarker, message.Unresolved, processtable.ShortHash{}
	rec := connector("C", "a", "c")
	rec.Control, rec.OnBehalf, rec.Onward = message.False, "C", true
	joined := connector("M", "a", "m")
	joined.Control = message.False

	for _, tc := range []struct {
		name   string
		peer   processtable.NodeID
		h      message.Header
		change func(*message.Header)
		want   string // empty: it is taken
	}{
		{"start", "S", start, func(*message.Header) {}, ""},
		{"start, of another start node", "T", start, func(h *message.Header) { h.Origin = "T" }, ""},
		{"start, of a node that may not start", "B", start, func(h *message.Header) { h.Origin = "B" }, "trust@1 may not be started there"},
		{"start, of a stranger", "X", start, func(h *message.Header) { h.Origin = "X" }, "trust@1 may not be started there"},
		{"start, in the name of another", "B", start, func(*message.Header) {}, "activity source of trust@1 is hosted at S, and the message came from B"},
		{"start, by one who may, in the name of another", "T", start, func(*message.Header) {}, "hosted at S, and the message came from T"},
		{"start, in the receiver's name", "S", start, func(h *message.Header) { h.Origin = "A" }, "trust@1 may not be started there"},
		{"start, without an origin", "S", start, func(h *message.Header) { h.Origin = "" }, "it does not say where its instance was started"},

		{"connector", "A", connector("C", "a", "c"), func(*message.Header) {}, ""},
		{"connector, of an origin that is no site", "A", connector("C", "a", "c"), func(h *message.Header) { h.Origin = "nowhere" }, "trust@1 may not be started there"},
		{"connector, of an origin that only has a part", "A", connector("C", "a", "c"), func(h *message.Header) { h.Origin = "A" }, "trust@1 may not be started there"},
		{"connector, of another's activity", "B", connector("C", "a", "c"), func(*message.Header) {}, "activity a of trust@1 is hosted at A, and the message came from B"},
		{"connector that there is not", "C", connector("B", "c", "b"), func(*message.Header) {}, "no connector of trust@1 leads from c to b"},
		{"connector to source", "A", connector("S", "a", processtable.Source), func(*message.Header) {}, "no connector of trust@1 leads from a to source"},
		{"connector from sink", "S", connector("C", processtable.Sink, "c"), func(*message.Header) {}, "no connector of trust@1 leads from sink to c"},
		{"connector from sink elsewhere", "T", connector("C", processtable.Sink, "c"), func(*message.Header) {}, "activity sink of trust@1 is hosted at S, and the message came from T"},
		{"for another node", "A", connector("C", "a", "c"), func(h *message.Header) { h.Queue.Node = "B" }, "it is for node B, and this is C"},
		{"for an activity elsewhere", "A", connector("C", "a", "c"), func(h *message.Header) { h.Activity = "b" }, "activity b of trust@1 is not hosted at C"},
		{"from a scope", "A", connector("C", "a", "c"), func(h *message.Header) { h.SourceScope = "b#1" }, `it is from scope "b#1", and for scope ""`},
		{"numbered, of a restart", "A", connector("C", "a", "c"), func(h *message.Header) { h.Number = 2 }, ""},
		{"recall", "A", connector("C", "a", "c"), func(h *message.Header) {
			h.Kind, h.Control, h.Data, h.Number = message.KindRecall, 0, 0, 2
		}, ""},
		{"recall, without an origin", "A", connector("C", "a", "c"), func(h *message.Header) {
			h.Kind, h.Control, h.Data, h.Number, h.Origin = message.KindRecall, 0, 0, 2, ""
		}, "it does not say where its instance was started"},
		{"recall, in the name of another", "B", connector("C", "a", "c"), func(h *message.Header) {
			h.Kind, h.Control, h.Data, h.Number = message.KindRecall, 0, 0, 2
		}, "activity a of trust@1 is hosted at A, and the message came from B"},
		{"numbered", "B", notice, func(h *message.Header) { h.Number = 2 }, "it has the number 2, and a message of this kind is the only one from its source"},
		{"in a scope", "A", connector("C", "a", "c"), func(h *message.Header) { h.Scope, h.SourceScope = "b#1", "b#1" }, `scope "b#1" has 1 composites, and 0 are around it`},
		{"in no scope", "A", connector("C", "a", "c"), func(h *message.Header) { h.Scope = "1" }, "does not begin with the name of an activity"},
		{"of another lane", "A", connector("C", "a", "c"), func(h *message.Header) { h.Lane = message.LaneData }, "it came in lane 1 and belongs in lane 0"},
		{"of the highest clock", "A", connector("C", "a", "c"), func(h *message.Header) { h.Clock = message.MaxClock }, ""},
		{"beyond any clock", "A", connector("C", "a", "c"), func(h *message.Header) { h.Clock = message.MaxClock + 1 }, "its logical clock is 1099511627777"},
		{"on behalf, without having done it", "A", connector("C", "a", "c"), func(h *message.Header) { h.OnBehalf = "C" }, "only the record of a dead path may say"},

		{"record of a dead path", "A", rec, func(*message.Header) {}, ""},
		{"record of a path that is not dead", "A", rec, func(h *message.Header) { h.Control = message.True }, "only the record of a dead path may say"},
		{"record for another node", "A", rec, func(h *message.Header) { h.OnBehalf = "B" }, "only the record of a dead path may say"},
		{"record for an activity that no connector alone skips", "A", joined, func(h *message.Header) { h.OnBehalf, h.Onward = "M", true }, "says that what leads out of m was resolved, and no connector alone skips m in the table of trust@1 here"},

		{"end, at the origin", "M", end, func(*message.Header) {}, ""},
		{"end, elsewhere", "M", end, func(h *message.Header) { h.Origin = "T" }, "sink of an instance started at T is not at S"},

		{"notice", "B", notice, func(*message.Header) {}, ""},
		{"notice, of another's activity", "C", notice, func(*message.Header) {}, "activity b of trust@1 is hosted at B, and the message came from C"},
		{"notice, of source", "S", notice, func(h *message.Header) { h.Source, h.Origin = processtable.Source, "T" }, "a notice goes to sink at the node where the instance was started"},
		{"notice, to an activity", "A", notice, func(h *message.Header) { h.Activity = "d" }, "a notice goes to sink"},
		{"notice, to a node that is not the origin", "B", notice, func(h *message.Header) { h.Origin = "T" }, "a notice goes to sink at the node where the instance was started"},
		{"notice, of no activity", "B", notice, func(h *message.Header) { h.Source = "" }, "trust@1 has no activity "},
		{"notice, of an activity in a composite", "B", notice, func(h *message.Header) { h.SourceScope = "block#1" }, `it is from scope "block#1", and no activity of trust@1 is inside of a composite`},
		{"notice, to the sink of a composite", "B", notice, func(h *message.Header) { h.Scope = "block#1" }, "a notice goes to sink at the node where the instance was started"},
		{"notice, of another definition", "B", notice, func(h *message.Header) { h.Definition[0]++ }, ""},
		{"notice that resolves something", "B", notice, func(h *message.Header) { h.Control = message.True }, "a notice resolves no connector"},

		{"marker", "B", marker, func(*message.Header) {}, ""},
		{"marker, of a start node that hosts nothing", "T", marker, func(*message.Header) {}, ""},
		{"marker, of a stranger", "X", marker, func(*message.Header) {}, "X has no part in trust@1"},
		{"marker, of an origin that is none", "B", marker, func(h *message.Header) { h.Origin = "B" }, "trust@1 may not be started there"},
		{"marker without an origin", "B", marker, func(h *message.Header) { h.Origin = "" }, "it does not say where its instance was started"},
		{"marker that names an activity", "B", marker, func(h *message.Header) { h.Activity = "c" }, "a marker is for an instance"},
		{"marker that names a source", "B", marker, func(h *message.Header) { h.Source = "c" }, "a marker is for an instance"},

		{"marker from a scope", "B", marker, func(h *message.Header) { h.SourceScope = "b#1" }, "names no scope"},
		{"marker for a scope", "B", marker, func(h *message.Header) { h.Scope, h.SourceScope = "b#1", "b#1" }, "names no scope"},

		{"record of an instance", "S", end, func(h *message.Header) { h.Kind = message.KindRecord }, "a message of this kind never leaves its node"},
		{"a timer that is due", "A", connector("C", "a", "c"), func(h *message.Header) {
			h.Kind, h.Control, h.Data, h.Number = message.KindDue, 0, 0, 1
		}, "a message of this kind never leaves its node"},
		{"snapshot", "A", connector("C", "a", "c"), func(h *message.Header) { h.Kind = message.KindSnapshot }, "a message of this kind never leaves its node"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lane, at := tc.h.Lane, tc.h.Queue.Node
			tc.change(&tc.h)
			got := impossible(at, lane, &tc.h)
			if got == "" {
				got = prepared(t, tables[at]).Refuses(tc.peer, &tc.h)
			}
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("refused as %q, want %q", got, tc.want)
			}
		})
	}
}

// N4, N10: where a process has composites, only the host of an activity knows which are around it.
func TestANoticeFromInsideOfAComposite(t *testing.T) {
	table := definitiontest.TablesOf(t, trusting, definition.CompileOptions{})["S"]
	notice := message.Header{
		Queue: message.Queue{Process: table.Process, Node: "S"}, Origin: "S", Source: "b", SourceScope: "block#1",
		Activity: processtable.Sink, Kind: message.KindNotice,
	}
	table.Format = 4
	if got := prepared(t, table).Refuses("B", &notice); got != "" {
		t.Errorf("refused: %s", got)
	}
}

// Who has a part in a process, and who may start it, is the same by the index of a table
// and by a search of it.
func TestWhoHasAPart(t *testing.T) {
	table := definitiontest.TablesOf(t, trusting, definition.CompileOptions{})["A"]
	encoded, err := processtable.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	indexed, err := processtable.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for node, want := range map[processtable.NodeID][2]bool{
		"S": {true, true}, "T": {true, true}, "A": {true, false}, "M": {true, false}, "X": {}, "": {}, processtable.Origin: {},
	} {
		for _, x := range []*processtable.Table{table, indexed} {
			if got := [2]bool{x.HasPart(node), x.MayStart(node)}; got != want {
				t.Errorf("%s: has a part, may start: %v, want %v", node, got, want)
			}
		}
	}
}
