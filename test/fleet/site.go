package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fmqm/api"
)

// Site is one daemon.
type Site struct {
	Name   string
	Dir    string
	Listen string
	Client *api.Client // over the local socket

	// Release is the directory with the binaries of another release, which the daemon is
	// started of from now on; empty: Bin. See [Before].
	Release string

	t     *testing.T
	fleet *Fleet
	apart bool // it sees no process of others, as on a machine of its own

	mu     sync.Mutex
	begun  int           // where in its log what the running daemon says begins
	life   *life         // nil: it is down
	points []string      // at which it has still to die, see DiesAt
	died   chan struct{} // closed when none is left
}

func (s *Site) connect() {
	s.t.Helper()
	client, err := api.NewClient(s.To(), Patience)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Client = client
	s.t.Cleanup(client.Close)
}

// To is how fmqm and fmqm-define address the site.
func (s *Site) To() string { return "unix:" + filepath.Join(s.Dir, "sock") }

// File is a path in the site's directory.
func (s *Site) File(name string) string { return filepath.Join(s.Dir, name) }

// Binary is the file of one of the site's binaries, such as fmqmd, in its release.
func (s *Site) Binary(name string) string {
	if s.Release == "" {
		return filepath.Join(Bin, name)
	}
	return filepath.Join(s.Release, name)
}

// Configure writes the site's configuration, from what the fleet's options say now.
func (s *Site) Configure() {
	s.t.Helper()
	o := s.fleet.o
	var text strings.Builder
	fmt.Fprintf(&text, "node: %s\ndata: data\nlisten: %s\nsocket: sock\n", s.Name, s.Listen)
	links := ""
	if o.Links != nil {
		links = o.Links(s.fleet, s.Name)
	}
	if !strings.Contains(links, "identity:") {
		text.WriteString("insecure: true\n") // plain HTTP
	}
	text.WriteString(links)
	if o.Programs != nil {
		for i, p := range o.Programs(s.Name) {
			if i == 0 {
				text.WriteString("programs:\n")
			}
			fmt.Fprintf(&text, "  %s\n", p)
		}
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.File("fmqmd.yaml"), []byte(text.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Upload has the site take processes, given as a file's text, and bring their tables to all
// nodes; more are arguments of the command. It gives the file.
func (s *Site) Upload(text string, more ...string) (file string) {
	s.t.Helper()
	file = filepath.Join(s.t.TempDir(), "processes.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	Must(s.t, "fmqm-define", append([]string{"upload", file, "--to", s.To()}, more...)...)
	return file
}

// Answers waits until the daemon does.
func (s *Site) Answers() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	err := Until(ctx, func() (bool, error) {
		_, err := s.Client.Nodes(ctx)
		return err == nil, nil
	})
	if err != nil {
		s.t.Fatalf("%s does not answer: %v", s.Name, err)
	}
}

// Says waits until the daemon's log has something.
func (s *Site) Says(what string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	err := Until(ctx, func() (bool, error) {
		text, err := os.ReadFile(s.File("log"))
		return strings.Contains(string(text), what), err
	})
	if err != nil {
		s.t.Fatalf("%s does not say %q: %v\n%s", s.Name, what, err, s.LastLog(15))
	}
}

// Log is all that the daemon has said.
func (s *Site) Log() string {
	text, err := os.ReadFile(s.File("log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Logged gives the lines that the daemon has said since it was started last, and that hold a
// text.
func (s *Site) Logged(text string) []string {
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	var found []string
	for line := range strings.Lines(s.Log()[begun:]) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// LastLog is the last lines of it.
func (s *Site) LastLog(lines int) string {
	all := strings.Split(strings.TrimSpace(s.Log()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
