package definition

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fmqm/processtable"
)

// N18: a block is an activity with a graph inside, whose source and sink are its containers.
func TestN18ABlockIsAGraph(t *testing.T) {
	p := loadClean(t, testdata(t, "claim.yaml"))
	var all []string
	for inside, a := range p.All() {
		all = append(all, strings.Join(append(namesOf(inside), a.Name), "/")+" at "+a.Node)
	}
	want := []string{
		"documents at branch", "documents/check at branch", "documents/ask at branch", "documents/paper at office",
		"documents/file at branch", "documents/file/sort at branch", "documents/file/store at archive",
		"score at office", "assess at branch", "pay at office", "letter at branch",
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	documents := p.Activities[0]
	if documents.Program != "" || documents.Empty || documents.Exit == nil || documents.Input.Name != "Docs" || documents.NoOutput || documents.RCIsData {
		t.Errorf("%+v", documents)
	}
	var connectors []string
	for _, k := range documents.Block.Control {
		connectors = append(connectors, k.written())
	}
	for _, k := range documents.Block.Data {
		for _, m := range k.Mappings[:1] {
			connectors = append(connectors, fmt.Sprintf("%s -> %s: {%s: %s}", k.Source, k.Target, m.Target, m.Source))
		}
	}
	want = []string{
		"check -> ask: missing.size() > 0", "ask -> paper", "paper -> file",
		"source -> check: {claim: claim}", "check -> ask: {claim: claim}", "check -> paper: {claim: claim}", "paper -> file: {title: title}", "check -> sink: {claim: claim}",
	}
	if diff := cmp.Diff(want, connectors); diff != "" {
		t.Error(diff)
	}
	for range p.All() {
		break // also early
	}
}

func TestActivitiesAreFoundByName(t *testing.T) {
	p := loadClean(t, testdata(t, "claim.yaml"))
	for name, want := range map[string][]string{"pay": {}, "documents": {}, "ask": {"documents"}, "store": {"documents", "file"}} {
		inside, a := p.Find(name)
		if a == nil || a.Name != name || !slices.Equal(namesOf(inside), want) {
			t.Errorf("%s is found as %v inside %v", name, a, namesOf(inside))
		}
	}
	if inside, a := p.Find("nobody"); a != nil || inside != nil {
		t.Error("an activity is found that is none")
	}
}

// A block that has no predecessors may be begun at its own node, whatever is inside.
func TestABlockIsStartedAtItsNode(t *testing.T) {
	p := loadClean(t, strings.Replace(testdata(t, "claim.yaml"), "starts: [branch]\n", "", 1))
	if diff := cmp.Diff([]string{"branch", "office"}, p.Starts); diff != "" {
		t.Error(diff)
	}
}

// nested gives a process with so many blocks inside one another.
func nested(n int) string {
	var b strings.Builder
	b.WriteString("process: p\nversion: 1\nactivities:\n")
	for i := range n {
		fmt.Fprintf(&b, "%s b%d: {node: A, activities: {\n", strings.Repeat(" ", i+1), i+1)
	}
	b.WriteString(strings.Repeat(" ", n+1) + "inside: {node: A, program: p}" + strings.Repeat("}}", n) + "\n")
	return b.String()
}

// N10: a scope has at most 16 frames, so at most 16 blocks are inside one another.
func TestN10BlocksAreNestedSoDeep(t *testing.T) {
	p := loadClean(t, nested(processtable.MaxPath))
	if inside, _ := p.Find("inside"); len(inside) != processtable.MaxPath {
		t.Errorf("%d blocks around", len(inside))
	}
	want := []string{"test.yaml:20:19: error: the block b17 is nested 17 blocks deep: use at most 16 blocks inside one another: make the inner ones a process of their own, or join some"}
	for _, depth := range []int{processtable.MaxPath + 1, 400} { // once, however deep
		if diff := cmp.Diff(want, errorsOf(nested(depth))); diff != "" {
			t.Error(diff)
		}
	}
}

// A scope names all blocks around an activity, and has a limit.
func TestNamesOfBlocksFitAScope(t *testing.T) {
	named := func(length int) string {
		return regexp.MustCompile(`\bb(\d+):`).ReplaceAllStringFunc(nested(processtable.MaxPath), func(name string) string {
			return strings.Repeat("b", length-len(name)+1) + name
		})
	}
	if got := errorsOf(named(50)); len(got) > 0 {
		t.Error(got)
	}
	want := []string{"test.yaml:1:10: error: what says where an activity inside of the block " + strings.Repeat("b", 49) + "16 is may take 1039 bytes: use at most 1024: shorten the names of the blocks around it"}
	if diff := cmp.Diff(want, errorsOf(named(51))); diff != "" {
		t.Error(diff)
	}
}

// The limits of a process count what is inside of its blocks.
func TestLimitsCountAllLevels(t *testing.T) {
	blocks := func(n, each int, inside func(b *strings.Builder, block int)) string {
		var b strings.Builder
		b.WriteString("process: p\nversion: 1\nactivities:\n")
		for i := range n {
			fmt.Fprintf(&b, "  b%d:\n    node: A\n    activities:\n", i)
			for j := range each {
				fmt.Fprintf(&b, "      a%d_%d: {node: A, empty: true}\n", i, j)
			}
			inside(&b, i)
		}
		return b.String()
	}
	nothing := func(*strings.Builder, int) {}
	if got := errorsOf(blocks(100, 99, nothing)); len(got) > 0 {
		t.Errorf("10,000 activities: %s", got)
	}
	want := []string{"test.yaml:10204:7: error: the process has 10100 activities: use at most 10000: split it into several processes"}
	if diff := cmp.Diff(want, errorsOf(blocks(100, 100, nothing))); diff != "" {
		t.Errorf("10,100 activities: %s", diff)
	}
	connected := func(b *strings.Builder, block int) {
		b.WriteString("    control:\n")
		for i := range 60 {
			for j := range i {
				fmt.Fprintf(b, "    - a%d_%d -> a%d_%d\n", block, j, block, i)
			}
		}
	}
	full := blocks(60, 60, connected) // 1,770 connectors each
	got := errorsOf(full)
	if len(got) != 1 || !strings.HasSuffix(got[0], "the process has over 100000 connectors: split it into several processes") {
		t.Errorf("106,200 connectors: %s", got)
	}
	if got := errorsOf(blocks(56, 60, connected)); len(got) > 0 {
		t.Errorf("99,120 connectors: %s", got)
	}
}

// The effort of checking is that of the whole process: it does not grow with the number of blocks.
func TestTheEffortIsOfTheWholeProcess(t *testing.T) {
	const ways, blocks = 20, 5
	var b strings.Builder
	b.WriteString("process: p\nversion: 1\nstructures: {S: {n: int}}\nactivities:\n")
	for i := range blocks {
		fmt.Fprintf(&b, "  b%d:\n    node: A\n    activities:\n      c%d: {node: A, program: p, output: S}\n      z%d: {node: A, program: p, start: any}\n", i, i, i)
		for w := range ways {
			fmt.Fprintf(&b, "      w%d_%d: {node: A, program: p}\n", i, w)
		}
		b.WriteString("    control:\n")
		for w := range ways {
			fmt.Fprintf(&b, "      - c%d -> w%d_%d: n == %d\n      - w%d_%d -> z%d\n", i, i, w, w+i*ways, i, w, i)
		}
	}
	most := languageBounds
	if _, diagnostics := loadWithin("test.yaml", []byte(b.String()), most); len(diagnostics) > 0 {
		t.Error(diagnostics)
	}
	most.comparing = 2 * ways * ways * 2 * comparePart // enough for one of them, and not for five
	_, diagnostics := loadWithin("test.yaml", []byte(b.String()), most)
	if len(diagnostics) != 1 || diagnostics[0].Code != codeRunsUndecided || strings.Contains(diagnostics[0].Message, "c0") {
		t.Error(diagnostics)
	}
}

// What one block takes of the search for what never runs is not there again for the next.
func TestTheSearchIsOfTheWholeProcess(t *testing.T) {
	names := regexp.MustCompile(`\b(begin|last|p\d+_\d+|pigeon\d+|hole\d+)\b`)
	block := func(name string, pigeonsInside int) string {
		_, body, _ := strings.Cut(pigeons(pigeonsInside), "activities:\n")
		return asBlock(name, "node: A", names.ReplaceAllString(body, name+"_$1"))
	}
	for order, want := range map[[2]int][]string{{5, 10}: {codeNeverRuns, codeRunsUndecided}, {10, 5}: {codeRunsUndecided, codeRunsUndecided}} {
		_, diagnostics := Load("p.yaml", []byte("process: p\nversion: 1\nactivities:\n"+block("b1", order[0])+block("b2", order[1])))
		var got []string
		for _, d := range diagnostics {
			got = append(got, d.Code)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: %s", order, diff)
		}
	}
}

// asBlock makes the graph of a process, behind its `activities:`, a block.
func asBlock(name, keys, body string) string {
	text := "  " + name + ":\n    " + keys + "\n    activities:\n    " + strings.ReplaceAll(body, "\n", "\n    ")
	return strings.TrimRight(text, " ")
}

// What is said of a process is said of it as a block, too.
func TestABlockIsCheckedAsAProcessIs(t *testing.T) {
	mistakes := []string{
		"  - a0 -> a0\n", "  - a0 -> nobody\n", "  - source -> a0\n", "  - a0 -> a1: m > 1\n", "  - a0 -> a1: otherwise\n", "  - a1 -> a0\n", "  - a1 -> a2: n > 1\n  - a2 -> a0\n", "",
	}
	warned, failed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := drawnText(t)
		if at := strings.Index(text, "data:\n"); at >= 0 && !strings.Contains(text, "control:") {
			text = text[:at] + "control:\n" + text[at:]
		}
		text = strings.Replace(text, "data:\n", rapid.SampledFrom(mistakes).Draw(t, "mistake")+"data:\n", 1)
		head, body, _ := strings.Cut(text, "activities:\n")
		said := func(text string) []string {
			_, diagnostics := Load("test.yaml", []byte(text))
			var all []string
			for _, d := range diagnostics {
				line := strings.TrimSpace(NewSource([]byte(text)).line(d.Line))
				all = append(all, fmt.Sprintf("%s %s: %s %q", d.Severity, d.Code, strings.ReplaceAll(d.Message, "the block wrap", "the process"), line))
				if d.Severity == Error {
					failed++
				} else {
					warned++
				}
			}
			slices.Sort(all)
			return slices.DeleteFunc(all, func(s string) bool { return strings.Contains(s, "in line") || strings.Contains(s, "(line") }) // other lines
		}
		wrapped := head + "activities:\n" + asBlock("wrap", "node: N0\n    input: S\n    output: S", body) + "data:\n  - source -> wrap\n  - wrap -> sink\n"
		if diff := cmp.Diff(said(text), said(wrapped)); diff != "" {
			t.Fatalf("a process, and as a block:\n%s\n%s", diff, wrapped)
		}
	})
	if warned == 0 || failed == 0 {
		t.Errorf("%d warnings, %d errors: the processes drawn show nothing", warned, failed)
	}
}

