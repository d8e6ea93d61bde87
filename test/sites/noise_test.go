package sites

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/queue/backup"
	"fmqm/test/fleet"
)

const noiseBytes = 512

// One seed damages each file of a data directory twice. FMQM_NOISE=MINUTES does so with many
// seeds, from FMQM_NOISE_SEED on.
func TestNoise(t *testing.T) { fleet.ForLong(t, "FMQM_NOISE", 1, noise, noise) }

// ruin is a site that was killed at rest, and whose files are damaged again and again.
type ruin struct {
	*fleet.Site
	t         *testing.T
	ctx       context.Context
	rand      *rand.Rand
	whole     string      // a copy of its data directory
	gate      *fleet.Gate // its programs wait at it
	instances map[api.InstanceID]string
}

// The daemon is killed while instances run, and one file of its data directory is damaged:
// noise in it, or its end is gone. Either the next start is refused, with the file and what
// to do, and so says `fmqmd verify`; or every instance ends as it would have, once.
func noise(t *testing.T, seed int) {
	r := newRuin(t, seed)
	files := r.files()
	t.Logf("files: %v", files)
	went := map[string]int{}
	for _, file := range files {
		for _, how := range []string{"noise", "cut"} {
			t.Run(how+" "+file, func(t *testing.T) {
				r.t = t
				went[r.damaged(file, how)]++
			})
		}
	}
	r.t = t
	t.Logf("seed %d: %v", seed, went)
	if went["refused"] == 0 || went["went on"] == 0 {
		t.Error("it is always the same that comes of damage")
	}
}

