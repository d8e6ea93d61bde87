package definition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/processtable"
)

// repair gives the two processes of the ship's repair.
func repair(t *testing.T) (repair, agent *Process) {
	t.Helper()
	processes, diagnostics := Load("repair.yaml", []byte(testdata(t, "repair.yaml")))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return processes[0], processes[1]
}

// rowOf gives the row of an activity at its node, in a table of the format that has events.
func rowOf(t *testing.T, p *Process, node, name string) *processtable.Activity {
	t.Helper()
	c, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range c.Tables {
		if row := table.Activity(processtable.RowID{Name: processtable.ActivityID(name)}); row != nil && string(table.Node) == node {
			if table.Format != processtable.BundleFormat {
				t.Errorf("the table has format %d", table.Format)
			}
			return row
		}
	}
	t.Fatalf("%s has no row of %s", node, name)
	return nil
}

// N24: a receive comes into the table of its home, with the events that it takes and their structures.
func TestReceivesAreCompiled(t *testing.T) {
	p, _ := repair(t)
	row := rowOf(t, p, "office", "arrival")
	if row.Kind != processtable.KindReceive || row.Receive.Key.Text != "job" || row.Deadline == nil {
		t.Fatalf("arrival is %+v", row)
	}
	var got []string
	for _, e := range row.Receive.Events {
		got = append(got, fmt.Sprintf("%s %d", e.Name, len(e.Type.Members)))
	}
	if diff := cmp.Diff([]string{"part_arrived 2", "repair_cancelled 0"}, got); diff != "" {
		t.Error(diff)
	}
}

// N24: a send says where it goes; without `to` that is its home.
func TestSendsAreCompiled(t *testing.T) {
	_, p := repair(t)
	tell, copied := rowOf(t, p, "rotterdam", "tell"), rowOf(t, p, "rotterdam", "copy")
	if s := tell.Send; tell.Kind != processtable.KindSend || s.Event != "part_arrived" || s.To != "office" || s.Key.Text != "job" || s.Keep.Fixed == 0 || s.ToExpr != nil {
		t.Errorf("tell sends %+v", s)
	}
	if s := copied.Send; s.To != "" || s.ToExpr.Text != "desk" || len(s.Of) != 2 || s.Keep != nil {
		t.Errorf("copy sends %+v", s)
	}
	home := loadOne(t, "process: p\nversion: 1\nevents: {e: {}}\nactivities: {a: {node: A, send: {event: e}}}\n")
	if s := rowOf(t, home, "A", "a").Send; s.To != "A" || s.Key != nil {
		t.Errorf("without `to` it sends %+v", s)
	}
}

// Only format 7 has them, and only where there are some, also inside of a block.
func TestEventsNeedFormat7(t *testing.T) {
	const inside = "process: p\nversion: 1\nevents: {e: {}}\nactivities:\n  b: {node: A, activities: {a: {node: A, %s: {event: e}}}}\n"
	for _, what := range []string{"receive", "send"} {
		p := loadOne(t, fmt.Sprintf(inside, what))
		for format, want := range map[int]string{
			0: "", 7: "", 6: "table format 6 has no " + what + ": leave it out", 8: "there is no table format 8",
		} {
			_, err := CompileWith(p, CompileOptions{TableFormat: format})
			if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s, format %d: %v", what, format, err)
			}
		}
	}
}