// A definition's hash is of what is inside of its blocks, too, wherever that stands in the file.
func TestTheHashIsOfBlocksToo(t *testing.T) {
	text := testdata(t, "claim.yaml")
	seen := map[string]string{hashOf(t, loadClean(t, text)): "the original"}
	for _, change := range [][2]string{
		{"program: sort-paper", "program: other"},
		{"sort -> store", "sort -> store: _RC == 0"},
		{"      - source -> check\n", ""},
		{"rounds >= 3", "rounds >= 4"},
		{"store: {node: archive", "store: {node: office"},
		{"ask -> paper", "check -> paper"},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		processes, _ := Load("test.yaml", []byte(changed))
		if len(processes) != 1 || changed == text {
			t.Fatalf("%v is no change", change)
		}
		hash := hashOf(t, processes[0])
		if other, ok := seen[hash]; ok {
			t.Errorf("%v: the same hash as %s", change, other)
		}
		seen[hash] = change[0]
	}
	for _, same := range [][2]string{
		{"      - check -> ask: missing.size() > 0\n      - ask -> paper\n", "      - ask -> paper\n      - check -> ask: missing.size()>0\n"},
		{"      ask:   {node: branch, program: ask-customer, input: Docs}\n", "      ask:   {node: branch, program: ask-customer, input: Docs, description: asks}\n"},
	} {
		changed := strings.Replace(text, same[0], same[1], 1)
		if changed == text || seen[hashOf(t, loadClean(t, changed))] != "the original" {
			t.Errorf("%q: another hash, or no change", same[1])
		}
	}
	const want = "b1284063722d30fae297309a3c4029bab5dd04634969840d0d4271709c11b482"
	if got := hashOf(t, loadClean(t, text)); got != want {
		t.Errorf("the definition hash of a claim is %s, want %s", got, want)
	}
}

