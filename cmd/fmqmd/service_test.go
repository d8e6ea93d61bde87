package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/api/apitest"
)

// service is a daemon that runs as a process of its own.
type service struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	log    chan string // its lines
	client *api.Client
}

// startService starts fmqmd on a configuration, in which %s is a directory for it.
func startService(t *testing.T, conf string, env ...string) *service {
	t.Helper()
	s := &service{t: t, dir: t.TempDir(), log: make(chan string, 10_000)}
	s.configure(conf)
	s.cmd = exec.Command(os.Args[0], "run", "--config", filepath.Join(s.dir, "fmqmd.yaml"), "--log-format", "json")
	s.cmd.Env = append(os.Environ(), append(env, "FMQMD_TEST_RUN=1")...)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(s.log)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			select {
			case s.log <- lines.Text():
			default: // nobody waits for so many lines
			}
		}
	}()
	if s.client, err = api.NewClient("unix:"+filepath.Join(s.dir, "s"), time.Minute); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.client.Close()
		_ = s.cmd.Process.Kill()
		<-read
		_ = s.cmd.Wait()
	})
	return s
}

// configure writes the configuration, for the start or before a SIGHUP.
func (s *service) configure(conf string) {
	s.t.Helper()
	text := strings.ReplaceAll(conf, "%s", s.dir)
	if err := os.WriteFile(filepath.Join(s.dir, "fmqmd.yaml"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// said waits until the daemon logs something.
func (s *service) said(what string) string {
	s.t.Helper()
	timeout := time.After(5 * time.Minute)
	var all []string
	for {
		select {
		case line, ok := <-s.log:
			if !ok {
				s.t.Fatalf("it ended without saying %q; it said:\n%s", what, strings.Join(all, "\n"))
			}
			if all = append(all, line); strings.Contains(line, what) {
				return line
			}
		case <-timeout:
			s.t.Fatalf("it does not say %q; it said:\n%s", what, strings.Join(all, "\n"))
		}
	}
}

func (s *service) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// metric gives a sample of /metrics as it stands there, such as `name{a="b"} 1`.
func (s *service) metric(name string) string {
	s.t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(s.dir, "s"))
	}}
	resp, err := (&http.Client{Transport: transport}).Get("http://fmqmd/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, name) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

func (s *service) upload(text string) {
	s.t.Helper()
	if _, err := s.client.Upload(s.t.Context(), apitest.Upload(s.t, text)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *service) start(process, input string) (api.InstanceID, error) {
	s.t.Helper()
	id, err := api.NewInstance()
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = s.client.Start(s.t.Context(), api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(input)})
	return id, err
}

const plain = "node: A\ndata: '%s/data'\nlisten: 127.0.0.1:0\ninsecure: true\nsocket: '%s/s'\n"

// systemd is told when the listeners are up, that the daemon lives, what it does at a
// SIGHUP, and that it stops (sd_notify(3)).
func TestSystemdIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	told := func(what string) string {
		t.Helper()
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				t.Fatalf("nobody said %s: %v", what, err)
			}
			if text := string(buf[:n]); strings.HasPrefix(text, what) {
				return text
			}
		}
	}
	s := startService(t, plain+"links: {peers: {B: {}}}\n", "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=300000")
	told("READY=1\n")
	if _, err := s.client.Nodes(t.Context()); err != nil {
		t.Errorf("READY=1, and the socket does not answer: %v", err)
	}
	if text := told("WATCHDOG=1\n"); !strings.Contains(text, "STATUS=degraded: link B: waiting") {
		t.Errorf("it said %q", text)
	}
	s.signal(syscall.SIGHUP)
	if text := told("RELOADING=1"); !regexp.MustCompile(`\nMONOTONIC_USEC=[1-9][0-9]+$`).MatchString(text) {
		t.Errorf("it said %q", text)
	}
	told("READY=1\n")
	s.configure("nonsense: 1\n")
	s.signal(syscall.SIGHUP)
	told("RELOADING=1")
	if text := told("READY=1\n"); !strings.Contains(text, "not taken up") {
		t.Errorf("it said %q", text)
	}
	told("WATCHDOG=1\n")
	s.signal(syscall.SIGTERM)
	told("STOPPING=1\n")
	s.said("node stopped")
}

