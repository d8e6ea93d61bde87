package navigator

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pureRooms do no I/O, and have no clock, goroutine, randomness or log (invariant 13).
var pureRooms = []string{"navigator", "condition", "processtable", "definition", "interpret", "container", "message"}

// What a pure room must not import: a package, or all below it.
var impureImports = []string{
	"os", "io/ioutil", "net", "syscall", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "os/exec", "context",
	"unsafe", "github.com/rs/zerolog", "golang.org/x/sys", "github.com/dgraph-io/badger",
	"fmqm/internal/store", "fmqm/queue", "fmqm/node", "fmqm/link", "fmqm/program", "fmqm/api",
}

// What a pure room must not call, by package.
var impureCalls = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "LoadLocation", "Local"},
	"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"uuid": {"New", "NewRandom", "NewV7", "NewUUID", "NewString", "NewV6"},
}

func TestPureRooms(t *testing.T) {
	for _, room := range pureRooms {
		t.Run(room, func(t *testing.T) {
			for name, file := range sources(t, filepath.Join("..", room)) {
				for _, problem := range impurities(file) {
					t.Errorf("%s: %s", name, problem)
				}
			}
		})
	}
}

// The test above finds what it looks for.
func TestImpuritiesAreFound(t *testing.T) {
	const impure = `package p
import ("os"; clock "time"; "net/http"; "fmt")
func f() { go f(); clock.Now(); fmt.Println(os.Args, http.Get) ; select {} ; c := make(chan int); c <- 1; println() }`
	file, err := parser.ParseFile(token.NewFileSet(), "impure.go", impure, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"import of os", "import of net/http", "go statement", "time.Now", "fmt.Println", "select statement", "channel", "println"}
	got := impurities(file)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("found %q\nwant %q", got, want)
	}
}

// sources parses the files of a room that are no tests.
func sources(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, 0)
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	return files
}

// impurities names what is not pure in a file, each thing once.
func impurities(file *ast.File) []string {
	found := map[string]bool{}
	local := map[string]string{} // name in the file: the package's own
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			found["import of "+spec.Path.Value] = true
			continue
		}
		for _, impure := range impureImports {
			if path == impure || strings.HasPrefix(path, impure+"/") {
				found["import of "+path] = true
			}
		}
		base := path[strings.LastIndex(path, "/")+1:]
		local[base] = base
		if spec.Name != nil {
			local[spec.Name.Name] = base
			if spec.Name.Name == "." {
				found["import of all names of "+path] = true
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found["go statement"] = true
		case *ast.SelectStmt:
			found["select statement"] = true
		case *ast.ChanType:
			found["channel"] = true
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
				found[id.Name] = true
			}
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && slices.Contains(impureCalls[local[id.Name]], n.Sel.Name) {
				found[local[id.Name]+"."+n.Sel.Name] = true
			}
		}
		return true
	})
	out := make([]string, 0, len(found))
	for problem := range found {
		out = append(out, problem)
	}
	return out
}
