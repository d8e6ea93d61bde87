package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
)

func client(t *testing.T, to string, timeout time.Duration) *api.Client {
	t.Helper()
	c, err := api.NewClient(to, timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// What a client asks for is what the backend is asked, and its answer is what comes back.
func TestEveryRequestThereAndBack(t *testing.T) {
	i, ctx := instance(t), context.Background()
	st := api.Status{Instance: i, Process: "p@1", State: api.InstanceRunning, Activities: []api.Activity{}, Unreachable: []api.Unreachable{{Node: "B"}}}
	start := api.StartRequest{Instance: i, Process: "p@1", Input: json.RawMessage(`{"a":"<"}`)}
	list := api.ListRequest{All: true, After: i, Limit: 3}
	filtered := api.ListRequest{
		Everywhere: true, State: api.InstanceInError, Process: "p@2", InError: true,
		Since: time.Date(2025, 6, 1, 12, 0, 0, 7, time.UTC), Next: "there", Limit: 3, Search: []string{"claim_id=C-17, &=", "due<2026-07-01"},
	}
	history := api.HistoryAnswer{Events: []api.HistoryEvent{{Clock: 3, Event: api.EventEnded}}, Unreachable: []api.Unreachable{}}
	why := api.WhyAnswer{Instance: i, Waits: []api.Wait{{Activity: "a", For: "b"}}, Unreachable: []api.Unreachable{}}
	dead := api.RefusedAnswer{Messages: []api.Refused{{Number: 5, From: "B", Instance: i, Reason: "r"}, {Number: 3, From: "B", Reason: "r"}}, More: true}
	word := api.Word{Instance: i, Activity: "a", Word: "retry", ID: uuid.Must(uuid.NewV7()), Result: api.WordQueued, Reason: "r", Node: "B"}
	nodes := api.NodesAnswer{Nodes: []api.Node{{Node: "A", State: api.NodeSelf}}}
	definitions := api.DefinitionsAnswer{Definitions: []api.Definition{{Process: "p", Version: 1, Starts: []string{"A"}, Activities: []api.Place{{Activity: "a", Node: "A"}}}}}
	table := []byte("table")
	sum := sha256.Sum256(table)
	upload := api.UploadRequest{Tables: []api.Table{{Node: "A", Process: "p@1", SHA256: hex.EncodeToString(sum[:]), Table: table}}, AllowNewNode: true, PlanOnly: true}
	uploaded := api.UploadAnswer{Nodes: []api.UploadNode{{Node: "A", Process: "p@1", Plan: api.PlanAdd}}, Warnings: []string{"w"}}
	var asked []any
	c := client(t, apitest.Serve(t, &apitest.Backend{
		OnStart: func(_ context.Context, r api.StartRequest) (api.Status, error) {
			asked = append(asked, r)
			return st, nil
		},
		OnStatus: func(_ context.Context, i api.InstanceID, _ api.StatusRequest) (api.Status, error) {
			asked = append(asked, i)
			return st, nil
		},
		OnWait: func(_ context.Context, i api.InstanceID) (api.Status, error) {
			asked = append(asked, i)
			return st, nil
		},
		OnList: func(_ context.Context, r api.ListRequest) (api.ListAnswer, error) {
			asked = append(asked, r)
			return api.ListAnswer{Instances: []api.Instance{{Instance: i}}, More: true}, nil
		},
		OnHistory: func(_ context.Context, i api.InstanceID, _ api.HistoryRequest) (api.HistoryAnswer, error) {
			asked = append(asked, i)
			return history, nil
		},
		OnWhy: func(_ context.Context, i api.InstanceID, _ api.WhyRequest) (api.WhyAnswer, error) {
			asked = append(asked, i)
			return why, nil
		},
		OnRetry: func(_ context.Context, i api.InstanceID, r api.RetryRequest) (api.Word, error) {
			asked = append(asked, i, r)
			return word, nil
		},
		OnTerminate: func(_ context.Context, i api.InstanceID, _ api.TerminateRequest) error {
			asked = append(asked, i)
			return nil
		},
		OnDead: func(_ context.Context, r api.RefusedRequest) (api.RefusedAnswer, error) {
			asked = append(asked, r)
			return dead, nil
		},
		OnNodes:       func(context.Context) (api.NodesAnswer, error) { return nodes, nil },
		OnDefinitions: func(context.Context) (api.DefinitionsAnswer, error) { return definitions, nil },
		OnUpload: func(_ context.Context, r api.UploadRequest) (api.UploadAnswer, error) {
			asked = append(asked, r)
			return uploaded, nil
		},
	}), 0)
	var got []any
	keep := func(answer any, err error) {
		if err != nil {
			t.Error(err)
		}
		got = append(got, answer)
	}
	a1, err := c.Start(ctx, start)
	keep(a1, err)
	a2, err := c.Status(ctx, i)
	keep(a2, err)
	a3, err := c.Wait(ctx, i, time.Second)
	keep(a3, err)
	a4, err := c.List(ctx, list)
	keep(a4, err)
	a4, err = c.List(ctx, filtered)
	keep(a4, err)
	a5, err := c.History(ctx, i)
	keep(a5, err)
	a6, err := c.Why(ctx, i, "")
	keep(a6, err)
	retry := api.RetryRequest{Activity: "a", Output: json.RawMessage(`{}`), Reason: "why", Word: word.ID}
	retried, err := c.Retry(ctx, i, retry)
	keep(retried, err)
	keep(nil, c.Terminate(ctx, i, ""))
	a7, err := c.Nodes(ctx)
	keep(a7, err)
	a8, err := c.Definitions(ctx)
	keep(a8, err)
	a9, err := c.Upload(ctx, upload)
	keep(a9, err)
	page := api.RefusedRequest{Before: 9, Limit: 2}
	a10, err := c.Refused(ctx, page)
	keep(a10, err)
	if d := cmp.Diff([]any{start, i, i, list, filtered, i, i, i, retry, i, upload, page}, asked); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
	listed := api.ListAnswer{Instances: []api.Instance{{Instance: i}}, More: true}
	if d := cmp.Diff([]any{st, st, st, listed, listed, history, why, word, nil, nodes, definitions, uploaded, dead}, got); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
}

func TestWatchGivesEventsUntilTheInstanceHasEnded(t *testing.T) {
	c := client(t, apitest.Serve(t, &apitest.Backend{OnWatch: func(_ context.Context, _ api.InstanceID, event func(api.HistoryEvent) error) error {
		for clock := range uint64(3) {
			if err := event(api.HistoryEvent{Clock: clock}); err != nil {
				return err
			}
		}
		return nil
	}}), 0)
	var clocks []uint64
	err := c.Watch(context.Background(), instance(t), func(e api.HistoryEvent) error {
		clocks = append(clocks, e.Clock)
		return nil
	})
	if d := cmp.Diff([]uint64{0, 1, 2}, clocks); err != nil || d != "" {
		t.Errorf("error %v, clocks (-want +got):\n%s", err, d)
	}
}

func TestWatchSkipsHeartbeats(t *testing.T) {
	c := client(t, apitest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "\n\n{\"clock\":1}\n\n")
	})), 0)
	n := 0
	err := c.Watch(context.Background(), instance(t), func(api.HistoryEvent) error { n++; return nil })
	if err != nil || n != 1 {
		t.Errorf("%d events, error %v", n, err)
	}
}

