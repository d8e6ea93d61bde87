package clitest

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Members checks that docs/commands.md names every member of the JSON that a command prints, in
// the row that begins with row. root is the directory of the project.
func Members(t *testing.T, root, row string, printed any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, below, _ := strings.Cut(string(text), "\n## JSON\n")
	_, line, found := strings.Cut(below, "\n| "+row)
	line, _, _ = strings.Cut(line, "\n")
	if !found {
		t.Fatalf("docs/commands.md has no row %q", row)
	}
	for _, name := range members(reflect.TypeOf(printed)) {
		if !strings.Contains(line, "`"+name+"`") {
			t.Errorf("docs/commands.md, %s: no member %s", row, name)
		}
	}
}

func members(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			names = append(names, members(f.Type)...)
		case name != "" && name != "-":
			names = append(names, name)
		}
	}
	return names
}
