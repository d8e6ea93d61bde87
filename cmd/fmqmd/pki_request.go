package main

import (
	"fmt"
	"io"
	"path/filepath"
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
		Name: "request", Usage: "make a key and a request for its certificate",
		Description: "Run it on the machine that will use the certificate: the key never leaves it. The command writes\n" +
			"node-NODE.key, which is secret, and node-NODE.csr, which is not. Bring the request to the\n" +
			"authority, who signs it with `fmqmd pki sign`. For a new key beside the old one, use another\n" +
			"--dir. --force replaces the old key at once.",
		UsageText: "fmqmd pki request --name B\nfmqmd pki request --name B --host b.example.org --dir /etc/fmqm\nfmqmd pki request --operator ann@example.org",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "dir", Value: ".", Usage: "`DIR` for the files (default: the working directory)"},
			pkiNodeFlag(), pkiHostFlag(), pkiOperatorFlag(), pkiPersonFlag(), pkiServerFlag(),
			pkiForceFlag("replace the existing files"),
			cli.OutputFlag(),
		},
		Action: func(c *ucli.Context) error {
			printer, name, err := pkiFor(c, c.String("name"), "--name NODE")
			if err != nil {
				return err
			}
			r, err := identity.Request(identity.RequestOptions{Dir: c.String("dir"), Name: name, Hosts: c.StringSlice("host"), Force: c.Bool("force")})
			if err != nil {
				return pkiError(err)
			}
			err = printer.Object(requestedFiles{string(name.Role), name.Name, r.Request, r.Key}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s\n%s: keep it secret\n", r.Request, r.Key)
				return err
			})
			if err != nil {
				return err
			}
			cli.Talk(c, "Next, bring %s to the authority, and there:  fmqmd pki sign %s %s", r.Request, nameArguments(name, c.StringSlice("host")), filepath.Base(r.Request))
			return nil
		},
	}
}

// nameArguments are those of `pki sign` for what was requested.
func nameArguments(name identity.Name, hosts []string) string {
	args := map[identity.Role]string{identity.RoleNode: "--name ", identity.RoleOperator: "--operator ", identity.RolePerson: "--person ", identity.RoleServer: "--server "}[name.Role] + name.Name
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
		Name: "sign", Usage: "sign a request: make a certificate for a key of another machine", ArgsUsage: "REQUEST",
		Description: fmt.Sprintf("Signs a request that `fmqmd pki request` wrote. You say whom the certificate is for, and with\n"+
			"--host at which names that site is called. Only the key comes from the request; a request that\n"+
			"asks for more is refused. A site's certificate is valid for %d days, an operator's for %d, a\n"+
			"person's for %d, a broker's for %d. A key on the deny list, the file %s beside the authority's, gets no certificate.", identity.NodeDays, identity.OperatorDays, identity.PersonDays, identity.ServerDays, identity.DenyFile),
		UsageText: "fmqmd pki sign --name B node-B.csr\nfmqmd pki sign --name B --host b.example.org node-B.csr\nfmqmd pki sign --operator ann@example.org operator-ann@example.org.csr",
		Flags: []ucli.Flag{
			pkiDirFlag(), pkiNodeFlag(), pkiHostFlag(), pkiDaysFlag(), pkiOperatorFlag(), pkiPersonFlag(), pkiServerFlag(),
			pkiForceFlag("replace the existing certificate"),
			cli.OutputFlag(),
		},
		Action: func(c *ucli.Context) error {
			printer, name, err := pkiFor(c, c.String("name"), "--name NODE")
			if err != nil {
				return err
			}
			issued, err := identity.Sign(issueOptions(c, name), c.Args().First())
			if err != nil {
				return pkiError(err)
			}
			return pkiMade(c, printer, issued)
		},
	}
}

func pkiRenewCommand() *ucli.Command {
	return &ucli.Command{
		Name: "renew", Usage: "renew certificates that expire soon", ArgsUsage: "FILE...",
		Description: "Renews each certificate in FILE that the authority signed and that has less than a third of its\n" +
			"life left. The new one has the same name, hosts and key, and replaces the old one in FILE. Others\n" +
			"stay as they are, so you can run this every day. Install the new certificate at the site and\n" +
			"reload the daemon. A key that may be lost needs a new key: see `fmqmd pki request`.",
		UsageText: "fmqmd pki renew /etc/fmqm/pki/*-*.crt\nfmqmd pki renew --all /etc/fmqm/pki/node-B.crt",
		Flags: []ucli.Flag{
			pkiDirFlag(), pkiDaysFlag(),
			&ucli.BoolFlag{Name: "all", Usage: "renew also those that do not expire soon"},
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
