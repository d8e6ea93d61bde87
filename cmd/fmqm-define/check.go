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
		Usage:     "report all errors and warnings in definitions",
		ArgsUsage: "FILE...",
		Description: `Each error has its file, line and column, the line with a caret below the place,
what is wrong and what to do. The exit code is 1 if there is an error, else 0, also
with warnings. All errors and warnings are counted, and the first 100 of each file
are shown, errors first. --all shows the rest.

A subprocess is compared with its process where both are in the files given: name them
together.`,
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
		return shared.Usagef("- is given twice: standard input can be read only once")
	}
	list := p.List(false)
	sources := make([]*source, len(files))
	for i, file := range files {
		s, err := load(c, file)
		var u *unread
		switch {
		case errors.As(err, &u):
			s = &source{name: file, diagnostics: []definition.Diagnostic{u.diagnostic()}, text: definition.NewSource(nil)}
		case err != nil:
			return err
		}
		sources[i] = s
	}
	together(sources)
	wrong, doubtful := 0, 0
	for _, s := range sources {
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
