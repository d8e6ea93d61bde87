package ldap_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/internal/ldaptest"
	"fmqm/staff"
	"fmqm/staff/ldap"
)

// hospital is a directory as one of OpenLDAP often is: wards within each other, groups of people.
const hospital = `dn: ou=hospital,dc=example,dc=org
objectClass: organizationalUnit
objectClass: extensibleObject
ou: hospital
manager: uid=dora,ou=hospital,dc=example,dc=org

dn: ou=ward-3,ou=hospital,dc=example,dc=org
objectClass: organizationalUnit
objectClass: extensibleObject
ou: ward-3
manager: uid=berta, OU=Ward-3,ou=hospital,dc=example,dc=org

dn: ou=night shift,ou=ward-3,ou=hospital,dc=example,dc=org
objectClass: organizationalUnit
ou: night shift

dn: uid=dora,ou=hospital,dc=example,dc=org
objectClass: inetOrgPerson
uid: dora
cn: Dora Dean
sn: Dean
secretary: uid=berta,ou=ward-3,ou=hospital,dc=example,dc=org

dn: uid=berta,ou=ward-3,ou=hospital,dc=example,dc=org
objectClass: inetOrgPerson
uid: berta
cn: Berta Brown
sn: Brown

dn: uid=ann,ou=night shift,ou=ward-3,ou=hospital,dc=example,dc=org
objectClass: inetOrgPerson
uid: ann
cn: Ann Ames
sn: Ames
employeeType: nurse
secretary: uid=berta,ou=ward-3,ou=hospital,dc=example,dc=org
userPassword: ann-1

dn: ou=groups,dc=example,dc=org
objectClass: organizationalUnit
ou: groups

dn: cn=nurse,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: nurse
member: uid=ann,ou=night shift,ou=ward-3,ou=hospital,dc=example,dc=org
member: cn=leads,ou=groups,dc=example,dc=org
member: uid=gone,ou=hospital,dc=example,dc=org

dn: cn=leads,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: leads
member: uid=berta,ou=ward-3,ou=hospital,dc=example,dc=org
member: cn=nurse,ou=groups,dc=example,dc=org

dn: cn=unix,ou=groups,dc=example,dc=org
objectClass: posixGroup
cn: unix
gidNumber: 100
memberUid: ann
memberUid: nobody
`

const below = ",dc=example,dc=org"

func search(base, filter string) ldap.Search {
	return ldap.Search{Base: base + ldaptest.Suffix, Filter: filter}
}

// settings are those of hospital.
func settings(s *ldaptest.Server) ldap.Settings {
	return ldap.Settings{
		URL: s.URL(), Every: time.Minute, Timeout: 20 * time.Second,
		People: ldap.People{
			Search: search("ou=hospital,", "(objectClass=inetOrgPerson)"), Name: "uid", Display: "cn",
			Organisation: ldap.Above, Substitute: "secretary",
		},
		Roles:         &ldap.Roles{Search: search("ou=groups,", "(objectClass=groupOfNames)"), Name: "cn", Member: "member"},
		Organisations: &ldap.Organisations{Search: search("ou=hospital,", "(objectClass=organizationalUnit)"), Name: "ou", Manager: "manager", PartOf: ldap.Above},
	}
}

var ward = staff.Site{Node: "ward", Zone: time.UTC}

func read(t *testing.T, s ldap.Settings) *ldap.Answer {
	t.Helper()
	a, err := ldap.Read(t.Context(), s, ward)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// refused says that a reading gives no staff, and why; it is of the kind of T.
func refused[T error](t *testing.T, s ldap.Settings, want string) {
	t.Helper()
	a, err := ldap.Read(t.Context(), s, ward)
	var kind T
	if err == nil || a != nil || !errors.As(err, &kind) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestReadOfADirectory(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: hospital})
	a := read(t, settings(server))
	s := a.Staff
	if got := slices.Collect(s.People()); !slices.Equal(got, []staff.Name{"ann", "berta", "dora"}) {
		t.Errorf("people: %v", got)
	}
	// berta leads, and who leads is a nurse; a group within itself gives nobody more.
	if nurses, leads := s.WithRole("nurse"), s.WithRole("leads"); !slices.Equal(nurses, []staff.Name{"ann", "berta"}) || !slices.Equal(leads, []staff.Name{"ann", "berta"}) {
		t.Errorf("roles: %v %v", nurses, leads)
	}
	// ann is in an organisation that cannot be one here, so she is in the one above it.
	if !s.In("ann", "ward-3") || !s.In("ann", "hospital") || s.In("dora", "ward-3") {
		t.Error("organisations within each other")
	}
	for of, want := range map[staff.Name]staff.Name{"ann": "berta", "berta": "dora", "dora": ""} {
		if m, _ := s.Manager(of); m != want {
			t.Errorf("%s manages %s, want %s", m, of, want)
		}
	}
	if d, _ := s.Details("ann"); d.Full != "Ann Ames" || d.Substitute != "berta" || !slices.Equal(d.Logins, []staff.Login{"ann"}) {
		t.Errorf("%+v", d)
	}
	if a.LeftOut != 1 || a.Left[0].DN != "ou=night shift,ou=ward-3,ou=hospital"+below || !strings.Contains(a.Left[0].What, "this is not an organisation here") {
		t.Errorf("left out: %v", a.Left)
	}
}

