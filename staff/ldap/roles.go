package ldap

import "fmqm/staff"

// maxGrants bounds how often a role is given to somebody, in one answer: groups in groups may
// give each member of one a lot.
const maxGrants = 5_000_000

// rolesOf gives a person the roles that an attribute of his has. A group that is no role here is
// none of our business: most are for other programs.
func (d *draft) rolesOf(person int, e *entry) {
	for _, value := range e.of(d.settings.People.Roles) {
		if i, ok := d.roles.find(value); ok {
			d.has[person][name(d.roles.entries[i], d.settings.Roles.Name)] = true
			continue
		}
		switch {
		case d.settings.Roles != nil:
		case staff.Valid(value):
			d.has[person][value] = true
		default:
			d.leave(e, shown(value)+" cannot be a role: what the roles are, `roles` can say")
		}
	}
}

// members gives roles to those whom their entries name, also through roles within roles.
func (d *draft) members() {
	people, within := d.memberships()
	grants := 0
	for role, e := range d.roles.entries {
		given := name(e, d.settings.Roles.Name)
		seen := map[int]bool{role: true}
		for next := []int{role}; len(next) > 0; next = next[1:] {
			for _, person := range people[next[0]] {
				if grants++; grants > maxGrants {
					d.problem(e, "roles within roles have too many members", "let fewer roles be within others")
					return
				}
				d.has[person][given] = true
			}
			for _, sub := range within[next[0]] {
				if !seen[sub] {
					seen[sub] = true
					next = append(next, sub)
				}
			}
		}
	}
}

// memberships gives for each role the people and the roles that its entry names; others are not
// of this node.
func (d *draft) memberships() (people, within [][]int) {
	people, within = make([][]int, len(d.roles.entries)), make([][]int, len(d.roles.entries))
	for role, e := range d.roles.entries {
		for _, value := range e.of(d.settings.Roles.Member) {
			if i, ok := d.people.find(value); ok {
				people[role] = append(people[role], i)
			} else if i, ok := d.roles.find(value); ok && isDN(value) {
				within[role] = append(within[role], i)
			}
		}
	}
	return people, within
}
