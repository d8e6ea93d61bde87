package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	shared "fmqm/cmd/internal/cli"
	"fmqm/definition"
)

func getCommand() *cli.Command {
	return &cli.Command{
		Name:      "get",
		Usage:     "print the definition of a process as it was uploaded",
		ArgsUsage: "NAME[@VERSION]",
		Description: `Prints the text with which a version was uploaded; NAME alone is the current one. The
node has it if it has taken the upload; otherwise it asks the other sites of the process.
What is printed has been compiled, and means what the node's table says.

Exit codes: 3 if no site keeps a text, 5 if one that may keep it did not answer.`,
		UsageText: `fmqm-define get purchase-order
fmqm-define get purchase-order@2 > purchase-order.yaml
fmqm-define get purchase-order@2 --at B`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "at", Usage: "the text that `NODE` keeps"},
			shared.ToFlag(), shared.TimeoutFlag(), shared.OutputFlag(),
		}, shared.CertificateFlags()...),
		Action: get,
	}
}

func get(c *cli.Context) error {
	printer, client, err := shared.NewAsking(c)
	if err != nil {
		return err
	}
	defer client.Close()
	a, _, err := kept(c, client, c.Args().First(), c.String("at"))
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	if printer.Format == shared.Table {
		_, err = io.WriteString(shared.From(c).Out, a.Text)
		return err
	}
	list := printer.List(true)
	if err := list.Row(a); err != nil {
		return err
	}
	return list.End()
}

// kept gives the text of a process that a node, or one of its sites, keeps, and what it says. A text that means something
// else than the node's table is refused.
func kept(c *cli.Context, client *api.Client, process, at string) (api.DefinitionAnswer, *definition.Process, error) {
	a, err := client.DefinitionOf(c.Context, process, at)
	if err != nil {
		return a, nil, err
	}
	all, diagnostics := definition.Load(a.Process, []byte(a.Text))
	for _, p := range all {
		if processID(p) != a.Process {
			continue
		}
		same, err := definition.IsOf(p, a.Definition)
		if err != nil || same {
			return a, p, err
		}
		return a, nil, shared.Failedf("the text of %s that %s keeps means something else than its table, %.12s: ask another site with --at, or upload the right file again", a.Process, a.Node, a.Definition)
	}
	if n, _ := count(diagnostics); n > 0 {
		return a, nil, shared.Failedf("the text of %s that %s keeps has %s for this version of fmqm-define: use the one that it was uploaded with", a.Process, a.Node, plural(n, "error"))
	}
	return a, nil, shared.Failedf("the text of %s that %s keeps is of another process: ask another site with --at, or upload the right file again", a.Process, a.Node)
}

func diffCommand() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "say what a definition means otherwise than the one that a node has",
		ArgsUsage: "FILE [@VERSION]",
		Description: `Compares each process in FILE, or of NAME@VERSION in its place, with the current version of its
name, or with @VERSION. It tells of activities, connectors, conditions, structures and
the shape of input and output, and not of layout, order, comments or descriptions.

Exit codes: 0 if they mean the same, 1 if not.`,
		UsageText: `fmqm-define diff purchase-order.yaml
fmqm-define diff purchase-order.yaml @2
fmqm-define diff purchase-order@3 @2 -o json`,
		Flags:  append([]cli.Flag{shared.ToFlag(), shared.TimeoutFlag(), shared.OutputFlag()}, shared.CertificateFlags()...),
		Action: diff,
	}
}

// difference is a definition.Difference as it is printed.
type difference struct {
	Process string `json:"process"` // NAME@VERSION, that is compared
	With    string `json:"with"`    // the one before it
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
	Change  string `json:"change"`
	Key     string `json:"key,omitempty"`
	Before  string `json:"before,omitempty"`
	After   string `json:"after,omitempty"`
}

var aProcess = regexp.MustCompile(`^[^/@]+@[0-9]+$`)

func diff(c *cli.Context) error {
	printer, client, err := shared.NewAsking(c)
	if err != nil {
		return err
	}
	defer client.Close()
	processes, err := compared(c, client, c.Args().First())
	if err != nil {
		return err
	}
	version := c.Args().Get(1)
	if n, err := strconv.Atoi(strings.TrimPrefix(version, "@")); version != "" && (err != nil || n < 1 || version[0] != '@') {
		return shared.Usagef("%s is no version: write @ and a number, such as @2", version)
	}
	list := printer.List(false, "PROCESS", "WITH", "KIND", "NAME", "CHANGE", "KEY", "BEFORE", "AFTER")
	differ := false
	for _, p := range processes {
		a, before, err := kept(c, client, p.Name+version, "")
		if err != nil {
			return fmt.Errorf("diff: %w", err)
		}
		found, err := definition.Diff(before, p)
		if err != nil {
			return err
		}
		differ = differ || len(found) > 0
		for _, d := range found {
			row := difference{processID(p), a.Process, d.Kind, d.Name, d.Change, d.Key, d.Before, d.After}
			if err := list.Row(row, row.Process, row.With, row.Kind, row.Name, row.Change, row.Key, row.Before, row.After); err != nil {
				return err
			}
		}
		if len(found) == 0 {
			shared.Talk(c, "%s means the same as %s", processID(p), a.Process)
		}
	}
	if err := list.End(); err != nil || !differ {
		return err
	}
	return &shared.Error{Exit: shared.ExitFailed}
}

// compared gives the processes of a file, or one that a node has.
func compared(c *cli.Context, client *api.Client, what string) ([]*definition.Process, error) {
	if _, err := os.Stat(what); err != nil && aProcess.MatchString(what) {
		_, p, err := kept(c, client, what, "")
		if err != nil {
			return nil, fmt.Errorf("diff: %w", err)
		}
		return []*definition.Process{p}, nil
	}
	s, err := loadWhole(c, what)
	if err != nil {
		return nil, err
	}
	return s.processes, nil
}