// As the file has it, also inside of blocks; and what it is made of is left as it is.
func TestBlocksAsWritten(t *testing.T) {
	p := loadClean(t, strings.Replace(testdata(t, "claim.yaml"), "- check -> ask: missing.size() > 0", "- check -> ask: missing.size()>0", 1))
	text := func(p *Process) string { return p.Activities[0].Block.Control[0].Condition.Checked.Text }
	if got := text(p.asWritten()); got != "missing.size()>0" {
		t.Errorf("as written: %q", got)
	}
	if got := text(p); got != "missing.size() > 0" {
		t.Errorf("canonical: %q", got)
	}
}

// Tables say inside of which blocks a row is.
func TestTablesShowBlocksAround(t *testing.T) {
	compiled := compileOne(t, section34)
	table := compiled.at(t, "B")
	table.Activities[0].Path = []processtable.Composite{{Activity: "outer"}, {Activity: "inner", Iterations: 3}}
	name := string(table.Activities[0].Name)
	if shown := shownOf([]*processtable.Table{table})[0].Activities[0]; !slices.Equal(shown.Inside, []string{"outer", "inner"}) {
		t.Errorf("inside %q", shown.Inside)
	}
	if text := Show([]*processtable.Table{table}); !strings.Contains(text, "| outer/inner/"+name+" ") {
		t.Errorf("%s is not shown inside its blocks:\n%s", name, text)
	}
}

