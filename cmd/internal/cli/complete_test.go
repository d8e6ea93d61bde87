package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/cli"
	"fmqm/internal/skip"
)

// With PROG_TEST_RUN in the environment the test binary is prog: the shells' tests
// complete its lines.
func TestMain(m *testing.M) {
	if os.Getenv("PROG_TEST_RUN") != "" {
		os.Exit(cli.Main(completing(), os.Args, cli.OS()))
	}
	os.Exit(m.Run())
}

// completing is a program with everything that can be completed.
func completing() *ucli.App {
	none := func(*ucli.Context) error { return nil }
	return &ucli.App{
		Name: "prog", Usage: "is a program", Description: "It does.",
		Commands: []*ucli.Command{
			{
				Name: "start", Usage: "start a thing", ArgsUsage: "PROCESS[@VERSION]", Action: none,
				Flags: []ucli.Flag{cli.ToFlag(), cli.OutputFlag(), &ucli.BoolFlag{Name: "wait", Usage: "wait"}, &ucli.StringFlag{Name: "input", Usage: "take `JSON`, or the content of @FILE"}},
			},
			{Name: "status", Usage: "show it", ArgsUsage: "INSTANCE", Flags: []ucli.Flag{cli.ToFlag()}, Action: none},
			{Name: "retry", Usage: "once more", ArgsUsage: "INSTANCE ACTIVITY", Flags: []ucli.Flag{cli.ToFlag()}, Action: none},
			{Name: "check", Usage: "check files", ArgsUsage: "FILE...", Flags: []ucli.Flag{&ucli.StringFlag{Name: "config", Usage: "read `FILE`"}}, Action: none},
			{Name: "group", Usage: "has commands", Subcommands: []*ucli.Command{{Name: "inside", Usage: "is in it", Action: none}}},
			{Name: "both", Usage: "does, and has commands", Flags: []ucli.Flag{cli.OutputFlag()}, Action: none, Subcommands: []*ucli.Command{{Name: "below", Usage: "is below it", Action: none}}},
			{Name: "secret", Hidden: true, Usage: "not shown", Action: none},
			cli.CompletionCommand("prog"),
			cli.ManCommand("prog"),
		},
	}
}

const instance1, instance2 = "0197c0de-0000-7000-8000-000000000001", "0197c0de-0000-7000-8000-000000000002"

// knowing is a node with two processes and two instances.
func knowing(t *testing.T) string {
	i1, _ := api.ParseInstance(instance1)
	i2, _ := api.ParseInstance(instance2)
	return apitest.Serve(t, &apitest.Backend{
		OnDefinitions: func(context.Context) (api.DefinitionsAnswer, error) {
			return api.DefinitionsAnswer{Definitions: []api.Definition{{Process: "order", Version: 1}, {Process: "order", Version: 2}, {Process: "report", Version: 1}}}, nil
		},
		OnList: func(_ context.Context, r api.ListRequest) (api.ListAnswer, error) {
			a := api.ListAnswer{Instances: []api.Instance{{Instance: i1, Process: "order@1", State: api.InstanceRunning}}}
			if r.All {
				a.Instances = append(a.Instances, api.Instance{Instance: i2, Process: "order@1", State: api.InstanceFinished})
			}
			return a, nil
		},
		OnStatus: func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error) {
			return api.Status{Output: json.RawMessage(`{}`), Activities: []api.Activity{{Activity: "good", State: api.ActivityTerminated}, {Activity: "credit", Node: "B", State: api.ActivityInError, Reason: "rc\t3\nx"}}}, nil
		},
	})
}

// What is offered at each place of a line.
func TestComplete(t *testing.T) {
	to := knowing(t)
	for _, tc := range []struct {
		words []string
		want  string // words, and what they are after a bar
	}{
		{[]string{""}, "start|start a thing status|show it retry|once more check|check files group|has commands both|does, and has commands completion|print the completion of a shell man|print the manual page help|explain a command"},
		{nil, "start|start a thing status|show it retry|once more check|check files group|has commands both|does, and has commands completion|print the completion of a shell man|print the manual page help|explain a command"},
		{[]string{"sta"}, "start|start a thing status|show it"},
		{[]string{"help", "gr"}, "group|has commands"},
		{[]string{"group", ""}, "inside|is in it help|explain a command"},
		{[]string{"both", ""}, "below|is below it help|explain a command"},
		{[]string{"both", "-o", "js"}, "json| jsonl|"},
		{[]string{"both", "below", ""}, ""},
		{[]string{"nonsense", ""}, ""},
		{[]string{"start", "--w"}, "--wait|wait"},
		{[]string{"start", "--format", "js"}, "json| jsonl|"},
		{[]string{"start", "-o", ""}, "table| wide| json| jsonl|"},
		{[]string{"start", "--format=t"}, "--format=table|"},
		{[]string{"start", "-ojs"}, "-ojson| -ojsonl|"},
		{[]string{"--to", "unix:/absent", "sta"}, "start|start a thing status|show it"},
		{[]string{"-ojson", "--to", "unix:/absent", "status", ""}, ""},
		{[]string{"start", "--input", ""}, ""},
		{[]string{"start", "--wait", "or"}, "order@1|0 activities order@2|0 activities"},
		{[]string{"start", "order@"}, "order@1|0 activities order@2|0 activities"},
		{[]string{"start", "order@1", ""}, ""},
		{[]string{"status", ""}, instance1 + "|order@1, running " + instance2 + "|order@1, finished"},
		{[]string{"status", "--to", "unix:/absent", ""}, ""},
		{[]string{"status", "--to=unix:/absent", ""}, ""},
		{[]string{"retry", ""}, instance1 + "|order@1, running"},
		{[]string{"retry", instance1, ""}, "credit|B: rc 3 x"},
		{[]string{"retry", "nonsense", ""}, ""},
		{[]string{"check", "--", "-"}, ":files"},
		{[]string{"check", "a", "b", ""}, ":files"},
		{[]string{"check", "--config", ""}, ":files"},
		{[]string{"completion", "z"}, "zsh|"},
	} {
		var out, err bytes.Buffer
		code := cli.Main(completing(), append([]string{"prog", "__complete"}, tc.words...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err, Env: func(name string) string {
			if name == "FMQM_TO" {
				return to
			}
			return ""
		}})
		got := strings.ReplaceAll(strings.ReplaceAll(strings.TrimRight(out.String(), "\n"), "\n", " "), "\t", "|")
		if code != 0 || got != tc.want || err.Len() > 0 {
			t.Errorf("%q: exit %d %s\n got %s\nwant %s", tc.words, code, err.String(), got, tc.want)
		}
	}
}

