package ldap

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	goldap "github.com/go-ldap/ldap/v3"
)

// Settings say where the directory is, and what of it the staff is. Names of files are absolute.
type Settings struct {
	URL      string // as ParseURL takes it
	StartTLS bool   // encrypt a connection of ldap:// before anything is asked
	CA       string // file of the authorities that the directory's certificate is checked against; empty: the system's
	Bind     string // DN of whom this node is to the directory; empty: nobody (anonymous)
	Password string // file with the password of Bind

	Every   time.Duration // from one reading to the next
	Timeout time.Duration // of one answer; a reading takes several

	People        People
	Roles         *Roles         // nil: they are what people's attribute has
	Organisations *Organisations // nil: they are what people's attribute has

	Extra Extra
}

// Plain says whether what goes to the directory, and comes from it, can be read and changed on
// the way.
func (s Settings) Plain() bool {
	at, err := ParseURL(s.URL)
	return err == nil && !at.TLS && !s.StartTLS && !at.Local()
}

// Defaults.
const (
	DefaultEvery   = 5 * time.Minute
	DefaultTimeout = 10 * time.Second
	LeastEvery     = 10 * time.Second
)

// Search is a part of the directory: what below Base passes Filter (RFC 4515).
type Search struct{ Base, Filter string }

// Above stands where the name of an attribute may: it is the entry's place in the directory
// that says to which organisation it belongs.
const Above = "dn"

// People say which entries are people, and of which of their attributes what is known of them;
// an empty name of an attribute: the directory does not know that.
type People struct {
	Search
	Name         string // what a person is called here
	Display      string // the name in full
	Login        string // Unix users of this machine; empty: the name is the login
	Roles        string // names of roles, or DNs of their entries
	Organisation string // the name of one, or the DN of its entry; or Above
	Substitute   string // a person's name, or the DN of an entry
}

// Roles say which entries are roles, and who has them.
type Roles struct {
	Search
	Name   string
	Member string // people's names, or DNs of people and of roles; empty: people's attribute says it
}

// Organisations say which entries are organisations.
type Organisations struct {
	Search
	Name    string
	Manager string // a person's name, or the DN of an entry
	PartOf  string // the name of another, or the DN of its entry; or Above
}

// Address is where a directory is.
type Address struct {
	Network string // tcp or unix
	Address string // HOST:PORT, or a path
	Host    string // whom the certificate has to name; empty for unix
	TLS     bool   // from the first byte on
}

// Local says whether what is sent there stays on this machine.
func (a Address) Local() bool {
	if a.Network == "unix" || a.Host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(a.Host)
	return err == nil && ip.Unmap().IsLoopback()
}

// ParseURL reads ldaps://HOST[:PORT], ldap://HOST[:PORT] or ldapi:///PATH. No error has what
// could be a password.
func ParseURL(text string) (Address, error) {
	if path, ok := strings.CutPrefix(text, "ldapi://"); ok {
		path, err := url.PathUnescape(path)
		if err != nil || !strings.HasPrefix(path, "/") || path == "/" || strings.ContainsRune(path, 0) {
			return Address{}, errors.New("this is no path of a socket: write ldapi:///run/slapd/ldapi")
		}
		return Address{Network: "unix", Address: path}, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "ldap" && u.Scheme != "ldaps":
		return Address{}, errors.New("this is not the address of a directory: write ldaps://HOST, ldap://HOST or ldapi:///PATH")
	case u.User != nil:
		return Address{}, errors.New("the address has a user: write `bind: DN` and `password: FILE`")
	case u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/":
		return Address{}, fmt.Errorf("the address has more than a host and a port: write %s://%s, and `base` under people", u.Scheme, u.Host)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"ldap": "389", "ldaps": "636"}[u.Scheme]
	}
	return Address{Network: "tcp", Address: net.JoinHostPort(u.Hostname(), port), Host: u.Hostname(), TLS: u.Scheme == "ldaps"}, nil
}

// attribute is how attributes are called (RFC 4512 §2.5), without options.
var attribute = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]{0,127}|[0-9]{1,9}(\.[0-9]{1,9}){1,20})$`)

// CheckAttribute says what is wrong with the name of an attribute.
func CheckAttribute(name string) error {
	if !attribute.MatchString(name) {
		return errors.New("that cannot name an attribute: use letters, digits and -, such as memberOf")
	}
	return nil
}

// CheckDN says what is wrong with the name of an entry.
func CheckDN(dn string) error {
	if parsed, err := goldap.ParseDN(dn); err != nil || len(parsed.RDNs) == 0 {
		return errors.New("that cannot name an entry (DN): write it as ou=people,dc=example,dc=org; a comma or plus in a name is \\, or \\+")
	}
	return nil
}

// CheckFilter says what is wrong with a filter.
func CheckFilter(filter string) error {
	if _, err := goldap.CompileFilter(filter); err != nil {
		return fmt.Errorf("that is no filter (%s): write it as (&(objectClass=inetOrgPerson)(!(employeeType=guest)))", reason(err))
	}
	return nil
}

// reason is what the library says, without its number and its name.
func reason(err error) string {
	var of *goldap.Error
	if errors.As(err, &of) && of.Err != nil {
		err = of.Err
	}
	return strings.TrimPrefix(err.Error(), "ldap: ")
}
