package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	shared "fmqm/cmd/internal/cli"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/interpret"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "try a whole process here, without nodes",
		ArgsUsage: "FILE...",
		Description: `Runs no program unless --programs is given. An activity gives what --results says. An
activity without results behaves as echo: its output takes the members of its input of
the same name and type. Timers do not wait. The exit code is 0 if the process finishes,
and 1, with the reason, if an activity is in error.

--programs runs the real programs of a node's configuration, with all their effects, but
not for an activity that has results. Name the configuration of each node, or one for
all. What a program writes to standard error is shown with its activity.

FILE of --results is YAML or JSON: a list for each activity with one entry for each
iteration. The last entry repeats:
{credit: [{rc: 1}, {rc: 0, output: {approved: true}}], ship: [{error: no van}]}
In another iteration of a block around the activity its list starts anew;
documents#2/check names that of check from iteration 2 of the block documents on. Of an
activity with for_each count[3] names the list of the fourth element, and count that of all
others; what is inside of a block for each element is line[3]#2/pick.
{timeout: true} says that the deadline of the activity, or of a block, comes first, and
{cancelled: true} that what cancels it does. Without them both come too late.

A receive takes what an activity of the run sends to its node, in the order of the run.
{event: paid, output: {...}} is what it gets from outside. If nothing comes its deadline
does; without one the run ends with 1, saying what it waits for.

A subprocess is run, too, where one of the files has its process; without, it takes results
or behaves as echo. pack/look names look in the instance that pack begins, pack#2/look that
of its second iteration; look alone does, where the process itself has no look. What is in
error in there keeps the subprocess running. Of several processes that one is run which no
other begins, or the one that --process names.

Of a process with blocks the top is shown, each block in one line. --scope shows what is
inside a block, in its last iteration or in that of documents#2, or the elements of one with
for_each; --tree shows all, also what is in the instances of subprocesses.`,
		UsageText: `fmqm-define run purchase-order.yaml --input '{"customer": "acme", "quantity": 1, "amount": 500}'
fmqm-define run purchase-order.yaml --input @order.json --results results.yaml -o json
fmqm-define run purchase-order.yaml --input @order.json --programs /etc/fmqm/fmqmd.yaml
fmqm-define run claim.yaml --results claim-results.yaml --scope documents#2
fmqm-define run order.yaml pack-line.yaml --tree`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "input", Usage: "the process's input as `JSON`, @FILE, or - for standard input (default: all defaults)"},
			&cli.StringFlag{Name: "results", Usage: "take the results of programs from `FILE`"},
			&cli.StringSliceFlag{Name: "programs", Usage: "run the real programs of the node's configuration `CONFIG`; can be repeated"},
			&cli.StringFlag{Name: "process", Usage: "run process `NAME[@VERSION]` of several"},
			&cli.StringFlag{Name: "scope", Usage: "show what is in the scope `PATH`: documents, the block's last iteration, or documents#2; count, the elements of what has for_each"},
			&cli.BoolFlag{Name: "tree", Usage: "show everything, also inside blocks and subprocesses, in each iteration"},
			shared.OutputFlag(),
		},
		Action: run,
	}
}

