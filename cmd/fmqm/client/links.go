package client

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func linksCommand() *cli.Command {
	return &cli.Command{
		Name: "links", Usage: "show the links of a node: state, routes, waiting messages, sequence numbers", ArgsUsage: "[PEER]",
		Description: `Prints one line for each peer, or for one PEER: the state of the link; the WAYS to the peer (the one in use
first; ? marks one that is not open); when it was last HEARD; how many messages WAIT for it,
how many BYTES they have and how old the OLDEST is; and for each lane the number of the next
message to SEND and to TAKE. Below the table it says why a link, a way or the broker is not
connected, and what to do.`,
		UsageText:   "fmqm links\nfmqm links B\nfmqm links -o jsonl\nfmqm links --to http://127.0.0.1:7412\nfmqm links retry B",
		Flags:       printing(),
		Subcommands: []*cli.Command{linksRetryCommand()},
		Action: func(c *cli.Context) error {
			a := asked{}
			if err := a.connect(c); err != nil {
				return err
			}
			defer a.client.Close()
			answer, err := a.client.Links(c.Context)
			if err != nil {
				return err
			}
			if peer := c.Args().First(); peer != "" {
				if answer, err = linkOf(answer, peer); err != nil {
					return err
				}
			}
			return printLinks(c, a.printer, answer, time.Now())
		},
	}
}

// linkOf is the answer about one peer, with the broker if that is a way to it.
func linkOf(a api.LinksAnswer, peer string) (api.LinksAnswer, error) {
	i := slices.IndexFunc(a.Links, func(l api.Link) bool { return l.Peer == peer })
	if i < 0 {
		return a, api.Errorf(api.CodeNotFound, "see fmqm links", "this node has no peer %s", peer)
	}
	a.Links = a.Links[i : i+1]
	if !slices.ContainsFunc(a.Links[0].Transports, func(t api.Transport) bool { return t.Route == "amqp" }) {
		a.Broker = nil
	}
	return a, nil
}

func linksRetryCommand() *cli.Command {
	return &cli.Command{
		Name: "retry", Usage: "let a stopped link go on, once its cause is removed", ArgsUsage: "PEER",
		Description: `Tells the node to go on with a link that it stopped, as a restart of its daemon would. The
two nodes compare their stores again. If they still disagree, the link stops again, and the
command ends with exit code 4 and the reason. If a site has lost its store for good, use
fmqm rebuild.

Prints the state of the link after at most 10 s. If the peer is still unreachable then, the
node keeps trying.`,
		UsageText: "fmqm links retry B\nfmqm links retry B --to http://127.0.0.1:7412 -o json",
		Flags:     printing(),
		Action: func(c *cli.Context) error {
			a := asked{}
			if err := a.connect(c); err != nil {
				return err
			}
			defer a.client.Close()
			l, err := a.client.RetryLink(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			return a.printer.Object(l, func(w io.Writer) error {
				text := l.Peer + ": " + a.printer.State(l.State)
				if l.Reason != "" {
					text += ": " + common.OneLine(l.Reason)
				}
				_, err := io.WriteString(w, text+"\n")
				return err
			})
		},
	}
}

func printLinks(c *cli.Context, p *common.Printer, a api.LinksAnswer, now time.Time) error {
	list := p.List(false, "PEER", "STATE", "WAYS", "HEARD", "WAITS", "BYTES", "OLDEST", "SEND", "TAKE")
	if a.Broker != nil && p.Format != common.Table {
		if err := list.Row(a.Broker); err != nil {
			return err
		}
	}
	for _, l := range a.Links {
		send, take := lanes(l.Lanes)
		if err := list.Row(l, l.Peer, l.State, ways(l), ago(l.LastHeard, now), strconv.FormatUint(l.Waiting, 10),
			size(l.Bytes), ago(l.Oldest, now), send, take); err != nil {
			return err
		}
	}
	if len(a.Links) == 0 {
		common.Talk(c, "this node has no links: see links in its configuration")
	}
	if err := list.End(); err != nil || p.Format != common.Table {
		return err
	}
	return p.Object(nil, func(w io.Writer) error { return reasons(w, p, a, now) })
}

// reasons says in words what the table has no room for.
func reasons(w io.Writer, p *common.Printer, a api.LinksAnswer, now time.Time) error {
	var b strings.Builder
	note := func(about, text string) {
		b.WriteString("\n" + wrap(about+": "+common.OneLine(text), lineWidth(w)))
	}
	if k := a.Broker; k != nil {
		text := p.State(k.State) + " for " + ago(k.Since, now)
		if k.Server != "" {
			text += ", " + k.Server
		}
		if k.Kind != "" {
			text += ", receives from the " + k.Kind + " queue " + k.Queue
		}
		if k.Reason != "" {
			text += ": " + k.Reason
		}
		note("broker "+k.Address, text)
	}
	for _, l := range a.Links {
		if l.Reason != "" {
			note(l.Peer, l.Reason)
		}
		for _, t := range l.Transports {
			if t.Reason != "" && t.Reason != l.Reason {
				note(l.Peer+", "+t.Route, t.Reason)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lineWidth is how long the lines of a text are: as wide as the terminal, 80 elsewhere.
func lineWidth(w io.Writer) int {
	if width := common.TerminalWidth(w); width > 0 {
		return width
	}
	return 80
}

// wrap breaks a text between its words; lines but the first are indented.
func wrap(text string, width int) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n  ")
			at = 2
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String() + "\n"
}

// ways names the ways to a peer, the one that is used first; one with ? is not open.
func ways(l api.Link) string {
	var used, others []string
	for _, t := range l.Transports {
		switch t.State {
		case "connected":
			used = append(used, t.Route)
		case "standby":
			others = append(others, t.Route)
		default:
			others = append(others, t.Route+"?")
		}
	}
	return dash(strings.Join(append(used, others...), ","))
}

// lanes gives the numbers of both lanes, the one for data first.
func lanes(all []api.Lane) (send, take string) {
	var sends, takes []string
	for _, l := range all {
		sends = append(sends, strconv.FormatUint(l.Next, 10))
		takes = append(takes, strconv.FormatUint(l.Expected, 10))
	}
	return dash(strings.Join(sends, "/")), dash(strings.Join(takes, "/"))
}

// ago says how long ago something was, in one unit.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := max(0, now.Sub(t))
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// size says how many bytes, in at most five characters.
func size(n uint64) string {
	if n < 1000 {
		return strconv.FormatUint(n, 10)
	}
	f := float64(n)
	for _, unit := range "kMGTPE" {
		if f /= 1000; f < 999.5 {
			if f < 9.95 {
				return fmt.Sprintf("%.1f%c", f, unit)
			}
			return fmt.Sprintf("%.0f%c", f, unit)
		}
	}
	return "-"
}