// Roles and organisations may also be texts of people, and members names of people.
func TestNamesInsteadOfEntries(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: hospital})
	s := settings(server)
	s.Roles, s.Organisations = nil, nil
	s.People.Roles, s.People.Organisation, s.People.Login = "employeeType", "sn", "uid"
	got := read(t, s).Staff
	if !slices.Equal(got.Roles(), []staff.Role{"nurse"}) || !got.HasRole("ann", "nurse") || !got.In("ann", "Ames") {
		t.Errorf("%v %v", got.Roles(), got.Organisations())
	}
	if n, ok := got.ByLogin("ann"); !ok || n != "ann" {
		t.Error("logins")
	}
	s.People.Roles = ""
	s.Roles = &ldap.Roles{Search: search("", "(objectClass=posixGroup)"), Name: "cn", Member: "memberUid"}
	if got := read(t, s).Staff; !slices.Equal(got.WithRole("unix"), []staff.Name{"ann"}) {
		t.Errorf("%v", got.WithRole("unix"))
	}
}

// Everybody comes, over more pages than one, also where the directory gives less at once.
func TestPages(t *testing.T) {
	var b strings.Builder
	b.WriteString("dn: ou=people,dc=example,dc=org\nobjectClass: organizationalUnit\nou: people\n\n")
	group := "dn: cn=all,dc=example,dc=org\nobjectClass: groupOfNames\ncn: all\n"
	for i := range 2000 {
		dn := fmt.Sprintf("uid=p%04d,ou=people,dc=example,dc=org", i)
		fmt.Fprintf(&b, "dn: %s\nobjectClass: inetOrgPerson\nuid: p%04d\ncn: Person %d\nsn: P\n\n", dn, i, i)
		group += "member: " + dn + "\n"
	}
	server := ldaptest.New(t, ldaptest.Options{LDIF: b.String() + group, Config: []string{"sizelimit size.pr=500 size.soft=1000 size.hard=1000 size.prtotal=unlimited"}})
	s := settings(server)
	s.People.Search, s.Organisations, s.People.Organisation = search("ou=people,", "(objectClass=inetOrgPerson)"), nil, ""
	s.Roles.Base = ldaptest.Suffix
	got := read(t, s).Staff
	if got.Len() != 2000 || len(got.WithRole("all")) != 2000 {
		t.Errorf("%d people, %d with the role", got.Len(), len(got.WithRole("all")))
	}
}

// Where the directory gives only part of them nothing is taken.
func TestPartOfThePeopleIsNotTheStaff(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: hospital, Config: []string{"sizelimit size.soft=2 size.hard=2 size.prtotal=disabled"}})
	refused[*ldap.Unanswered](t, settings(server), "it gives only part of people, by its own limits: raise them there for")
	server = ldaptest.New(t, ldaptest.Options{LDIF: hospital, Access: []string{"access to * by * none"}})
	refused[*ldap.Unanswered](t, settings(server), "the base of people is not there, or not to be seen: correct `base`, or let who does not say who he is read it")
	server = ldaptest.New(t, ldaptest.Options{LDIF: hospital, Access: []string{`access to filter=(objectClass=inetOrgPerson) by * none`, "access to * by * read"}})
	refused[*ldap.Unanswered](t, settings(server), "it shows nobody below ou=hospital"+below)
}

func TestTLS(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: hospital})
	wrong := ldaptest.Authority(t, filepath.Join(t.TempDir(), "wrong.pem"))
	for _, starttls := range []bool{false, true} {
		s := settings(server)
		if s.StartTLS = starttls; !starttls {
			s.URL = server.TLS()
		}
		s.Bind, s.Password = ldaptest.Admin, server.Secret(ldaptest.Password)
		const notBelieved = "its certificate is not believed: "
		refused[*ldap.Unanswered](t, s, notBelieved) // the system's authorities
		s.CA = wrong
		refused[*ldap.Unanswered](t, s, notBelieved)
		s.CA = server.CA
		if got := read(t, s).Staff; got.Len() != 3 {
			t.Errorf("starttls %t: %d people", starttls, got.Len())
		}
		s.URL = strings.Replace(s.URL, "127.0.0.1", "127.0.0.2", 1) // whom it does not name
		if _, err := ldap.Read(t.Context(), s, ward); err == nil {
			t.Errorf("starttls %t: a certificate of somebody else is believed", starttls)
		}
		s.URL, s.CA = strings.Replace(s.URL, "127.0.0.2", "localhost", 1), s.Password
		refused[*ldap.Unanswered](t, s, "has no certificate in PEM")
	}
	s := settings(server)
	s.URL = server.Socket()
	if got := read(t, s).Staff; got.Len() != 3 {
		t.Errorf("by the socket: %d people", got.Len())
	}
}

