package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ucli "github.com/urfave/cli/v2"

	"fmqm/api"
	"fmqm/cmd/internal/cli"
	"fmqm/internal/skip"
)

// app is a program that prints what it was asked for.
func app() *ucli.App {
	show := func(c *ucli.Context) error {
		fmt.Fprintf(cli.From(c).Out, "%s to=%q n=%d wait=%v args=%q", c.Command.Name, c.String("to"), c.Int("n"), c.Bool("wait"), c.Args().Slice())
		return nil
	}
	return &ucli.App{
		Name: "prog", Usage: "is a program",
		Commands: []*ucli.Command{
			{
				Name: "start", Aliases: []string{"s"}, Usage: "start a thing", ArgsUsage: "THING", Description: "Starts it.",
				UsageText: "prog start x --wait\n prog start -n 5 x",
				Flags: []ucli.Flag{
					&ucli.StringFlag{Name: "to", Usage: "the `ADDR` to ask"},
					&ucli.IntFlag{Name: "n", Usage: "how many"},
					&ucli.BoolFlag{Name: "wait", Aliases: []string{"w"}, Usage: "wait for it"},
				},
				Action: show,
			},
			{Name: "put", Usage: "put files", ArgsUsage: "PLACE [FILE...]", Action: show},
			{Name: "get", Usage: "get", ArgsUsage: "PLACE [FILE]", Flags: []ucli.Flag{&ucli.StringFlag{Name: "to", Required: true}}, Action: show},
			{Name: "all", Usage: "needs files", ArgsUsage: "FILE...", Action: show},
			{Name: "hide", Hidden: true, Action: show},
			{Name: "group", Usage: "has commands", Subcommands: []*ucli.Command{{Name: "in", Usage: "is inside", Action: show}}},
		},
	}
}

// run gives exit code, standard output and standard error of a command line.
func run(t *testing.T, app *ucli.App, args ...string) (int, string, string) {
	t.Helper()
	var out, err bytes.Buffer
	code := cli.Main(app, append([]string{"prog"}, args...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err, Env: func(string) string { return "" }})
	return code, out.String(), err.String()
}

func TestFlagsMayStandAnywhere(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"start x", `start to="" n=0 wait=false args=["x"]`},
		{"start --to a -n 5 --wait x", `start to="a" n=5 wait=true args=["x"]`},
		{"start x --to a -n 5 --wait", `start to="a" n=5 wait=true args=["x"]`},
		{"start --wait x -n=5 -to=a", `start to="a" n=5 wait=true args=["x"]`},
		{"s x -w", `start to="" n=0 wait=true args=["x"]`},
		{"start x --wait=false", `start to="" n=0 wait=false args=["x"]`},
		{"start --to -x y", `start to="-x" n=0 wait=false args=["y"]`},
		{"start -n -5 -", `start to="" n=-5 wait=false args=["-"]`},
		{"start --wait -- --to", `start to="" n=0 wait=true args=["--to"]`},
		{"put here a b c", `put to="" n=0 wait=false args=["here" "a" "b" "c"]`},
		{"put here", `put to="" n=0 wait=false args=["here"]`},
		{"get here --to a", `get to="a" n=0 wait=false args=["here"]`},
		{"get --to a here f", `get to="a" n=0 wait=false args=["here" "f"]`},
		{"group in", `in to="" n=0 wait=false args=[]`},
		{"--to a start x", `start to="a" n=0 wait=false args=["x"]`},
		{"-n 5 --wait --to=a start x", `start to="a" n=5 wait=true args=["x"]`},
		{"--to a get here", `get to="a" n=0 wait=false args=["here"]`},
		{"start x -n5", `start to="" n=5 wait=false args=["x"]`},
		{"start x -n-5", `start to="" n=-5 wait=false args=["x"]`},
		{"-n7 start x", `start to="" n=7 wait=false args=["x"]`},
	} {
		if code, out, err := run(t, app(), strings.Fields(tc.line)...); code != 0 || out != tc.want || err != "" {
			t.Errorf("%s: exit %d, %s%s\nwant %s", tc.line, code, out, err, tc.want)
		}
	}
}

