package definition

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// lines repeats a text that is made from a number.
func repeated(n int, between string, each func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = each(i)
	}
	return strings.Join(all, between)
}

// wrongFiles are files in which n things are wrong, each in a way of its own.
var wrongFiles = map[string]func(n int) string{
	"unknown keys": func(n int) string {
		return oneActivity + repeated(n, "\n", func(i int) string { return fmt.Sprintf("key%d: 1", i) })
	},
	"unknown keys in one line": func(n int) string {
		return "{process: p, version: 1, " + repeated(n, ", ", func(i int) string { return fmt.Sprintf("key%d: 1", i) }) + "}"
	},
	"unknown activities in one line": func(n int) string {
		return oneActivity + "control: [" + repeated(n, ", ", func(i int) string { return fmt.Sprintf("a -> b%d", i) }) + "]"
	},
	"wrong conditions in one line": func(n int) string {
		return "process: p\nversion: 1\nactivities: {" +
			repeated(n, ", ", func(i int) string { return fmt.Sprintf(`a%d: {node: A, program: p, exit: "x%d"}`, i, i) }) + "}"
	},
	"tags in one line": func(n int) string {
		return oneActivity + "control: [" + repeated(n, ", ", func(int) string { return "!x a" }) + "]"
	},
	"unknown types": func(n int) string {
		return oneActivity + "structures:\n" + repeated(n, "\n", func(i int) string { return fmt.Sprintf("  S%d: {m: T%d}", i, i) })
	},
	"unknown members": func(n int) string {
		return "process: p\nversion: 1\nstructures:\n  S:\n" + repeated(n, "\n", func(i int) string { return fmt.Sprintf("    m%d: int", i) }) +
			"\ninput: S\nactivities: {a: {node: A, program: p, input: S}}\ndata:\n- source -> a:\n" +
			repeated(n, "\n", func(i int) string { return fmt.Sprintf("    x%d: y%d", i, i) })
	},
	"wrong documents": func(n int) string {
		return repeated(n, "", func(int) string { return "---\nprocess: p\n" })
	},
	"borders": func(n int) string {
		return "process: p\nversion: 1\nactivities:\n  a: {node: A, program: p}\n" +
			repeated(n, "\n", func(i int) string {
				return fmt.Sprintf("  b%d: {node: A, activities: {c%d: {node: A, program: p}}}", i, i)
			}) +
			"\ncontrol:\n" + repeated(n, "\n", func(i int) string { return fmt.Sprintf("- a -> c%d", i) })
	},
	"blocks": func(n int) string {
		return "process: p\nversion: 1\nstructures: {S: {n: int}}\nactivities:\n" +
			repeated(n, "\n", func(i int) string {
				return fmt.Sprintf("  b%d: {node: A, output: S, exit: n > %d, activities: {c%d: {node: A, program: p, output: S}}}", i, i, i)
			})
	},
	"warnings": func(n int) string {
		return "process: p\nversion: 1\nstructures: {S: {n: int}}\nactivities:\n" +
			repeated(n, "\n", func(i int) string { return fmt.Sprintf("  a%d: {node: A, program: p, output: S}", i) })
	},
}

const oneActivity = "process: p\nversion: 1\nactivities: {a: {node: A, program: p}}\n"

// What it costs to find and to show everything that is wrong with a file grows as the
// file does: eight times as much for a file that is eight times as long, and not 64
// times. Bytes are counted, and processor time, of which the least of several tries: both
// are compared with themselves, so that it does not matter how fast a machine is.
func TestWhatDiagnosticsCostGrowsAsTheFileDoes(t *testing.T) {
	const n, times, most = 300, 8, 24
	for name, file := range wrongFiles {
		t.Run(name, func(t *testing.T) {
			small, large := []byte(file(n)), []byte(file(n*times))
			for try := 1; ; try++ {
				less, more := costOf(t, small, n), costOf(t, large, n*times)
				if more.bytes > most*less.bytes {
					t.Fatalf("%d bytes for %d times what took %d", more.bytes, times, less.bytes)
				}
				if more.processor <= most*less.processor {
					return
				}
				if try == 5 {
					t.Fatalf("%d µs of the processor for %d times what took %d", more.processor, times, less.processor)
				}
			}
		})
	}
}

type cost struct{ bytes, processor int64 }

// costOf loads a file with at least n diagnostics and shows them all.
func costOf(t *testing.T, file []byte, n int) cost {
	least := cost{bytes: 1 << 62, processor: 1 << 62}
	for range 3 {
		runtime.GC()
		before := used(t)
		_, diagnostics := Load("f.yaml", file)
		source := NewSource(file)
		for _, d := range diagnostics {
			_ = source.Text(d)
		}
		after := used(t)
		if len(diagnostics) < n {
			t.Fatalf("%d diagnostics for %d mistakes", len(diagnostics), n)
		}
		least.bytes = min(least.bytes, after.bytes-before.bytes)
		least.processor = min(least.processor, after.processor-before.processor)
	}
	return least
}

func used(t *testing.T) cost {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return cost{bytes: int64(memory.TotalAlloc), processor: usage.Utime.Sec*1e6 + int64(usage.Utime.Usec)}
}

// A file that is too large is not read, and what is wrong with one is not listed without
// end; but it is counted.
func TestWhatIsReadAndListedHasALimit(t *testing.T) {
	text := oneActivity + "#" + strings.Repeat(" ", MaxFile-len(oneActivity)-1)
	if _, diagnostics := Load("f.yaml", []byte(text)); len(diagnostics) > 0 {
		t.Error("at the limit: ", diagnostics)
	}
	_, diagnostics := Load("f.yaml", []byte(text+" "))
	const want = "f.yaml:1:1: error: the file has over 8388608 bytes: write its processes into separate files"
	if len(diagnostics) != 1 || diagnostics[0].String() != want {
		t.Error("over the limit: ", diagnostics)
	}

	const over = 5
	_, diagnostics = Load("f.yaml", []byte(oneActivity+"control:\n"+strings.Repeat("- a\n", maxDiagnostics+over)))
	if len(diagnostics) != maxDiagnostics+1 {
		t.Fatalf("%d diagnostics", len(diagnostics))
	}
	const more = "f.yaml:1:1: error: 5 more errors and warnings are not listed: correct those that are listed, then check the file again"
	if got := diagnostics[0].String(); got != more {
		t.Error(got)
	}
}