func TestWatchEndsForEveryReason(t *testing.T) {
	event := api.HistoryEvent{Clock: 1}
	stop := errors.New("enough")
	for _, tc := range []struct {
		name   string
		watch  func(context.Context, api.InstanceID, func(api.HistoryEvent) error) error
		reader func(api.HistoryEvent) error
		want   string
	}{
		{
			name: "unknown instance",
			watch: func(context.Context, api.InstanceID, func(api.HistoryEvent) error) error {
				return api.Errorf(api.CodeNotFound, "", "who?")
			},
			want: "who?",
		},
		{
			name: "an error on the way",
			watch: func(_ context.Context, _ api.InstanceID, f func(api.HistoryEvent) error) error {
				return errors.Join(f(event), errors.New("boom"))
			},
			want: "boom: see the log of the node",
		},
		{
			name: "the reader has enough",
			watch: func(ctx context.Context, _ api.InstanceID, f func(api.HistoryEvent) error) error {
				if err := f(event); err != nil {
					return err
				}
				<-ctx.Done()
				return ctx.Err()
			},
			reader: func(api.HistoryEvent) error { return stop },
			want:   "enough",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.reader == nil {
				tc.reader = func(api.HistoryEvent) error { return nil }
			}
			c := client(t, apitest.Serve(t, &apitest.Backend{OnWatch: tc.watch}), 0)
			if err := c.Watch(context.Background(), instance(t), tc.reader); err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestWatchOfANodeThatDiesIsUnreachable(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{\"clock\":1}\n{\"clo")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer s.Close()
	err := client(t, s.URL, 0).Watch(context.Background(), instance(t), func(api.HistoryEvent) error { return nil })
	if api.CodeOf(err) != api.CodeUnreachable || !strings.Contains(err.Error(), "the connection to "+s.URL+" broke") {
		t.Errorf("got %v", err)
	}
}

func TestAddressesOfNodes(t *testing.T) {
	for to, ok := range map[string]bool{
		"http://127.0.0.1:7411": true, "https://a.example.org": true, "http://a/": true, "unix:/run/x.sock": true, "unix:x.sock": true,
		"": false, "unix:": false, "127.0.0.1:7411": false, "ftp://a": false, "http://": false, "http://a/b": false, "http://a?b": false, "http://a b": false,
	} {
		c, err := api.NewClient(to, 0)
		switch {
		case ok && err == nil:
			c.Close()
		case ok:
			t.Errorf("%q: %v", to, err)
		case api.CodeOf(err) != api.CodeUsage || !strings.Contains(err.Error(), "is not the address of a node: write http://HOST:PORT, https://HOST:PORT or unix:/PATH"):
			t.Errorf("%q: %v", to, err)
		}
	}
}

// The way to the node fails: what is said, and whether the request may have arrived.
func TestWhatIsSaidOfANodeThatDoesNotAnswer(t *testing.T) {
	dir := t.TempDir()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	stale := filepath.Join(dir, "stale.sock")
	if l, err := api.ListenSocket(stale); err != nil {
		t.Fatal(err)
	} else {
		l.(interface{ SetUnlinkOnClose(bool) }).SetUnlinkOnClose(false)
		_ = l.Close()
	}
	silent := apitest.ServeHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	aborts := apitest.ServeHandler(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	for _, tc := range []struct {
		name, to, want string
		happened       bool
		timeout        time.Duration // 0: the default
	}{
		{"no socket", "unix:" + dir + "/absent.sock", "no daemon here: there is no socket unix:" + dir + "/absent.sock: start fmqmd, or name another node with --to (or FMQM_TO)", false, 0},
		{"a socket that was left behind", "unix:" + stale, "no daemon listens at unix:" + stale + ": start fmqmd there, or name another node with --to (or FMQM_TO)", false, 0},
		{"no listener", gone.URL, "no daemon listens at " + gone.URL + ": start fmqmd there, or name another node with --to (or FMQM_TO)", false, 0},
		{"no answer", silent, "no answer from " + silent + " within 2s; it may have been done: check that the node runs and try again", true, 2 * time.Second},
		{"broken", aborts, "the connection to " + aborts + " broke: EOF; it may have been done: check that the node runs and try again", true, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := client(t, tc.to, tc.timeout).Start(context.Background(), api.StartRequest{})
			if err == nil || err.Error() != tc.want || api.CodeOf(err) != api.CodeUnreachable {
				t.Errorf("got %v (%s)\nwant %s", err, api.CodeOf(err), tc.want)
			}
			if api.MayHaveHappened(err) != tc.happened {
				t.Errorf("may have happened: %v", !tc.happened)
			}
			if _, err := client(t, tc.to, tc.timeout).Nodes(context.Background()); err == nil || strings.Contains(err.Error(), "may have been done") {
				t.Errorf("of a question: %v", err)
			}
			if _, err := client(t, tc.to, tc.timeout).Upload(context.Background(), api.UploadRequest{PlanOnly: true}); err == nil || strings.Contains(err.Error(), "may have been done") {
				t.Errorf("of a plan: %v", err)
			}
		})
	}
}

// nobody is set for the test's own child process, which gives up root's rights.
const nobody = "FMQM_TEST_AS_NOBODY"

// Root may open every socket: as root the test runs itself again as nobody.
func TestPermissionDeniedOnTheSocket(t *testing.T) {
	if os.Geteuid() == 0 {
		if os.Getenv(nobody) == "" {
			child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
			child.Env = append(os.Environ(), nobody+"=1")
			if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
				t.Errorf("as nobody: %v\n%s", err, out)
			}
			return
		}
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := api.ListenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	_, err = client(t, "unix:"+path, 0).Nodes(context.Background())
	if err == nil || !strings.HasPrefix(err.Error(), "permission denied on unix:"+path+": become a user who may open it") {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerThatIsNoNodes(t *testing.T) {
	for body, status := range map[string]int{"<html>": 200, "": 200, "<error>": 404, `{"error": null}`: 500, `{"instance": 5}`: 200} {
		to := apitest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		_, err := client(t, to, 0).Status(context.Background(), instance(t))
		if api.CodeOf(err) != api.CodeFailed || !strings.Contains(err.Error(), "check that --to (or FMQM_TO) names a node of fmqm") {
			t.Errorf("%q: got %v", body, err)
		}
	}
}

func TestGivingUpIsNotATimeOut(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := client(t, apitest.Serve(t, &apitest.Backend{OnNodes: func(inner context.Context) (api.NodesAnswer, error) {
		cancel()
		<-inner.Done()
		return api.NodesAnswer{}, inner.Err()
	}}), 0)
	_, err := c.Nodes(ctx)
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "given up waiting for unix:") {
		t.Errorf("got %v", err)
	}
}

// N2: one key, one instance; another process or key, another instance.
func TestKeyedInstances(t *testing.T) {
	a := api.KeyedInstance("purchase-order", "2025-06-01")
	if want := "692fc087-b979-8213-b99b-ea009843d11f"; a.String() != want {
		t.Errorf("the identifier made of a key has changed: %s, was %s", a, want)
	}
	if a.Version() != 8 || a.Variant() != uuid.RFC4122 {
		t.Errorf("version %d, variant %v", a.Version(), a.Variant())
	}
	if a == api.KeyedInstance("purchase-order", "2025-06-02") || a == api.KeyedInstance("purchase-orde", "r2025-06-01") {
		t.Error("two keys, one instance")
	}
	n, err := api.NewInstance()
	if err != nil || n.Version() != 7 {
		t.Errorf("version %d, error %v", n.Version(), err)
	}
}

func TestListenSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fmqmd.sock")
	l, err := api.ListenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	wantError := func(path, want string) {
		t.Helper()
		if l, err := api.ListenSocket(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v\nwant %s", l, err, want)
		}
	}
	wantError(path, "another daemon answers on "+path+": stop it, or set `socket` to another path")
	l.(interface{ SetUnlinkOnClose(bool) }).SetUnlinkOnClose(false)
	_ = l.Close()
	if l, err = api.ListenSocket(path); err != nil {
		t.Errorf("a socket that was left behind: %v", err)
	} else {
		_ = l.Close()
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantError(file, "file is there and no socket: move it away")
	wantError(dir+"/none/s.sock", "there is no directory "+dir+"/none: make it")
	wantError(file+"/s.sock", "not a directory")
}
