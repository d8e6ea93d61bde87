package config

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"fmqm/staff/ldap"
)

// directory is staff.ldap as the file has it.
type directory struct {
	key, url, startTLS, password, people *yaml.Node
	settings                             ldap.Settings
}

const (
	wantURL       = "ldaps://HOST, ldap://HOST or ldapi:///PATH"
	wantDN        = "the DN of an entry, such as ou=people,dc=example,dc=org"
	wantAttribute = "the name of an attribute, such as uid"
)

// ldap reads where the directory is, and what of it the staff is.
func (r *reader) ldap(k, v *yaml.Node) {
	d := &directory{key: k, settings: ldap.Settings{Every: ldap.DefaultEvery, Timeout: ldap.DefaultTimeout}}
	s, before := &d.settings, len(r.problems)
	r.mapping(v, "staff.ldap", map[string]func(k, v *yaml.Node){
		"url": func(_, v *yaml.Node) {
			if url, ok := r.scalar(v, wantURL); ok {
				d.url, s.URL = v, url
			}
		},
		"starttls": func(_, v *yaml.Node) {
			d.startTLS = v
			r.bool(v, &s.StartTLS)
		},
		"ca":   func(_, v *yaml.Node) { r.fileName(v, &s.CA) },
		"bind": func(_, v *yaml.Node) { r.checked(v, wantDN, &s.Bind, ldap.CheckDN) },
		"password": func(k, v *yaml.Node) {
			d.password = k
			r.secretName(v, &s.Password)
		},
		"every": func(_, v *yaml.Node) {
			if r.duration(v, &s.Every); s.Every < ldap.LeastEvery {
				r.add(v, "the directory would be asked all the time", "write "+ldap.LeastEvery.String()+" or more")
			}
		},
		"timeout":       func(_, v *yaml.Node) { r.duration(v, &s.Timeout) },
		"people":        func(k, v *yaml.Node) { d.people = k; r.ldapPeople(k, v, &s.People) },
		"roles":         func(k, v *yaml.Node) { s.Roles = r.ldapRoles(k, v) },
		"organisations": func(k, v *yaml.Node) { s.Organisations = r.ldapOrganisations(k, v) },
	})
	if len(r.problems) == before {
		r.directory = d
	}
}

// checked reads a word that check takes.
func (r *reader) checked(n *yaml.Node, want string, into *string, check func(string) error) {
	s, ok := r.scalar(n, want)
	if !ok {
		return
	}
	if err := check(s); err != nil {
		r.add(n, fmt.Sprintf("%q: %v", s, err), "write "+want)
		return
	}
	*into = s
}

// part reads a part of the directory: its base and filter, and the attributes that it has.
func (r *reader) part(k, v *yaml.Node, q *ldap.Search, attributes map[string]*string, above string) {
	before := len(r.problems)
	keys := map[string]func(k, v *yaml.Node){
		"base":   func(_, v *yaml.Node) { r.checked(v, wantDN, &q.Base, ldap.CheckDN) },
		"filter": func(_, v *yaml.Node) { r.checked(v, "a filter, such as "+q.Filter, &q.Filter, ldap.CheckFilter) },
	}
	for key, into := range attributes {
		keys[key] = func(_, v *yaml.Node) {
			r.checked(v, wantAttribute, into, ldap.CheckAttribute)
			if *into == ldap.Above && key != above {
				r.add(v, "dn, the place of an entry, says only which organisation is above it", "write "+wantAttribute)
			}
		}
	}
	r.mapping(v, "staff.ldap."+k.Value, keys)
	if q.Base == "" && len(r.problems) == before {
		r.add(k, "staff.ldap."+k.Value+" does not say where they are in the directory", "write base: DN")
	}
}

func (r *reader) ldapPeople(k, v *yaml.Node, p *ldap.People) {
	p.Filter, p.Name, p.Display = "(objectClass=inetOrgPerson)", "uid", "cn"
	r.part(k, v, &p.Search, map[string]*string{
		"name": &p.Name, "display": &p.Display, "login": &p.Login, "roles": &p.Roles,
		"organisation": &p.Organisation, "substitute": &p.Substitute,
	}, "organisation")
}

func (r *reader) ldapRoles(k, v *yaml.Node) *ldap.Roles {
	g := &ldap.Roles{Search: ldap.Search{Filter: "(objectClass=groupOfNames)"}, Name: "cn"}
	r.part(k, v, &g.Search, map[string]*string{"name": &g.Name, "member": &g.Member}, "")
	return g
}

func (r *reader) ldapOrganisations(k, v *yaml.Node) *ldap.Organisations {
	o := &ldap.Organisations{Search: ldap.Search{Filter: "(objectClass=organizationalUnit)"}, Name: "ou", PartOf: ldap.Above}
	r.part(k, v, &o.Search, map[string]*string{"name": &o.Name, "manager": &o.Manager, "part_of": &o.PartOf}, "part_of")
	return o
}

// checkDirectory checks what of staff.ldap depends on more than one key.
func (r *reader) checkDirectory(c *Config) {
	d := r.directory
	if d == nil {
		return
	}
	s := &d.settings
	switch {
	case d.url == nil:
		r.add(d.key, "staff.ldap does not say where the directory is", "write url: "+wantURL)
		return
	case d.people == nil:
		r.add(d.key, "staff.ldap does not say who the people are", "write people: {base: DN, name: uid}; docs/staff.md shows how")
		return
	}
	at, err := ldap.ParseURL(s.URL)
	if err != nil {
		r.addHiding(d.url, fmt.Sprintf("%q: %v", hidden(s.URL), err), "write "+wantURL)
		return
	}
	plain := s.Plain()
	switch {
	case s.StartTLS && (at.TLS || at.Network == "unix"):
		r.add(d.startTLS, "starttls is for ldap://", "remove starttls")
	case plain && s.Bind != "":
		r.add(d.url, "the directory is on another machine, and everybody on the way could read the password", "write ldaps://, or starttls: true")
	case plain && !c.Insecure:
		r.add(d.url, "the directory is on another machine, and everybody on the way could say who may do what here", "write ldaps://, or starttls: true, or accept it with `insecure: true`")
	case s.Bind == "" && d.password != nil:
		r.add(d.password, "there is a password, but nobody whose it is", "write bind: DN, or remove password")
	case s.Bind != "" && s.Password == "":
		r.add(d.key, "there is no password for "+s.Bind, "write password: FILE")
	case s.Roles != nil && s.Roles.Member == "" && s.People.Roles == "":
		r.add(d.key, "nothing says who has a role", "write `member: member` under roles, or `roles: memberOf` under people")
	case s.Organisations == nil && s.People.Organisation == ldap.Above:
		r.add(d.people, "people are in the organisations that are above them, and nothing says which entries are organisations", "write organisations: {base: DN}")
	}
}
