package client_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/cli"
)

func TestStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "order.json")
	if err := os.WriteFile(file, []byte("{\"from\": \"file\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked api.StartRequest
	to := apitest.Serve(t, &apitest.Backend{OnStart: func(_ context.Context, r api.StartRequest) (api.Status, error) {
		asked = r
		return fullStatus(), nil
	}})
	for _, tc := range []struct {
		line           []string
		process, input string
	}{
		{[]string{"start", "p"}, "p", ""},
		{[]string{"start", "p@2"}, "p@2", ""},
		{[]string{"start", "p", "--input", `{"a": 1}`}, "p", `{"a":1}`},
		{[]string{"start", "--input", `{"a": 1}`, "p"}, "p", `{"a":1}`},
		{[]string{"start", "p", "--input=@" + file}, "p", `{"from":"file"}`},
		{[]string{"start", "p", "--input", "-"}, "p", `{"from":"stdin"}`},
	} {
		want(t, strings.Join(tc.line, " "), fmqm(to, ` {"from": "stdin"} `, tc.line...), result{0, fullTable, ""})
		if asked.Process != tc.process || string(asked.Input) != tc.input || asked.Instance.Version() != 7 {
			t.Errorf("%v: asked for %+v", tc.line, asked)
		}
	}
	first := asked.Instance
	fmqm(to, "", "start", "p")
	if asked.Instance == first {
		t.Error("two starts, one instance")
	}
	want(t, "as jsonl", fmqm(to, "", "start", "p", "-o", "jsonl"), result{0, fullJSONL, ""})
}

// N2: --key K is the same instance again and again; each of -n has its own.
func TestStartWithAKey(t *testing.T) {
	var mu sync.Mutex
	seen := map[api.InstanceID]int{}
	to := apitest.Serve(t, &apitest.Backend{OnStart: func(_ context.Context, r api.StartRequest) (api.Status, error) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Instance]++
		if r.Key == "" || r.Instance != api.KeyedInstance("p", r.Key) {
			t.Errorf("instance %s with the key %q, of which it is not made", r.Instance, r.Key)
		}
		return api.Status{Instance: r.Instance, Key: r.Key}, nil
	}})
	for _, line := range []string{"start p --key K", "start --key=K p@2", "start p --key L -n 3", "start p --key L -n 3"} {
		if r := fmqm(to, "", strings.Fields(line)...); r.code != 0 {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if n := seen[api.KeyedInstance("p", "K")]; n != 2 || len(seen) != 4 {
		t.Errorf("key K was started %d times, there are %d instances", n, len(seen))
	}
	for i, n := range seen {
		if n != 2 {
			t.Errorf("%s was asked for %d times", i, n)
		}
	}
	if r := fmqm(to, "", "start", "p", "--key", "K"); !strings.Contains(r.out, "\nkey          K\n") {
		t.Errorf("the status has no key: %+v", r)
	}
	if r := fmqm(to, "", "start", "p", "--key", strings.Repeat("k", 1100)); r.code != 2 || !strings.Contains(r.err, "--key has over 1016 bytes: use something short, such as a date or an order number") {
		t.Errorf("%+v", r)
	}
}

func TestStartMany(t *testing.T) {
	var n atomic.Int32
	to := apitest.Serve(t, &apitest.Backend{OnStart: func(_ context.Context, r api.StartRequest) (api.Status, error) {
		n.Add(1)
		return api.Status{Instance: r.Instance, Process: r.Process + "@1", State: api.InstanceRunning}, nil
	}})
	r := fmqm(to, "", "start", "p", "-n", "200", "-o", "jsonl")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	seen := map[api.InstanceID]bool{}
	for _, l := range lines {
		var st api.Status
		if err := json.Unmarshal([]byte(l), &st); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		seen[st.Instance] = true
	}
	if r.code != 0 || r.err != "" || len(lines) != 200 || len(seen) != 200 || n.Load() != 200 {
		t.Errorf("exit %d, %s; %d lines, %d instances, %d requests", r.code, r.err, len(lines), len(seen), n.Load())
	}
	table := fmqm(to, "", "start", "p", "-n", "2")
	if rows := strings.Split(strings.TrimSpace(table.out), "\n"); len(rows) != 3 || !strings.HasPrefix(rows[0], "INSTANCE ") || !strings.HasSuffix(rows[2], "  p@1         running") {
		t.Errorf("table\n%s", table.out)
	}
	long := fmqm(to, "", "start", "purchase-order", "-n", "1").out // the head stands above it
	if at := strings.Index(long, "STATE"); at < 0 || !strings.Contains(long, "\n") || at != strings.Index(strings.SplitAfter(long, "\n")[1], "running") {
		t.Errorf("table of a long name\n%s", long)
	}
	one := fmqm(to, "", "start", "p", "-n", "1", "-o", "json")
	var array []api.Status
	if err := json.Unmarshal([]byte(one.out), &array); err != nil || len(array) != 1 {
		t.Errorf("json of -n is no array: %s", one.out)
	}
}

func TestStartManyStopsAtTheFirstThatCannotBeStarted(t *testing.T) {
	var n atomic.Int32
	to := apitest.Serve(t, &apitest.Backend{OnStart: func(_ context.Context, r api.StartRequest) (api.Status, error) {
		if n.Add(1) > 5 {
			return api.Status{}, api.Errorf(api.CodeRefused, "free some", "the disk is full")
		}
		return api.Status{Instance: r.Instance}, nil
	}})
	r := fmqm(to, "", "start", "p", "-n", "1000", "-o", "jsonl")
	if want := "fmqm: 5 of 1000 started: the disk is full: free some\n"; r.code != cli.ExitRefused || r.err != want || strings.Count(r.out, "\n") != 5 {
		t.Errorf("%+v", r)
	}
	if n.Load() > 200 {
		t.Errorf("%d were asked for after the first was refused", n.Load())
	}
}

// An order is never doubled: after a time-out the same instance is asked for again.
func TestStartIsRepeatedWithTheSameIdentifier(t *testing.T) {
	var mu sync.Mutex
	var asked []api.InstanceID
	backend := api.Handler(&apitest.Backend{OnStart: func(ctx context.Context, r api.StartRequest) (api.Status, error) {
		mu.Lock()
		asked = append(asked, r.Instance)
		n := len(asked)
		mu.Unlock()
		switch n {
		case 1:
			<-ctx.Done() // never answers
			return api.Status{}, ctx.Err()
		case 2:
			panic(http.ErrAbortHandler) // breaks
		}
		return api.Status{Instance: r.Instance, Process: "p@1", State: api.InstanceRunning}, nil
	}})
	to := apitest.ServeHandler(t, backend)
	r := fmqm(to, "", "start", "p", "--timeout", "1s", "-o", "jsonl")
	mu.Lock()
	defer mu.Unlock()
	// On a machine that stalls an answer may come too late, and is asked for once more.
	if r.code != 0 || len(asked) < 3 || len(slices.Compact(asked)) != 1 || !strings.Contains(r.out, asked[0].String()) {
		t.Errorf("asked for %v: %+v", asked, r)
	}
	if !strings.Contains(r.err, "no answer from "+to+" within 1s") || strings.Count(r.err, "asking again for the same instance") != 1 {
		t.Errorf("said %s", r.err)
	}
}

// within runs a command that has to come to its time-out, and again with a longer one
// where it was too short for a machine that stalls to send a request at all.
func within(t *testing.T, timeout time.Duration, run func(timeout string) (result, bool)) {
	t.Helper()
	for {
		r, ok := run(timeout.String())
		if ok {
			return
		}
		if timeout *= 8; timeout > time.Minute {
			t.Fatalf("%+v", r)
		}
	}
}

func TestStartThatIsNeverAnsweredSaysThatItMayHaveHappened(t *testing.T) {
	to := apitest.ServeHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	i := api.KeyedInstance("p", "K").String()
	within(t, 10*time.Millisecond, func(timeout string) (result, bool) {
		r := fmqm(to, "", "start", "p", "--key", "K", "--timeout", timeout)
		return r, r.code == cli.ExitUnreachable && strings.HasSuffix(r.err, "instance "+i+" may have started: see fmqm status "+i+"\n")
	})
}

func TestStartWait(t *testing.T) {
	ended := fullStatus()
	ended.State, ended.InError, ended.Unreachable, ended.Ended = api.InstanceFinished, 0, nil, at.Add(time.Minute)
	ended.Output, ended.Activities = json.RawMessage(`{"tracking":"1"}`), nil
	inError, terminated := fullStatus(), fullStatus()
	inError.State, inError.Reason = api.InstanceInError, "credit at B is in error"
	terminated.State, terminated.Activities = api.InstanceTerminated, nil
	late := terminated
	late.Reason = "terminated by its deadline"
	for _, tc := range []struct {
		name string
		last api.Status
		code int
		out  string // of the table, the beginning
		err  string
	}{
		{"finished", ended, 0, "instance     " + id + "\nprocess      purchase-order@1\nstate        finished\nstarted      2025-06-01 12:00:00\nended        2025-06-01 12:01:00\noutput       {\"tracking\":\"1\"}\n", ""},
		{
			"in error", inError, 1, "instance     " + id + "\nprocess      purchase-order@1\nstate        in-error, activities in error: 1\n",
			"fmqm: instance " + id + " is in error: credit at B is in error\n  credit at B: return code 3\n  remove the cause, then: fmqm retry " + id + " credit\n",
		},
		{"terminated", terminated, 1, "instance     " + id, "fmqm: instance " + id + " was terminated by an operator\n"},
		{"at its deadline", late, 1, "instance     " + id, "fmqm: instance " + id + " was terminated by its deadline\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var waits atomic.Int64
			to := apitest.Serve(t, &apitest.Backend{
				OnStart: func(context.Context, api.StartRequest) (api.Status, error) { return fullStatus(), nil },
				OnWait: func(context.Context, api.InstanceID) (api.Status, error) {
					if waits.Add(1) == 1 {
						return fullStatus(), nil // still running
					}
					return tc.last, nil
				},
			})
			r := fmqm(to, "", "start", "p", "--wait")
			if r.code != tc.code || !strings.HasPrefix(r.out, tc.out) || r.err != tc.err || waits.Load() != 2 {
				t.Errorf("after %d waits: exit %d\n%s%s\nwant %d\n%s%s", waits.Load(), r.code, r.out, r.err, tc.code, tc.out, tc.err)
			}
			if many := fmqm(to, "", "start", "p", "-n", "2", "--wait", "-o", "jsonl"); many.code != tc.code || many.err != tc.err || strings.Count(many.out, "\n") != 2 {
				t.Errorf("with -n: %+v", many)
			}
		})
	}
}