// What cannot be understood is exit 2, with a hint, and does nothing.
func TestLinesThatAreNotUnderstood(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"stat x", `prog: prog has no command "stat": did you mean start?`},
		{"xyzzy", `prog: prog has no command "xyzzy": there are start, s, put, get, all, group`},
		{"group out", `prog: prog group has no command "out": there are in`},
		{"--too x start", "prog: prog has no flag --too before its command: write the command first, then its flags; see prog --help"},
		{"--to x put here", "prog: prog put has no flag --to: see prog put --help; what begins with - and is an argument goes after --"},
		{"--to x", "prog: prog has no flag --to before its command: write the command first, then its flags; see prog --help"},
		{"--wait", "prog: prog has no flag --wait before its command: write the command first, then its flags; see prog --help"},
		{"start x -w5", "prog: prog start has no flag -w5: did you mean -w?"},
		{"strat x", `prog: prog has no command "strat": did you mean start?`},
		{"start x --wiat", "prog: prog start has no flag --wiat: did you mean --wait?"},
		{"start x --xyzzy=5", "prog: prog start has no flag --xyzzy: see prog start --help; what begins with - and is an argument goes after --"},
		{"start x -q", "prog: prog start has no flag -q: see prog start --help; what begins with - and is an argument goes after --"},
		{"start x --to", "prog: --to needs a value: see prog start --help"},
		{"start", "prog: THING is missing: see prog start --help"},
		{"start x y", `prog: "y" is one argument too many: see prog start --help`},
		{"get x", "prog: --to is missing: see prog get --help"},
		{"get a b c --to x", `prog: "c" is one argument too many: see prog get --help`},
		{"all", "prog: FILE is missing: see prog all --help"},
		{"start x -n five", `prog: -n "five": write a whole number: see prog start --help`},
		{"start x --wait=maybe", `prog: --wait "maybe": write it without a value: see prog start --help`},
		{"group in x", `prog: "x" is one argument too many: see prog group in --help`},
		{"help nothing", `prog: prog has no command "nothing": there are start, s, put, get, all, group`},
	} {
		code, out, err := run(t, app(), strings.Fields(tc.line)...)
		if code != cli.ExitUsage || out != "" || err != tc.want+"\n" {
			t.Errorf("%s: exit %d, %s%s\nwant %s", tc.line, code, out, err, tc.want)
		}
		if cli.CheckLine(app(), strings.Fields(tc.line)) == nil && !strings.Contains(tc.want, `": write `) {
			t.Errorf("%s: CheckLine does not see it", tc.line)
		}
	}
}

func TestWithoutACommandTheCommandsAreShown(t *testing.T) {
	code, out, err := run(t, app())
	if code != cli.ExitUsage || out != "" || !strings.Contains(err, "  start THING ") {
		t.Errorf("exit %d\n%s%s", code, out, err)
	}
	if code, _, err = run(t, app(), "group"); code != cli.ExitUsage || !strings.Contains(err, "Usage: prog group COMMAND") {
		t.Errorf("exit %d\n%s", code, err)
	}
}

// A command may do something by itself and have others below it: its flags are its own.
func TestACommandWithOthersBelowIt(t *testing.T) {
	both := func() *ucli.App {
		a := app()
		a.Commands = []*ucli.Command{{
			Name: "things", Usage: "show things", Action: a.Commands[0].Action, Flags: a.Commands[0].Flags,
			Subcommands: []*ucli.Command{{Name: "mend", Usage: "mend one", ArgsUsage: "THING", Action: a.Commands[0].Action, Flags: a.Commands[0].Flags}},
		}}
		return a
	}
	for _, tc := range []struct {
		line, out, err string
		code           int
	}{
		{"things", `things to="" n=0 wait=false args=[]`, "", 0},
		{"things --to x --wait", `things to="x" n=0 wait=true args=[]`, "", 0},
		{"things mend x --to y", `mend to="y" n=0 wait=false args=["x"]`, "", 0},
		{"things mend", "", "prog: THING is missing: see prog things mend --help\n", cli.ExitUsage},
		{"things bend x", "", "prog: prog things has no command \"bend\": did you mean mend?\n", cli.ExitUsage},
		{"things --to", "", "prog: --to needs a value: see prog things --help\n", cli.ExitUsage},
	} {
		if code, out, err := run(t, both(), strings.Fields(tc.line)...); code != tc.code || out != tc.out || err != tc.err {
			t.Errorf("%s: exit %d, %s%s\nwant exit %d, %s%s", tc.line, code, out, err, tc.code, tc.out, tc.err)
		}
	}
	counted := func() *ucli.App {
		a := both()
		a.Commands[0].ArgsUsage = "[THING]"
		return a
	}
	for _, tc := range []struct{ line, out, err string }{
		{"things bend", `things to="" n=0 wait=false args=["bend"]`, ""},
		{"things bend --to x", `things to="x" n=0 wait=false args=["bend"]`, ""},
		{"things --to x bend", `things to="x" n=0 wait=false args=["bend"]`, ""},
		{"things mend x", `mend to="" n=0 wait=false args=["x"]`, ""},
		{"things bend x", "", "prog: \"x\" is one argument too many: see prog things --help\n"},
	} {
		if _, out, err := run(t, counted(), strings.Fields(tc.line)...); out != tc.out || err != tc.err {
			t.Errorf("%s: %s%s\nwant %s%s", tc.line, out, err, tc.out, tc.err)
		}
	}
	if _, help, _ := run(t, counted(), "things", "--help"); !strings.Contains(help, "Usage: prog things [flags] [THING]\n       prog things COMMAND\n") {
		t.Errorf("the help of a command with arguments and others below it:\n%s", help)
	}
	_, help, _ := run(t, both(), "things", "--help")
	for _, part := range []string{"Usage: prog things [flags]\n       prog things COMMAND\n", "\nCommands:\n  mend THING ", "\nFlags:\n  --to ADDR "} {
		if !strings.Contains(help, part) {
			t.Errorf("help has no %q:\n%s", part, help)
		}
	}
	if _, man, _ := run(t, both(), "things", "mend", "--help"); strings.Contains(man, "COMMAND") {
		t.Errorf("help of the one below:\n%s", man)
	}
}

