package purity

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "fmqm"

// pure are the pure rooms. They may import each other and no other room.
var pure = []string{
	"behaviour", "condition", "container", "definition", "event", "instancetable", "internal/cbor", "internal/sat", "internal/store/change", "internal/text", "interpret", "link/core", "link/frame", "link/seal", "message", "navigator", "node/thread", "node/trust", "processtable", "queue/commit", "queue/prepare", "queue/record", "schedule", "staff", "staff/who",
}

// impure are packages of the standard library, with all that lies below them, that
// give I/O, chance, logs or something to wait for.
var impure = []string{
	"context", "crypto/rand", "database", "io/ioutil", "log", "math/rand", "net", "os", "plugin", "syscall", "testing",
}

// forbidden are functions of packages that are otherwise pure.
var forbidden = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"github.com/google/uuid": {
		"New", "NewString", "NewRandom", "NewV6", "NewV7", "NewUUID", "NodeID",
	},
}

func TestPureRoomsDoNoIOAndReadNoClock(t *testing.T) { hold(t, pure, breaches) }

// hold has a rule read every file of rooms, but for tests, and say what breaks it.
func hold(t *testing.T, rooms []string, rule func(t *testing.T, name, text string) []string) {
	t.Helper()
	for _, room := range rooms {
		files, err := filepath.Glob(filepath.Join("..", "..", room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
		if len(files) == 0 {
			t.Errorf("there is no room %s: correct the list", room)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, breach := range rule(t, strings.TrimPrefix(file, "../../"), string(text)) {
				t.Error(breach)
			}
		}
	}
}

// The test above would be worth nothing if breaches saw nothing.
func TestBreachesAreSeen(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a file", `import "os"`, `room.go:2: imports os`},
		{"a network", `import "net/http"`, `room.go:2: imports net/http`},
		{"chance", `import r "math/rand/v2"`, `room.go:2: imports math/rand/v2`},
		{"an impure room", `import "fmqm/link"`, `room.go:2: imports fmqm/link`},
		{"a clock", "import \"time\"\nvar t = time.Now()", `room.go:3: uses time.Now`},
		{"a renamed clock", "import c \"time\"\nvar now = c.Now", `room.go:3: uses time.Now`},
		{"a hidden clock", "import . \"time\"", `room.go:2: imports time under the name .`},
		{"a new identifier", "import \"github.com/google/uuid\"\nvar id = uuid.New()", `room.go:3: uses github.com/google/uuid.New`},
		{"a goroutine", "func f() { go f() }", `room.go:2: starts a goroutine`},
		{"a channel", "func f(c chan int) { c <- 1 }", `room.go:2: sends on a channel`},
		{"a wait", "func f(c chan int) { <-c }", `room.go:2: receives from a channel`},
		{"a select", "func f() { select {} }", `room.go:2: waits in a select`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := breaches(t, "room.go", "package room\n"+c.text)
			if len(got) != 1 || got[0] != c.want {
				t.Errorf("breaches = %q, want only %q", got, c.want)
			}
		})
	}
	if got := breaches(t, "room.go", "package room\nimport (\"time\"; \"fmqm/container\")\nvar d = time.Second\nvar c container.Path"); len(got) != 0 {
		t.Errorf("what is allowed is called a breach: %q", got)
	}
}

// breaches names what in a file of a pure room a pure room must not do.
func breaches(t *testing.T, name, text string) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	say := func(at token.Pos, format string, args ...any) {
		p := set.Position(at)
		found = append(found, fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...)))
	}
	imported := importsOf(t, file)
	for _, spec := range file.Imports {
		local, p := importOf(t, spec)
		switch {
		case !mayImport(p):
			say(spec.Pos(), "imports %s", p)
		case local == ".":
			say(spec.Pos(), "imports %s under the name .", p)
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
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				say(n.Pos(), "receives from a channel")
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			p := imported[x.Name]
			if slices.Contains(forbidden[p], n.Sel.Name) {
				say(n.Pos(), "uses %s.%s", p, n.Sel.Name)
			}
		}
		return true
	})
	return found
}

// importsOf gives what a file imports: the names in it, and the paths.
func importsOf(t *testing.T, file *ast.File) map[string]string {
	t.Helper()
	imported := map[string]string{}
	for _, spec := range file.Imports {
		local, p := importOf(t, spec)
		imported[local] = p
	}
	return imported
}

func importOf(t *testing.T, spec *ast.ImportSpec) (local, p string) {
	t.Helper()
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		t.Fatal(err)
	}
	local = path.Base(p)
	if strings.HasPrefix(local, "v") && strings.Trim(local[1:], "0123456789") == "" && local != "v" {
		local = path.Base(path.Dir(p)) // the last but one names the package: math/rand/v2
	}
	if spec.Name != nil {
		local = spec.Name.Name
	}
	return local, p
}

func mayImport(p string) bool {
	if room, ours := strings.CutPrefix(p, module+"/"); ours {
		return slices.Contains(pure, room)
	}
	return !slices.ContainsFunc(impure, func(i string) bool { return p == i || strings.HasPrefix(p, i+"/") })
}
