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
	RolePerson   Role = "person"   // to do a person's work at a node over the network
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
	case n.Role == RolePerson && !ValidPerson(n.Name):
		return fmt.Errorf("%q cannot name a person: use letters, digits, and . _ -, at most 64; NAME@NODE is the person of one site only", n.Name)
	case n.Role == RoleServer && !validHost(n.Name) && net.ParseIP(n.Name) == nil:
		return noHost(n.Name)
	}
	return nil
}

// common is the name as a certificate's common name. That of a server or a person cannot be a
// site's, wherever somebody looks at nothing else.
func (n Name) common() string {
	if n.Role == RoleServer || n.Role == RolePerson {
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

// ValidPerson says whether s can be the name of a person: letters, digits, and any of . _ -, from 1 to 64; and
// behind an @ the node in whose staff that is.
func ValidPerson(s string) bool {
	name, node, of := strings.Cut(s, "@")
	return ValidOperator(name) && (!of || processtable.ValidNode(node))
}

// PersonAt gives the name of the person in the staff of a node whom a certificate of RolePerson names; false: it is
// for the people of another node. One that names no node is good at each.
func (n Name) PersonAt(node processtable.NodeID) (string, bool) {
	name, of, said := strings.Cut(n.Name, "@")
	return name, n.Role == RolePerson && (!said || of == string(node))
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
	return Name{}, fmt.Errorf("it names neither a site, an operator nor a person (its subject is %q)", c.Subject)
}

// nameIn gives the one name that the URIs of a certificate have; zero: none.
func nameIn(uris []*url.URL) (Name, error) {
	var names []Name
	for _, u := range uris {
		if u.Scheme != scheme {
			continue
		}
		n := Name{Role: Role(u.Host), Name: strings.TrimPrefix(u.Path, "/")}
		if !slices.Contains([]Role{RoleNode, RoleOperator, RolePerson, RoleServer}, n.Role) || n.check() != nil {
			return Name{}, fmt.Errorf("it names %q, which is neither a site, an operator nor a person", u)
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