// What is received and sent is meant, with its structure; an event that nobody receives or sends is not.
func TestTheHashIsOfEvents(t *testing.T) {
	hashes := func(text string) string {
		processes, diagnostics := Load("repair.yaml", []byte(text))
		if HasErrors(diagnostics) {
			t.Fatal(diagnostics)
		}
		return hashOf(t, processes[0]) + hashOf(t, processes[1])
	}
	text := testdata(t, "repair.yaml")
	seen := map[string]string{hashes(text): "the original"}
	for _, change := range [][2]string{
		{"one_of: [part_arrived, repair_cancelled]", "one_of: [repair_cancelled, part_arrived]"},
		{"repair_cancelled], key: job", "repair_cancelled], key: part"},
		{"repair_cancelled], key: job", "repair_cancelled]"},
		{"repair_cancelled: {}", "repair_cancelled: Done"},
		{"key: job, to: office", "key: job, to: rotterdam"},
		{"keep: 60d", "keep: 61d"},
		{", keep: 60d", ""},
		{"node: desk, of: [office, rotterdam]", "node: port, of: [office, rotterdam]"},
		{"node: desk, of: [office, rotterdam]", "node: desk, of: [office]"},
		{"part_arrived, key: job, to: office", "part_arrived, to: office"},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		if first, ok := seen[hashes(changed)]; ok || changed == text {
			t.Errorf("%v has the hash of %s", change, first)
		}
		seen[hashes(changed)] = change[1]
	}
	unused := strings.Replace(text, "repair_cancelled: {}", "repair_cancelled: {}\n  unused: Done", 1)
	if seen[hashes(unused)] != "the original" {
		t.Error("an event that nobody receives changes the hash")
	}
	const want = "ef7f6553376cd3a5a92b925ef6b95ed8d267e62ec0a8a32645dcd367375afee9"
	if p, _ := repair(t); hashOf(t, p) != want {
		t.Errorf("the definition hash of the repair is %s, want %s (N3)", hashOf(t, p), want)
	}
}

// Texts as the file has them are those of keys and targets, too.
func TestEventsAsWritten(t *testing.T) {
	p := loadOne(t, "process: p\nversion: 1\nstructures: {S: {s: string}}\nevents: {e: {}}\nactivities:\n"+
		"  a: {node: A, receive: {event: e, key: s  +  s}, input: S}\n  b: {node: A, send: {event: e, key: s  +  s, to: {node: s  +  s, of: [A]}}, input: S}\n")
	c, err := CompileWith(p, CompileOptions{AsWritten: true})
	if err != nil {
		t.Fatal(err)
	}
	const want = "s  +  s"
	for _, row := range c.Tables[0].Activities {
		switch {
		case row.Receive != nil && row.Receive.Key.Text != want, row.Send != nil && (row.Send.Key.Text != want || row.Send.ToExpr.Text != want):
			t.Errorf("%s is %+v %+v", row.Name, row.Receive, row.Send)
		}
	}
	if got := rowOf(t, p, "A", "a").Receive.Key.Text; got != "s + s" {
		t.Errorf("else the key is %q", got)
	}
}

// What an activity receives and sends is shown and drawn.
func TestEventsAreShown(t *testing.T) {
	p, agent := repair(t)
	golden(t, "testdata/repair.dot", Dot(p)+Dot(agent))
	golden(t, "testdata/repair.mermaid", Mermaid(p)+Mermaid(agent))
	golden(t, "testdata/repair.svg", svgOf(t, p))
	c, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	of, err := Compile(agent)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/repair.show", Show(append(c.Tables, of.Tables...)))
}

// Events between processes of several files are compared as if they were in one.
func TestEventsOverSeveralFiles(t *testing.T) {
	first, second, _ := strings.Cut(testdata(t, "repair.yaml"), "---\n")
	together := func(agent string) []Diagnostic {
		var all []*Process
		for file, text := range map[string]string{"repair.yaml": first, "agent.yaml": agent} {
			processes, diagnostics := Load(file, []byte(text))
			if HasErrors(diagnostics) {
				t.Fatal(diagnostics)
			}
			all = append(all, processes...)
		}
		return Together(all)
	}
	if got := together(second); len(got) > 0 {
		t.Error(got)
	}
	for change, want := range map[[2]string]string{
		{"part_arrived, key: job, to: office", "part_arrived, to: office"}:       "agent.yaml:12:36: warning: repair receives part_arrived by key: add `key`",
		{"Arrival: {serial: string, port: string}", "Arrival: {serial: string}"}: "agent.yaml:12:36: error: repair receives part_arrived with {serial: string, port: string}, Arrival has no member port: add it",
		{"part_arrived: Arrival", "part_arrived: {}"}:                            "agent.yaml:12:36: error: repair receives part_arrived with {serial: string, port: string}, part_arrived is declared without data here: declare a structure with these members, and write its name under `events`",
	} {
		got := together(strings.Replace(second, change[0], change[1], 1))
		if len(got) == 0 || got[0].String() != want {
			t.Errorf("%v\n%v\nwant %s", change, got, want)
		}
	}
}
