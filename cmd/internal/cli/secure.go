package cli

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/identity"
)

type certificateOption struct{ flag, variable, what string }

// certificateOptions are the flags of who asks a node over https, and their variables.
var certificateOptions = []certificateOption{
	{"cert", "FMQM_CERT", "certificate `FILE` of the operator, for https (default: FMQM_CERT)"},
	{"cert-key", "FMQM_KEY", "private key `FILE` of the operator, for https (default: FMQM_KEY)"},
	{"ca", "FMQM_CA", "certificate `FILE` of the sites' authority, for https (default: FMQM_CA)"},
}

// denyOption names those whom the authority has signed and who are not believed any more.
var denyOption = certificateOption{
	"deny", "FMQM_DENY", "deny list `FILE`: sites that are not believed any more, for https (default: FMQM_DENY)",
}

// CertificateFlags are --cert, --cert-key, --ca and --deny, for every command that asks a node that
// may be elsewhere.
func CertificateFlags() []cli.Flag {
	var flags []cli.Flag
	for _, o := range append(slices.Clone(certificateOptions), denyOption) {
		flags = append(flags, &cli.StringFlag{Name: o.flag, Usage: o.what})
	}
	return flags
}

// clientTLS gives the TLS configuration for the node at to, by flags and the
// environment; nil if they say nothing, or the address is not https.
func clientTLS(to string, flag func(string) string, env func(string) string) (*tls.Config, error) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "https" {
		for _, o := range append(slices.Clone(certificateOptions), denyOption) {
			if flag(o.flag) != "" {
				return nil, Usagef("--%s: %s is not an https address: write --to https://HOST:PORT, or leave it out", o.flag, to)
			}
		}
		return nil, nil
	}
	var files [3]string
	var missing []string
	for i, o := range certificateOptions {
		if files[i] = flag(o.flag); files[i] == "" {
			files[i] = env(o.variable)
		}
		if files[i] == "" {
			missing = append(missing, "--"+o.flag+" (or "+o.variable+")")
			continue
		}
		if files[i], err = filepath.Abs(files[i]); err != nil {
			return nil, Usagef("--%s: %v", o.flag, err)
		}
	}
	deny := cmp.Or(flag(denyOption.flag), env(denyOption.variable))
	if deny != "" {
		if deny, err = filepath.Abs(deny); err != nil {
			return nil, Usagef("--deny: %v", err)
		}
	}
	switch len(missing) {
	case len(certificateOptions):
		if flag(denyOption.flag) != "" {
			return nil, Usagef("--deny: without an operator's certificate no site's is looked at: write %s, too", strings.Join(missing, ", "))
		}
		return nil, nil // whoever stands before the node may ask for none
	case 0:
	default:
		return nil, Usagef("an operator's certificate takes three files: write %s, too", strings.Join(missing, " and "))
	}
	id, err := identity.Load(identity.Options{Files: identity.Files{Certificate: files[0], Key: files[1], CA: files[2], Deny: deny}})
	if err != nil {
		return nil, explainIdentity(err, flag)
	}
	return id.Operator(u.Hostname()), nil
}

// explainIdentity names the flag, or the variable, of the file in which something is wrong.
func explainIdentity(err error, flag func(string) string) error {
	var in *identity.InFile
	if !errors.As(err, &in) {
		return fmt.Errorf("--cert, --cert-key and --ca (or FMQM_CERT, FMQM_KEY and FMQM_CA): %w", err)
	}
	o := append(slices.Clone(certificateOptions), denyOption)[in.Of] // the order is that of identity.Files
	if flag(o.flag) != "" {
		return fmt.Errorf("--%s: %w", o.flag, in)
	}
	return fmt.Errorf("%s: %w", o.variable, in)
}
