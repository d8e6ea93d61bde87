package cli

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/identity"
)

// certificateOptions are the flags of who asks a node over https, and their variables.
var certificateOptions = []struct{ flag, variable, what string }{
	{"cert", "FMQM_CERT", "certificate `FILE` of the operator, for https (default: FMQM_CERT)"},
	{"cert-key", "FMQM_KEY", "private key `FILE` of the operator, for https (default: FMQM_KEY)"},
	{"ca", "FMQM_CA", "certificate `FILE` of the sites' authority, for https (default: FMQM_CA)"},
}

// CertificateFlags are --cert, --cert-key and --ca, for every command that asks a node that
// may be elsewhere.
func CertificateFlags() []cli.Flag {
	var flags []cli.Flag
	for _, o := range certificateOptions {
		flags = append(flags, &cli.StringFlag{Name: o.flag, Usage: o.what})
	}
	return flags
}

// clientTLS gives the TLS configuration for the node at to, by flags and the
// environment; nil if they say nothing, or the address is not https.
func clientTLS(to string, flag func(string) string, env func(string) string) (*tls.Config, error) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "https" {
		for _, o := range certificateOptions {
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
	switch len(missing) {
	case len(certificateOptions):
		return nil, nil // whoever stands before the node may ask for none
	case 0:
	default:
		return nil, Usagef("an operator's certificate takes three files: write %s, too", strings.Join(missing, " and "))
	}
	id, err := identity.Load(identity.Options{Files: identity.Files{Certificate: files[0], Key: files[1], CA: files[2]}})
	if err != nil {
		return nil, fmt.Errorf("--cert, --cert-key, --ca: %w", err)
	}
	return id.Operator(u.Hostname()), nil
}
