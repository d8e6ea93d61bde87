package cli

import (
	"bytes"
	"testing"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli/clitest"
)

// What is short shows nothing, what is long shows a line that is drawn anew ten times a
// second at most, and leaves nothing behind.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := newProgress(&out, func() time.Time { return now })
	for _, step := range []struct {
		at   time.Duration
		want string
	}{
		{0, ""},
		{299 * time.Millisecond, ""},
		{300 * time.Millisecond, "\r\x1b[K3 of 9"},
		{399 * time.Millisecond, ""},
		{400 * time.Millisecond, "\r\x1b[K3 of 9"},
	} {
		now = time.Unix(0, 0).Add(step.at)
		out.Reset()
		if p.Show("%d of %d", 3, 9); out.String() != step.want {
			t.Errorf("after %v: %q, want %q", step.at, out.String(), step.want)
		}
	}
	out.Reset()
	if p.End(); out.String() != "\r\x1b[K" {
		t.Errorf("at the end: %q", out.String())
	}
	out.Reset()
	now = now.Add(time.Hour)
	p.Show("late")
	if p.End(); out.String() != "" {
		t.Errorf("after the end: %q", out.String())
	}
}

// Progress is for a terminal: into a pipe or a file it writes nothing.
func TestProgressOnlyOnATerminal(t *testing.T) {
	context := func(s *Streams) *ucli.Context {
		return ucli.NewContext(&ucli.App{Metadata: map[string]any{streamsKey: s}}, nil, nil)
	}
	var pipe bytes.Buffer
	p := NewProgress(context(&Streams{Err: &pipe}))
	p.next = time.Time{}
	p.Show("x")
	if p.End(); pipe.Len() > 0 {
		t.Errorf("into a pipe: %q", pipe.String())
	}
	terminal, shown := clitest.Terminal(t, 80)
	p = NewProgress(context(&Streams{Err: terminal}))
	p.next = time.Time{}
	p.Show("x")
	p.End()
	if got := shown(); got != "\r\x1b[Kx\r\x1b[K" {
		t.Errorf("on a terminal: %q", got)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 3 << 20: "3.0 MiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
