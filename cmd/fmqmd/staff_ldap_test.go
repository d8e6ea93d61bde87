package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/internal/ldaptest"
)

const ldapPeople = `dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: uid=ann,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: ann
cn: Ann Ames
sn: Ames

dn: uid=berta,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: berta
cn: Berta Brown
sn: Brown

dn: uid=svc$,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: svc$
cn: svc
sn: svc

dn: cn=nurse,dc=example,dc=org
objectClass: groupOfNames
cn: nurse
member: uid=ann,ou=people,dc=example,dc=org
`

// ldapConfig is a configuration with the people of a server, whose store is in data.
func ldapConfig(s *ldaptest.Server, data, password string) string {
	return fmt.Sprintf(`node: A
data: %s
socket: %%s/s
staff:
  ldap:
    url: %s
    ca: %s
    bind: %s
    password: %s
    every: 1h
    people: {base: "ou=people,dc=example,dc=org"}
    roles: {base: "dc=example,dc=org", member: member}
`, data, s.TLS(), s.CA, ldaptest.Admin, password)
}

// The daemon takes up what the directory says, and goes on with it while the directory is away, over a
// restart too; what cannot be the staff changes nothing.
func TestADirectoryThatComesAndGoes(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: ldapPeople})
	data := filepath.Join(t.TempDir(), "data")
	conf := ldapConfig(server, data, server.Secret(ldaptest.Password))
	s := startService(t, conf)
	if line := s.said("not all that the directory says can be taken up"); !strings.Contains(line, `"left_out":1`) || !strings.Contains(line, "uid=svc$,ou=people,dc=example,dc=org") {
		t.Error(line)
	}
	s.said(`"message":"ready"`)
	works := func(s *service, want string) {
		t.Helper()
		if exit, out, talk := fmqmd("staff", "list", "--config", filepath.Join(s.dir, "fmqmd.yaml")); exit != 0 || !strings.Contains(out, want) {
			t.Errorf("%d: %s%s\nwant %s", exit, out, talk, want)
		}
	}
	works(s, "ann     Ann Ames     nurse")
	server.Add("uid=carl,ou=people,dc=example,dc=org", "objectClass", "inetOrgPerson", "uid", "carl", "cn", "Carl", "sn", "Carl")
	s.signal(syscall.SIGHUP)
	if line := s.said("staff taken up"); !strings.Contains(line, `"people":3`) {
		t.Error(line)
	}
	// An answer that cannot be the staff, and none at all.
	server.Add("uid=ANN,dc=example,dc=org", "objectClass", "inetOrgPerson", "uid", "ANN", "cn", "x", "sn", "x")
	s.configure(strings.Replace(conf, "ou=people,", "", 1))
	s.signal(syscall.SIGHUP)
	if line := s.said("the directory gives no staff: what it said last goes on"); !strings.Contains(line, "uid=ANN,dc=example,dc=org") && !strings.Contains(line, "uid=ann,ou=people") || !strings.Contains(line, `"since"`) {
		t.Error(line)
	}
	if got := s.metric("fmqm_staff_directory_answers"); got != "fmqm_staff_directory_answers 0" {
		t.Error(got)
	}
	s.configure(conf)
	s.signal(syscall.SIGHUP)
	s.said("staff taken up")
	if got := s.metric("fmqm_staff_directory_answers"); got != "fmqm_staff_directory_answers 1" {
		t.Error(got)
	}
	server.Kill()
	s.signal(syscall.SIGHUP)
	if line := s.said("the directory gives no staff"); !strings.Contains(line, "connection refused") {
		t.Error(line)
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	again := startService(t, conf)
	if line := again.said("staff taken up"); !strings.Contains(line, `"people":3`) {
		t.Error(line)
	}
	again.said("the directory gives no staff")
	again.signal(syscall.SIGHUP) // and again, to who wants to know
	again.said("the directory gives no staff")
	exit, out, talk := fmqmd("staff", "list", "--config", filepath.Join(again.dir, "fmqmd.yaml"))
	if exit != 0 || !strings.Contains(out, "carl") || !strings.Contains(talk, "connection refused") || !strings.Contains(talk, "this is what it said last, at ") {
		t.Errorf("%d: %s%s", exit, out, talk)
	}
	// Somebody is ill while the directory is away. A file that does not fit changes nothing.
	extra := people(t, again.dir, "people: {ann: {absent: true, substitute: carl}}\n")
	again.configure(conf + "  file: " + extra + "\n")
	again.signal(syscall.SIGHUP)
	again.said("staff taken up")
	if exit, out, talk := fmqmd("staff", "list", "--config", filepath.Join(again.dir, "fmqmd.yaml")); exit != 0 || !strings.Contains(out, "carl stands in") {
		t.Errorf("%d: %s%s", exit, out, talk)
	}
	people(t, again.dir, "people: {ann: {absent: true, substitute: nobody}}\n")
	if exit, _, talk := fmqmd("reload", "--to", "unix:"+filepath.Join(again.dir, "s")); exit != 1 || !strings.Contains(talk, extra+":1:42: nobody, substitute of ann, is not among people") {
		t.Errorf("%d: %s", exit, talk)
	}
	people(t, again.dir, "people: {ann: {absent: true, substitute: carl}}\n")
	server.Start()
	again.signal(syscall.SIGHUP)
	again.said("the directory gives a staff again")
	info, err := os.Stat(filepath.Join(data, "staff", "ldap.yaml"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// A daemon that waits for a directory which hangs can be stopped.
func TestAStopWhileTheDirectoryHangs(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: ldapPeople})
	conf := strings.Replace(ldapConfig(server, filepath.Join(t.TempDir(), "data"), server.Secret(ldaptest.Password)), "every: 1h", "timeout: 1h", 1)
	s := startService(t, conf)
	s.said(`"message":"ready"`)
	end := server.Pause()
	defer end()
	s.signal(syscall.SIGHUP)
	s.said("configuration taken up")
	s.signal(syscall.SIGTERM)
	timeout := time.After(2 * time.Minute)
	for {
		select {
		case _, ok := <-s.log:
			if !ok {
				return
			}
		case <-timeout:
			t.Fatal("it waits for the directory")
		}
	}
}

// A daemon whose directory has never answered starts, and nobody works there until it does.
func TestTheFirstStartWithoutTheDirectory(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: ldapPeople})
	server.Kill()
	conf := ldapConfig(server, filepath.Join(t.TempDir(), "data"), server.Secret(ldaptest.Password))
	s := startService(t, conf)
	if line := s.said("staff taken up"); !strings.Contains(line, `"people":0`) {
		t.Error(line)
	}
	s.said("the directory gives no staff: nobody works here until it answers")
	s.said(`"message":"ready"`)
	if exit, _, talk := fmqmd("staff", "list", "--config", filepath.Join(s.dir, "fmqmd.yaml")); exit != 1 || !strings.Contains(talk, "connection refused: see whether the directory runs") {
		t.Errorf("%d: %s", exit, talk)
	}
	server.Start()
	s.signal(syscall.SIGHUP)
	if line := s.said("staff taken up"); !strings.Contains(line, `"people":2`) {
		t.Error(line)
	}
	s.said(`"message":"the directory gives a staff"`)
}