func run(c *cli.Context) error {
	printer, err := shared.NewPrinter(c)
	if err != nil {
		return err
	}
	files, input, results := c.Args().Slice(), c.String("input"), c.String("results")
	if readsStdin(append(files, input, results)...) > 1 {
		return shared.Usagef("standard input can be read only once: only one of FILE, --input and --results can be -")
	}
	sources, err := loadAll(c, files)
	if err != nil {
		return err
	}
	given := processesOf(sources)
	process, err := chooseToRun(sources, c.String("process"))
	if err != nil {
		return err
	}
	v, err := viewOf(c, process)
	if err != nil {
		return err
	}
	in, err := readInput(c, process)
	if err != nil {
		return err
	}
	play, instance := interpret.Programs(interpret.EchoAll), ""
	if files := c.StringSlice("programs"); len(files) > 0 {
		real, err := openPrograms(c, process, files)
		if err != nil {
			return err
		}
		defer real.close()
		play, instance = real, real.instance
	}
	if results != "" {
		text, err := readInputFile(c, results)
		if err != nil {
			return err
		}
		if play, err = interpret.ParseResultsOver(process, text, play, given...); err != nil {
			return fmt.Errorf("%s: %w", results, err)
		}
	}
	result, err := interpret.Run(process, in, play, interpret.Options{LastIterations: !v.tree && v.scope == "", Processes: given, Instance: instance})
	var barred *interpret.Barred
	if errors.As(err, &barred) {
		return fmt.Errorf("%s: %w", results, barred)
	}
	if err != nil {
		return err
	}
	if err := printResult(printer, result, v); err != nil {
		return err
	}
	if err := interpret.Unused(play); err != nil {
		return fmt.Errorf("%s: %w", results, err)
	}
	if result.State != interpret.Finished {
		return shared.Failedf("%s@%d is %s: %s", process.Name, process.Version, result.State, reasons(result))
	}
	return nil
}

// chooseToRun gives the process that name asks for, or of those of all files the one that no other begins.
func chooseToRun(sources []*source, name string) (*definition.Process, error) {
	all := &source{name: "FILE", processes: processesOf(sources)}
	if len(sources) == 1 {
		all.name = sources[0].name
	}
	if name == "" {
		begun := map[*definition.Process]bool{}
		children := definition.ChildrenOf(all.processes)
		for _, p := range all.processes {
			for _, a := range p.All() {
				if a.Child != nil && children.Of(a) != p {
					begun[children.Of(a)] = true
				}
			}
		}
		first := slices.DeleteFunc(slices.Clone(all.processes), func(p *definition.Process) bool { return begun[p] })
		if len(first) == 1 {
			return first[0], nil
		}
	}
	return choose(all, name)
}

