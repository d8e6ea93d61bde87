package node

import (
	"strings"
	"testing"

	"fmqm/definition"
	"fmqm/message"
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

func tablesOf(t *testing.T, text string, o definition.CompileOptions) map[processtable.NodeID]*processtable.Table {
	t.Helper()
	processes, problems := definition.Load("test.yaml", []byte(text))
	if definition.HasErrors(problems) {
		t.Fatal(problems)
	}
	compiled, err := definition.CompileWith(processes[0], o)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[processtable.NodeID]*processtable.Table{}
	for _, table := range compiled.Tables {
		tables[table.Node] = table
	}
	return tables
}

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

		{"TRUE on behalf", "D", "A", "c", "d", message.Header{Kind: message.KindConnector, Control: message.True}, "activity c of p@1 is hosted at C: on its behalf A may say that it was skipped, and nothing else"},
		{"data on behalf", "D", "B", "c", "d", message.Header{Kind: message.KindConnector, Control: message.False, Data: message.DataPresent}, "on its behalf B may say that it was skipped"},
		{"only data, which is there", "D", "A", "b", "d", message.Header{Kind: message.KindConnector, Data: message.DataPresent}, "on its behalf A may say that it was skipped"},
		{"a notice on behalf", "A", "C", "b", processtable.Sink, message.Header{Kind: message.KindNotice}, "activity b of p@1 is hosted at B, " + hosted + " C"},
		{"C, which is below b", "D", "C", "b", "d", noData, "activity b of p@1 is hosted at B, " + hosted + " C"},
		{"of what does not die alone", "D", "B", "a", "d", dead, "activity a of p@1 is hosted at A, " + hosted + " B"},
		{"a peer that is not in the process", "D", "X", "c", "d", both, "activity c of p@1 is hosted at C, " + hosted + " X"},
		{"an activity that there is not", "D", "A", "z", "d", both, "p@1 has no activity z"},
		{"for an activity elsewhere", "D", "A", "b", "c", dead, "activity c of p@1 is not hosted at D"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tables := tablesOf(t, onBehalfProcess, definition.CompileOptions{})
			m := message.Message{Header: tc.says}
			m.Source, m.Activity, m.Origin = tc.source, tc.activity, "A"
			n := &Node{name: tc.at}
			got := n.misconnected(tc.peer, tables[tc.at], m)
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("refused as %q, want %q", got, tc.want)
			}
			// A table of format 1 lets nobody but the host.
			old := tablesOf(t, onBehalfProcess, definition.CompileOptions{TableFormat: 1})
			if got := n.misconnected(tc.peer, old[tc.at], m); tc.name != "the host itself" && got == "" {
				t.Error("with a table of format 1 it is taken")
			}
		})
	}
}
