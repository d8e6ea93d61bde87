package node_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/container"
	"fmqm/program"
)

// where is a program that notes where it was asked, and what its key was.
type where struct {
	scopes []string
	keys   map[string]bool
}

func (w *where) Run(_ context.Context, c *program.Call) program.Result {
	w.scopes, w.keys[c.Key] = append(w.scopes, c.Activity+" in "+c.Scope), true
	out := container.New(c.OutputType)
	if len(w.scopes) > 2 {
		out.Fields[0] = int64(1)
	}
	return program.Result{Output: out}
}

// A program is told where its activity is: nothing at the top, and in a block the path of this
// very execution, each of which has a key of its own (P1).
func TestAProgramIsToldItsScope(t *testing.T) {
	w := &where{keys: map[string]bool{}}
	n := nodeOf(t, w)
	upload(t, n, `
process: scoped
version: 1
structures: {S: {n: int}}
activities:
  one: {node: A, program: echo, output: S}
  b:
    node: A
    output: S
    exit: n > 0
    activities:
      check: {node: A, program: echo, output: S}
    data: [check -> sink]
control: [one -> b]
`)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if s, err := n.Wait(ctx, begin(t, n, "scoped")); err != nil || s.State != api.InstanceFinished {
		t.Fatalf("%v %+v", err, s)
	}
	if want := []string{"one in ", "check in b#1/check", "check in b#2/check"}; !slices.Equal(w.scopes, want) || len(w.keys) != len(want) {
		t.Errorf("%q, %d keys", w.scopes, len(w.keys))
	}
}
