package logs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/logs"
)

var (
	one   = message.InstanceID(uuid.MustParse("0197c0de-5a1e-7000-8000-000000000001"))
	other = message.InstanceID(uuid.MustParse("0197c0de-5a1e-7000-8000-000000000002"))
	begun = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
)

// clock is a scheduler whose time the test says.
type clock struct {
	task.Goroutines
	ahead atomic.Int64
}

func (c *clock) Now() time.Time { return c.Goroutines.Now().Add(time.Duration(c.ahead.Load())) }

type kept struct {
	*logs.Logs
	t   *testing.T
	dir string
	by  *clock
	low atomic.Bool
}

// keep opens logs in a directory. They write when Close is called, which can be repeated.
func keep(t *testing.T, dir string, limits logs.Limits) *kept {
	k := &kept{t: t, dir: dir, by: &clock{}}
	k.Logs = logs.New(logs.Options{Dir: dir, Limits: limits, Scheduler: k.by, Log: zerolog.New(zerolog.NewTestWriter(t)), Low: k.low.Load})
	return k
}

func (k *kept) write() {
	k.t.Helper()
	if err := k.Close(context.Background()); err != nil {
		k.t.Fatal(err)
	}
}

func attempt(id message.InstanceID, n int, text string) logs.Attempt {
	at := begun.Add(time.Duration(n) * time.Second)
	return logs.Attempt{Instance: id, Process: "p@1", Activity: "a", Program: "x", Iteration: 1, Attempt: n, Started: at, Ended: at.Add(time.Millisecond), RC: 1, Text: text}
}

// texts are those that a query finds.
func (k *kept) texts(q logs.Query, running ...logs.Attempt) (all []string, more bool) {
	if q.Instance == (message.InstanceID{}) {
		q.Instance = one
	}
	if q.Limit == 0 {
		q.Limit, q.Bytes = 1000, 1<<20
	}
	found, more := k.Find(q, running)
	for _, a := range found {
		all = append(all, a.Text)
	}
	return all, more
}

func (k *kept) want(q logs.Query, want ...string) {
	k.t.Helper()
	if got, _ := k.texts(q); !slices.Equal(got, want) {
		k.t.Errorf("found %q, want %q", got, want)
	}
}

func (k *kept) files() []string {
	names, err := filepath.Glob(filepath.Join(k.dir, "*"))
	if err != nil {
		k.t.Fatal(err)
	}
	return names
}

var plenty = logs.Limits{Bytes: 1 << 20, Attempt: 1 << 10}

// What was written is found while it waits, when it is in a file, and by the daemon after a restart, each
// once; what runs is found too.
func TestAttemptsAreFound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	k := keep(t, dir, plenty)
	k.Keep(attempt(one, 1, "first <&>\x00 é"))
	k.Keep(attempt(other, 1, "of another instance"))
	k.Keep(attempt(one, 2, ""))
	k.want(logs.Query{}, "first <&>\x00 é")
	k.write()
	k.Keep(attempt(one, 3, "third"))
	k.want(logs.Query{}, "first <&>\x00 é", "third")
	k.write()
	again := keep(t, dir, plenty)
	again.want(logs.Query{}, "first <&>\x00 é", "third")
	again.Keep(attempt(one, 4, "fourth"))
	again.write()
	if len(again.files()) != 1 {
		t.Errorf("a restart has begun a file: %q", again.files())
	}
	runs := attempt(one, 5, "so far")
	runs.Ended = time.Time{}
	ended := attempt(one, 3, "thi")
	ended.Ended = time.Time{}
	if got, more := again.texts(logs.Query{}, ended, runs, attempt(other, 9, "x")); more || !slices.Equal(got, []string{"first <&>\x00 é", "third", "fourth", "so far"}) {
		t.Errorf("with those that run: %q, more %v", got, more)
	}
	second := func(a *logs.Attempt) bool { return a.Attempt == 3 }
	again.want(logs.Query{Match: second, Limit: 9, Bytes: 1 << 20}, "third")
	if got, more := again.texts(logs.Query{Limit: 2, Bytes: 1 << 20}); !more || !slices.Equal(got, []string{"third", "fourth"}) {
		t.Errorf("the two newest: %q, more %v", got, more)
	}
	if got, more := again.texts(logs.Query{Limit: 9, Bytes: 1}); !more || !slices.Equal(got, []string{"fourth"}) {
		t.Errorf("of one byte: %q, more %v", got, more)
	}
}