// shell has prog on its PATH, and its completion in a file.
func shell(t *testing.T, name string) (path, script string, env []string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		skip.Untested(t, "completion in %[1]s: it is not installed here (apt-get install %[1]s)", name)
	}
	dir := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "prog")); err != nil {
		t.Fatal(err)
	}
	code, text, talk := run(t, completing(), "completion", name)
	if code != 0 {
		t.Fatal(talk)
	}
	script = filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env = append(os.Environ(), "PROG_TEST_RUN=1", "GORACE=atexit_sleep_ms=0", "PATH="+dir+":"+os.Getenv("PATH"), "FMQM_TO="+knowing(t), "HOME="+dir)
	if out, err := exec.Command(path, "-n", script).CombinedOutput(); err != nil {
		t.Fatalf("%s -n: %v: %s", name, err, out)
	}
	return path, script, env
}

func inShell(t *testing.T, env []string, path string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, path, args...)
	c.Env = env
	c.Dir = t.TempDir()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// bash completes lines, also where it breaks words: behind = and @.
func TestCompletionOfBash(t *testing.T) {
	path, script, env := shell(t, "bash")
	for _, tc := range []struct{ line, words, want string }{
		{"prog sta", "prog sta", "start status"},
		{"prog start --format js", "prog start --format js", "json jsonl"},
		{"prog start --format=js", "prog start --format = js", "json jsonl"},
		{"prog start ord", "prog start ord", "order@1 order@2"},
		{"prog start order@", "prog start order @", "1 2"},
		{"prog start order@2", "prog start order @ 2", "2"},
		{"prog start ", "prog start ''", "order@1 order@2 report@1"},
		{"prog nonsense ", "prog nonsense ''", ""},
	} {
		command := fmt.Sprintf(`. %q; COMP_LINE=%q; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _prog_complete prog; echo "${COMPREPLY[@]}"`, script, tc.line, tc.words)
		if got := inShell(t, env, path, "--norc", "-c", command); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.line, got, tc.want)
		}
	}
	if got := inShell(t, env, path, "--norc", "-c", fmt.Sprintf(". %q; complete -p prog", script)); got != "complete -F _prog_complete prog" {
		t.Errorf("it is not registered: %s", got)
	}
}

// fish completes lines, with what the candidates are.
func TestCompletionOfFish(t *testing.T) {
	path, script, env := shell(t, "fish")
	for line, want := range map[string]string{
		"prog sta":         "start\tstart a thing\nstatus\tshow it",
		"prog start -o js": "json\njsonl",
		"prog retry ":      instance1 + "\torder@1, running",
	} {
		if got := inShell(t, env, path, "--no-config", "-c", fmt.Sprintf("source %q; complete -C %q", script, line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// zsh takes the script, as a file of its functions' directory or by source.
func TestCompletionOfZsh(t *testing.T) {
	path, script, env := shell(t, "zsh")
	const call = `autoload -Uz compinit; compinit -u -D; source %q
		_describe() { print -rl -- "${candidates[@]}" }
		words=(prog retry ''); CURRENT=3
		_prog; print -r -- ${_comps[prog]}`
	want := instance1 + ":order@1, running\n_prog"
	if got := inShell(t, env, path, "-f", "-c", fmt.Sprintf(call, script)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Another shell is refused with those that there are.
func TestCompletionOfAnotherShell(t *testing.T) {
	code, _, talk := run(t, completing(), "completion", "ksh")
	if code != cli.ExitUsage || talk != "prog: ksh: no completion for this shell: there are bash, zsh, fish\n" {
		t.Errorf("exit %d, %q", code, talk)
	}
}
