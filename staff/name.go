package staff

import (
	"fmt"
	"strings"

	"fmqm/processtable"
)

// Name names a person of one node: letters, digits and `_.-`, at most [MaxName].
type Name string

// Role and Organisation are what people have and are in; their names are made as those of
// people are.
type (
	Role         string
	Organisation string
)

// Login is the name of a Unix user of the node's machine.
type Login string

// Person is a person over sites: `name@node`.
type Person string

// Limits.
const (
	MaxName          = 64      // bytes in the name of a person, a role or an organisation
	MaxLogin         = 256     // bytes in a login
	MaxFull          = 200     // characters in a full name
	MaxPeople        = 100_000 // of a node
	MaxRoles         = 10_000  // of a node
	MaxOrganisations = 100_000 // of a node
	MaxEach          = 1_000   // roles, logins, absences and people elsewhere of one person
	MaxDepth         = 64      // organisations within each other
	MaxProblems      = 100     // that one check reports; it says when there are more
	ruleNames        = "use letters, digits, _ . and -, at most 64"
)

// Valid says whether s can name a person, a role or an organisation.
func Valid(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-') {
			return false
		}
	}
	return s != "" && len(s) <= MaxName
}

// At gives the person who is called n at a node.
func At(n Name, node processtable.NodeID) Person { return Person(string(n) + "@" + string(node)) }

// Parse reads `name@node`.
func Parse(s string) (Person, error) {
	if _, _, ok := Person(s).Split(); !ok {
		return "", fmt.Errorf("%q is not a person of a site: write NAME@NODE, such as ann@ward", s)
	}
	return Person(s), nil
}

// Split gives name and node; false: p is not a person of a site, such as `user:bob`.
func (p Person) Split() (Name, processtable.NodeID, bool) {
	name, node, ok := strings.Cut(string(p), "@")
	if !ok || !Valid(name) || !processtable.ValidNode(node) {
		return "", "", false
	}
	return Name(name), processtable.NodeID(node), true
}
