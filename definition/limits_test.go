package definition

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

// errorsOf gives the errors of a text, without the lines shown.
func errorsOf(text string) []string {
	_, diagnostics := Load("test.yaml", []byte(text))
	var all []string
	for _, d := range diagnostics {
		if d.Severity == Error {
			all = append(all, d.String())
		}
	}
	return all
}

func manyActivities(n int) string {
	var b strings.Builder
	b.WriteString("process: p\nversion: 1\nactivities:\n")
	for i := range n {
		fmt.Fprintf(&b, "  a%d: {node: A, program: p}\n", i)
	}
	return b.String()
}

// At each limit a definition loads; one more is an error.
func TestLimits(t *testing.T) {
	const head = "process: p\nversion: 1\n"
	const tail = "\nactivities: {a: {node: A, program: p}}\n"
	for _, test := range []struct {
		name string
		text func(n int) string
		most int
		want string
	}{
		{
			"activities", manyActivities, maxActivities,
			"test.yaml:10004:3: error: the process has 10001 activities: use at most 10000: split it into several processes",
		},
		{
			"connectors into one", func(n int) string {
				var b strings.Builder
				b.WriteString(manyActivities(n+1) + "control:\n")
				for i := range n {
					fmt.Fprintf(&b, "  - a%d -> a%d\n", i, n)
				}
				return b.String()
			}, maxFan,
			"test.yaml:2005:3: error: 2001 connectors lead into a2001: use at most 2000: join some in empty activities first",
		},
		{
			"connectors out of one", func(n int) string {
				var b strings.Builder
				b.WriteString(manyActivities(n+1) + "control:\n")
				for i := range n {
					fmt.Fprintf(&b, "  - a0 -> a%d\n", i+1)
				}
				return b.String()
			}, maxFan,
			"test.yaml:4:3: error: 2001 connectors lead out of a0: use at most 2000: spread them over empty activities",
		},
		{
			"condition", func(n int) string {
				return head + `activities: {a: {node: A, program: p, exit: "_RC == 0` + strings.Repeat(" ", n-len("_RC == 0")) + "\"}}\n"
			}, condition.MaxText,
			"test.yaml:3:45: error: the condition has 4097 bytes: use at most 4096: let the program work it out",
		},
		{
			"what source is joined with", func(n int) string { // each of 100 bytes, and the rest
				const each, node = maxStart / maxActivities, 20
				name := func(i int) string { return fmt.Sprintf("a%0*d", each-startEach-node-1, i) }
				var b strings.Builder
				b.WriteString("process: p\nversion: 1\nactivities:\n")
				for i := range maxActivities - 1 {
					fmt.Fprintf(&b, "  %s: {node: %s, program: p}\n", name(i), strings.Repeat("N", node))
				}
				fmt.Fprintf(&b, "  %s: {node: %s, program: p}\n", name(maxActivities), strings.Repeat("N", node+n-maxStart))
				return b.String()
			}, maxStart,
			"test.yaml:1:10: error: source is joined with 10000 activities, and what names them at the start takes 1000001 bytes: " +
				"use at most 1000000, where each activity takes its name, that of its node and 16 bytes: shorten the names, or begin with a few empty activities that lead to these",
		},
		{
			"list", func(n int) string {
				return head + "structures: {S: {l: {type: [int], default: [0" + strings.Repeat(",0", n-1) + "]}}}" + tail
			}, container.MaxList,
			"test.yaml:3:44: error: the default does not fit: the list has more than 100000 elements: split it",
		},
		{
			"container", func(n int) string {
				return head + "structures: {S: {s: {type: string, default: " + strings.Repeat("x", n) + "}}}" + tail
			}, container.MaxEncoded - 6, // the head of the container and of the string
			"test.yaml:3:14: error: a container of type S takes over 1 MiB with its defaults alone: use fewer members or shorter defaults: 1048576 bytes is the limit",
		},
		{
			"table", func(n int) string {
				var b strings.Builder
				b.WriteString(head + "structures:\n  S:\n" + repeated(400, "", func(i int) string { return fmt.Sprintf("    m%d: int\n", i) }))
				b.WriteString("input: S\nactivities:\n" + repeated(n, "", func(i int) string { return fmt.Sprintf("  a%d: {node: A, program: p, input: S}\n", i) }))
				b.WriteString("data:\n" + repeated(n, "", func(i int) string { return fmt.Sprintf("  - source -> a%d\n", i) }))
				return b.String()
			}, 451,
			"test.yaml:1:10: error: the table of node A takes 8402577 bytes: use at most 8388426: host fewer activities at A, map fewer members, or split the process",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := errorsOf(test.text(test.most)); len(got) > 0 {
				t.Errorf("at the limit: %s", got)
			}
			if diff := cmp.Diff([]string{test.want}, errorsOf(test.text(test.most+1))); diff != "" {
				t.Errorf("over the limit: %s", diff)
			}
		})
	}
}

