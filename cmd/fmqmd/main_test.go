package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/cli/clitest"
	"fmqm/internal/rabbittest"
)

// With FMQMD_TEST_RUN in the environment the test binary is fmqmd: tests of signals and
// of service managers start it as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("FMQMD_TEST_RUN") != "" {
		main()
	}
	goleak.VerifyTestMain(rabbittest.Main(m))
}

// fmqmd runs the command and gives its exit code and what it printed.
func fmqmd(args ...string) (exit int, out, talk string) {
	var stdout, stderr bytes.Buffer
	exit = Main(append([]string{"fmqmd"}, args...), cli.Streams{
		In: strings.NewReader(""), Out: &stdout, Err: &stderr, Env: func(string) string { return "" },
	})
	return exit, stdout.String(), stderr.String()
}

// The demo shows an order over four sites, one of which dies in the middle, and a count at
// three sites, one of which stays away, and an invoice for people of two sites: into a pipe as plain lines, in the order in which
// a newcomer would tell it.
func TestDemoShowsWhatSurvivesAPowerCut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	exit, out, talk := fmqmd("demo", "--keep", dir)
	if exit != 0 {
		t.Fatalf("exit %d: %s\n%s", exit, talk, out)
	}
	rest := out
	for _, want := range []string{
		"D  has its table of the process purchase-order",
		"D  has its table of the process stock-count",
		"A  the order is started",
		"A  receive -> credit at B: TRUE + data",
		"B  killed",
		"ship at C: waiting for connectors from credit, because B is unreachable",
		"B  started again",
		"B  credit: exit condition FALSE (_RC 1), once more",
		"D  reject is skipped: a dead path",
		"C  ship -> sink at A: TRUE + data",
		"A  the order has ended",
		"The order is finished.",
		"credit   at B  terminated, 2 iterations",
		"A  the count is started",
		"A  count[1] -> count[1] at C: begin",
		"C  killed",
		"has come back", // of B or D
		"has come back",
		"count[1] at A: its work was begun at C, and that is unreachable",
		"A  count[1]: its deadline has come",
		"A  count has run: all its elements have ended",
		"A  close is skipped: a dead path",
		"A  the count has ended",
		"C  started again",
		"C  count[1] ", // is cancelled, or has run once more before it hears of that
		"The count is finished.",
		"count    at A  terminated, 3 elements, 1 without an answer",
		`{"counts":[{"counted":12},{"counted":0},{"counted":7}],"errors":["","deadline",""],"late":true}`,
		"A  the invoice is started",
		"B  approve is offered to the people here",
		"C  approve is offered to the people here",
		"B  bob is told: claim approve: bob@B may not have it; ann may",
		"B  carla@C has it",
		"B  ann is told: claim approve: carla@C has claimed it",
		"B  carla@C has completed it",
		"The invoice is finished.",
		`{"approved":true,"by":"carla@C"}`,
		"What to type next",
	} {
		at := strings.Index(rest, want)
		if at < 0 {
			t.Fatalf("after what came before, %q is missing:\n%s", want, out)
		}
		rest = rest[at+len(want):]
	}
	if strings.Contains(out, "\x1b") {
		t.Error("colours in a pipe")
	}
	if _, err := os.Stat(filepath.Join(dir, "site-a.yaml")); err != nil {
		t.Errorf("--keep did not keep: %v", err)
	}
}

// Every help has examples that parse, and what is wrong on the line is exit 2.
func TestCommandLine(t *testing.T) {
	for _, missing := range cli.CheckHelp(app()) {
		t.Error(missing)
	}
	clitest.Pages(t, "../..", func(page string) ([]string, int) { return cli.CheckPage(app(), page) })
	clitest.Commands(t, "../..", app())
	if text := clitest.ManText(t, cli.ManPage(app())); !strings.Contains(text, "--log-level LEVEL") || !strings.Contains(text, "FMQM_LISTEN") || !strings.Contains(text, "FMQM_STORE") {
		t.Errorf("the manual page lacks a flag or a variable:\n%s", text)
	}
	for _, tc := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"frobnicate"}, 2, "no command"},
		{[]string{"run", "--nonsense"}, 2, "nonsense"},
		{[]string{"run", "--log-level", "loud"}, 2, "write debug, info, warn or error"},
		{[]string{"run", "--log-format", "xml"}, 2, "write json, console or auto"},
		{[]string{"run", "--config", "/nonexistent.yaml"}, 1, "write one"},
		{[]string{"check-config"}, 2, "FILE is missing"},
	} {
		exit, out, talk := fmqmd(tc.args...)
		if exit != tc.exit || !strings.Contains(talk, tc.want) || out != "" {
			t.Errorf("fmqmd %s: exit %d, want %d and %q; it said %q and printed %q", strings.Join(tc.args, " "), exit, tc.exit, tc.want, talk, out)
		}
	}
}

func TestCheckConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("node: A\nprograms:\n  p: {builtin: echo}\n")
	for _, format := range []string{"table", "wide"} {
		if exit, out, talk := fmqmd("check-config", file, "-o", format); exit != 0 || !strings.Contains(out, "node A") || !strings.Contains(out, "0 peers, 1 program, audit") {
			t.Errorf("%s: exit %d: %s%s", format, exit, out, talk)
		}
	}
	write("node: A\nlisten: 0.0.0.0:7411\ninsecure: true\n")
	if exit, _, talk := fmqmd("check-config", file); exit != 0 || !strings.Contains(talk, "anybody who can reach") {
		t.Errorf("exit %d: %s", exit, talk)
	}
	write("node: A\ndata: " + file + "/data\n")
	if exit, _, talk := fmqmd("check-config", file); exit != 0 || !strings.Contains(talk, "warning: "+file+":2:1: data: ") {
		t.Errorf("exit %d: %s", exit, talk)
	}
	write("nodes: A\nstore: pebble\nlinks: {amqp: amqp://broker}\n")
	exit, _, talk := fmqmd("check-config", file)
	for _, want := range []string{":1:1:", "this node has no name", "not in this version"} {
		if exit != 1 || !strings.Contains(talk, want) {
			t.Errorf("exit %d, %q missing: %s", exit, want, talk)
		}
	}
}

// check-config --connect tries the links of a configuration, and its exit code says
// whether they work.
func TestCheckConfigConnect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("node: A\nlinks: {peers: {B: 'http://127.0.0.1:1', C: {}}}\n")
	exit, out, talk := fmqmd("check-config", file, "--connect")
	if exit != 1 || !strings.Contains(talk, "1 of 2 checks failed") || !strings.HasPrefix(out, "LINK  ROUTE   CHECK       RESULT  FOUND\n"+
		"B     direct  connection  failed  dial 127.0.0.1:1: nothing listens there") || !strings.Contains(out, "C     direct  connection  later   no address is configured: site C will call") {
		t.Errorf("exit %d: %s\n%s", exit, out, talk)
	}
	exit, out, _ = fmqmd("check-config", "--connect", "-o", "jsonl", file)
	if first, _, _ := strings.Cut(out, "\n"); exit != 1 || !strings.HasPrefix(first, `{"link":"B","route":"direct","check":"connection","result":"failed","text":"dial 127.0.0.1:1: `) {
		t.Errorf("exit %d: %s", exit, out)
	}
	write("node: A\nlinks: {peers: {C: {}}}\n")
	if exit, out, talk := fmqmd("check-config", file, "--connect"); exit != 0 {
		t.Errorf("exit %d: %s%s", exit, out, talk)
	}
	write("node: A\n")
	if exit, out, talk := fmqmd("check-config", "--connect", file, "-o", "json"); exit != 0 || out != "[]\n" || !strings.Contains(talk, "there are no links to try") {
		t.Errorf("exit %d: %s%s", exit, out, talk)
	}
}

// check-config -o json prints what it found, errors and warnings, with their places:
// among them programs that are not there.
func TestCheckConfigAsJSON(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "node.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text+"data: data\nsocket: sock\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type finding struct {
		File, Severity, Message, Remedy string
		Line, Column                    int
	}
	check := func(want int, more ...string) []finding {
		t.Helper()
		exit, out, talk := fmqmd(append([]string{"check-config", file, "-o", "json"}, more...)...)
		var found []finding
		if err := json.Unmarshal([]byte(out), &found); err != nil || exit != want || talk != "" {
			t.Fatalf("exit %d, %v: %s%s", exit, err, out, talk)
		}
		return found
	}
	write("node: A\nnonsense: 1\nstore: pebble\n")
	want := []finding{
		{file, "error", `unknown key "nonsense"`, "remove it or correct it; the file has accept, audit, data, definers, events, identity, insecure, limits, links, listen, logs, network, node, old_signatures, operators, programs, remote_operators, retired, rights, schedules, socket, staff, store", 2, 1},
		{file, "error", "the store pebble is not in this version", "write `store: badger`, or leave it out", 3, 8},
	}
	for _, more := range [][]string{nil, {"--connect"}} { // without a configuration there are no links to try
		if d := cmp.Diff(want, check(1, more...)); d != "" {
			t.Errorf("%v (-want +got):\n%s", more, d)
		}
	}
	write("node: A\nprograms:\n  gone: {exec: [/no/such/program]}\n  there: {exec: ['true'], secrets: {T: none}}\n  who: {exec: ['true'], user: nobody-at-all}\n")
	want = []finding{
		{file, "warning", "program gone: /no/such/program cannot be executed: no such file or directory", "install it, or correct `exec`", 3, 3},
		{file, "warning", "program there: the secret T: cannot read " + dir + "/none: no such file or directory", "write one line into the file, and let the daemon's user read it", 4, 3},
		{file, "warning", "program who: there is no user nobody-at-all on this machine", "make it (useradd --system nobody-at-all), or correct `user`", 5, 3},
	}
	got := check(0)
	if os.Getuid() != 0 { // who is root does not see what programs of the daemon's user can reach
		got = got[1:]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	exit, out, talk := fmqmd("check-config", file)
	for _, line := range want {
		if exit != 0 || !strings.Contains(out, "3 programs") || !strings.Contains(talk, fmt.Sprintf("warning: %s:%d:%d: %s: %s\n", line.File, line.Line, line.Column, line.Message, line.Remedy)) {
			t.Errorf("exit %d: %s%s", exit, out, talk)
		}
	}
	write("node: A\n")
	if got := check(0); len(got) > 0 {
		t.Errorf("found %v", got)
	}
}