// Nobody but the daemon's user can read what is kept.
func TestFilesAreTheDaemonsAlone(t *testing.T) {
	k := keep(t, filepath.Join(t.TempDir(), "logs"), plenty)
	k.Keep(attempt(one, 1, "x"))
	k.write()
	for path, want := range map[string]os.FileMode{k.dir: 0o700, k.files()[0]: 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
	}
}

// Beyond the limit of bytes the oldest goes, and the newest stays.
func TestTheOldestGoes(t *testing.T) {
	limits := logs.Limits{Bytes: 64 << 10, Attempt: 4 << 10}
	k := keep(t, filepath.Join(t.TempDir(), "logs"), limits)
	for n := 1; n <= 200; n++ {
		k.Keep(attempt(one, n, fmt.Sprintf("%d %s", n, strings.Repeat("x", 1000))))
		k.write()
	}
	var size int64
	for _, name := range k.files() {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	got, _ := k.texts(logs.Query{})
	if size > limits.Bytes || size < limits.Bytes*3/4 {
		t.Errorf("%d bytes are kept, the limit is %d", size, limits.Bytes)
	}
	if n := len(got); n < 40 || !strings.HasPrefix(got[n-1], "200 ") || strings.HasPrefix(got[0], "1 ") {
		t.Errorf("%d are kept, from %.4s to %.4s", n, got[0], got[n-1])
	}
	for i := 1; i < len(got); i++ {
		var a, b int
		_, _ = fmt.Sscan(got[i-1], &a)
		_, _ = fmt.Sscan(got[i], &b)
		if b != a+1 {
			t.Fatalf("after %d comes %d", a, b)
		}
	}
	limits.Bytes = 0
	k.SetLimits(limits)
	k.write()
	if len(k.files()) != 0 || k.Limit() != 0 {
		t.Errorf("with a limit of 0: %q", k.files())
	}
}

// What is older than the age goes, also if nothing is written any more.
func TestWhatIsTooOldGoes(t *testing.T) {
	limits := plenty
	limits.Age = 8 * time.Hour
	k := keep(t, filepath.Join(t.TempDir(), "logs"), limits)
	k.Keep(attempt(one, 1, "old"))
	k.write()
	k.by.ahead.Store(int64(2 * time.Hour))
	k.Keep(attempt(one, 2, "newer"))
	k.write()
	if len(k.files()) != 2 {
		t.Fatalf("an eighth of the age later no file was begun: %q", k.files())
	}
	late := k.by.Goroutines.Now().Add(2 * time.Hour)
	if err := os.Chtimes(k.files()[1], late, late); err != nil {
		t.Fatal(err)
	}
	k.by.ahead.Store(int64(9 * time.Hour))
	k.write()
	k.want(logs.Query{}, "newer")
	k.by.ahead.Store(int64(11 * time.Hour))
	k.write()
	k.want(logs.Query{})
}

// Where room on the disk is low what is kept is removed, and nothing more is written; afterwards it is.
func TestALowDiskDropsThemFirst(t *testing.T) {
	k := keep(t, filepath.Join(t.TempDir(), "logs"), plenty)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Run(ctx)
	}()
	until := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !is(); {
			if time.Now().After(deadline) {
				t.Fatalf("no %s: %q", what, k.files())
			}
			k.by.Pass()
		}
	}
	k.Keep(attempt(one, 1, "before"))
	until("file", func() bool { return len(k.files()) == 1 })
	k.low.Store(true)
	k.SpaceChanged()
	until("room", func() bool { return len(k.files()) == 0 })
	k.Keep(attempt(one, 2, "meanwhile"))
	until("drop", func() bool { return k.Dropped() == 1 })
	k.low.Store(false)
	k.Keep(attempt(one, 3, "after"))
	until("file", func() bool { return len(k.files()) == 1 })
	cancel()
	<-done
	k.write()
	k.want(logs.Query{}, "after")
}

