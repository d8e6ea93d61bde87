package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/identity"
)

// defaultPKI is where the sites' authority is kept, unless somebody says otherwise.
const defaultPKI = "/etc/fmqm/pki"

func pkiCommand() *ucli.Command {
	return &ucli.Command{
		Name: "pki", Usage: "make certificates for sites and operators",
		Description: "A small authority for sites that have none: init makes it, on one machine; issue makes a\n" +
			"certificate for each site and each operator; show says what a certificate is for. Whoever has\n" +
			"the authority's key, ca.key, can be any site: keep it where few can read it, and back it up.",
		UsageText:   "fmqmd pki init\nfmqmd pki issue B --host b.example.org",
		Subcommands: []*ucli.Command{pkiInitCommand(), pkiIssueCommand(), pkiShowCommand()},
	}
}

func pkiDirFlag() ucli.Flag {
	return &ucli.StringFlag{Name: "dir", Value: defaultPKI, Usage: "`DIR` of the authority (default: " + defaultPKI + ")"}
}

func pkiForceFlag(what string) ucli.Flag {
	return &ucli.BoolFlag{Name: "force", Usage: what}
}

func pkiInitCommand() *ucli.Command {
	return &ucli.Command{
		Name: "init", Usage: "make an authority for the sites",
		Description: fmt.Sprintf("Writes %s, which all sites get, and %s, which stays where it is. The authority is valid\n"+
			"for %d years.", identity.CACertificate, identity.CAKey, identity.CAYears),
		UsageText: "fmqmd pki init\nfmqmd pki init --dir /root/fmqm-pki --name 'Example Inc. sites'",
		Flags: []ucli.Flag{
			pkiDirFlag(),
			&ucli.StringFlag{Name: "name", Value: "fmqm sites", Usage: "`NAME` that is shown in all that it signs (default: fmqm sites)"},
			pkiForceFlag("replace an authority that is there: all that it signed is worthless then"),
			cli.OutputFlag(),
		},
		Action: func(c *ucli.Context) error {
			printer, err := cli.NewPrinter(c)
			if err != nil {
				return err
			}
			dir := c.String("dir")
			made, err := identity.Init(identity.InitOptions{Dir: dir, Name: c.String("name"), Now: time.Now(), Force: c.Bool("force")})
			if err != nil {
				return pkiError(err)
			}
			if err := printIssued(printer, made); err != nil {
				return err
			}
			cli.Talk(c, "Next, for each site:  fmqmd pki issue NODE%s", dirArgument(dir))
			return nil
		},
	}
}

func pkiIssueCommand() *ucli.Command {
	return &ucli.Command{
		Name: "issue", Usage: "make a certificate for a site or an operator", ArgsUsage: "[NODE]",
		Description: fmt.Sprintf("Writes a key and a certificate for the site NODE, valid for %d days, or with --operator for somebody\n"+
			"who asks sites over the network, valid for %d days. Sites know each other by their names,\n"+
			"wherever they are; operators call them at addresses, which --host puts into the certificate. To renew\n"+
			"one, make it again with --force, put it in place of the old one, and reload the daemon.", identity.NodeDays, identity.OperatorDays),
		UsageText: "fmqmd pki issue A\nfmqmd pki issue B --host b.example.org --host 192.0.2.7\nfmqmd pki issue --operator ann@example.org",
		Flags: []ucli.Flag{
			pkiDirFlag(),
			&ucli.StringSliceFlag{Name: "host", Usage: "`NAME` or address under which operators call the site; may be repeated"},
			&ucli.IntFlag{Name: "days", Usage: "valid for `N` days, at most as long as the authority"},
			&ucli.StringFlag{Name: "operator", Usage: "for the operator `NAME`, and not for a site"},
			pkiForceFlag("replace the files of an earlier one"),
			cli.OutputFlag(),
		},
		Action: pkiIssue,
	}
}

