package generate_test

import (
	"strings"
	"testing"

	"fmqm/definition"
	"fmqm/sim/generate"
)

// What begins instances of a drawn process is one that may be given beside it, and the shapes fit (N19).
func TestParentsCheck(t *testing.T) {
	for n := range 300 {
		c := generate.Steady().Example(n)
		own, _ := definition.Load("child.yaml", []byte(c.Text("child")))
		text := c.ParentOf("child", own[0].Starts, generate.Nodes, n).Text("parent")
		all, diagnostics := definition.Load("both.yaml", []byte(c.Text("child")+"---\n"+text))
		for _, d := range diagnostics {
			if d.Severity == definition.Error {
				t.Fatalf("case %d: %s\n%s", n, d.Text([]byte(text)), text)
			}
		}
		if len(all) != 2 {
			t.Fatalf("case %d: %d processes\n%s", n, len(all), text)
		}
		if !strings.Contains(text, "process: child") {
			t.Fatalf("case %d begins nothing:\n%s", n, text)
		}
	}
}
