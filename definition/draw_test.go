package definition

import (
	"strings"
	"testing"
)

func TestDrawings(t *testing.T) {
	p := loadOne(t, section34)
	golden(t, "testdata/section34.dot", Dot(p))
	golden(t, "testdata/section34.mermaid", Mermaid(p))
}

func TestDrawingsAreDeterministic(t *testing.T) {
	p, again := loadOne(t, purchaseOrder(t)), loadOne(t, purchaseOrder(t))
	if Dot(p) != Dot(again) || Mermaid(p) != Mermaid(again) {
		t.Error("the same process is drawn in two ways")
	}
}

// Conditions are CEL and may hold anything that Graphviz and Mermaid read.
const awkward = `
process: awkward
version: 1
structures:
  S: {s: string, n: int}
activities:
  end:   {node: my-node, program: my-program, output: S}
  graph: {node: my-node, empty: true}
  x:     {node: B, program: x}
control:
  - end -> graph: s == "a|b\\\"<#>` + "`" + `&"
  - end -> x: otherwise
`

func TestDrawingsEscapeWhatTheyShow(t *testing.T) {
	p := loadOne(t, awkward)
	dot := `  "end" -> "graph" [label="s == \"a|b\\\\\\\"<#>` + "`" + `&\""];` + "\n"
	if got := Dot(p); !strings.Contains(got, dot) {
		t.Errorf("dot has no line\n%s\nbut\n%s", dot, got)
	}
	mermaid := "  a_end -->|\"s == #34;a#124;b#92;#92;#92;#34;#60;#35;#62;#96;#38;#34;\"| a_graph\n"
	if got := Mermaid(p); !strings.Contains(got, mermaid) {
		t.Errorf("mermaid has no line\n%s\nbut\n%s", mermaid, got)
	}
}
