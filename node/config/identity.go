package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/identity"
	"fmqm/internal/secret"
)

// Identity is how this node proves who it is, and whom it believes: names of PEM files,
// absolute.
type Identity struct {
	Certificate string // of this node, with its name
	Key         string // its private key
	CA          string // the authorities that peers and operators have their certificates from
	Deny        string // fingerprints of certificates and keys that are not believed; "": none
}

// credentialPrefix marks a FILE that systemd hands to the service.
const credentialPrefix = "credential:"

// maxKeys bounds a file of definers, in bytes.
const maxKeys = 1 << 20

// definerPrefix is what a definer's key begins with, where it is written out.
const definerPrefix = "ed25519:"

// identity reads the identity section.
func (r *reader) identity(k, v *yaml.Node, c *Config) {
	var id Identity
	before := len(r.problems)
	r.hasIdentity = true // whatever is wrong with it: nothing else is to complain that there is none
	r.mapping(v, "identity", map[string]func(k, v *yaml.Node){
		"certificate": func(_, v *yaml.Node) { r.fileName(v, &id.Certificate) },
		"key":         func(_, v *yaml.Node) { r.secretName(v, &id.Key) },
		"ca":          func(_, v *yaml.Node) { r.fileName(v, &id.CA) },
		"deny":        func(_, v *yaml.Node) { r.fileName(v, &id.Deny) },
	})
	if len(r.problems) > before {
		return
	}
	for _, need := range []struct{ key, value string }{{"certificate", id.Certificate}, {"key", id.Key}, {"ca", id.CA}} {
		if need.value == "" {
			r.add(k, "identity has no "+need.key, "write identity: {certificate: FILE, key: FILE, ca: FILE}; `fmqmd pki issue` makes them")
			return
		}
	}
	c.Identity = &id
}

func identityRemedy(c *Config) string {
	node := string(c.Node)
	if node == "" {
		node = "NODE"
	}
	return "write identity: {certificate: FILE, key: FILE, ca: FILE}, which `fmqmd pki issue " + node + "` makes"
}

// fileName reads the name of a file: relative to the configuration, absolute, or
// credential:NAME.
func (r *reader) fileName(n *yaml.Node, into *string) {
	s, ok := r.scalar(n, "the name of a file")
	if !ok {
		return
	}
	name, credential := strings.CutPrefix(s, credentialPrefix)
	if !credential {
		*into = r.abs(s)
		return
	}
	switch dir := r.env("CREDENTIALS_DIRECTORY"); {
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00"):
		r.add(n, fmt.Sprintf("%q cannot name a credential", name), "write credential:NAME with the NAME of LoadCredential= in the unit")
	case dir == "":
		r.add(n, "there are no credentials: CREDENTIALS_DIRECTORY is not set", "write LoadCredential="+name+":FILE into the unit; to try it from a shell, "+
			"set CREDENTIALS_DIRECTORY to the directory that has the file "+name)
	default:
		*into = filepath.Join(dir, name)
	}
}

// secretName is fileName of a private key or a password: nobody else may read it.
func (r *reader) secretName(n *yaml.Node, into *string) {
	r.fileName(n, into)
	if *into == "" {
		return
	}
	var exposed *secret.Exposed
	if errors.As(secret.Check(*into), &exposed) {
		r.add(n, exposed.What, exposed.Remedy())
	}
}

// credential gives the file of a systemd credential that is there, or "".
func (r *reader) credential(name string) string {
	dir := r.env("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// operators reads the names of those who may ask over the network.
func (r *reader) operators(n *yaml.Node, c *Config) {
	c.Operators = []string{}
	r.operatorsAt = n
	r.list(n, "operators", "the NAME of a certificate of `fmqmd pki issue --operator NAME`", func(item *yaml.Node, s string) {
		if !identity.ValidOperator(s) {
			r.add(item, fmt.Sprintf("%q cannot name an operator", s), "use letters, digits, and . _ @ -, at most 64")
			return
		}
		if !slices.Contains(c.Operators, s) {
			c.Operators = append(c.Operators, s)
		}
	})
}
