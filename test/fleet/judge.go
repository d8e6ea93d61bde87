package fleet

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/interpret"
	"fmqm/sim/oracle"
	"fmqm/test/sites/actor/part"
)

// Verdict is what Judge counted.
type Verdict struct {
	Instances, Finished, InError int
	Attempts, Expected           int // of programs: made, and made by the interpreter
}

func (v Verdict) String() string {
	return fmt.Sprintf("%d instances: %d finished, %d in error, as the interpreter says; %d attempts where it makes %d; lost 0, doubled 0",
		v.Instances, v.Finished, v.InError, v.Attempts, v.Expected)
}

// Judge waits until every instance is as the interpreter says, and then looks at what
// ran and what is left. It stops the daemons.
func (w *Work) Judge(ctx context.Context) Verdict {
	w.t.Helper()
	v := Verdict{Instances: len(w.Plays), Expected: w.Expected()}
	for _, p := range w.Plays {
		w.compare(ctx, p)
		if p.Expect.Result.State == interpret.Finished {
			v.Finished++
		} else {
			v.InError++
		}
	}
	lines := w.lines()
	v.Attempts = len(lines)
	w.executions(lines)
	w.fleet.Empty(ctx)
	w.fleet.Whole()
	return v
}

// all asks for all activities: of a process in which nothing has a scope of its own that is the top, as sites of
// earlier releases tell it too.
func (p *Play) all() api.StatusRequest {
	return api.StatusRequest{Tree: nests(p.Process)}
}

func nests(p *definition.Process) bool {
	return slices.ContainsFunc(p.Activities, func(a *definition.Activity) bool { return a.Block != nil || a.Bundle != nil || a.Call != nil })
}

// compare waits until an instance is as the interpreter says, and ends it where it is
// in error.
func (w *Work) compare(ctx context.Context, p *Play) {
	w.t.Helper()
	var found []string
	err := Until(ctx, func() (bool, error) {
		status, err := w.Home(p).Client.StatusOf(ctx, p.ID, p.all())
		if err != nil {
			found = []string{err.Error()}
			return false, nil
		}
		found = oracle.Differences(status, p.Expect.Result)
		return len(found) == 0, nil
	})
	if err != nil {
		w.t.Fatalf("instance %s of %s\n%s\n  - %s", p.ID, p.Process.Name, p.Drawn, strings.Join(found, "\n  - "))
	}
	if p.Expect.Result.State == interpret.InError {
		w.terminate(ctx, p)
	}
}

// terminate ends an instance, so that nothing of it is left.
func (w *Work) terminate(ctx context.Context, p *Play) {
	w.t.Helper()
	asked := false
	err := Until(ctx, func() (bool, error) {
		err := w.Home(p).Client.Terminate(ctx, p.ID, "")
		switch {
		case err != nil && api.CodeOf(err) == api.CodeUnreachable:
			asked = true
			return false, nil
		case err != nil && api.CodeOf(err) == api.CodeRefused && asked:
			return true, nil // it was done, and the answer did not come
		}
		return true, err
	})
	if err != nil {
		w.t.Fatalf("terminate %s at %s: %v", p.ID, w.Home(p).Name, err)
	}
}

// line is what an actor notes of an attempt.
type line part.Line

// path names the activity where it is.
func (l *line) path() string { return cmp.Or(l.Scope, l.Activity) }

// lines reads what all actors have noted, each site's in order.
func (w *Work) lines() []line {
	w.t.Helper()
	return w.linesIn(w.dir)
}

func (w *Work) linesIn(dir string) []line {
	w.t.Helper()
	var all []line
	for _, site := range Names {
		f, err := os.Open(filepath.Join(dir, site))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			w.t.Fatal(err)
		}
		r := bufio.NewReader(f)
		for {
			text, err := r.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				break // what stands there now is being written
			}
			var l line
			if err != nil || json.Unmarshal(text, &l) != nil {
				w.t.Fatalf("%s: %v %s", site, err, text)
			}
			all = append(all, l)
		}
		_ = f.Close()
	}
	return all
}

// executions checks what ran: the attempts that the interpreter makes and no others,
// with the same inputs; each execution under one key, and never beside itself (P1, P2).
func (w *Work) executions(lines []line) {
	w.t.Helper()
	byInstance := map[string][]oracle.Attempt{}
	type execution struct {
		instance, path string
		iteration      int
	}
	keys := map[execution]string{}
	owners := map[string]execution{}
	for _, l := range lines {
		byInstance[l.Instance] = append(byInstance[l.Instance], oracle.Attempt{
			Scope: oracle.AttemptScope(l.path()), Activity: l.Activity, Iteration: l.Iteration, Attempt: l.Attempt, Input: l.Input,
		})
		e := execution{l.Instance, l.path(), l.Iteration}
		if key, ran := keys[e]; ran && key != l.Key {
			w.t.Errorf("%v ran under the keys %s and %s", e, key, l.Key)
		}
		keys[e] = l.Key
		if other, used := owners[l.Key]; used && other != e {
			w.t.Errorf("%v and %v ran under one key, %s", e, other, l.Key)
		}
		owners[l.Key] = e
		if l.Beside {
			w.t.Errorf("%v ran beside another attempt of itself", e)
		}
	}
	for _, p := range w.Plays {
		for _, d := range p.Expect.AttemptDifferences(byInstance[p.ID.String()], true) {
			w.t.Errorf("instance %s of %s: %s", p.ID, p.Process.Name, d)
		}
		delete(byInstance, p.ID.String())
	}
	for id := range byInstance {
		w.t.Errorf("instance %s ran, which nobody started", id)
	}
}
