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
		Description: "A small certificate authority for the sites. init makes it, on one machine. A site makes its own\n" +
			"key with request, and the authority signs a certificate for it with sign. issue makes key and\n" +
			"certificate together at the authority. renew renews certificates that expire soon. show prints\n" +
			"what a certificate is for. deny prints the lines that revoke one. Whoever has the authority's\n" +
			"key, ca.key, can pose as any site: keep it where few can read it, and back it up.",
		UsageText:   "fmqmd pki init\nfmqmd pki request --name B\nfmqmd pki sign --name B node-B.csr\nfmqmd pki renew /etc/fmqm/pki/*-*.crt",
		Subcommands: []*ucli.Command{pkiInitCommand(), pkiRequestCommand(), pkiSignCommand(), pkiIssueCommand(), pkiRenewCommand(), pkiShowCommand(), pkiDenyCommand()},
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
		Description: fmt.Sprintf("Writes %s for all sites, and %s, which never leaves this machine. The authority is valid\n"+
			"for %d years.", identity.CACertificate, identity.CAKey, identity.CAYears),
		UsageText: "fmqmd pki init\nfmqmd pki init --dir /root/fmqm-pki --name 'Example Inc. sites'",
		Flags: []ucli.Flag{
			pkiDirFlag(),
			&ucli.StringFlag{Name: "name", Value: "fmqm sites", Usage: "`NAME` of the authority, shown in its certificates (default: fmqm sites)"},
			pkiForceFlag("replace an existing authority; all certificates that it signed become worthless"),
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
			cli.Talk(c, "Next, for each site:  fmqmd pki request --name NODE   there, and with what that writes here\n"+
				"                      fmqmd pki sign --name NODE%s node-NODE.csr", dirArgument(dir))
			return nil
		},
	}
}

func pkiIssueCommand() *ucli.Command {
	return &ucli.Command{
		Name: "issue", Usage: "make a key and a certificate for a site, an operator, a person or a broker", ArgsUsage: "[NODE]",
		Description: fmt.Sprintf("Writes a key and a certificate for the site NODE (valid for %d days), with --operator for somebody\n"+
			"who asks sites over the network (valid for %d days), with --person for somebody of a site's staff\n"+
			"(valid for %d days), or with --server for a broker, which is not a site (valid for %d days). Sites know each other by name, wherever they are. Operators call a\n"+
			"site at an address: --host puts the address into the certificate. You have to carry the key to\n"+
			"the machine that uses it; with `fmqmd pki request` the key never leaves that machine.", identity.NodeDays, identity.OperatorDays, identity.PersonDays, identity.ServerDays),
		UsageText: "fmqmd pki issue A\nfmqmd pki issue B --host b.example.org --host 192.0.2.7\nfmqmd pki issue --operator ann@example.org\nfmqmd pki issue --person ann\nfmqmd pki issue --server broker.example.org",
		Flags: []ucli.Flag{
			pkiDirFlag(), pkiHostFlag(), pkiDaysFlag(), pkiOperatorFlag(), pkiPersonFlag(), pkiServerFlag(),
			pkiForceFlag("replace the existing files"),
			cli.OutputFlag(),
		},
		Action: pkiIssue,
	}
}

func pkiHostFlag() ucli.Flag {
	return &ucli.StringSliceFlag{Name: "host", Usage: "`NAME` or address at which operators call the site, or sites call the broker; can be repeated"}
}

func pkiDaysFlag() ucli.Flag {
	return &ucli.IntFlag{Name: "days", Usage: "valid for `N` days, at most as long as the authority"}
}

func pkiOperatorFlag() ucli.Flag {
	return &ucli.StringFlag{Name: "operator", Usage: "for the operator `NAME`, not for a site"}
}

func pkiPersonFlag() ucli.Flag {
	return &ucli.StringFlag{Name: "person", Usage: "for the person `NAME` of a site's staff; NAME@NODE: of that site only"}
}

func pkiServerFlag() ucli.Flag {
	return &ucli.StringFlag{Name: "server", Usage: "for the broker at `HOST` (a name or an address), not for a site"}
}