// Every format draws what is inside of a block inside of it, and what leads to it to its source.
func TestBlocksAreDrawnNested(t *testing.T) {
	p := loadClean(t, testdata(t, "claim.yaml"))
	golden(t, "testdata/claim.dot", Dot(p))
	golden(t, "testdata/claim.mermaid", Mermaid(p))
	golden(t, "testdata/claim.svg", svgOf(t, p))
}

// A hundred activities, half of them in blocks, fit the width of a screen and of a page.
func TestAHundredActivitiesInBlocksAreReadable(t *testing.T) {
	var activities, control strings.Builder
	for b := range 10 {
		fmt.Fprintf(&activities, "  step%d: {node: N%d, program: p, output: S}\n  block%d:\n    node: N%d\n    activities:\n", b, b%4, b, b%4)
		for i := range 8 {
			start := ", start: any"
			if i == 0 {
				start = ""
			}
			fmt.Fprintf(&activities, "      inner%d_%d: {node: N%d, program: p, output: S%s}\n", b, i, (b+i)%4, start)
		}
		activities.WriteString("    control:\n")
		for i := range 6 {
			fmt.Fprintf(&activities, "      - inner%d_%d -> inner%d_%d: n > 5\n      - inner%d_%d -> inner%d_%d: otherwise\n", b, i, b, i+1, b, i, b, i+2)
		}
		fmt.Fprintf(&control, "  - step%d -> block%d: n > 3\n", b, b)
		if b > 0 {
			fmt.Fprintf(&control, "  - step%d -> step%d: otherwise\n", b-1, b)
		}
	}
	p := loadOne(t, "process: hundred\nversion: 1\nstructures: {S: {n: int}}\nactivities:\n"+activities.String()+"control:\n"+control.String())
	d, err := layOut(p)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(everyActivity(p)); n != 100 || d.w > 1300 || d.h > 15_000 || d.crossings() > 10 {
		t.Errorf("%d activities: %d x %d pixels, %d crossings", n, d.w, d.h, d.crossings())
	}
}
