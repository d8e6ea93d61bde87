package main

import (
	"encoding/json"
	"fmt"
	"io"
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
		ArgsUsage: "FILE",
		Description: `Runs no program unless --programs is given. An activity gives what --results says. An
activity without results behaves as echo: its output takes the members of its input of
the same name and type. Timers do not wait. The exit code is 0 if the process finishes,
and 1, with the reason, if an activity is in error.

--programs runs the real programs of a node's configuration, with all their effects, but
not for an activity that has results. Name the configuration of each node, or one for
all. What a program writes to standard error is shown with its activity.

FILE of --results is YAML or JSON: a list for each activity with one entry for each
iteration. The last entry repeats:
{credit: [{rc: 1}, {rc: 0, output: {approved: true}}], ship: [{error: no van}]}`,
		UsageText: `fmqm-define run purchase-order.yaml --input '{"customer": "acme", "quantity": 1, "amount": 500}'
fmqm-define run purchase-order.yaml --input @order.json --results results.yaml -o json
fmqm-define run purchase-order.yaml --input @order.json --programs /etc/fmqm/fmqmd.yaml`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "input", Usage: "the process's input as `JSON`, @FILE, or - for standard input (default: all defaults)"},
			&cli.StringFlag{Name: "results", Usage: "take the results of programs from `FILE`"},
			&cli.StringSliceFlag{Name: "programs", Usage: "run the real programs of the node's configuration `CONFIG`; can be repeated"},
			&cli.StringFlag{Name: "process", Usage: "run process `NAME[@VERSION]` of a file with several"},
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
	file, input, results := c.Args().First(), c.String("input"), c.String("results")
	if readsStdin(file, input, results) > 1 {
		return shared.Usagef("standard input can be read only once: only one of FILE, --input and --results can be -")
	}
	s, err := loadWhole(c, file)
	if err != nil {
		return err
	}
	process, err := choose(s, c.String("process"))
	if err != nil {
		return err
	}
	in, err := readInput(c, process)
	if err != nil {
		return err
	}
	play := interpret.Programs(interpret.EchoAll)
	if files := c.StringSlice("programs"); len(files) > 0 {
		real, err := openPrograms(c, process, files)
		if err != nil {
			return err
		}
		defer real.close()
		play = real
	}
	if results != "" {
		text, err := readInputFile(c, results)
		if err != nil {
			return err
		}
		if play, err = interpret.ParseResultsOver(process, text, play); err != nil {
			return fmt.Errorf("%s: %w", results, err)
		}
	}
	result, err := interpret.Run(process, in, play, interpret.Options{})
	if err != nil {
		return err
	}
	if err := printResult(printer, result); err != nil {
		return err
	}
	if result.State != interpret.Finished {
		return shared.Failedf("%s@%d is %s: %s", process.Name, process.Version, result.State, reasons(result))
	}
	return nil
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

// printResult prints what became of the instance, in the shape of a node's status.
func printResult(p *shared.Printer, r *interpret.Result) error {
	status, err := interpret.StatusJSON(r)
	if err != nil {
		return err
	}
	return p.Object(json.RawMessage(status), func(w io.Writer) error { return printStatus(w, p, r) })
}

func printStatus(w io.Writer, p *shared.Printer, r *interpret.Result) error {
	if _, err := fmt.Fprintf(w, "process  %s@%d\nstate    %s\n", r.Process.Name, r.Process.Version, p.State(string(r.State))); err != nil {
		return err
	}
	if r.Output != nil {
		out, err := r.Output.MarshalJSON()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "output   %s\n", shared.OneLine(string(out))); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	rows := make([][]string, len(r.Activities))
	for i, a := range r.Activities {
		row := []string{a.Activity, a.Node, string(a.State), "", "", a.Error}
		if a.Iterations > 0 {
			row[3] = strconv.Itoa(a.Iterations)
		}
		if a.RC != nil {
			row[4] = strconv.FormatInt(*a.RC, 10)
		}
		if a.Output != nil && a.Error == "" {
			out, err := a.Output.MarshalJSON()
			if err != nil {
				return err
			}
			row[5] = string(out)
		}
		rows[i] = row
	}
	return p.WriteTable([]string{"ACTIVITY", "NODE", "STATE", "ITERATIONS", "RC", "OUTPUT"}, rows)
}

// reasons says why activities are in error.
func reasons(r *interpret.Result) string {
	var all []string
	for _, a := range r.Activities {
		if a.State == interpret.InError {
			all = append(all, a.Activity+": "+a.Error)
		}
	}
	return strings.Join(all, "; ")
}