func pkiIssue(c *ucli.Context) error {
	printer, err := cli.NewPrinter(c)
	if err != nil {
		return err
	}
	name := identity.Name{Role: identity.RoleNode, Name: c.Args().First()}
	operator := c.String("operator")
	switch {
	case (name.Name == "") == (operator == ""):
		return cli.Usagef("pki issue: write the name of a site, or --operator NAME, and not both: see fmqmd pki issue --help")
	case c.IsSet("days") && c.Int("days") < 1:
		return cli.Usagef("--days %d: write 1 or more", c.Int("days"))
	case operator != "":
		name = identity.Name{Role: identity.RoleOperator, Name: operator}
	}
	issued, err := identity.Issue(identity.IssueOptions{
		Dir: c.String("dir"), Name: name, Hosts: c.StringSlice("host"), Days: c.Int("days"), Now: time.Now(), Force: c.Bool("force"),
	})
	if err != nil {
		return pkiError(err)
	}
	if err := printIssued(printer, issued); err != nil {
		return err
	}
	certificate, key := filepath.Base(issued.Certificate), filepath.Base(issued.Key)
	if name.Role == identity.RoleOperator {
		cli.Talk(c, "Next: give %s, %s and %s to %s alone, who then asks with\n"+
			"    export FMQM_CERT=%s FMQM_KEY=%s FMQM_CA=%s\n"+
			"    fmqm nodes --to https://HOST:7411", certificate, key, identity.CACertificate, name.Name, certificate, key, identity.CACertificate)
		return nil
	}
	cli.Talk(c, "Next: copy %s, %s and %s to /etc/fmqm of site %s, and let nobody but the daemon's user read the key\n"+
		"    install -o fmqm -g fmqm -m 600 %s /etc/fmqm/\n"+
		"and write into its fmqmd.yaml\n"+
		"    identity: {certificate: %s, key: %s, ca: %s}", certificate, key, identity.CACertificate, name.Name, key, certificate, key, identity.CACertificate)
	return nil
}

// dirArgument is what a command needs to find the same directory.
func dirArgument(dir string) string {
	if dir == defaultPKI {
		return ""
	}
	return " --dir " + dir
}

// pkiError gives the exit code of what went wrong: a file that is there is a refusal.
func pkiError(err error) error {
	var exists *identity.Exists
	if errors.As(err, &exists) {
		return &cli.Error{Exit: cli.ExitRefused, Text: "pki: " + err.Error()}
	}
	return cli.Failedf("pki: %v", err)
}

// issuedFiles is what init and issue print; its keys are API.
type issuedFiles struct {
	Kind        string    `json:"kind"`
	Name        string    `json:"name,omitempty"`
	Certificate string    `json:"certificate"`
	Key         string    `json:"key"`
	CA          string    `json:"ca"`
	Expires     time.Time `json:"expires"`
}

func printIssued(printer *cli.Printer, i identity.Issued) error {
	kind := string(i.Name.Role)
	if kind == "" {
		kind = "authority"
	}
	return printer.Object(issuedFiles{kind, i.Name.Name, i.Certificate, i.Key, i.CA, i.Expires.UTC()}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\n%s: to be kept secret\nvalid until %s\n", i.Certificate, i.Key, i.Expires.UTC().Format(time.DateOnly))
		return err
	})
}

// shownCertificate is what show prints; its keys are API.
type shownCertificate struct {
	File        string    `json:"file"`
	Kind        string    `json:"kind"` // node, operator, authority or other
	Name        string    `json:"name"`
	Hosts       []string  `json:"hosts"`
	Issuer      string    `json:"issuer"`
	NotBefore   time.Time `json:"not_before"`
	Expires     time.Time `json:"expires"`
	Fingerprint string    `json:"fingerprint"`
}

func pkiShowCommand() *ucli.Command {
	return &ucli.Command{
		Name: "show", Usage: "say what certificates are for, and until when", ArgsUsage: "FILE...",
		Description: "For each certificate: whom it is for, who signed it, until when it is valid, and its SHA-256\nfingerprint. It judges nothing; a file without certificates is an error.",
		UsageText:   "fmqmd pki show /etc/fmqm/node-A.crt /etc/fmqm/ca.crt\nfmqmd pki show -o jsonl /etc/fmqm/node-A.crt",
		Flags:       []ucli.Flag{cli.OutputFlag()},
		Action: func(c *ucli.Context) error {
			printer, err := cli.NewPrinter(c)
			if err != nil {
				return err
			}
			list := printer.List(false, "KIND", "NAME", "EXPIRES", "ISSUER", "HOSTS", "FINGERPRINT", "FILE")
			for _, file := range c.Args().Slice() {
				certificates, err := identity.Show(file)
				if err != nil {
					return cli.Failedf("pki show: %v", err)
				}
				for _, s := range certificates {
					if err := showRow(list, s, time.Now()); err != nil {
						return err
					}
				}
			}
			return list.End()
		},
	}
}

func showRow(list *cli.List, s identity.Shown, now time.Time) error {
	kind, name := string(s.Name.Role), s.Name.Name
	switch {
	case s.Authority:
		kind, name = "authority", s.Subject
	case kind == "":
		kind, name = "other", s.Subject
	}
	expires := s.NotAfter.UTC().Format(time.DateOnly)
	if left := s.NotAfter.Sub(now); left <= 0 {
		expires += " (expired)"
	} else {
		expires += fmt.Sprintf(" (%d days)", int(left.Hours()/24))
	}
	return list.Row(shownCertificate{s.File, kind, name, s.Hosts, s.Issuer, s.NotBefore.UTC(), s.NotAfter.UTC(), s.Fingerprint},
		kind, name, expires, s.Issuer, strings.Join(s.Hosts, " "), s.Fingerprint, s.File)
}