// newRuin makes a store with tables and a log: instances that have ended, and such whose
// program runs, and is found as running by the next start.
func newRuin(t *testing.T, seed int) *ruin {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience*4)
	t.Cleanup(cancel)
	file := filepath.Join(t.TempDir(), "gate")
	gate := fleet.NewGate(t, file)
	f := fleet.New(t, fleet.Options{Sites: []string{"A"}, Programs: func(string) []string {
		return []string{
			"pass: {builtin: echo}",
			fmt.Sprintf("hold: {exec: [/bin/sh, -c, 'cat; : <%s'], concurrency: 20}", file),
		}
	}})
	r := &ruin{Site: f.Sites["A"], t: t, gate: gate, ctx: ctx, rand: rand.New(rand.NewPCG(uint64(seed), 0)), instances: map[api.InstanceID]string{}}
	r.Answers()
	for _, p := range []string{"pass", "hold"} {
		file := filepath.Join(t.TempDir(), "process.yaml")
		text := fmt.Sprintf("process: %[1]s\nversion: 1\nstructures: {S: {text: string}}\ninput: S\noutput: S\nactivities:\n"+
			"  a: {node: A, program: pass, input: S, output: S}\n  b: {node: A, program: %[1]s, input: S, output: S}\n"+
			"  c: {node: A, program: pass, input: S, output: S}\ncontrol: [a -> b, b -> c]\ndata: [source -> a, a -> b, b -> c, c -> sink]\n", p)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fleet.Must(t, "fmqm-define", "upload", file, "--unsigned", "--to", r.To())
	}
	r.begin("pass", 30)
	r.until("they end", func(s []api.Instance) bool { return count(s, api.InstanceFinished) == 30 })
	r.Kill() // what the log has is in tables from the next start on
	r.Start()
	r.Answers()
	r.begin("hold", 10)
	for id, process := range r.instances {
		if process != "hold" {
			continue
		}
		err := fleet.Until(ctx, func() (bool, error) {
			s, err := r.Client.Status(ctx, id)
			return err == nil && slices.ContainsFunc(s.Activities, func(a api.Activity) bool { return a.Activity == "b" && a.State == api.ActivityRunning }), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	r.settle()
	r.Kill()
	r.whole = filepath.Join(t.TempDir(), "whole")
	if err := os.CopyFS(r.whole, os.DirFS(r.File("data"))); err != nil {
		t.Fatal(err)
	}
	return r
}

// settle waits until the side file says that all is on disk that a backup has now: it is written a
// moment behind the commits, and what it does not have yet no start could miss (docs/durability.md).
func (r *ruin) settle() {
	r.t.Helper()
	f, err := os.Open(r.Backup(r.t.TempDir()))
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	now, err := backup.Verify(f)
	if err != nil {
		r.t.Fatal(err)
	}
	err = fleet.Until(r.ctx, func() (bool, error) {
		said, err := os.ReadFile(r.File("data/COMMITTED"))
		return committed(said) >= now.Commit, err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// committed is the commit that a side file tells of: of its two slots the later one counts.
func committed(side []byte) (number uint64) {
	for _, slot := range []int{0, 4096} {
		if at := slot + 12; len(side) >= at+8 {
			number = max(number, binary.BigEndian.Uint64(side[at:]))
		}
	}
	return number
}

func (r *ruin) begin(process string, n int) {
	r.t.Helper()
	for i := range n {
		id := uuid.Must(uuid.NewV7())
		input, err := json.Marshal(map[string]string{"text": fmt.Sprint(process, i)})
		if err != nil {
			r.t.Fatal(err)
		}
		if _, err := r.Client.Start(r.ctx, api.StartRequest{Instance: id, Process: process, Input: input}); err != nil {
			r.t.Fatal(err)
		}
		r.instances[id] = process
	}
}

func count(all []api.Instance, state api.InstanceState) (n int) {
	for _, i := range all {
		if i.State == state {
			n++
		}
	}
	return n
}

// until waits for what the list of instances shows.
func (r *ruin) until(what string, holds func([]api.Instance) bool) {
	r.t.Helper()
	var seen api.ListAnswer
	err := fleet.Until(r.ctx, func() (bool, error) {
		a, err := r.Client.List(r.ctx, api.ListRequest{All: true, Limit: 1000})
		seen = a
		return err == nil && holds(a.Instances), nil
	})
	if err != nil {
		r.t.Fatalf("%s: %v\nfound: %+v\n%s", what, err, seen, r.LastLog(10))
	}
}

// files are those of the data directory, by their paths in it.
func (r *ruin) files() (all []string) {
	r.t.Helper()
	err := fs.WalkDir(os.DirFS(r.whole), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// damaged damages one file, and says what came of it.
func (r *ruin) damaged(file, how string) string {
	r.t.Helper()
	data := r.File("data")
	r.gate.Shut()
	if err := os.RemoveAll(data); err != nil {
		r.t.Fatal(err)
	}
	if err := os.CopyFS(data, os.DirFS(r.whole)); err != nil {
		r.t.Fatal(err)
	}
	at := r.damage(filepath.Join(data, file), how)
	said := len(r.Log())
	fresh := filepath.Join(r.t.TempDir(), "verified") // verify opens it, too
	if err := os.CopyFS(fresh, os.DirFS(data)); err != nil {
		r.t.Fatal(err)
	}
	out, talk, verified := fleet.Run(r.t, "fmqmd", "verify", "--data", fresh)
	r.Start()
	defer r.Kill()
	if !r.comesUp() {
		said := r.Log()[said:]
		// What is not there any more shows by what is: the side file, the commits behind a gap.
		named := strings.Contains(said, "/"+filepath.Base(file)) || how == "cut" && strings.Contains(said, " are missing before ") ||
			strings.HasSuffix(file, ".mem") && strings.Contains(said, "COMMITTED says so")
		if !named || !strings.Contains(said, "nothing was opened or changed") || !strings.Contains(said, "put back the data directory from a backup") {
			r.t.Errorf("%s: refused, without the file or what to do:\n%s", at, said)
		}
		if verified == 0 {
			r.t.Errorf("%s: the daemon refuses what verify finds good: %s%s\n%s", at, out, talk, said)
		}
		return "refused"
	}
	if verified != 0 {
		r.t.Errorf("%s: the daemon takes what verify refuses: %s%s", at, out, talk)
	}
	r.gate.Open()
	r.until(at+": all end", func(all []api.Instance) bool {
		return len(all) == len(r.instances) && count(all, api.InstanceFinished) == len(all)
	})
	r.once(at)
	return "went on"
}

// once checks that each instance has ended as it was to, and each activity once.
func (r *ruin) once(at string) {
	r.t.Helper()
	for id := range r.instances {
		s, err := r.Client.Status(r.ctx, id)
		if err != nil || s.State != api.InstanceFinished {
			r.t.Errorf("%s: instance %s: %+v, %v", at, id, s, err)
		}
		h, err := r.Client.History(r.ctx, id)
		ended := map[string]int{}
		for _, e := range h.Events {
			if e.Event == api.EventTerminated {
				ended[e.Activity]++
			}
		}
		if err != nil || !maps.Equal(ended, map[string]int{"a": 1, "b": 1, "c": 1}) {
			r.t.Errorf("%s: instance %s: %v have ended, %v", at, id, ended, err)
		}
	}
}

// damage writes noise into a file, or cuts it off, where it has something.
func (r *ruin) damage(path, how string) (at string) {
	r.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	used := len(bytes.TrimRight(text, "\x00"))
	if used == 0 {
		used = len(text)
	}
	place := r.rand.IntN(max(used, 1))
	if how == "cut" {
		err = os.Truncate(path, int64(place))
	} else {
		f, e := os.OpenFile(path, os.O_WRONLY, 0)
		if e != nil {
			r.t.Fatal(e)
		}
		random := make([]byte, min(noiseBytes, max(len(text)-place, 0)))
		for i := range random {
			random[i] = byte(r.rand.Uint32())
		}
		_, err = f.WriteAt(random, int64(place))
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%s at %d of %d bytes of %s", how, place, len(text), filepath.Base(path))
}

// comesUp waits until the daemon answers, or has ended.
func (r *ruin) comesUp() (up bool) {
	r.t.Helper()
	err := fleet.Until(r.ctx, func() (bool, error) {
		_, err := r.Client.Nodes(r.ctx)
		up = err == nil
		return up || r.HasEnded(), nil
	})
	if err != nil {
		r.t.Fatalf("neither up nor ended: %v\n%s", err, r.LastLog(10))
	}
	return up
}