func TestHelp(t *testing.T) {
	const want = `prog start - start a thing

Usage: prog start [flags] THING

Starts it.

Flags:
  --to ADDR   the ADDR to ask
  -n VALUE    how many
  --wait, -w  wait for it
  --help, -h  show this

Examples:
  prog start x --wait
  prog start -n 5 x
`
	for _, line := range []string{"start --help", "start -h", "help start", "start x --help", "start --help --wait"} {
		if code, out, err := run(t, app(), strings.Fields(line)...); code != 0 || out != want || err != "" {
			t.Errorf("%s: exit %d, %s (-want +got):\n%s", line, code, err, cmp.Diff(want, out))
		}
	}
	for _, line := range []string{"--help", "-h", "help"} {
		code, out, err := run(t, app(), strings.Fields(line)...)
		if code != 0 || err != "" || !strings.HasPrefix(out, "prog - is a program\n\nUsage: prog COMMAND\n\nCommands:\n  start THING ") || strings.Contains(out, "hide") {
			t.Errorf("%s: exit %d\n%s%s", line, code, out, err)
		}
	}
}

// What a page has people type is checked as it stands; what names a command in passing may
// lack its arguments.
func TestCheckPage(t *testing.T) {
	page := "Type `fmqm start`, `fmqm nonsense`, or `fmqm start --nothing`; `fmqm link proof 1` is no command.\n\n" +
		"    $ FMQM_TO=x fmqm start order --nothing 2>log &   # this is wrong\n    fmqm start ...\n    cat fmqm start --nothing\n\n```sh\nfmqm help; fmqm x\n```\n"
	a := app()
	a.Name = "fmqm"
	wrong, checked := cli.CheckPage(a, page)
	if checked != 5 || len(wrong) != 3 || !strings.HasPrefix(wrong[0], `"fmqm nonsense": `) ||
		!strings.HasPrefix(wrong[1], `"fmqm start --nothing": `) || !strings.HasPrefix(wrong[2], `"$ FMQM_TO=x fmqm start order --nothing`) {
		t.Errorf("%d checked: %s", checked, strings.Join(wrong, "\n"))
	}
}