// A directory that cannot be written costs what was to be written, is said once, and work goes on.
func TestWhatCannotBeWrittenIsDropped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	l := logs.New(logs.Options{Dir: dir, Limits: plenty, Scheduler: task.Goroutines{}, Log: zerolog.New(&said)})
	k := &kept{Logs: l, t: t, dir: dir}
	for n := 1; n <= 3; n++ {
		k.Keep(attempt(one, n, "x"))
		k.write()
	}
	if k.Dropped() != 3 || strings.Count(said.String(), "not kept for fmqm logs") != 1 {
		t.Errorf("dropped %d, said %s", k.Dropped(), &said)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	k.Keep(attempt(one, 4, "fourth"))
	k.write()
	k.want(logs.Query{}, "fourth")
}

// Nobody waits for the disk: what is too much for what waits is dropped.
func TestWhatWaitsIsBounded(t *testing.T) {
	k := keep(t, filepath.Join(t.TempDir(), "logs"), logs.Limits{Bytes: 64 << 20, Attempt: 1 << 20})
	for n := 1; n <= 8; n++ {
		k.Keep(attempt(one, n, strings.Repeat("x", 1<<20)))
	}
	if k.Dropped() != 5 {
		t.Errorf("%d were dropped, want 5", k.Dropped())
	}
	k.write()
	k.Keep(attempt(one, 9, "ninth"))
	k.write()
	if got, _ := k.texts(logs.Query{Limit: 1, Bytes: 1 << 20}); !slices.Equal(got, []string{"ninth"}) {
		t.Errorf("then %d texts", len(got))
	}
}

// A line that a kill has cut, and what is no line of these, cost themselves only.
func TestACutLineCostsItself(t *testing.T) {
	k := keep(t, filepath.Join(t.TempDir(), "logs"), plenty)
	k.Keep(attempt(one, 1, "first"))
	k.Keep(attempt(one, 2, "second"))
	k.write()
	name := k.files()[0]
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text[:len(text)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, stray := range []string{"note.txt", "x.jsonl"} {
		if err := os.WriteFile(filepath.Join(k.dir, stray), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again := keep(t, k.dir, plenty)
	again.Keep(attempt(one, 3, "third"))
	again.write()
	again.want(logs.Query{}, "first", "third")
}

// What is kept of one instance can be taken out; the others' stays, with its age.
func TestRemove(t *testing.T) {
	k := keep(t, filepath.Join(t.TempDir(), "logs"), plenty)
	for n := 1; n <= 3; n++ {
		k.Keep(attempt(one, n, "secret name"))
		k.Keep(attempt(other, n, `{"instance":"`+one.String()+`"`))
		k.write()
	}
	k.Keep(attempt(one, 4, "secret name, which waits"))
	if err := k.Remove(one); err != nil {
		t.Fatal(err)
	}
	k.want(logs.Query{})
	if got, _ := k.texts(logs.Query{Instance: other}); len(got) != 3 {
		t.Errorf("of the other instance: %q", got)
	}
	for _, name := range k.files() {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "secret name") {
			t.Errorf("%s still has it", name)
		}
	}
	k.Keep(attempt(other, 4, "goes on"))
	k.write()
	if err := k.Remove(other); err != nil || len(k.files()) != 0 {
		t.Errorf("all taken out: %v, %q", err, k.files())
	}
}

// Without a directory nothing is kept, and what runs is found.
func TestWithoutADirectory(t *testing.T) {
	k := keep(t, "", plenty)
	k.Keep(attempt(one, 1, "x"))
	k.Run(context.Background())
	k.write()
	runs := attempt(one, 2, "runs")
	runs.Ended = time.Time{}
	if got, _ := k.texts(logs.Query{}, runs); !slices.Equal(got, []string{"runs"}) || k.Limit() != 0 {
		t.Errorf("found %q", got)
	}
	if err := k.Remove(one); err != nil {
		t.Error(err)
	}
}
