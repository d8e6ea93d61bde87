package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fmqm/node/config"
)

// loaded reads a configuration that has a staff file beside it.
func withStaff(t *testing.T, conf, staff string) (*config.Config, string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"fmqmd.yaml": conf, "staff.yaml": staff} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(filepath.Join(dir, "fmqmd.yaml"), func(string) string { return "" }, config.Overrides{})
	return c, dir, err
}

func TestStaff(t *testing.T) {
	c, dir, err := withStaff(t, "node: ward\nstaff: {file: staff.yaml, socket: work.sock}\n", "people: {ann: {same: [aames@lab]}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.Staff.File != filepath.Join(dir, "staff.yaml") || c.Staff.Socket != filepath.Join(dir, "work.sock") {
		t.Errorf("%+v", c.Staff)
	}
	if n, ok := c.Staff.People.Surely("ann@ward"); !ok || n != "ann" {
		t.Errorf("the staff is not this node's: %s %t", n, ok)
	}
	if !strings.Contains(strings.Join(c.Private(), " "), c.Staff.File) {
		t.Error("programs may write the staff file")
	}
}

func TestStaffMistakes(t *testing.T) {
	const good = "people: {ann: {}}\n"
	for _, c := range []struct{ name, conf, staff, want string }{
		{"no file", "node: ward\nstaff: {socket: s}\n", good, "2:1: staff has no file: write staff: {file: FILE}, with the people of this node in FILE; docs/staff.md shows how"},
		{"a word", "node: ward\nstaff: staff.yaml\n", good, "2:8: staff is not a mapping"},
		{"an unknown key", "node: ward\nstaff: {files: staff.yaml}\n", good, "did you mean file?"},
		{"one socket", "node: ward\nsocket: s\nstaff: {file: staff.yaml, socket: s}\n", good, "is the socket of this node's operators: give the staff's socket another name"},
		{"a long socket", "node: ward\nstaff: {file: staff.yaml, socket: /" + strings.Repeat("s", 110) + "}\n", good, "the system allows 107"},
		{"somebody of this node", "node: ward\nstaff: {file: staff.yaml}\n", "people: {ann: {same: [ben@ward]}}\n", "staff.yaml:1:23: ben@ward, in same of ann, is of this node"},
		{"both files", "node: ward\nstore: x\nstaff: {file: staff.yaml}\n", "roles: x\n", "staff.yaml:1:8: roles is not a list"},
		{"no such file", "node: ward\nstaff: {file: none.yaml}\n", good, "none.yaml: cannot read the staff file: no such file or directory"},
	} {
		if _, _, err := withStaff(t, c.conf, c.staff); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}

const ldapStaff = `node: ward
staff:
  ldap:
    url: ldaps://ldap.example.org
    bind: cn=fmqm,dc=example,dc=org
    password: password
    people: {base: "ou=people,dc=example,dc=org", roles: memberOf}
    roles: {base: "ou=groups,dc=example,dc=org"}
`

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	load := func(conf, extra string) (*config.Config, error) {
		t.Helper()
		for name, text := range map[string]string{"fmqmd.yaml": conf, "password": "secret", "staff.yaml": extra} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return config.Load(filepath.Join(dir, "fmqmd.yaml"), func(string) string { return "" }, config.Overrides{})
	}
	const good = "people: {ann: {absent: true, substitute: bob, same: [ann@lab]}}\n"
	c, err := load(ldapStaff+"  file: staff.yaml\n", good)
	if err != nil {
		t.Fatal(err)
	}
	l := c.Staff.LDAP
	if l.People.Filter != "(objectClass=inetOrgPerson)" || l.People.Name != "uid" || l.People.Display != "cn" || l.Every != 5*time.Minute || l.Timeout != 10*time.Second ||
		l.Organisations != nil || l.Roles.Filter != "(objectClass=groupOfNames)" || l.Roles.Member != "" || len(l.Extra.People) != 1 || c.Staff.People != nil {
		t.Errorf("%+v", l)
	}
	if private := strings.Join(c.Private(), " "); !strings.Contains(private, filepath.Join(dir, "password")) || !strings.Contains(private, "staff.yaml") {
		t.Error("programs may read the password of the directory")
	}
	edit := func(from, to string) string {
		t.Helper()
		if !strings.Contains(ldapStaff, from) {
			t.Fatal(from)
		}
		return strings.Replace(ldapStaff, from, to, 1)
	}
	for _, c := range []struct{ conf, want string }{
		{edit("ldaps://ldap.example.org", "ldap://ldap.example.org"), "4:10: the directory is on another machine, and everybody on the way could read the password: write ldaps://, or starttls: true"},
		{edit("ldaps://ldap.example.org", "ldap://ldap.example.org") + "insecure: true\n", "everybody on the way could read the password"},
		{edit("    bind: cn=fmqm,dc=example,dc=org\n    password: password\n", "    starttls: true\n"), "starttls is for ldap://"},
		{strings.Replace(edit("    bind: cn=fmqm,dc=example,dc=org\n    password: password\n", ""), "ldaps:", "ldap:", 1), "everybody on the way could say who may do what here"},
		{edit("    password: password\n", ""), "3:3: there is no password for cn=fmqm,dc=example,dc=org: write password: FILE"},
		{edit("    bind: cn=fmqm,dc=example,dc=org\n", ""), "there is a password, but nobody whose it is: write bind: DN"},
		{edit("ldaps://ldap.example.org", "ldaps://fmqm:hunter2@ldap.example.org"), "the address has a user: write `bind: DN`"},
		{edit("ldaps://ldap.example.org", "http://ldap.example.org"), "this is not the address of a directory: write ldaps://HOST"},
		{edit("ldaps://ldap.example.org", "ldaps://ldap.example.org/dc=org"), "the address has more than a host and a port: write ldaps://ldap.example.org"},
		{edit("ldaps://ldap.example.org", "ldapi://run/ldapi"), "this is no path of a socket: write ldapi:///run/slapd/ldapi"},
		{edit("    url: ldaps://ldap.example.org\n", ""), "staff.ldap does not say where the directory is"},
		{edit("cn=fmqm,dc=example,dc=org", "fmqm"), `"fmqm": that cannot name an entry (DN)`},
		{edit("roles: memberOf}", `filter: "(uid=a"}`), `"(uid=a": that is no filter (`},
		{edit("roles: memberOf}", `name: "a*"}`), `"a*": that cannot name an attribute`},
		{edit("roles: memberOf}", "name: dn}"), "dn, the place of an entry, says only which organisation is above it"},
		{edit(", roles: memberOf}", "}"), "nothing says who has a role: write `member: member` under roles, or `roles: memberOf` under people"},
		{edit("roles: memberOf}", "roles: memberOf, organisation: dn}"), "nothing says which entries are organisations: write organisations: {base: DN}"},
		{edit(`roles: {base: "ou=groups,dc=example,dc=org"}`, "roles: {name: cn}"), "staff.ldap.roles does not say where they are in the directory: write base: DN"},
		{edit("    people:", "    every: 1s\n    people:"), "the directory would be asked all the time: write 10s or more"},
		{edit("    people:", "    peoples:"), "did you mean people?"},
	} {
		if _, err := load(c.conf, good); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s%v\nwant %s", c.conf, err, c.want)
		}
	}
	for extra, want := range map[string]string{
		"people: {ann: {roles: [nurse]}}\n":                          "staff.yaml:1:24: what roles ann has is for the directory of `ldap` to say, not for this file: remove it; the file has substitute, absent, same and not of its people",
		"people: {ann: {organisation: w}}\n":                         "the organisation of ann is for the directory",
		"people: {ann: {name: Ann}}\n":                               "the full name of ann is for the directory",
		"people: {ann: {logins: []}}\n":                              "what logins ann has is for the directory",
		"roles: [nurse]\npeople: {ann: {}}\n":                        "which roles there are (nurse) is for the directory",
		"organisations: {w: {}}\npeople: {ann: {}}\n":                "which organisations there are (w) is for the directory",
		"people: {ann: {same: [ben@ward]}}\n":                        "ben@ward, in same of ann, is of this node",
		"people: {ann: {substitute: bob}, bob: {substitute: ann}}\n": "stand in for each other",
		"people: {ann: {absent: [{from: tomorrow}]}}\n":              `"tomorrow" is neither a day nor a time`,
	} {
		if _, err := load(ldapStaff+"  file: staff.yaml\n", extra); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s%v\nwant %s", extra, err, want)
		}
	}
	plain := strings.Replace(edit("    bind: cn=fmqm,dc=example,dc=org\n    password: password\n", ""), "ldaps:", "ldap:", 1) + "insecure: true\n"
	if c, err := load(plain, good); err != nil || !strings.Contains(c.Risk(), "anybody on the way to the directory ldap://ldap.example.org can say who works here, and may do what") {
		t.Errorf("%v", err)
	}
}
