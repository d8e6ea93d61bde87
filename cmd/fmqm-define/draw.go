package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	shared "fmqm/cmd/internal/cli"
	"fmqm/definition"
)

// Who lays a picture out: fmqm-define itself, which has two names from when Graphviz was
// asked first, or Graphviz, which has two as well.
var (
	ownLayouts      = []string{"plain", "auto"}
	graphvizLayouts = []string{"graphviz", "dot"}
)

// layoutTimeout is how long Graphviz may take for one process.
const layoutTimeout = time.Minute

func drawCommand() *cli.Command {
	return &cli.Command{
		Name:      "draw",
		Usage:     "draw a process as a graph",
		ArgsUsage: "FILE",
		Description: `dot is the language of Graphviz; mermaid is that of many wikis and code forges. svg is
a picture from top to bottom: each node has a colour, start and exit conditions stand in
the boxes, transition conditions beside the connectors, and data connectors are dashed.
fmqm-define does the layout itself; with --layout graphviz the program dot does it.`,
		UsageText: `fmqm-define draw purchase-order.yaml --format svg > purchase-order.svg
fmqm-define draw purchase-order.yaml --format svg --layout graphviz > purchase-order.svg
fmqm-define draw purchase-order.yaml --format mermaid
fmqm-define draw purchase-order.yaml | dot -Tpng > purchase-order.png`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: "dot", Usage: "draw as `FORMAT`: svg, dot or mermaid (default: dot)"},
			&cli.StringFlag{Name: "layout", Value: "plain", Usage: "`LAYOUT` of the svg: plain, which needs no other program, or graphviz (default: plain)"},
			&cli.StringFlag{Name: "process", Usage: "draw only the process `NAME[@VERSION]` of a file with several"},
		},
		Action: draw,
	}
}

func draw(c *cli.Context) error {
	format, layout := c.String("format"), c.String("layout")
	drawing := definition.Dot
	switch format {
	case "dot", "svg":
	case "mermaid":
		drawing = definition.Mermaid
	default:
		return shared.Usagef("--format %s: no such format: write svg, dot or mermaid", format)
	}
	if !slices.Contains(slices.Concat(ownLayouts, graphvizLayouts), layout) {
		return shared.Usagef("--layout %s: no such layout: write plain or graphviz", layout)
	}
	if c.IsSet("layout") && format != "svg" {
		return shared.Usagef("--layout is for --format svg only: the program that draws %s does the layout", format)
	}
	s, err := loadWhole(c, c.Args().First())
	if err != nil {
		return err
	}
	processes, one := s.processes, c.String("process")
	if one != "" || format == "svg" { // a picture shows one
		p, err := choose(s, one)
		if err != nil {
			return err
		}
		processes = []*definition.Process{p}
	}
	if format == "svg" {
		out, err := picture(c.Context, processes[0], layout)
		if err != nil {
			return err
		}
		_, err = io.WriteString(shared.From(c).Out, out)
		return err
	}
	drawings := make([]string, len(processes))
	for i, p := range processes {
		drawings[i] = drawing(p)
	}
	_, err = io.WriteString(shared.From(c).Out, strings.Join(drawings, "\n"))
	return err
}

// picture gives a process as SVG, laid out by Graphviz or here.
func picture(ctx context.Context, p *definition.Process, layout string) (string, error) {
	if slices.Contains(ownLayouts, layout) {
		return definition.SVG(p)
	}
	dot, err := exec.LookPath("dot")
	if err != nil {
		return "", shared.Failedf("--layout %s: Graphviz is not installed here: install it (apt-get install graphviz), or leave --layout out", layout)
	}
	return graphviz(ctx, dot, definition.Dot(p))
}

// graphviz lets Graphviz lay out a graph.
func graphviz(ctx context.Context, dot, graph string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, layoutTimeout)
	defer cancel()
	layout := exec.CommandContext(ctx, dot, "-Tsvg")
	var out, talk bytes.Buffer
	layout.Stdin, layout.Stdout, layout.Stderr = strings.NewReader(graph), &out, &talk
	err := layout.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", shared.Failedf("--format svg: Graphviz did not end within %v: leave --layout out, or use fmqm-define show", layoutTimeout)
	case err != nil:
		return "", fmt.Errorf("--format svg: %s: %w: %s", dot, err, strings.TrimSpace(talk.String()))
	}
	return out.String(), nil
}