// choose gives the process that name asks for, or the only one.
func choose(s *source, name string) (*definition.Process, error) {
	names := make([]string, len(s.processes))
	var found []*definition.Process
	for i, p := range s.processes {
		names[i] = p.Name + "@" + strconv.Itoa(p.Version)
		if name == "" || name == p.Name || name == names[i] {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, shared.Usagef("%s has several processes: choose one with --process: %s", s.name, strings.Join(names, ", "))
	}
	return nil, &shared.Error{Exit: shared.ExitNotFound, Text: fmt.Sprintf("%s has no process %q: there are %s", s.name, name, strings.Join(names, ", "))}
}

// readInput reads the input container; everything that is wrong with it is told.
func readInput(c *cli.Context, p *definition.Process) (*container.Struct, error) {
	input, err := shared.ReadJSON(c, "input")
	switch {
	case err != nil && c.String("input") == "":
		return nil, err
	case err != nil:
		return nil, shared.Failedf("%v", err)
	case input.Text == nil:
		return container.New(p.Input), nil
	}
	in, err := container.DecodeJSON(p.Input, input.Text)
	if err != nil {
		return nil, input.Explain(c, err)
	}
	return in, nil
}

// view is what of an instance is shown: the top, what is in a scope, or all.
type view struct {
	scope string
	tree  bool
}

// viewOf reads it from the flags. What cannot be there is told before anything runs.
func viewOf(c *cli.Context, p *definition.Process) (view, error) {
	v := view{c.String("scope"), c.Bool("tree")}
	switch {
	case v.scope != "" && v.tree:
		return v, shared.Usagef("--scope shows a part and --tree all: give one of them")
	case v.scope == "" && c.IsSet("scope"):
		return v, shared.Usagef("--scope is empty: name a block, such as documents or documents#2")
	case v.scope != "":
		return v, noScope(interpret.CheckScope(p, v.scope))
	}
	return v, nil
}

func noScope(err error) error {
	if err == nil {
		return nil
	}
	return &shared.Error{Exit: shared.ExitNotFound, Text: fmt.Sprintf("--scope: %v", err)}
}

func (v view) of(r *interpret.Result) ([]*interpret.ActivityResult, error) {
	if v.tree {
		return slices.Collect(r.Family()), nil
	}
	shown, err := r.In(v.scope)
	return shown, noScope(err)
}

// printResult prints what became of the instance, in the shape of a node's status.
func printResult(p *shared.Printer, r *interpret.Result, v view) error {
	shown, err := v.of(r)
	if err != nil {
		return err
	}
	status, err := interpret.StatusJSONOf(r, shown)
	if err != nil {
		return err
	}
	return p.Object(json.RawMessage(status), func(w io.Writer) error {
		if err := printHead(w, p, r, interpret.ScopeOf(shown)); err != nil {
			return err
		}
		rows, err := rowsOf(shown, v)
		if err != nil {
			return err
		}
		return p.WriteTable([]string{"ACTIVITY", "NODE", "STATE", "ITERATIONS", "RC", "OUTPUT"}, rows)
	})
}

func printHead(w io.Writer, p *shared.Printer, r *interpret.Result, scope interpret.Scope) error {
	text := fmt.Sprintf("process  %s@%d\nstate    %s\n", r.Process.Name, r.Process.Version, p.State(string(r.State)))
	if r.Output != nil {
		out, err := r.Output.MarshalJSON()
		if err != nil {
			return err
		}
		text += fmt.Sprintf("output   %s\n", shared.OneLine(string(out)))
	}
	if scope != "" {
		text += fmt.Sprintf("scope    %s\n", scope)
	}
	_, err := io.WriteString(w, text+"\n")
	return err
}

// rowsOf writes a line for each execution. In a tree those inside a block stand below it,
// further to the right, by their paths.
func rowsOf(shown []*interpret.ActivityResult, v view) ([][]string, error) {
	rows := make([][]string, len(shown))
	for i, a := range shown {
		row := []string{a.Activity, a.Node, string(a.State), "", "", cmp.Or(a.Error, a.Failure)}
		switch {
		case row[5] != "":
		case a.TimedOut:
			row[5] = "the deadline has come"
		case a.Waits != nil:
			row[5] = "waits for " + a.Waits.String()
		}
		if v.tree {
			row[0] = strings.Repeat("  ", strings.Count(a.Path(), "/")+strings.Count(a.Path(), "[")) + a.Path()
		} else if a.Scope != "" {
			row[0] = element(a)
		}
		if a.At != "" {
			row[1] += ", at " + a.At
		}
		if c := a.Counts; c != nil && row[5] == "" {
			row[5] = fmt.Sprintf("%d elements: %d done, %d failed, %d cancelled, %d in error", c.Count, c.Done, c.Failed, c.Cancelled, c.InError)
		}
		if a.Iterations > 0 && a.Counts == nil {
			row[3] = strconv.Itoa(a.Iterations)
		}
		if a.RC != nil {
			row[4] = strconv.FormatInt(*a.RC, 10)
		}
		if a.Output != nil && row[5] == "" {
			out, err := a.Output.MarshalJSON()
			if err != nil {
				return nil, err
			}
			row[5] = string(out)
		}
		rows[i] = row
	}
	return rows, nil
}

// element names an execution by its element, where it is one of a bundle.
func element(a *interpret.ActivityResult) string {
	if path := a.Path(); path == string(a.Scope) {
		return path
	}
	return a.Activity
}

// reasons says why activities are in error, or what they wait for.
func reasons(r *interpret.Result) string {
	var all []string
	for a := range r.Family() {
		if a.State == interpret.InError {
			all = append(all, a.Path()+": "+a.Error)
		}
		if a.Waits != nil {
			all = append(all, a.Path()+" waits for "+a.Waits.String())
		}
	}
	if r.Error != "" {
		all = append(all, r.Error)
	}
	return strings.Join(all, "; ")
}
