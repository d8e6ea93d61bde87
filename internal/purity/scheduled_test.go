package purity

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// scheduled are the rooms whose code runs at a site: in a daemon on goroutines, in a
// simulation on an event heap. It starts tasks, waits, takes the time and makes contexts
// through its task.Scheduler only.
var scheduled = []string{"link", "node", "node/admission", "node/answer", "node/command", "node/erase", "node/execute", "node/logs", "node/question", "node/rebuild", "node/report", "node/retention", "node/tables", "queue", "queue/audit", "queue/backup", "queue/browse", "queue/format", "queue/inspect", "queue/lane", "queue/mailbox", "queue/read", "queue/timer"}

// unschedulable are functions and types, by package, that wait, wake, tell the time or
// throw dice past a Scheduler. Those of a package without a list are all so.
var unschedulable = map[string][]string{
	"time":    {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer", "Timer", "Ticker"},
	"sync":    {"WaitGroup", "Cond", "NewCond"},
	"context": {"WithCancel", "WithCancelCause", "WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause", "AfterFunc"},
	"math/rand/v2": {
		"ExpFloat64", "Float32", "Float64", "Int", "Int32", "Int32N", "Int64", "Int64N", "IntN", "N", "NormFloat64", "Perm", "Shuffle",
		"Uint", "Uint32", "Uint32N", "Uint64", "Uint64N", "UintN",
	},
	"math/rand":    nil,
	"hash/maphash": nil,
}

func TestWhatRunsAtASiteIsScheduled(t *testing.T) { hold(t, scheduled, unscheduledIn) }

// The test above would be worth nothing if unscheduledIn saw nothing.
func TestWhatIsNotScheduledIsSeen(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"func f() { go f() }", "room.go:2: starts a goroutine"},
		{"func f() { select {} }", "room.go:2: waits in a select"},
		{"func f(c C) { c <- 1 }", "room.go:2: sends on a channel"},
		{"func f(c C) { <-c }", "room.go:2: receives from a channel"},
		{"func f(c C) { close(c) }", "room.go:2: closes a channel"},
		{"var c = make(chan int)", "room.go:2: has a channel"},
		{"type c <-chan error", "room.go:2: has a channel"},
		{"import \"time\"\nvar t = time.Now()", "room.go:3: uses time.Now"},
		{"import c \"time\"\nfunc f() { c.AfterFunc(1, f) }", "room.go:3: uses time.AfterFunc"},
		{"import . \"time\"", "room.go:2: imports time under the name ."},
		{"import \"sync\"\nvar w sync.WaitGroup", "room.go:3: uses sync.WaitGroup"},
		{"import \"context\"\nvar c, _ = context.WithTimeout(nil, 1)", "room.go:3: uses context.WithTimeout"},
		{"import \"math/rand/v2\"\nvar n = rand.IntN(3)", "room.go:3: uses math/rand/v2.IntN"},
		{"import \"hash/maphash\"\nvar s = maphash.MakeSeed()", "room.go:3: uses hash/maphash.MakeSeed"},
	} {
		got := unscheduledIn(t, "room.go", "package room\n"+c.text)
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: got %q, want only %q", c.text, got, c.want)
		}
	}
	const fine = "import (\"time\"; \"sync\"; \"context\"; \"math/rand/v2\")\nvar d time.Duration\nvar mu sync.Mutex\nvar c = context.Background()\nvar r = rand.New(rand.NewPCG(1, 2))"
	if got := unscheduledIn(t, "room.go", "package room\n"+fine); len(got) != 0 {
		t.Errorf("what is allowed is found: %q", got)
	}
}

// unscheduledIn names what in a file is done past a Scheduler.
func unscheduledIn(t *testing.T, name, text string) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	say := func(at token.Pos, format string, args ...any) {
		p := set.Position(at)
		found = append(found, fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...)))
	}
	imported := importsOf(t, file)
	for _, spec := range file.Imports {
		if spec.Name != nil && spec.Name.Name == "." {
			say(spec.Pos(), "imports %s under the name .", imported["."])
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			say(n.Pos(), "starts a goroutine")
		case *ast.SelectStmt:
			say(n.Pos(), "waits in a select")
		case *ast.SendStmt:
			say(n.Pos(), "sends on a channel")
		case *ast.ChanType:
			say(n.Pos(), "has a channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				say(n.Pos(), "receives from a channel")
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "close" {
				say(n.Pos(), "closes a channel")
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			if names, listed := unschedulable[imported[x.Name]]; listed && (names == nil || slices.Contains(names, n.Sel.Name)) {
				say(n.Pos(), "uses %s.%s", imported[x.Name], n.Sel.Name)
			}
		}
		return true
	})
	return found
}
