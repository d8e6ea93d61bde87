package client

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func whoamiCommand() *cli.Command {
	return &cli.Command{
		Name: "whoami", Usage: "show who the node takes you for, and what you may do there",
		Description: `Prints the name that the history has for you, how the node knows it, which person of its staff
that is with the roles and those whom he stands in for now, and the rights that the node's
configuration grants. At the socket of the staff it works as well.`,
		UsageText: "fmqm whoami\nfmqm whoami --to unix:/run/fmqm/work.sock\nfmqm whoami --to https://ward.example.org:7411 -o json",
		Flags:     printing(common.AsFlag()),
		Action: asks(func(c *cli.Context, a asked) error {
			w, err := a.client.WhoAmI(c.Context)
			if err != nil {
				return err
			}
			return a.printer.Object(w, func(out io.Writer) error { return printWho(out, w) })
		}),
	}
}

// howProved says in words how a node knows somebody.
func howProved(p api.Proof) string {
	switch p {
	case api.ProvedSocket:
		return "by the socket, as a user of its machine"
	case api.ProvedWorkSocket:
		return "by the socket of the staff, as a user of its machine"
	case api.ProvedCertificate:
		return "by a certificate"
	case api.ProvedNot:
	}
	return "not at all"
}

func printWho(out io.Writer, w api.WhoAmI) error {
	lines := []string{
		"name    " + cmp.Or(w.Name, "nobody known"),
		"node    " + w.Node,
		"known   " + howProved(w.Proved),
	}
	add := func(what, text string) {
		if text != "" {
			lines = append(lines, what+text)
		}
	}
	add("person  ", w.Person)
	add("as      ", w.As)
	add("roles   ", strings.Join(w.Roles, ", "))
	add("for     ", strings.Join(w.StandsInFor, ", "))
	if w.All {
		add("rights  ", "all: the configuration of the node grants none, so whoever may ask may do all")
	} else if len(w.Rights) == 0 {
		add("rights  ", "none")
	}
	for _, g := range w.Rights {
		var rights []string
		for _, r := range g.Rights {
			rights = append(rights, string(r))
		}
		over := "all processes"
		if g.Processes != nil {
			over = strings.Join(g.Processes, ", ")
		}
		add("rights  ", strings.Join(rights, ", ")+" over "+over)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, common.OneLine(line)); err != nil {
			return err
		}
	}
	return nil
}