// Who is not in the staff is told to have the directory give him, where the people come from one.
func TestAStrangerToTheDirectory(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: ldapPeople})
	s := startService(t, ldapConfig(server, filepath.Join(t.TempDir(), "data"), server.Secret(ldaptest.Password))+"  socket: %s/work\n")
	s.said(`"message":"ready"`)
	work, err := api.NewClient("unix:"+filepath.Join(s.dir, "work"), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	const remedy = "is not in the staff of this node: have the directory of `staff` give that login, and reload or wait for its next reading"
	if _, err := work.WhoAmI(t.Context()); err == nil || !strings.Contains(err.Error(), remedy) {
		t.Errorf("he is told %v\nwant %s", err, remedy)
	}
}

func TestStaffCommandsOfADirectory(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: ldapPeople})
	dir := t.TempDir()
	conf := filepath.Join(dir, "fmqmd.yaml")
	write := func(password string) {
		t.Helper()
		text := strings.ReplaceAll(ldapConfig(server, filepath.Join(dir, "data"), server.Secret(password)), "%s", dir)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(ldaptest.Password)
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"check", "--config", conf}, 0, server.TLS() + ": 2 people, 1 role, 0 organisations\n"},
		{[]string{"check", "--config", conf}, 0, "warning: uid=svc$,ou=people,dc=example,dc=org: this is not a person here: “svc$”, its uid, has more than letters"},
		{[]string{"check", "--config", conf, "-o", "json"}, 0, `"file": "uid=svc$,ou=people,dc=example,dc=org"`},
		{[]string{"check", "--config", conf, "--node", "B"}, 2, "--node is for a FILE"},
		{[]string{"check", "--config", conf, "staff.yaml"}, 2, "FILE and --config both say what to check"},
		{[]string{"show", "ann", "--config", conf}, 0, "roles          nurse\n"},
		{[]string{"show", "bertha", "--config", conf}, 3, "bertha does not work here: berta?"},
		{[]string{"who", `role("nurse")`, "--config", conf}, 0, "PERSON  FOR  NAME\nann          Ann Ames\n"},
	} {
		exit, out, talk := fmqmd(append([]string{"staff"}, c.args...)...)
		if exit != c.exit || !strings.Contains(out+talk, c.want) {
			t.Errorf("staff %s: %d\n%s%s\nwant %d, %s", c.args, exit, out, talk, c.exit, c.want)
		}
	}
	if exit, out, talk := fmqmd("check-config", conf); exit != 0 || !strings.Contains(out, ", people of "+server.TLS()) {
		t.Errorf("%d: %s%s", exit, out, talk)
	}
	write("wrong")
	if exit, _, talk := fmqmd("staff", "check", "--config", conf); exit != 1 || !strings.Contains(talk, "the password of cn=admin,dc=example,dc=org is refused: correct `bind`, or what is in ") {
		t.Errorf("%d: %s", exit, talk)
	}
	if exit, out, _ := fmqmd("staff", "check", "--config", conf, "-o", "json"); exit != 1 || !strings.Contains(out, `"severity": "error"`) || !strings.Contains(out, "is refused") {
		t.Errorf("%d: %s", exit, out)
	}
}

