package execute

import (
	"strings"
	"testing"

	"fmqm/queue/record"
)

// Of what a program writes the last 2 KiB are kept, from the beginning of a line where one
// begins there, and as text.
func TestWhatAProgramSaidLast(t *testing.T) {
	line := strings.Repeat("x", 99)
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"nothing":      {nil, ""},
		"a few":        {[]string{"a", "", "b"}, "a\n\nb"},
		"many":         {append(make([]string, 100), line, "end"), strings.Repeat("\n", record.MaxStderr-100-4-1) + line + "\nend"},
		"whole lines":  {[]string{strings.Repeat("y", 1990), line, line, "end"}, line + "\n" + line + "\nend"},
		"one long one": {[]string{strings.Repeat("z", 5000)}, strings.Repeat("z", record.MaxStderr-1)},
		"no text":      {[]string{"a\xffb"}, "a\uFFFDb"},
	} {
		var s stderrTail
		for _, l := range c.lines {
			s.add(l)
		}
		got := s.String()
		if name == "many" {
			got, c.want = strings.TrimLeft(got, "\n"), strings.TrimLeft(c.want, "\n")
		}
		if got != c.want || len(got) > record.MaxStderr+8 {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
