package daemon

import (
	"net/http"
	"os/user"
	"path"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/identity"
	"fmqm/node/config"
	"fmqm/staff"
)

// caller is who makes a request, as far as it is proved, and what he may here (N28). The error is for him.
func (d *Daemon) callerOf(r *http.Request) (api.Caller, *api.Error) {
	c := d.config.Load()
	var who api.Caller
	var names []string // under which `rights` may have him
	confined := false  // to what people may: a person without rights has none
	if l, ok := r.Context().Value(callerKey{}).(local); ok {
		who, names, confined = d.ofSocket(c, l)
	} else if d.identity != nil && r.TLS != nil {
		who, names, confined = d.ofCertificate(c, r)
	}
	if c.Rights != nil || confined {
		who.Rights = rightsOf(c, names)
	}
	return who, d.actsFor(&who, r.Header.Get(api.AsHeader))
}

// ofSocket is who has connected to one of the sockets, by the kernel's word.
func (d *Daemon) ofSocket(c *config.Config, l local) (who api.Caller, names []string, confined bool) {
	who = api.Caller{Name: l.name, Proved: api.ProvedSocket}
	if l.work {
		who.Proved, confined, who.Enrol = api.ProvedWorkSocket, true, enrol(c, "that login")
	}
	if l.name != "" {
		names = append(names, l.name)
	}
	if l.login == "" {
		return who, names, confined
	}
	names = append(names, groupsOf(c, l.login)...)
	if person, ok := d.Node.Staff().ByLogin(staff.Login(l.login)); ok {
		who.Name, who.Person = string(staff.At(person, c.Node)), string(person)
		names = append(names, d.namesOf(person)...)
	}
	return who, names, confined
}

// enrol says what would make somebody a person of the staff.
func enrol(c *config.Config, whom string) string {
	if c.Staff != nil && c.Staff.LDAP != nil {
		return "have the directory of `staff` give " + whom + ", and reload or wait for its next reading; `fmqmd staff check` says what of it is left out"
	}
	return "have " + whom + " written into the file of `staff`, and reload it"
}

// ofCertificate is who has shown a certificate of an authority that is believed here: an operator or a person.
func (d *Daemon) ofCertificate(c *config.Config, r *http.Request) (who api.Caller, names []string, confined bool) {
	if name, err := d.identity.Caller(r.TLS, identity.RoleOperator); err == nil {
		return api.Caller{Name: name.Name, Proved: api.ProvedCertificate}, []string{name.Name}, false
	}
	name, err := d.identity.Caller(r.TLS, identity.RolePerson)
	if err != nil {
		return who, nil, false
	}
	who.Proved = api.ProvedCertificate
	if person, here := name.PersonAt(c.Node); here && d.Node.Staff().Has(staff.Name(person)) {
		who.Name, who.Person = string(staff.At(staff.Name(person), c.Node)), person
		names = d.namesOf(staff.Name(person))
	}
	return who, names, true
}

// namesOf are those under which `rights` may have a person of the staff.
func (d *Daemon) namesOf(n staff.Name) []string {
	names := []string{"person:" + string(n)}
	if details, ok := d.Node.Staff().Details(n); ok {
		for _, role := range details.Roles {
			names = append(names, "role:"+string(role))
		}
	}
	return names
}

// groupsOf are the groups of a user of this machine, if `rights` names any: who is in which changes while the
// daemon runs, and looking is no small matter.
func groupsOf(c *config.Config, login string) (names []string) {
	if !slices.ContainsFunc(c.Rights, func(r config.Right) bool {
		return slices.ContainsFunc(r.Who, func(s string) bool { return strings.HasPrefix(s, "group:") })
	}) {
		return nil
	}
	u, err := user.Lookup(login)
	if err != nil {
		return nil
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil
	}
	for _, id := range ids {
		if g, err := user.LookupGroupId(id); err == nil {
			names = append(names, "group:"+g.Name)
		}
	}
	return names
}

// rightsOf are those of somebody who has these names.
func rightsOf(c *config.Config, names []string) *api.Rights {
	all := &api.Rights{Node: string(c.Node), Could: func(r api.Right, process string) []string { return could(c, r, process) }}
	for _, one := range c.Rights {
		if slices.ContainsFunc(one.Who, func(pattern string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return isWho(pattern, n) })
		}) {
			all.Grants = append(all.Grants, grantOf(one))
		}
	}
	return all
}

// isWho compares who is written in `rights` with a name. A pattern without a kind is of certificates only.
func isWho(pattern, name string) bool {
	kind, _, _ := strings.Cut(pattern, ":")
	of, _, _ := strings.Cut(name, ":")
	if strings.Contains(pattern, ":") != strings.Contains(name, ":") || strings.Contains(pattern, ":") && kind != of {
		return false
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

func grantOf(one config.Right) api.Grant {
	g := api.Grant{Processes: one.Processes}
	for _, role := range one.Roles {
		g.Rights = append(g.Rights, api.Right(role))
	}
	return g
}

// could are those who have a right over a process, as `rights` writes them; without one, over all.
func could(c *config.Config, r api.Right, process string) (who []string) {
	for _, one := range c.Rights {
		g := grantOf(one)
		caller := api.Caller{Rights: &api.Rights{Grants: []api.Grant{g}}}
		if process == "" && caller.MayAll(r) || process != "" && caller.May(r, process) {
			who = append(who, one.Who...)
		}
	}
	slices.Sort(who)
	return slices.Compact(who)
}

// actsFor notes for whom an operator acts, by his own word; the error is why he does not.
func (d *Daemon) actsFor(who *api.Caller, as string) *api.Error {
	if as == "" {
		return nil
	}
	self := d.config.Load().Node
	name, of, said := strings.Cut(as, "@")
	switch {
	case !who.MaySome(api.RightOperator):
		return api.Denied(*who, api.RightOperator)
	case said && of != string(self):
		return api.Errorf(api.CodeUsage, "ask there (--to)", "--as %s: that is a person of site %s, and this is %s", as, of, self)
	case !d.Node.Staff().Has(staff.Name(name)):
		return api.Errorf(api.CodeRefused, "see `fmqmd staff list`", "--as %s: the staff of %s has no %s", as, self, name)
	}
	who.As = string(staff.At(staff.Name(name), self))
	return nil
}
