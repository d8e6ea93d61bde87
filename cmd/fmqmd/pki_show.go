package main

import (
	"fmt"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/identity"
	"fmqm/internal/text"
)

// shownCertificate is what show prints; its keys are API.
type shownCertificate struct {
	File        string    `json:"file"`
	Kind        string    `json:"kind"` // node, operator, server, authority or other
	Name        string    `json:"name"`
	Hosts       []string  `json:"hosts"`
	Issuer      string    `json:"issuer"`
	NotBefore   time.Time `json:"not_before"`
	Expires     time.Time `json:"expires"`
	Fingerprint string    `json:"fingerprint"`
	Key         string    `json:"key_fingerprint"`
}

func pkiShowCommand() *ucli.Command {
	return &ucli.Command{
		Name: "show", Usage: "show for whom certificates are, and until when", ArgsUsage: "FILE...",
		Description: "Prints for each certificate whom it is for, who signed it, until when it is valid, and its\nSHA-256 fingerprint, for a deny list. -o json also shows the fingerprint of its key. Nothing is\nverified. A file without certificates is an error.",
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
		expires += " (" + text.Counted(int(left.Hours()/24), "day", "days") + ")"
	}
	return list.Row(shownCertificate{s.File, kind, name, s.Hosts, s.Issuer, s.NotBefore.UTC(), s.NotAfter.UTC(), s.Fingerprint, s.Key},
		kind, name, expires, s.Issuer, strings.Join(s.Hosts, " "), s.Fingerprint, s.File)
}

func pkiDenyCommand() *ucli.Command {
	return &ucli.Command{
		Name: "deny", Usage: "print the lines of a deny list that revoke certificates", ArgsUsage: "FILE...",
		Description: "Prints for each certificate its SHA-256 fingerprint and that of its key. The key's line revokes\n" +
			"all certificates for that key, also later ones. Append the lines to the file that\n" +
			"`deny` in `identity` of every site names, and to the file " + identity.DenyFile + " beside the authority's, and reload the\n" +
			"daemons. They then end the links and requests of whoever holds such a certificate.",
		UsageText: "fmqmd pki deny /etc/fmqm/pki/node-B.crt\nfmqmd pki deny /etc/fmqm/pki/node-B.crt >>/etc/fmqm/deny",
		Action: func(c *ucli.Context) error {
			for _, file := range c.Args().Slice() {
				certificates, err := identity.Show(file)
				if err != nil {
					return cli.Failedf("pki deny: %v", err)
				}
				s, whose := certificates[0], certificates[0].Subject
				if s.Name != (identity.Name{}) {
					whose = s.Name.String()
				}
				// A line break in it would make a line of the list out of what follows.
				_, err = fmt.Fprintf(cli.From(c).Out, "%s  # %s, until %s\n%s  # its key\n", s.Fingerprint, cli.OneLine(whose), s.NotAfter.UTC().Format(time.DateOnly), s.Key)
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}