func TestCheckHelpSeesWhatIsMissing(t *testing.T) {
	do := func(*ucli.Context) error { return nil }
	a := &ucli.App{Name: "prog", Usage: "u", Description: "d", UsageText: "prog good 'a b'", Commands: []*ucli.Command{
		{Name: "good", Usage: "u", Description: "d", ArgsUsage: "X", UsageText: "echo x | prog good --n '1 2' \"$(date | cat)\" > file", Flags: []ucli.Flag{&ucli.StringFlag{Name: "n"}}, Action: do},
		{Name: "bare", Action: do},
		{Name: "other", Usage: "u", Description: "d", UsageText: "prog good x\nls", Action: do},
		{Name: "wrong", Usage: "u", Description: "d", UsageText: "prog wrong --x", Action: do},
	}}
	want := []string{
		"prog bare: no usage or no description",
		"prog bare: no example",
		`prog other: example "ls" does not call prog`,
		"prog other: no example",
		`prog wrong: example "prog wrong --x": prog wrong has no flag --x: see prog wrong --help; what begins with - and is an argument goes after --`,
	}
	if d := cmp.Diff(want, cli.CheckHelp(a)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestVersion(t *testing.T) {
	if code, out, _ := run(t, app(), "--version"); code != 0 || !strings.HasPrefix(out, "prog ") {
		t.Errorf("exit %d, %q", code, out)
	}
}

func TestAProgramWithoutCommands(t *testing.T) {
	a := &ucli.App{Name: "prog", ArgsUsage: "FILE", Flags: []ucli.Flag{&ucli.BoolFlag{Name: "x"}}, Action: func(c *ucli.Context) error {
		fmt.Fprint(cli.From(c).Out, c.Args().Slice(), c.Bool("x"))
		return nil
	}}
	if code, out, err := run(t, a, "f", "--x"); code != 0 || out != "[f] true" {
		t.Errorf("exit %d, %s%s", code, out, err)
	}
}

func TestExitCodes(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{cli.Failedf("x"), 1},
		{cli.Usagef("x"), 2},
		{fmt.Errorf("y: %w", api.Errorf(api.CodeUsage, "", "x")), 2},
		{api.Errorf(api.CodeFailed, "", "x"), 1},
		{api.Errorf(api.CodeNotFound, "", "x"), 3},
		{api.Errorf(api.CodeRefused, "", "x"), 4},
		{api.Errorf(api.CodeUnreachable, "", "x"), 5},
		{context.DeadlineExceeded, 5},
		{&cli.Error{Exit: 4, Text: "x"}, 4},
	} {
		a := &ucli.App{Name: "prog", Action: func(*ucli.Context) error { return tc.err }}
		if code, _, _ := run(t, a); code != tc.want {
			t.Errorf("%v: exit %d, want %d", tc.err, code, tc.want)
		}
	}
}

func TestAnErrorCannotSteerTheTerminal(t *testing.T) {
	a := &ucli.App{Name: "prog", Action: func(*ucli.Context) error { return errors.New("x\x1b[2Jy\x07\u202ez\u200b") }}
	if _, _, err := run(t, a); err != `prog: x\x1b[2Jy\x07\u202ez\u200b`+"\n" {
		t.Errorf("%q", err)
	}
}

func TestAnInterruptedCommandSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	a := &ucli.App{Name: "prog", Action: func(c *ucli.Context) error {
		cancel()
		<-c.Context.Done()
		return api.Errorf(api.CodeUnreachable, "", "whatever")
	}}
	var err bytes.Buffer
	code := cli.Run(ctx, a, []string{"prog"}, cli.Streams{Out: io.Discard, Err: &err, Env: os.Getenv})
	if code != cli.ExitFailed || err.String() != "prog: interrupted\n" {
		t.Errorf("exit %d, %q", code, err.String())
	}
}

type thing struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

// printed gives what a command prints that prints things in a format.
func printed(t *testing.T, format string, live bool, things ...thing) string {
	t.Helper()
	a := &ucli.App{Name: "prog", Flags: []ucli.Flag{cli.OutputFlag()}, Action: func(c *ucli.Context) error {
		p, err := cli.NewPrinter(c)
		if err != nil {
			return err
		}
		l := p.List(live, "NAME", "STATE")
		for _, x := range things {
			if err := l.Row(x, x.Name, x.State); err != nil {
				return err
			}
		}
		return l.End()
	}}
	code, out, err := run(t, a, "-o", format)
	if code != 0 {
		t.Fatal(err)
	}
	return out
}

func TestLists(t *testing.T) {
	two := []thing{{"a<b", "running"}, {"länger als zehn", "x\ny\x1b\u202e"}}
	for _, tc := range []struct {
		format string
		live   bool
		things []thing
		want   string
	}{
		{"table", false, two, "NAME             STATE\na<b              running\nlänger als zehn  x y\\x1b\\u202e\n"},
		{"table", true, two, "NAME        STATE\na<b         running\nlänger als zehn  x y\\x1b\\u202e\n"},
		{"table", false, nil, ""},
		{"table", true, nil, ""},
		{"json", false, two, "[\n  {\n    \"name\": \"a<b\",\n    \"state\": \"running\"\n  },\n  {\n    \"name\": \"länger als zehn\",\n    \"state\": \"x\\ny\\u001b\\u202e\"\n  }\n]\n"},
		{"json", true, nil, "[]\n"},
		{"jsonl", true, two, "{\"name\":\"a<b\",\"state\":\"running\"}\n{\"name\":\"länger als zehn\",\"state\":\"x\\ny\\u001b\\u202e\"}\n"},
		{"jsonl", false, nil, ""},
	} {
		if d := cmp.Diff(tc.want, printed(t, tc.format, tc.live, tc.things...)); d != "" {
			t.Errorf("%s, live %v (-want +got):\n%s", tc.format, tc.live, d)
		}
	}
}

