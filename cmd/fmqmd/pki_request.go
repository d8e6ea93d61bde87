package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/identity"
)

func pkiNodeFlag() ucli.Flag {
	return &ucli.StringFlag{Name: "name", Usage: "for the site `NODE`"}
}

func pkiRequestCommand() *ucli.Command {
	return &ucli.Command{
		Name: "request", Usage: "make a key, and a request for a certificate of it",
		Description: "Run it where the certificate will be used: the key is made there and never leaves that\n" +
			"machine. It writes node-NODE.key, which is secret, and node-NODE.csr, which is not: bring that to\n" +
			"whoever has the authority, who signs it with `fmqmd pki sign`. For a new key beside the old one,\n" +
			"use another --dir; with --force the old one is replaced at once.",
		UsageText: "fmqmd pki request --name B\nfmqmd pki request --name B --host b.example.org --dir /etc/fmqm\nfmqmd pki request --operator ann@example.org",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "dir", Value: ".", Usage: "`DIR` that the files are written to (default: the working directory)"},
			pkiNodeFlag(), pkiHostFlag(), pkiOperatorFlag(), pkiServerFlag(),
			pkiForceFlag("replace the files of an earlier one"),
			cli.OutputFlag(),
		},
		Action: func(c *ucli.Context) error {
			printer, err := cli.NewPrinter(c)
			if err != nil {
				return err
			}
			name, err := pkiName(c, c.String("name"), "--name NODE")
			if err != nil {
				return err
			}
			r, err := identity.Request(identity.RequestOptions{Dir: c.String("dir"), Name: name, Hosts: c.StringSlice("host"), Force: c.Bool("force")})
			if err != nil {
				return pkiError(err)
			}
			err = printer.Object(requestedFiles{string(name.Role), name.Name, r.Request, r.Key}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s\n%s: to be kept secret\n", r.Request, r.Key)
				return err
			})
			if err != nil {
				return err
			}
			cli.Talk(c, "Next, at the authority, with what is in %s:  fmqmd pki sign %s %s", r.Request, nameArguments(name, c.StringSlice("host")), filepath.Base(r.Request))
			return nil
		},
	}
}

// nameArguments are those of `pki sign` for what was requested.
func nameArguments(name identity.Name, hosts []string) string {
	args := map[identity.Role]string{identity.RoleNode: "--name ", identity.RoleOperator: "--operator ", identity.RoleServer: "--server "}[name.Role] + name.Name
	for _, h := range hosts {
		args += " --host " + h
	}
	return args
}

// requestedFiles is what request prints; its keys are API.
type requestedFiles struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Request string `json:"request"`
	Key     string `json:"key"`
}

func pkiSignCommand() *ucli.Command {
	return &ucli.Command{
		Name: "sign", Usage: "make a certificate for a key that was made elsewhere", ArgsUsage: "REQUEST",
		Description: fmt.Sprintf("Signs what `fmqmd pki request` wrote. You say whom it is for, and with --host under which names\n"+
			"that site is called: nothing is taken from the request but its key, and one that asks for more is\n"+
			"refused. A site's certificate is valid for %d days, an operator's for %d, a broker's for %d. A key\n"+
			"that the file %s beside the authority's has the fingerprint of gets none.", identity.NodeDays, identity.OperatorDays, identity.ServerDays, identity.DenyFile),
		UsageText: "fmqmd pki sign --name B node-B.csr\nfmqmd pki sign --name B --host b.example.org node-B.csr\nfmqmd pki sign --operator ann@example.org operator-ann@example.org.csr",
		Flags: []ucli.Flag{
			pkiDirFlag(), pkiNodeFlag(), pkiHostFlag(), pkiDaysFlag(), pkiOperatorFlag(), pkiServerFlag(),
			pkiForceFlag("replace the certificate of an earlier one"),
			cli.OutputFlag(),
		},
		Action: func(c *ucli.Context) error {
			printer, err := cli.NewPrinter(c)
			if err != nil {
				return err
			}
			name, err := pkiName(c, c.String("name"), "--name NODE")
			if err != nil {
				return err
			}
			issued, err := identity.Sign(issueOptions(c, name), c.Args().First())
			if err != nil {
				return pkiError(err)
			}
			if err := printIssued(printer, issued); err != nil {
				return err
			}
			pkiNext(c, issued, strings.TrimSuffix(filepath.Base(issued.Certificate), ".crt")+".key")
			return nil
		},
	}
}

func pkiRenewCommand() *ucli.Command {
	return &ucli.Command{
		Name: "renew", Usage: "make certificates again that end soon", ArgsUsage: "FILE...",
		Description: "For each certificate in FILE that the authority has signed and that has less than a third of\n" +
			"its life left, a new one for the same name, hosts and key takes its place in FILE; others stay as\n" +
			"they are, so that it can be run every day. Put the new one in place at the site, and reload the\n" +
			"daemon; the key stays. Who may have lost a key needs a new one: see `fmqmd pki request`.",
		UsageText: "fmqmd pki renew /etc/fmqm/pki/*-*.crt\nfmqmd pki renew --all /etc/fmqm/pki/node-B.crt",
		Flags: []ucli.Flag{
			pkiDirFlag(), pkiDaysFlag(),
			&ucli.BoolFlag{Name: "all", Usage: "also those that have more of their life left"},
			cli.OutputFlag(),
		},
		Action: pkiRenew,
	}
}

// renewedCertificate is what renew prints; its keys are API.
type renewedCertificate struct {
	Kind    string    `json:"kind"`
	Name    string    `json:"name"`
	File    string    `json:"file"`
	Expires time.Time `json:"expires"`
	Renewed bool      `json:"renewed"`
}

func pkiRenew(c *ucli.Context) error {
	printer, err := cli.NewPrinter(c)
	if err != nil {
		return err
	}
	if c.IsSet("days") && c.Int("days") < 1 {
		return cli.Usagef("--days %d: write 1 or more", c.Int("days"))
	}
	list := printer.List(false, "KIND", "NAME", "RESULT", "EXPIRES", "FILE")
	failed := 0
	for _, file := range c.Args().Slice() {
		r, err := identity.Renew(identity.RenewOptions{Dir: c.String("dir"), File: file, Days: c.Int("days"), Now: time.Now(), All: c.Bool("all")})
		if err != nil {
			cli.Talk(c, "%v", err)
			failed++
			continue
		}
		result := "good"
		if r.Done {
			result = "renewed"
		}
		kind, expires := string(r.Name.Role), r.Expires.UTC()
		if err := list.Row(renewedCertificate{kind, r.Name.Name, r.File, expires, r.Done}, kind, r.Name.Name, result, expires.Format(time.DateOnly), r.File); err != nil {
			return err
		}
	}
	if err := list.End(); err != nil {
		return err
	}
	if failed > 0 {
		return cli.Failedf("pki: %d of %d certificates were not renewed", failed, c.Args().Len())
	}
	return nil
}