func TestStartWaitBearsANodeThatIsAwayForAWhile(t *testing.T) {
	var waits atomic.Int32 // each request has a connection and a task of its own
	ended := fullStatus()
	ended.State = api.InstanceFinished
	to := apitest.Serve(t, &apitest.Backend{
		OnStart: func(context.Context, api.StartRequest) (api.Status, error) { return fullStatus(), nil },
		OnWait: func(context.Context, api.InstanceID) (api.Status, error) {
			if waits.Add(1) < 3 {
				panic(http.ErrAbortHandler)
			}
			return ended, nil
		},
	})
	if r := fmqm(to, "", "start", "p", "--wait"); r.code != 0 || waits.Load() != 3 {
		t.Errorf("after %d waits: %+v", waits.Load(), r)
	}
	gone := apitest.Serve(t, &apitest.Backend{
		OnStart: func(context.Context, api.StartRequest) (api.Status, error) { return fullStatus(), nil },
		OnWait:  func(context.Context, api.InstanceID) (api.Status, error) { panic(http.ErrAbortHandler) },
	})
	within(t, 100*time.Millisecond, func(timeout string) (result, bool) {
		r := fmqm(gone, "", "start", "p", "--wait", "--timeout", timeout)
		return r, r.code == cli.ExitUnreachable && strings.Contains(r.err, "\nfmqm: instance "+id+": the connection to "+gone+" broke")
	})
}

// With a key and a count over 1 each instance has a key of its own, and none is the instance of the
// key alone. Identifiers are remembered for ever, so this stays; help says it.
func TestStartOfManyWithAKey(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	to := apitest.Serve(t, &apitest.Backend{OnStart: func(_ context.Context, r api.StartRequest) (api.Status, error) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, r.Key)
		if r.Instance != api.KeyedInstance("p", r.Key) {
			t.Errorf("the instance of %s is %s", r.Key, r.Instance)
		}
		return api.Status{Instance: r.Instance}, nil
	}})
	for count, want := range map[string][]string{"1": {"K"}, "2": {"K#1", "K#2"}, "3": {"K#1", "K#2", "K#3"}} {
		keys = nil
		if r := fmqm(to, "", "start", "p", "--key", "K", "-n", count); r.code != 0 || !slices.Equal(sorted(keys), want) {
			t.Errorf("-n %s: keys %q, want %q; %+v", count, keys, want, r)
		}
	}
	if r := fmqm(to, "", "start", "--help"); !strings.Contains(r.out, "KEY#1, KEY#2") || !strings.Contains(r.out, "None of them is the instance of KEY alone") {
		t.Errorf("help does not say it:\n%s", r.out)
	}
}

// status INSTANCE
