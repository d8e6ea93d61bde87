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

// As much is kept as the limit says, from the beginning of a line, and it is known how much came before.
func TestWhatIsKeptOfWhatAProgramSaid(t *testing.T) {
	s := stderrTail{limit: 10_000}
	line := strings.Repeat("x", 99)
	for range 1000 {
		s.add(line)
	}
	text, skipped := s.all()
	if want := strings.TrimSuffix(strings.Repeat(line+"\n", 99), "\n"); text != want && text != want+"\n"+line || skipped+int64(len(text))+1 != 100_000 {
		t.Errorf("%d bytes after %d", len(text), skipped)
	}
	if len(s.last) > 20_000 {
		t.Errorf("%d bytes are in memory", len(s.last))
	}
	if got := s.String(); len(got) > record.MaxStderr || !strings.HasSuffix(text, got) {
		t.Errorf("the end has %d bytes", len(got))
	}
	s = stderrTail{}
	s.add("a")
	s.add("b")
	if text, skipped := s.all(); text != "a\nb" || skipped != 0 {
		t.Errorf("%q after %d", text, skipped)
	}
}
