package link

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// A shell asks its core nothing but these.
var asked = []string{"Step", "Standing", "Restless"}

// Invariant 13: the core decides, from events alone. No file has parts of both the core and
// a shell; a shell reads no field of the core, so that it cannot guess from them what a
// step did; and a file of the core neither starts nor waits for anything.
func TestTheShellDoesNotReachIntoTheCore(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	cores, shells := 0, 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		found, core, shell := reaches(t, e.Name(), string(text))
		for _, what := range found {
			t.Error(what)
		}
		if core {
			cores++
		}
		if shell {
			shells++
		}
	}
	if cores < 5 || shells < 5 {
		t.Errorf("only %d files of the core and %d of shells were seen", cores, shells)
	}
}

func TestReachesAreSeen(t *testing.T) {
	const link, core = "type Link struct{ core *Core }\nfunc (l *Link) f() { ", "func (c *Core) f() { "
	for text, want := range map[string]string{
		link + "_ = l.core.peer.up }":                 "shell.go:3: a shell touches core.peer",
		link + "l.core.stopped = nil }":               "shell.go:3: a shell touches core.stopped",
		link + "c := l.core; _ = c }":                 "shell.go:3: a shell passes its core on",
		link + "l.core.Step(Tick{}) }\n" + core + "}": "shell.go: it has methods of the core and of a shell",
		core + "go f() }":                             "shell.go:2: the core starts a goroutine",
		"import \"sync\"\n" + core + "}":              "shell.go:2: the core imports sync",
	} {
		got, _, _ := reaches(t, "shell.go", "package link\n"+text)
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %q, want only %q", text, got, want)
		}
	}
	if got, _, _ := reaches(t, "shell.go", "package link\n"+link+"l.core.Step(Tick{}); l.core = NewCore(Config{}) }"); len(got) != 0 {
		t.Errorf("what is allowed is found: %q", got)
	}
}

// reaches names what in a file is against the rule, and says whether it has methods of the
// core, and of a shell.
func reaches(t *testing.T, name, text string) (found []string, core, shell bool) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	say := func(at token.Pos, what string) {
		found = append(found, fmt.Sprintf("%s:%d: %s", name, set.Position(at).Line, what))
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		switch methodOf(f) {
		case "Core":
			core = true
		case "Link", "pipe", "route":
			shell = true
		}
	}
	used := map[ast.Node]bool{} // core, where something of it is selected or it is made
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if isCore(n.X) {
				used[n.X] = true
				if !slices.Contains(asked, n.Sel.Name) {
					say(n.Pos(), "a shell touches core."+n.Sel.Name)
				}
			}
			if isCore(n) && !used[n] {
				say(n.Pos(), "a shell passes its core on")
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if isCore(left) {
					used[left] = true
				}
			}
		case *ast.GoStmt:
			if core {
				say(n.Pos(), "the core starts a goroutine")
			}
		}
		return true
	})
	if core {
		for _, i := range file.Imports {
			if p := strings.Trim(i.Path.Value, `"`); slices.Contains([]string{"sync", "sync/atomic", "context", "os", "net", "math/rand/v2", "crypto/rand"}, p) {
				say(i.Pos(), "the core imports "+p)
			}
		}
	}
	if core && shell {
		found = append(found, name+": it has methods of the core and of a shell")
	}
	return found, core, shell
}

func isCore(x ast.Expr) bool {
	s, ok := x.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "core"
}

func methodOf(f *ast.FuncDecl) string {
	x := f.Recv.List[0].Type
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	if name, ok := x.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
