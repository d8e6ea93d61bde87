package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/internal/skip"
	"fmqm/interpret"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/sim/oracle"
)

// Again is what JudgeAgain counted.
type Again struct {
	Attempts, Repeated int
	Forgotten          int // activities of instances that had ended, of which the site knows nothing any more
}

// JudgeAgain is Judge of work of which a site had lost its store: programs may have run
// again, under the same keys, with the same inputs; and what the site alone knew of
// instances that had ended is gone.
func (w *Work) JudgeAgain(ctx context.Context, lost string) Again {
	w.t.Helper()
	var count Again
	for _, p := range w.Plays {
		count.Forgotten += w.compareWithout(ctx, p, lost)
	}
	type execution struct {
		instance, path, input string
		iteration             int
	}
	keys, seen := map[string]string{}, map[execution]bool{}
	expected := w.expectedInputs()
	for _, l := range w.lines() {
		count.Attempts++
		e := execution{l.Instance, l.path(), l.Input, l.Iteration}
		if seen[e] {
			count.Repeated++
		}
		seen[e] = true
		name := l.execution()
		if key, ran := keys[name]; ran && key != l.Key {
			w.t.Errorf("%s ran under the keys %s and %s", name, key, l.Key)
		}
		keys[name] = l.Key
		if !expected[name+" "+l.Input] {
			w.t.Errorf("%s ran with the input %s, which the interpreter does not give it", name, l.Input)
		}
		if l.Beside {
			w.t.Errorf("%s ran beside another attempt of itself", name)
		}
	}
	w.fleet.Empty(ctx)
	w.fleet.Whole()
	return count
}

// compareWithout is compare, without the activities that the lost site has forgotten; it
// gives how many they are.
func (w *Work) compareWithout(ctx context.Context, p *Play, lost string) (forgotten int) {
	w.t.Helper()
	var found []string
	err := Until(ctx, func() (bool, error) {
		status, err := w.Home(p).Client.StatusOf(ctx, p.ID, p.all())
		if err != nil {
			found = []string{err.Error()}
			return false, nil
		}
		found, forgotten = oracle.Differences(status, p.Expect.Result), 0
		for _, a := range status.Activities {
			if status.State == api.InstanceFinished && a.Node == lost && a.State == api.ActivityUnknown && strings.HasSuffix(a.Reason, lost+" lost the record with its store") {
				forgotten++
				found = slices.DeleteFunc(found, func(d string) bool { return isOf(d, a.Activity) })
			}
		}
		return len(found) == 0, nil
	})
	if err != nil {
		w.t.Fatalf("instance %s of %s, started at %s\n%s\n  - %s", p.ID, p.Process.Name, w.Home(p).Name, p.Drawn, strings.Join(found, "\n  - "))
	}
	if p.Expect.Result.State == interpret.InError {
		w.terminate(ctx, p)
	}
	return forgotten
}

// isOf says whether a difference is about an activity that was forgotten, or about what is inside of it; or
// about how many activities there are: in which iterations it was nobody knows.
func isOf(difference, forgotten string) bool {
	path, _, _ := strings.Cut(difference, ": ")
	named := func(part string) bool { return message.Scope(part).Inside() == processtable.ActivityID(forgotten) }
	return strings.HasPrefix(difference, "instance: activities is ") || slices.ContainsFunc(strings.Split(path, "/"), named)
}

// execution names what an attempt was for.
func (l line) execution() string { return fmt.Sprint(l.Instance, " ", l.path(), " ", l.Iteration) }

// expectedInputs are those that the interpreter gives each execution.
func (w *Work) expectedInputs() map[string]bool {
	all := map[string]bool{}
	for _, p := range w.Plays {
		for _, a := range p.Expect.Attempts {
			all[fmt.Sprint(p.ID, " ", api.InScope(a.Scope, a.Activity), " ", a.Iteration, " ", a.Input)] = true
		}
	}
	return all
}

// JudgeTwins looks at what the programs of twins did, and counts their attempts: each is
// one that the interpreter makes, under the key that the execution had at the site itself.
func (w *Work) JudgeTwins() (attempts int) {
	w.t.Helper()
	keys := map[string]string{}
	for _, l := range w.lines() {
		keys[l.execution()] = l.Key
	}
	expected := w.expectedInputs()
	for _, l := range w.linesIn(w.twin) {
		attempts++
		name := l.execution()
		if key, ran := keys[name]; ran && key != l.Key {
			w.t.Errorf("%s ran under the key %s, and at the twin under %s", name, key, l.Key)
		}
		if !expected[name+" "+l.Input] {
			w.t.Errorf("%s ran at the twin with the input %s, which the interpreter does not give it", name, l.Input)
		}
	}
	return attempts
}

// Twin is another daemon for the site's name, with an address and programs of its own, and
// a copy of the store. It sees no processes but its own, as on another machine: it would
// end programs of the site whose keys it runs itself (P2). The site is down, and the twin
// too, until it is started; it ends with the test.
func (s *Site) Twin(programs func(site string) []string) *Site {
	s.t.Helper()
	if os.Geteuid() != 0 {
		skip.Untested(s.t, "a copy of a site on another machine: process namespaces need root")
	}
	f := *s.fleet
	f.o.Programs = programs
	twin := &Site{t: s.t, fleet: &f, apart: true, Name: s.Name, Dir: s.t.TempDir(), Listen: FreePort(s.t)}
	s.t.Cleanup(twin.Kill)
	twin.connect()
	twin.Configure()
	if err := os.CopyFS(twin.File("data"), os.DirFS(s.File("data"))); err != nil {
		s.t.Fatal(err)
	}
	return twin
}

// Backup writes a backup of a running site, and gives its file.
func (s *Site) Backup(dir string) string {
	s.t.Helper()
	var done struct{ File string }
	out := Must(s.t, "fmqmd", "backup", dir, "--to", s.To(), "-o", "json")
	if err := json.Unmarshal([]byte(out), &done); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return done.File
}

// Files are the definitions of the work's processes.
func (w *Work) Files() []string { return w.files }