func TestWhoAsks(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: hospital, Access: []string{"access to attrs=userPassword by anonymous auth", `access to * by dn="uid=ann,ou=night shift,ou=ward-3,ou=hospital,dc=example,dc=org" read by * none`}})
	s := settings(server)
	s.Bind, s.Password = "uid=ann,ou=night shift,ou=ward-3,ou=hospital"+below, server.Secret("ann-1")
	if got := read(t, s).Staff; got.Len() != 3 {
		t.Errorf("%d people", got.Len())
	}
	s.Password = server.Secret("ann-2")
	refused[*ldap.Unanswered](t, s, "the password of uid=ann,ou=night shift,ou=ward-3,ou=hospital,dc=example,dc=org is refused: correct `bind`, or what is in "+s.Password)
	if err := os.Chmod(s.Password, 0o644); err != nil {
		t.Fatal(err)
	}
	refused[*ldap.Unanswered](t, s, "can be read or changed by every user of this machine")
	// An empty password would be nobody's, and taken by many directories.
	if err := os.WriteFile(s.Password+"-none", []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Password += "-none"
	refused[*ldap.Unanswered](t, s, "is empty: write the secret into it")
	s.URL = "ldap://198.51.100.1"
	s.Password = server.Secret("ann-1")
	refused[*ldap.Unanswered](t, s, "the password is not sent")
}

// A directory that is away, hangs, or goes in the middle, is an error within the time that was given.
func TestADirectoryThatIsAway(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: hospital})
	s := settings(server)
	s.Timeout = time.Second
	end := server.Pause()
	refused[*ldap.Unanswered](t, s, "the connection broke: connection timed out: see whether the directory runs")
	end()
	read(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ldap.Read(ctx, s, ward); err == nil {
		t.Error("who does not want an answer any more gets one")
	}
	server.Kill()
	refused[*ldap.Unanswered](t, s, "connect: connection refused: see whether the directory runs")
	server.Start()
	read(t, s)
}

// What a file says of the directory's people stands beside what that says, with its own places.
func TestExtra(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: hospital})
	s := settings(server)
	w := func(text string, line int) staff.Word { return staff.Word{Text: text, Line: line, Column: 3} }
	s.Extra = ldap.Extra{File: "staff.yaml", People: []staff.DraftPerson{
		{Name: w("ann", 1), Always: true, Substitute: w("dora", 1), Same: []staff.Word{w("aames@lab", 1)}},
		{Name: w("dora", 2)},
		{Name: w("zoe", 3), Always: true},
	}}
	a := read(t, s)
	if by, ok := a.Staff.Substitute("ann", time.Now()); !ok || by != "dora" {
		t.Errorf("%s stands in for ann", by)
	}
	if d, _ := a.Staff.Details("dora"); d.Substitute != "berta" || d.Full != "Dora Dean" {
		t.Errorf("what the file does not say is gone: %+v", d)
	}
	if n, ok := a.Staff.Surely("aames@lab"); !ok || n != "ann" {
		t.Error("same")
	}
	if last := a.Left[len(a.Left)-1]; last != (ldap.Left{DN: "staff.yaml:3:3", What: "zoe is nobody of the directory"}) || a.LeftOut != 2 {
		t.Errorf("%v", a.Left)
	}
	// The draft is the directory's alone: what is kept of it does not have what the file says.
	for _, p := range a.Draft.People {
		if p.Always || len(p.Same) > 0 || p.Name.Text == "ann" && p.Substitute.Text != "berta" {
			t.Errorf("%+v", p)
		}
	}
	kept, _, err := s.Extra.With(a.Draft, ward)
	if err != nil || !slices.Equal(slices.Collect(kept.People()), slices.Collect(a.Staff.People())) || !kept.Absent("ann", time.Now()) {
		t.Errorf("%v", err)
	}
	s.Extra.People = append(s.Extra.People, staff.DraftPerson{Name: w("berta", 4), Substitute: w("ann", 4)})
	refused[ldap.Problems](t, s, "staff.yaml:")
}