// Control and data connectors count together, and the limit is reported once.
func TestTooManyConnectors(t *testing.T) {
	var b strings.Builder
	b.WriteString(manyActivities(400) + "control:\n")
	lines := 0
	for i := range 400 {
		for j := i + 1; j < 400; j++ {
			fmt.Fprintf(&b, "- a%d -> a%d\n", i, j)
			lines++
		}
	}
	b.WriteString("data:\n")
	for i := range 400 {
		for j := i + 1; j < 400 && lines <= maxConnectors+5; j++ {
			fmt.Fprintf(&b, "- a%d -> a%d: {x: y}\n", i, j)
			lines++
		}
	}
	got := errorsOf(b.String())
	want := "error: the process has over 100000 connectors: split it into several processes"
	n := 0
	for _, e := range got {
		if strings.HasSuffix(e, want) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d times %q in %d errors", n, want, len(got))
	}
}

// startsAt gives a process of one activity that may be started at n nodes.
func startsAt(n int) string {
	return oneActivity + "starts: [" + repeated(n, ", ", func(i int) string { return fmt.Sprintf("N%d", i) }) + "]\n"
}

func TestTooManyStarts(t *testing.T) {
	want := []string{"test.yaml:4:68900: error: 10001 nodes may start this process: use at most 10000: let nodes start it through a node near them"}
	if diff := cmp.Diff(want, errorsOf(startsAt(maxStarts+1))); diff != "" {
		t.Error(diff)
	}
}

// What check lets pass compiles, and what does not compile check has found: whatever the
// process and the limits of its tables.
func TestWhatIsCleanCompiles(t *testing.T) {
	clean, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := drawnText(t) + "starts: [" + repeated(rapid.IntRange(1, 9).Draw(t, "starts"), ", ", func(i int) string { return fmt.Sprintf("N%d", i) }) + "]\n"
		most := bounds{comparing: maxComparing, table: rapid.IntRange(300, 4000).Draw(t, "table"), tables: rapid.IntRange(1000, 20_000).Draw(t, "tables")}
		processes, diagnostics := Load("test.yaml", []byte(text))
		if len(processes) != 1 {
			t.Fatalf("%v\n%s", diagnostics, text)
		}
		for _, format := range []int{1, 2} {
			_, err := compileWithin(processes[0], CompileOptions{TableFormat: format}, most, func(*processtable.Table, []byte) error { return nil })
			within, diagnostics := loadWithin("test.yaml", []byte(text), most)
			switch {
			case len(within) == 1 && err != nil:
				t.Fatalf("it is clean, and does not compile in format %d: %v", format, err)
			case len(within) == 0 && err == nil && format == 2:
				t.Fatalf("it compiles, and is refused: %v", diagnostics)
			case len(within) == 0 && !(len(diagnostics) > 0 && diagnostics[0].Code == codeLimit && diagnostics[0].Line == 1):
				t.Fatalf("refused with %v", diagnostics)
			case len(within) == 0:
				refused++
			default:
				clean++
			}
		}
	})
	if clean == 0 || refused == 0 {
		t.Errorf("%d were clean, %d refused: the limits drawn show nothing", clean, refused)
	}
}

// Compiling holds one table at a time, whatever the number of nodes: what is live in the
// middle does not grow with it. Before, those of 3,000 nodes in starts took 0.7 GB.
func TestCompilingHoldsOneTableAtATime(t *testing.T) {
	p := loadOne(t, startsAt(600))
	var live []uint64
	given := 0
	m, err := CompileEach(p, CompileOptions{}, func(*processtable.Table, []byte) error {
		if given++; given%150 == 0 {
			runtime.GC()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			live = append(live, memory.HeapAlloc)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, table := range m.Tables {
		total += table.Bytes
	}
	first, last := live[0], live[len(live)-1]
	if len(live) < 4 || last > first+uint64(total)/4 {
		t.Errorf("%d bytes live after %d tables, %d after all %d, which have %d bytes", first, 150, last, given, total)
	}
}

// What compiling allocates grows as what it gives does.
func TestCompilingAllocatesAsMuchAsItGives(t *testing.T) {
	perByte := func(n int) float64 {
		p := loadOne(t, startsAt(n))
		bytes := 0
		runtime.GC()
		before := used(t)
		if _, err := CompileEach(p, CompileOptions{}, func(_ *processtable.Table, encoded []byte) error {
			bytes += len(encoded)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return float64(used(t).bytes-before.bytes) / float64(bytes)
	}
	few, many := perByte(100), perByte(800)
	if many > 1.5*few || many > 40 {
		t.Errorf("%.1f bytes for each byte of the tables of 100 nodes, %.1f for those of 800", few, many)
	}
}
