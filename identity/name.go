package identity

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"fmqm/processtable"
)

// Role is what a certificate lets its holder do.
type Role string

// The roles.
const (
	RoleNode     Role = "node"     // to open and take links
	RoleOperator Role = "operator" // to ask a node over the network
	RoleServer   Role = "server"   // to be a server that is no node, such as a broker: nothing here
)

// Name is whom a certificate is for.
type Name struct {
	Role Role
	Name string
}

// String gives the name as people read it: "site A", "operator ann".
func (n Name) String() string {
	if n.Role == RoleNode {
		return "site " + n.Name
	}
	return string(n.Role) + " " + n.Name
}

const scheme = "fmqm"

// uri is how a certificate says the name.
func (n Name) uri() *url.URL {
	return &url.URL{Scheme: scheme, Host: string(n.Role), Path: "/" + n.Name}
}

// check says why n cannot be a name.
func (n Name) check() error {
	switch {
	case n.Role == RoleNode && !processtable.ValidNode(n.Name):
		return fmt.Errorf("%q cannot name a node: use letters, digits, _ and -, not a digit or - first, at most 64", n.Name)
	case n.Role == RoleOperator && !ValidOperator(n.Name):
		return fmt.Errorf("%q cannot name an operator: use letters, digits, and . _ @ -, at most 64", n.Name)
	case n.Role == RoleServer && !validHost(n.Name) && net.ParseIP(n.Name) == nil:
		return noHost(n.Name)
	}
	return nil
}

// common is the name as a certificate's common name. That of a server cannot be a site's,
// wherever somebody looks at nothing else.
func (n Name) common() string {
	if n.Role == RoleServer {
		return n.String()
	}
	return n.Name
}

// ValidOperator says whether s can be the name of an operator: letters, digits, and any
// of . _ @ -, from 1 to 64.
func ValidOperator(s string) bool {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._@-", r)
	}
	return len(s) > 0 && len(s) <= 64 && !strings.ContainsFunc(s, odd)
}

// NameOf reads whom a certificate is for. It judges nothing else of it.
func NameOf(c *x509.Certificate) (Name, error) {
	name, err := nameIn(c.URIs)
	switch {
	case err != nil || name != (Name{}):
		return name, err
	case processtable.ValidNode(c.Subject.CommonName) && slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth) &&
		slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth):
		return Name{RoleNode, c.Subject.CommonName}, nil
	}
	return Name{}, fmt.Errorf("it names neither a site nor an operator (its subject is %q)", c.Subject)
}

// nameIn gives the one name that the URIs of a certificate have; zero: none.
func nameIn(uris []*url.URL) (Name, error) {
	var names []Name
	for _, u := range uris {
		if u.Scheme != scheme {
			continue
		}
		n := Name{Role: Role(u.Host), Name: strings.TrimPrefix(u.Path, "/")}
		if !slices.Contains([]Role{RoleNode, RoleOperator, RoleServer}, n.Role) || n.check() != nil {
			return Name{}, fmt.Errorf("it names %q, which is neither a site nor an operator", u)
		}
		names = append(names, n)
	}
	switch {
	case len(names) == 1:
		return names[0], nil
	case len(names) > 1:
		return Name{}, fmt.Errorf("it names both %s and %s: a certificate is for one only", names[0], names[1])
	}
	return Name{}, nil
}
