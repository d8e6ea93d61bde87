package main

import (
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	shared "fmqm/cmd/internal/cli"
	"fmqm/processtable"
)

func retireCommand() *cli.Command {
	return &cli.Command{
		Name:      "retire",
		Usage:     "let no instance of a version begin any more",
		ArgsUsage: "NAME@VERSION",
		Description: `From then on nobody starts an instance of the version, no subprocess begins one, and its
schedules rest. What runs goes on to its end. NAME alone is the highest version that is
current and not retired. Every site of the process keeps that; one that is not heard is
told when it is (queued). --undo takes it back, as long as a site has not given its final
word: 7 days after it was retired there (retired in its configuration), once nothing of it
goes on. When all sites that start it have, each removes its table (removed), unless it
has history of it.

A site that is gone for ever never gives its final word, nor does it say that it needs nothing:
list names it (LACKING). --without SITE has the node that is asked remove its table without
it; every site that has the table decides so by itself. Without --yes it only says what it
would do. It is over as soon as SITE is heard. If SITE comes back once the table is gone, what
is under way there does not go on here: its messages are dropped and counted. --undo takes it
back before.

It is signed as an upload is: a site takes it from whom it lets define the process. The
exit code is 0 also where a site is still to be told.`,
		UsageText: `fmqm-define retire purchase-order@1
fmqm-define retire purchase-order@1 --undo
fmqm-define retire purchase-order@1 --without C --reason "branch closed" --yes`,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "undo", Usage: "the version may begin again"},
			&cli.StringFlag{Name: "without", Usage: "the table goes here without `SITE`, which is gone for ever"},
			&cli.StringFlag{Name: "reason", Usage: "with --without: `TEXT` for the list and the log: why"},
			&cli.BoolFlag{Name: "yes", Usage: "with --without: do it; without it, only show what would be done"},
			&cli.StringFlag{Name: keyFlag, Usage: "sign with the private key in `FILE`, or credential:NAME"},
			&cli.StringFlag{Name: networkFlag, Usage: "sign for the network of sites called `NAME` (default: FMQM_NETWORK, otherwise for any)"},
			&cli.BoolFlag{Name: "unsigned", Usage: "do not sign"},
			shared.ToFlag(), shared.TimeoutFlag(), shared.OutputFlag(),
		}, shared.CertificateFlags()...),
		Action: retire,
	}
}

func retire(c *cli.Context) error {
	printer, client, err := shared.NewAsking(c)
	if err != nil {
		return err
	}
	defer client.Close()
	process := c.Args().First()
	id, err := processtable.ParseProcessID(process)
	if err != nil || id.Version == 0 {
		return shared.Usagef("%s names no version: write NAME@VERSION", process)
	}
	var request api.RetireRequest
	if without := c.String("without"); without != "" {
		request = api.RetireRequest{Without: without, Undo: c.Bool("undo"), Reason: c.String("reason"), Do: c.Bool("yes")}
	} else if c.IsSet("without") || c.IsSet("reason") || c.IsSet("yes") {
		return shared.Usagef("--reason and --yes go with --without SITE")
	} else if request, err = saying(c, client, id); err != nil {
		return err
	}
	answer, err := client.Retire(c.Context, process, request)
	if err != nil {
		return fmt.Errorf("retire %s: %w", process, err)
	}
	list := printer.List(false, "NODE", "PROCESS", "RESULT", "INSTANCES", "REASON")
	for _, l := range answer.Nodes {
		if err := list.Row(l, l.Node, l.Process, string(l.Result), strconv.Itoa(l.Instances), l.Reason); err != nil {
			return err
		}
	}
	return list.End()
}

// saying is what is said of a version, signed: it follows on what the node knows.
func saying(c *cli.Context, client *api.Client, id processtable.ProcessID) (r api.RetireRequest, err error) {
	answer, err := client.Definitions(c.Context)
	if err != nil {
		return r, fmt.Errorf("retire %s: %w", id, err)
	}
	r.Undo = c.Bool("undo")
	var definition processtable.DefinitionHash
	found := false
	for _, d := range answer.Definitions {
		if d.Process == id.Name && d.Version == id.Version {
			found, r.Number = true, d.Said+1
			if n, err := hex.Decode(definition[:], []byte(d.Definition)); err != nil || n != len(definition) {
				return r, shared.Failedf("retire %s: the node gives a definition's hash that cannot be read", id)
			}
		}
	}
	if !found {
		return r, &shared.Error{Exit: shared.ExitNotFound, Text: fmt.Sprintf("retire %s: the node has no table of it: see fmqm-define list", id)}
	}
	how, err := newSigning(c)
	if err != nil || how.key == nil {
		return r, err
	}
	r.Network = how.terms.Network
	public, _ := how.key.Public().(ed25519.PublicKey)
	r.Key = public
	r.Signature = ed25519.Sign(how.key, processtable.RetirementText(id, definition, r.Number, r.Undo, r.Network))
	return r, nil
}
