package definition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/processtable"
)

// N19: a subprocess comes into the table of its home, with the process that it is of.
func TestSubprocessesAreCompiled(t *testing.T) {
	p := loadOne(t, testdata(t, "parcel.yaml"))
	c, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[processtable.ActivityID]*processtable.Activity{}
	for _, table := range c.Tables {
		if table.Format != processtable.ModelFormat {
			t.Errorf("%s has format %d", table.Node, table.Format)
		}
		for _, row := range table.Activities {
			if !row.Added() {
				rows[row.Name] = row
			}
		}
	}
	for name, want := range map[processtable.ActivityID]processtable.Activity{
		"pack":  {Kind: processtable.KindProcess, Child: &processtable.Child{Name: "pack-line", Version: 2}, Continues: true},
		"print": {Kind: processtable.KindProcess, Child: &processtable.Child{Name: "label"}, Independent: true},
		"inner": {Kind: processtable.KindProcess, Child: &processtable.Child{Name: "parcel"}},
		"tell":  {Kind: processtable.KindProgram},
	} {
		row := rows[name]
		got := processtable.Activity{Kind: row.Kind, Child: row.Child, Independent: row.Independent, Continues: row.Continues}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if row := rows["pack"]; row.Retry.Attempts != 2 || row.Exit == nil || row.MaxIterations != 3 || row.Deadline == nil {
		t.Errorf("pack is %+v", row)
	}
}

// Only format 6 has them, and only where there are some, also inside of a block.
func TestSubprocessesNeedFormat6(t *testing.T) {
	const (
		plain  = "process: p\nversion: 1\nactivities:\n  a: {node: A, process: p}\n"
		inside = "process: p\nversion: 1\nactivities:\n  b: {node: A, activities: {a: {node: A, process: p}}}\n"
	)
	for _, text := range []string{plain, inside} {
		p := loadOne(t, text)
		for format, want := range map[int]string{
			0: "", 6: "",
			2: "table format 2 has no subprocesses: leave it out, and upgrade the sites of the process to a version that reads format 6",
			5: "table format 5 has no subprocesses",
			7: "there is no table format 7",
		} {
			_, err := CompileWith(p, CompileOptions{TableFormat: format})
			if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
				t.Errorf("format %d: %v", format, err)
			}
		}
	}
	without := strings.ReplaceAll(inside, "process: p}", "program: p}")
	if c := compileOne(t, without); c.Manifest.Format != processtable.BlockFormat {
		t.Errorf("a block alone has format %d", c.Manifest.Format)
	}
	if _, err := CompileWith(loadOne(t, without), CompileOptions{TableFormat: 6}); err == nil {
		t.Error("format 6 is written of a process that has nothing of it")
	}
}

// Which process it is of, and whether that outlives it, is meant; how the default is written is not.
func TestTheHashIsOfSubprocesses(t *testing.T) {
	text := testdata(t, "parcel.yaml")
	seen := map[string]string{hashOf(t, loadOne(t, text)): "the original"}
	for _, change := range [][2]string{
		{"pack-line@2", "pack-line@3"},
		{"pack-line@2", "pack-line"},
		{"pack-line@2", "packline@2"},
		{", autonomy: independent", ""},
		{"process: pack-line@2", "program: pack-line"},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		if first, ok := seen[hashOf(t, loadOne(t, changed))]; ok || changed == text {
			t.Errorf("%v has the hash of %s", change, first)
		}
		seen[hashOf(t, loadOne(t, changed))] = change[1]
	}
	written := strings.Replace(text, "process: pack-line@2", "process: pack-line@2\n    autonomy: with_parent", 1)
	if seen[hashOf(t, loadOne(t, written))] != "the original" {
		t.Error("with_parent, written out, has another hash")
	}
	const want = "33694ee49133c9a958032651437f39cf5f6a901a5936d8b4d50e93eef1d57d07"
	if got := hashOf(t, loadOne(t, text)); got != want {
		t.Errorf("the definition hash of the parcel is %s, want %s (N3)", got, want)
	}
}

// A subprocess is drawn and shown as one, with the process that it is of.
func TestSubprocessesAreShown(t *testing.T) {
	p := loadOne(t, testdata(t, "parcel.yaml"))
	golden(t, "testdata/parcel.dot", Dot(p))
	golden(t, "testdata/parcel.mermaid", Mermaid(p))
	golden(t, "testdata/parcel.svg", svgOf(t, p))
	golden(t, "testdata/parcel.show", Show(compileOne(t, testdata(t, "parcel.yaml")).Tables))
}

// What is given in several files is compared as if it were in one; what Load has said of one of them
// is not said again.
func TestShapesOverSeveralFiles(t *testing.T) {
	read := func(file, text string) []*Process {
		processes, diagnostics := Load(file, []byte(text))
		if HasErrors(diagnostics) {
			t.Fatal(diagnostics)
		}
		return processes
	}
	order := read("order.yaml", "process: order\nversion: 1\nstructures: {Job: {order: string}}\nactivities:\n  pack: {node: A, process: pack-line, input: Job}\n")
	one := read("one.yaml", "process: pack-line\nversion: 1\nstructures: {O: {order: string}}\ninput: O\nactivities:\n  a: {node: A, program: a, input: O}\ndata: [source -> a]\n")
	two := read("two.yaml", "process: pack-line\nversion: 2\nstructures: {O: {order: string, line: int}}\ninput: O\nactivities:\n  a: {node: A, program: a, input: O}\ndata: [source -> a]\n")
	if got := Together(append(order, one...)); len(got) > 0 {
		t.Error(got)
	}
	got := Together(append(append(two, order...), one...))
	const want = "order.yaml:5:28: error: pack-line@2 takes {order: string, line: int}, Job has no member line: add it, or name the version that takes Job"
	if len(got) != 1 || got[0].String() != want {
		t.Errorf("%v\nwant %s", got, want)
	}
	for _, processes := range [][]*Process{order, two} {
		if got := Together(processes); len(got) > 0 {
			t.Error(got)
		}
	}
}