func TestObjects(t *testing.T) {
	for format, want := range map[string]string{
		"table": "for people\n",
		"json":  "{\n  \"name\": \"a\",\n  \"state\": \"<\"\n}\n",
		"jsonl": "{\"name\":\"a\",\"state\":\"<\"}\n",
	} {
		a := &ucli.App{Name: "prog", Flags: []ucli.Flag{cli.OutputFlag()}, Action: func(c *ucli.Context) error {
			p, err := cli.NewPrinter(c)
			if err != nil {
				return err
			}
			return p.Object(thing{"a", "<"}, func(w io.Writer) error {
				_, err := io.WriteString(w, "for people\n")
				return err
			})
		}}
		if _, out, _ := run(t, a, "--format="+format); out != want {
			t.Errorf("%s: %q, want %q", format, out, want)
		}
	}
}

func TestAnUnknownFormatIsAUsageError(t *testing.T) {
	a := &ucli.App{Name: "prog", Flags: []ucli.Flag{cli.OutputFlag()}, Action: func(c *ucli.Context) error {
		_, err := cli.NewPrinter(c)
		return err
	}}
	code, _, err := run(t, a, "-o", "xml")
	if want := "prog: -o xml: no such format: write table, wide, json or jsonl\n"; code != cli.ExitUsage || err != want {
		t.Errorf("exit %d, %q, want %q", code, err, want)
	}
}

func TestWhereANodeIsAsked(t *testing.T) {
	for _, tc := range []struct {
		line []string
		to   string // FMQM_TO
		code int
		want string
	}{
		{nil, "unix:/absent/of-env", 5, "there is no socket unix:/absent/of-env"},
		{[]string{"--to", "unix:/absent/of-flag"}, "unix:/absent/of-env", 5, "there is no socket unix:/absent/of-flag"},
		{[]string{"--to", "b:7411"}, "", 2, `--to: "b:7411" is not the address of a node: write http://HOST:PORT`},
		{nil, "nonsense", 2, `FMQM_TO: "nonsense" is not the address of a node`},
		{[]string{"--timeout", "0s"}, "", 2, "--timeout 0s: write more than 0"},
		{[]string{"--timeout", "5"}, "", 2, `--timeout "5": write a number with its unit, such as 30s or 5m`},
	} {
		a := &ucli.App{Name: "prog", Flags: []ucli.Flag{cli.ToFlag(), cli.TimeoutFlag()}, Action: func(c *ucli.Context) error {
			client, err := cli.NewClient(c)
			if err != nil {
				return err
			}
			defer client.Close()
			_, err = client.Nodes(c.Context)
			return err
		}}
		var out, err bytes.Buffer
		env := map[string]string{"FMQM_TO": tc.to, "FMQM_NODE": "ignored"}
		code := cli.Main(a, append([]string{"prog"}, tc.line...), cli.Streams{Out: &out, Err: &err, Env: func(k string) string { return env[k] }})
		if code != tc.code || !strings.Contains(err.String(), tc.want) {
			t.Errorf("%v, FMQM_TO=%s: exit %d, %q\nwant %d, %q", tc.line, tc.to, code, err.String(), tc.code, tc.want)
		}
	}
}

func TestNoColourButOnATerminal(t *testing.T) {
	term := func(k string) string { return map[string]string{"TERM": "xterm"}[k] }
	if s := cli.NewStyle(&bytes.Buffer{}, term).Bad("x"); s != "x" {
		t.Errorf("%q", s)
	}
	pipe, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer w.Close()
	if cli.IsTerminal(w) {
		t.Error("a pipe is no terminal")
	}
}

func TestColourOnATerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		skip.Untested(t, "colour on a terminal: no pseudo terminal: %v", err)
	}
	defer terminal.Close()
	for _, tc := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"TERM": "xterm"}, "\x1b[31mx\x1b[0m"},
		{map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, "x"},
		{map[string]string{"TERM": "dumb"}, "x"},
		{nil, "x"},
	} {
		if s := cli.NewStyle(terminal, func(k string) string { return tc.env[k] }).Bad("x"); s != tc.want {
			t.Errorf("%v: %q, want %q", tc.env, s, tc.want)
		}
	}
}

func TestTimesForPeople(t *testing.T) {
	if got := cli.Time(time.Time{}); got != "-" {
		t.Errorf("no time is %q", got)
	}
	if got := cli.Time(time.Date(2025, 6, 1, 12, 0, 0, 5, time.Local)); got != "2025-06-01 12:00:00" {
		t.Errorf("%q", got)
	}
}