// adSchema is what the page's example of Active Directory reads, under its own numbers. How a
// domain controller is else cannot be tried here.
var adSchema = []string{
	"attributetype ( 1.2.840.113556.1.4.221 NAME 'sAMAccountName' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )",
	"attributetype ( 1.2.840.113556.1.4.302 NAME 'sAMAccountType' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )",
	"attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )",
	"attributetype ( 1.2.840.113556.1.4.653 NAME 'managedBy' EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12 SINGLE-VALUE )",
	"attributetype ( 1.2.840.113556.1.4.652 NAME 'assistant' EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12 SINGLE-VALUE )",
	"objectclass ( 1.2.840.113556.1.5.8 NAME 'group' SUP top STRUCTURAL MUST cn MAY member )",
	"objectclass ( 1.2.840.113556.1.5.9 NAME 'user' SUP organizationalPerson STRUCTURAL MUST sAMAccountName MAY ( displayName $ sAMAccountType $ userAccountControl $ assistant ) )",
}

// account is an entry as a domain controller has it.
func account(cn, name, control, more string) string {
	return "dn: CN=" + cn + ",OU=Ward-3,OU=Hospital,DC=example,DC=org\nobjectClass: user\ncn: " + cn + "\nsn: x\nsAMAccountName: " + name +
		"\nsAMAccountType: " + map[bool]string{true: "805306369", false: "805306368"}[strings.HasSuffix(name, "$")] + "\nuserAccountControl: " + control + "\ndisplayName: " + cn + "\n" + more + "\n"
}

