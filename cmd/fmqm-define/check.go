package main

import (
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	shared "fmqm/cmd/internal/cli"
	"fmqm/definition"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "say everything that is wrong or doubtful in definitions",
		ArgsUsage: "FILE...",
		Description: `Every error has file, line and column, the line with a caret beneath the place,
what is wrong and what to do. It ends with 0 if there is no error, whatever
warnings there are, and with 1 if there is one. All are counted; of each file the
first 100 are shown, errors before warnings, unless --all asks for the others too.`,
		UsageText: `fmqm-define check purchase-order.yaml
fmqm-define check processes/*.yaml -o json
generate-process | fmqm-define check -`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "show every error and warning, not only the first 100 of each file"},
			shared.OutputFlag(),
		},
		Action: check,
	}
}

func check(c *cli.Context) error {
	p, err := shared.NewPrinter(c)
	if err != nil {
		return err
	}
	files := c.Args().Slice()
	if readsStdin(files...) > 1 {
		return shared.Usagef("- is there more than once: standard input can be read once")
	}
	list := p.List(false)
	wrong, doubtful := 0, 0
	for _, file := range files {
		s, err := load(c, file)
		var u *unread
		switch {
		case errors.As(err, &u):
			s = &source{diagnostics: []definition.Diagnostic{u.diagnostic()}, text: definition.NewSource(nil)}
		case err != nil:
			return err
		}
		w, d := count(s.diagnostics)
		wrong, doubtful = wrong+w, doubtful+d
		shown := s.diagnostics
		if !c.Bool("all") {
			shown = definition.First(shown, mostShown, "--all shows them")
		}
		for _, d := range shown {
			if err := printDiagnostic(p, list, d, s.text, shared.From(c).Out); err != nil {
				return err
			}
		}
	}
	if p.Format != shared.Table {
		if err := list.End(); err != nil {
			return err
		}
	}
	shared.Talk(c, "%s: %s, %s", plural(len(files), "file"), plural(wrong, "error"), plural(doubtful, "warning"))
	if wrong > 0 {
		return &shared.Error{Exit: shared.ExitFailed}
	}
	return nil
}

// printDiagnostic prints d with its line of the source, or as a row of a list.
func printDiagnostic(p *shared.Printer, list *shared.List, d definition.Diagnostic, text *definition.Source, w io.Writer) error {
	if p.Format != shared.Table {
		return list.Row(d)
	}
	_, err := io.WriteString(w, text.Text(d))
	return err
}