// pkiName gives whom a certificate is for: node is the name of a site, or empty.
func pkiName(c *ucli.Context, node, how string) (identity.Name, error) {
	var names []identity.Name
	for _, n := range []identity.Name{
		{Role: identity.RoleNode, Name: node},
		{Role: identity.RoleOperator, Name: c.String("operator")},
		{Role: identity.RolePerson, Name: c.String("person")},
		{Role: identity.RoleServer, Name: c.String("server")},
	} {
		if n.Name != "" {
			names = append(names, n)
		}
	}
	switch {
	case len(names) != 1:
		return identity.Name{}, cli.Usagef("pki %s: write one of these: %s, --operator NAME, --person NAME, --server HOST: see fmqmd pki %s --help", c.Command.Name, how, c.Command.Name)
	case c.IsSet("days") && c.Int("days") < 1:
		return identity.Name{}, cli.Usagef("--days %d: write 1 or more", c.Int("days"))
	}
	return names[0], nil
}

// pkiFor gives the printer of a command that makes something, and whom that is for; see
// pkiName.
func pkiFor(c *ucli.Context, node, how string) (*cli.Printer, identity.Name, error) {
	printer, err := cli.NewPrinter(c)
	if err != nil {
		return nil, identity.Name{}, err
	}
	name, err := pkiName(c, node, how)
	return printer, name, err
}

func pkiIssue(c *ucli.Context) error {
	printer, name, err := pkiFor(c, c.Args().First(), "the name of a site")
	if err != nil {
		return err
	}
	issued, err := identity.Issue(issueOptions(c, name))
	if err != nil {
		return pkiError(err)
	}
	return pkiMade(c, printer, issued)
}

// pkiMade prints a certificate that was made, and says what to do with it.
func pkiMade(c *ucli.Context, printer *cli.Printer, issued identity.Issued) error {
	if err := printIssued(printer, issued); err != nil {
		return err
	}
	key := strings.TrimSuffix(filepath.Base(issued.Certificate), ".crt") + ".key" // beside it, or at the machine that asked
	if issued.Key != "" {
		key = filepath.Base(issued.Key)
	}
	pkiNext(c, issued, key)
	return nil
}

func issueOptions(c *ucli.Context, name identity.Name) identity.IssueOptions {
	return identity.IssueOptions{
		Dir: c.String("dir"), Name: name, Hosts: c.StringSlice("host"), Days: c.Int("days"), Now: time.Now(), Force: c.Bool("force"),
	}
}

// pkiNext says what to do with a certificate whose key is in a file of that name.
func pkiNext(c *ucli.Context, issued identity.Issued, key string) {
	certificate, files := filepath.Base(issued.Certificate), filepath.Base(issued.Certificate)+" and "+identity.CACertificate
	if issued.Key != "" {
		files = certificate + ", " + key + " and " + identity.CACertificate
	}
	switch issued.Name.Role {
	case identity.RoleOperator:
		cli.Talk(c, "Next: give %s to %s and to nobody else. To ask a site, set\n"+
			"    export FMQM_CERT=%s FMQM_KEY=%s FMQM_CA=%s\n"+
			"    fmqm nodes --to https://HOST:7411", files, issued.Name.Name, certificate, key, identity.CACertificate)
	case identity.RolePerson:
		cli.Talk(c, "Next: give %s to %s and to nobody else. The person has to be in the staff of the site; then\n"+
			"    export FMQM_CERT=%s FMQM_KEY=%s FMQM_CA=%s\n"+
			"    fmqm whoami --to https://HOST:7411", files, issued.Name.Name, certificate, key, identity.CACertificate)
	case identity.RoleServer:
		cli.Talk(c, "Next: copy %s to %s, and name them in rabbitmq.conf under ssl_options: see docs/links.md", files, issued.Name.Name)
	default:
		cli.Talk(c, "Next: copy %s to /etc/fmqm at site %s; only the daemon's user may read the key\n"+
			"    install -o fmqm -g fmqm -m 600 %s /etc/fmqm/\n"+
			"and write into its fmqmd.yaml\n"+
			"    identity: {certificate: %s, key: %s, ca: %s}", files, issued.Name.Name, key, certificate, key, identity.CACertificate)
	}
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
	Key         string    `json:"key,omitempty"`
	CA          string    `json:"ca"`
	Expires     time.Time `json:"expires"`
}

func printIssued(printer *cli.Printer, i identity.Issued) error {
	kind := string(i.Name.Role)
	if kind == "" {
		kind = "authority"
	}
	return printer.Object(issuedFiles{kind, i.Name.Name, i.Certificate, i.Key, i.CA, i.Expires.UTC()}, func(w io.Writer) error {
		secret := ""
		if i.Key != "" {
			secret = i.Key + ": keep it secret\n"
		}
		_, err := fmt.Fprintf(w, "%s\n%svalid until %s\n", i.Certificate, secret, i.Expires.UTC().Format(time.DateOnly))
		return err
	})
}
