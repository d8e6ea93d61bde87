package purity

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What the Makefile tests without the race detector has nothing that it could find: neither the rooms
// nor their tests do two things at once.
func TestWhatIsTestedWithoutTheRaceDetectorIsAlone(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^ALONE +=((?:.*\\\n)*.*)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile has no ALONE: correct this test")
	}
	for _, room := range strings.Fields(strings.ReplaceAll(string(list[1]), `\`, "")) {
		files, err := filepath.Glob(filepath.Join("..", "..", room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("there is no room %s (%v): correct the Makefile", room, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, breach := range together(t, strings.TrimPrefix(file, "../../"), string(text)) {
				t.Error(breach)
			}
		}
	}
}

// The test above would be worth nothing if together saw nothing.
func TestWhatIsDoneTogetherIsSeen(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"func f() { go f() }", "room.go:2: starts a goroutine"},
		{"func TestX(t *testing.T) { t.Parallel() }", "room.go:2: calls Parallel"},
		{"import \"golang.org/x/sync/errgroup\"\n", "room.go:2: imports golang.org/x/sync/errgroup"},
		{"import \"sync\"\n", "room.go:2: imports sync"},
		{"func f() { f() }", ""},
	} {
		if got := strings.Join(together(t, "room.go", "package room\n"+c.text), "; "); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// together says where a file does two things at once.
func together(t *testing.T, name, text string) (breaches []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	say := func(n ast.Node, what string) {
		breaches = append(breaches, name+":"+strconv.Itoa(set.Position(n.Pos()).Line)+": "+what)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			say(n, "starts a goroutine")
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Parallel" || f.Sel.Name == "RunParallel") {
				say(n, "calls "+f.Sel.Name)
			}
		case *ast.ImportSpec:
			imported, _ := strconv.Unquote(n.Path.Value)
			if imported == "sync" || strings.HasPrefix(imported, "sync/") || strings.HasPrefix(imported, "golang.org/x/sync") {
				say(n, "imports "+imported)
			}
		}
		return true
	})
	return breaches
}
