package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/program"
)

// secrets reads where a program's secrets are: for exec the values of variables, for
// http those of headers.
func (r *reader) secrets(n *yaml.Node, s *program.Spec) {
	files := map[string]string{}
	r.pairs(n, "secrets", func(k, v *yaml.Node) {
		taken := false
		switch s.Kind {
		case program.KindExec:
			_, taken = s.Env[k.Value]
			if !r.variable(k) {
				return
			}
		case program.KindHTTP:
			_, taken = s.Headers[k.Value]
			if !r.header(k) {
				return
			}
		case program.KindBuiltin:
			r.add(k, "builtin programs have no secrets", "remove `secrets`")
			return
		}
		if taken {
			r.add(k, k.Value+" is given twice, as a secret and in the open", "remove one of the two")
			return
		}
		path := ""
		if r.secretName(v, &path); path != "" {
			files[k.Value] = path
		}
	})
	if len(files) > 0 {
		s.Secrets = files
	}
}

// headers reads what is added to the requests of an http program.
func (r *reader) headers(n *yaml.Node) map[string]string {
	headers := map[string]string{}
	r.pairs(n, "headers", func(k, v *yaml.Node) {
		switch {
		case !r.header(k) || !r.plain(v):
		case v.Kind != yaml.ScalarNode || v.Tag == "!!null" || strings.ContainsFunc(v.Value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }):
			r.add(v, "the value is not a text of one line", "write the header's value; a secret one goes into a file that `secrets` names")
		default:
			headers[k.Value] = v.Value
		}
	})
	return headers
}

func (r *reader) header(k *yaml.Node) bool {
	err := program.CheckHeader(k.Value)
	if err != nil {
		what, remedy, _ := strings.Cut(err.Error(), ": ")
		r.add(k, what, remedy)
	}
	return err == nil
}

// variable checks the name of an environment variable.
func (r *reader) variable(k *yaml.Node) bool {
	switch {
	case !validVariable(k.Value):
		r.add(k, fmt.Sprintf("%q cannot name an environment variable", k.Value), "use letters, digits and _, not a digit first")
	case strings.HasPrefix(k.Value, "FMQM_"):
		r.add(k, "only the daemon sets "+k.Value, "use a name without FMQM_")
	default:
		return true
	}
	return false
}

// service checks how an http program proves itself, of which everything is known.
func (r *reader) service(name *yaml.Node, s *program.Spec) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return // said already
	}
	tls := s.Certificate != "" || s.Key != "" || s.CA != ""
	switch {
	case (s.Certificate == "") != (s.Key == ""):
		r.add(name, fmt.Sprintf("program %s has only one of certificate and key", name.Value), "write both: the certificate that the service knows this node by, and its private key")
	case tls && u.Scheme != "https":
		r.add(name, fmt.Sprintf("program %s has a certificate for an address without TLS", name.Value), "write https://, or remove certificate, key and ca")
	case tls:
		if _, err := program.ClientTLS(s.Certificate, s.Key, s.CA); err != nil {
			remedy := "write the names of PEM files"
			if errors.Is(err, fs.ErrPermission) {
				remedy = "let the daemon's user read it, or check as that user"
			}
			r.add(name, fmt.Sprintf("program %s: %v", name.Value, err), remedy)
		}
	}
	if len(s.Secrets) > 0 && u.Scheme == "http" && !loopback(u.Hostname()) {
		r.open = append(r.open, openService{name, u.Host})
	}
}

// openService is an http program whose secrets would go to another machine in plain text.
type openService struct {
	name *yaml.Node
	host string
}

// checkServices checks what of http programs depends on other keys.
func (r *reader) checkServices(c *Config) {
	for _, o := range r.open {
		if !c.Insecure {
			r.add(o.name, fmt.Sprintf("the secrets of program %s would go to %s in plain text", o.name.Value, o.host),
				"write https://, or accept with `insecure: true` that everybody on the way reads them")
		}
	}
}
