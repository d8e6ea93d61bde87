package definition

import (
	"strings"
	"testing"

	"fmqm/internal/text"
)

// steering is a definition in which whatever takes any text has characters that a terminal
// obeys, that turn the direction of what follows round, or that nobody sees.
var steering = strings.NewReplacer("RLO", "\u202e", "LRI", "\u2066", "PDI", "\u2069", "ZWSP", "\u200b").Replace(`
process: steering
version: 1
description: "\x1b[2J RLOtxetZWSP"
structures:
  S: {s: string}
activities:
  a: {node: A, program: p, output: S, exit: "s != '\x1b]0;x\x07 RLO'", description: "\u009b2J"}
  b: {node: A, program: p}
  c: {node: A, program: p, start: "a\n  && b"}
control:
  - a -> b: s == "RLO LRIifPDI ZWSP"
  - a -> c: "s == '\x7f\x1b[1A'"
  - b -> c
`)

func TestWhatIsShownCannotSteerATerminal(t *testing.T) {
	p := loadOne(t, steering)
	compiled, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]string{
		"show": Show(compiled.Tables), "dot": Dot(p), "mermaid": Mermaid(p), "svg": svgOf(t, p),
	} {
		for line := range strings.Lines(shown) {
			if strings.ContainsFunc(line, text.Steers) {
				t.Errorf("%s has %q", name, line)
			}
		}
		for _, want := range []string{`202e`, `x1b`, `200b`} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s does not say where %s is:\n%s", name, want, shown)
			}
		}
	}
}

// Also a diagnostic repeats what stands in the file, and its name.
func TestDiagnosticsCannotSteerATerminal(t *testing.T) {
	const wrong = "process: p\nversion: 1\nactivities: {\"a\\x1b[2J\": {node: A, program: p}}\ncontrol:\n  - \"x\u202e\\ny -> z\u200b\"\n"
	_, diagnostics := Load("f\x1b.yaml", []byte(wrong))
	if len(diagnostics) < 2 {
		t.Fatal(diagnostics)
	}
	for _, d := range diagnostics {
		if line := d.String(); strings.ContainsFunc(line, text.Steers) || strings.Contains(line, "\n") {
			t.Errorf("%q", line)
		}
		if shown := d.Text([]byte(wrong)); strings.ContainsFunc(shown, text.Steers) {
			t.Errorf("%q", shown)
		}
	}
}