// The examples of the page say what the page says of them.
func TestTheDirectoriesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/staff.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(# [^`]*?\nstaff:.*?)```").FindAllSubmatch(page, -1)
	if len(examples) != 2 {
		t.Fatalf("%d examples", len(examples))
	}
	unix := func(uid, under, more string) string {
		return "dn: uid=" + uid + "," + under + "\nobjectClass: inetOrgPerson\nuid: " + uid + "\ncn: " + strings.ToUpper(uid) + "\nsn: x\n" + more + "\n"
	}
	const services = "dn: ou=services,dc=example,dc=org\nobjectClass: organizationalUnit\nou: services\n\ndn: cn=fmqm,ou=services,dc=example,dc=org\nobjectClass: person\ncn: fmqm\nsn: x\nuserPassword: fmqm-1\n\n"
	ou := func(dn, ou, more string) string {
		return "dn: " + dn + "\nobjectClass: organizationalUnit\nobjectClass: extensibleObject\nou: " + ou + "\n" + more + "\n"
	}
	for i, c := range []struct {
		ldif   string
		config []string
		list   string
	}{
		{
			services + ou("ou=hospital,dc=example,dc=org", "hospital", "manager: uid=dora,ou=hospital,dc=example,dc=org\n") + ou("ou=ward-3,ou=hospital,dc=example,dc=org", "ward-3", "manager: uid=berta,ou=ward-3,ou=hospital,dc=example,dc=org\n") +
				ou("ou=roles,dc=example,dc=org", "roles", "") +
				unix("ann", "ou=ward-3,ou=hospital,dc=example,dc=org", "secretary: uid=berta,ou=ward-3,ou=hospital,dc=example,dc=org\n") + unix("berta", "ou=ward-3,ou=hospital,dc=example,dc=org", "") +
				unix("dora", "ou=hospital,dc=example,dc=org", "") + unix("eve", "ou=hospital,dc=example,dc=org", "employeeType: left\n") +
				"dn: cn=nurse,ou=roles,dc=example,dc=org\nobjectClass: groupOfNames\ncn: nurse\nmember: uid=ann,ou=ward-3,ou=hospital,dc=example,dc=org\nmember: uid=eve,ou=hospital,dc=example,dc=org\n",
			nil,
			"PERSON  NAME   ROLES  ORGANISATION  MANAGER  ABSENT\nann     ANN    nurse  ward-3        berta\nberta   BERTA         ward-3        dora\ndora    DORA          hospital\n",
		},
		{
			services + ou("OU=Hospital,DC=example,DC=org", "Hospital", "") + ou("OU=Ward-3,OU=Hospital,DC=example,DC=org", "Ward-3", "managedBy: CN=Berta Brown,OU=Ward-3,OU=Hospital,DC=example,DC=org\n") + ou("OU=Roles,DC=example,DC=org", "Roles", "") +
				account("Ann Ames", "ann", "512", "assistant: CN=Berta Brown,OU=Ward-3,OU=Hospital,DC=example,DC=org\nmemberOf: cn=nurse, ou=roles, dc=EXAMPLE,dc=org\nmemberOf: CN=Domain Users,CN=Users,DC=example,DC=org\n") +
				account("Berta Brown", "Berta", "66048", "") + account("Eve Evans", "eve", "514", "") + account("PC-7", "PC-7$", "4096", "") +
				"dn: CN=nurse,OU=Roles,DC=example,DC=org\nobjectClass: group\ncn: nurse\n",
			adSchema,
			"PERSON  NAME         ROLES  ORGANISATION  MANAGER  ABSENT\nBerta   Berta Brown         Ward-3\nann     Ann Ames     nurse  Ward-3        Berta    Berta stands in\n",
		},
	} {
		server := ldaptest.New(t, ldaptest.Options{LDIF: c.ldif, Config: c.config})
		dir := t.TempDir()
		text := "node: A\ndata: data\nsocket: s\n" + string(examples[i][1])
		for _, r := range [][2]string{{`ldaps://[a-z0-9.]*`, server.TLS()}, {`/etc/fmqm/[a-z]*-ca.pem`, server.CA}, {`/etc/fmqm/ldap.secret`, server.Secret("fmqm-1")}, {`/etc/fmqm/absences.yaml`, people(t, dir, "people: {ann: {absent: true}}\n")}} {
			text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
		}
		conf := filepath.Join(dir, "fmqmd.yaml")
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if exit, out, talk := fmqmd("staff", "list", "--config", conf); exit != 0 || out != c.list || talk != "" {
			t.Errorf("%d: %s%s\nwant %s", exit, out, talk, c.list)
		}
		if exit, _, talk := fmqmd("staff", "check", "--config", conf); exit != 0 || talk != "" {
			t.Errorf("%d: %s", exit, talk)
		}
	}
}