// The watchdog is fed only while the node answers; what is degraded lives.
func TestTheWatchdogIsFedOnlyWhileTheNodeAnswers(t *testing.T) {
	state := func(h api.HealthState) func(context.Context) api.Health {
		return func(context.Context) api.Health {
			out := api.Health{State: api.HealthOK}
			out.Add("committer", h, "two\nlines")
			return out
		}
	}
	for _, tc := range []struct {
		state api.HealthState
		want  string
	}{
		{api.HealthOK, "WATCHDOG=1 STATUS=running"},
		{api.HealthDegraded, "WATCHDOG=1 STATUS=degraded: committer: two lines"},
		{api.HealthFailed, "STATUS=failed: committer: two lines"},
	} {
		var said []string
		m := &manager{say: func(lines ...string) { said = append(said, lines...) }}
		m.beat(t.Context(), time.Second, state(tc.state))
		if got := strings.Join(said, " "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.state, got, tc.want)
		}
	}
}

// SIGHUP takes up programs, peers and limits. A program that runs meanwhile is neither
// interrupted nor started again; what needs a restart is named; a file that is wrong
// changes nothing.
func TestSIGHUPTakesUpTheConfigurationAndLeavesRunningWorkAlone(t *testing.T) {
	const before = plain + `programs:
  slow: {exec: [/bin/sh, -c, "echo ran > %s/ran; read go < %s/go"]}
  later: {builtin: fail}
`
	s := startService(t, before)
	for _, pipe := range []string{"ran", "go"} {
		if err := syscall.Mkfifo(filepath.Join(s.dir, pipe), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.said(`"message":"ready"`)
	s.upload("process: p\nversion: 1\nstructures: {In: {text: string}}\ninput: In\nactivities:\n  a: {node: A, program: slow, input: In}\n  b: {node: A, program: fresh, input: In}\ncontrol: [a -> b]\ndata: [source -> a, source -> b]\n")
	id, err := s.start("p", `{"text": "`+strings.Repeat("x", 4000)+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(s.dir, "ran")); err != nil || string(text) != "ran\n" {
		t.Fatalf("%q, %v", text, err)
	}

	s.configure(strings.Replace(before, "later: {builtin: fail}", "fresh: {builtin: noop}", 1) +
		"links: {peers: {B: {}}}\nlimits: {container: 1KiB}\nstore: badger\nlisten: 127.0.0.1:1\n")
	s.signal(syscall.SIGHUP)
	s.said("configuration not taken up") // listen is there twice
	if got := s.metric(`fmqm_config_last_reload_successful`); got != "fmqm_config_last_reload_successful 0" {
		t.Error(got)
	}
	if names := nodeNames(t, s); names != "A" {
		t.Errorf("a configuration that is wrong was taken up: nodes %s", names)
	}

	s.configure(strings.NewReplacer("later: {builtin: fail}", "fresh: {builtin: noop}", "127.0.0.1:0", "127.0.0.1:1").Replace(before) +
		"links: {peers: {B: {}}}\nlimits: {container: 1KiB}\n")
	s.signal(syscall.SIGHUP)
	if line := s.said("needs a restart"); !strings.Contains(line, `"key":"listen"`) {
		t.Error(line)
	}
	s.said("configuration taken up")
	if names := nodeNames(t, s); names != "A B" {
		t.Errorf("nodes %s", names)
	}
	if _, err := s.start("p", `{"text": "`+strings.Repeat("x", 4000)+`"}`); api.CodeOf(err) != api.CodeRefused && api.CodeOf(err) != api.CodeUsage {
		t.Errorf("a container over the new limit: %v", err)
	}
	if got := s.metric("fmqm_activities_running"); got != `fmqm_activities_running{process="p@1"} 1` {
		t.Errorf("what ran does not run any more: %s", got)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "go"), []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := s.client.Wait(t.Context(), id, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if st.State != api.InstanceFinished {
		t.Errorf("%+v", st)
	}
	if got := s.metric("fmqm_activity_attempts_total"); got != `fmqm_activity_attempts_total{process="p@1"} 2` {
		t.Errorf("a program ran more than once: %s", got)
	}
	if got := s.metric(`fmqm_config_reloads_total{result="taken_up"}`); got != `fmqm_config_reloads_total{result="taken_up"} 1` {
		t.Error(got)
	}
}

func nodeNames(t *testing.T, s *service) string {
	t.Helper()
	a, err := s.client.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range a.Nodes {
		names = append(names, n.Node)
	}
	return fmt.Sprint(strings.Join(names, " "))
}
