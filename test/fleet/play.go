package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/sim/generate"
	"fmqm/sim/oracle"
	"fmqm/test/sites/actor/part"
)

// prompter tells the actors of a test what they give. It has drawn and read each process once.
type prompter struct {
	socket string

	mu    sync.Mutex
	drawn map[string]*scripted // by what programs are told of a process
}

// scripted is a process that actors play in.
type scripted struct {
	drawn  *generate.Case
	places map[string]oracle.Place
}

// newPrompter listens until the test ends.
func newPrompter(t *testing.T) *prompter {
	t.Helper()
	dir, err := os.MkdirTemp("", "fmqm-play-") // a test's own directory has too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	p := &prompter{socket: filepath.Join(dir, "p"), drawn: map[string]*scripted{}}
	l, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	var under sync.WaitGroup
	under.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			under.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		err := l.Close()
		under.Wait()
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return p
}

// serve answers one actor. One that dies meanwhile needs no answer.
func (p *prompter) serve(conn net.Conn) {
	defer conn.Close()
	text, err := io.ReadAll(conn)
	c, whole := part.ReadCue(string(text))
	if err != nil || !whole {
		return
	}
	told, err := p.tell(&c)
	if err != nil {
		told.Error = err.Error()
	}
	_, _ = io.WriteString(conn, told.Text())
}

// tell gives the result that was drawn for an attempt. One that fails dies, or prints what is no container.
func (p *prompter) tell(c *part.Cue) (told part.Part, err error) {
	s, err := p.script(c.Process)
	if err != nil {
		return told, err
	}
	place, ok := s.places[c.Line.Activity]
	if !ok {
		return told, fmt.Errorf("no activity %q", c.Line.Activity)
	}
	input, err := container.DecodeJSON(place.Input, []byte(c.Line.Input))
	if err != nil {
		return told, fmt.Errorf("input: %w", err)
	}
	canonical, err := container.EncodeJSON(input)
	if err != nil {
		return told, err
	}
	noted := c.Line
	noted.Input = string(canonical)
	line, err := json.Marshal(noted)
	if err != nil {
		return told, err
	}
	told.Line = string(line)
	r := s.drawn.Result(generate.Call{
		Activity: place.Name, Scope: c.Line.Scope, Iteration: c.Line.Iteration, Attempt: c.Line.Attempt,
		Input: input, Output: place.Output, RCIsData: place.RCIsData,
	})
	switch {
	case r.Err != "" && (c.Line.Attempt%2 == 0 || place.NoOutput):
		told.Dies = true
	case r.Err != "":
		told.Output = "this is no container\n"
	case !place.NoOutput:
		output, err := container.EncodeJSON(r.Output)
		if err != nil {
			return told, err
		}
		told.Output, told.RC = string(output)+"\n", int(r.RC)
	default:
		told.RC = int(r.RC)
	}
	return told, nil
}

// script gives a process by its name, with or without its version.
func (p *prompter) script(process string) (*scripted, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.drawn[process]; s != nil {
		return s, nil
	}
	drawn, err := generate.Named(process)
	if err != nil {
		return nil, err
	}
	loaded, diagnostics := definition.Load("drawn", []byte(drawn.Text(strings.TrimSuffix(process, "@1"))))
	if len(loaded) != 1 {
		return nil, fmt.Errorf("definition: %v", diagnostics)
	}
	s := &scripted{drawn, oracle.Places(loaded[0])}
	p.drawn[process] = s
	return s, nil
}
