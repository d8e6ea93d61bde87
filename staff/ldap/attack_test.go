package ldap_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ber "github.com/go-asn1-ber/asn1-ber"

	"fmqm/internal/ldaptest"
	"fmqm/staff"
	"fmqm/staff/ldap"
)

// person is an entry of one who is below the hospital; more are its other lines.
func person(uid string, more ...string) string {
	return fmt.Sprintf("dn: uid=%s,ou=hospital,dc=example,dc=org\nobjectClass: inetOrgPerson\nobjectClass: extensibleObject\nuid: %s\ncn: x\nsn: x\n%s\n\n", uid, uid, strings.Join(more, "\n"))
}

// What cannot be a person's is left out, and said; everybody else stays.
func TestWhatIsLeftOut(t *testing.T) {
	huge := strings.Repeat("h", 100_000)
	server := ldaptest.New(t, ldaptest.Options{LDIF: hospital + "\n" +
		person("ann@ward") + person("svc$") + person("*)(uid=*", "description: a filter") + person("a b") + person(huge[:70]) +
		person("twice", "uid: other") +
		person("several", "uid: second", "secretary: uid=ann,ou=hospital,dc=example,dc=org", "secretary: uid=dora,ou=hospital,dc=example,dc=org") +
		person("carl", "description: "+huge, "employeeNumber:: "+base64.StdEncoding.EncodeToString([]byte("root\x1b[2J\n")), "secretary: uid=gone,ou=hospital,dc=example,dc=org") +
		person("zoe", `manager: cn=x\2cou=groups,dc=example,dc=org`, "cn:: "+base64.StdEncoding.EncodeToString([]byte("\u202egnp"+huge))) +
		"dn: cn=zed\\2Cou\\3Dgroups,ou=hospital,dc=example,dc=org\nobjectClass: inetOrgPerson\nuid: zed\ncn: zed,ou=groups\nsn: x\n\n" +
		"dn: cn=admin\\00x,ou=groups,dc=example,dc=org\nobjectClass: groupOfNames\ncn:: " + base64.StdEncoding.EncodeToString([]byte("admin\x00x")) + "\nmember: uid=carl,ou=hospital,dc=example,dc=org\n"})
	s := settings(server)
	s.People.Login, s.People.Display = "employeeNumber", "description"
	a := read(t, s)
	if got := slices.Collect(a.Staff.People()); !slices.Equal(got, []staff.Name{"ann", "berta", "carl", "dora", "several", "twice", "zed", "zoe"}) {
		t.Errorf("people: %v", got)
	}
	if d, _ := a.Staff.Details("carl"); len(d.Full) != staff.MaxFull || len(d.Logins) != 0 || d.Substitute != "" || len(d.Roles) != 0 {
		t.Errorf("%+v", d)
	}
	if !slices.Equal(a.Staff.Roles(), []staff.Role{"leads", "nurse"}) {
		t.Errorf("roles: %v", a.Staff.Roles())
	}
	for _, want := range []string{
		"uid=ann@ward,ou=hospital,dc=example,dc=org: this is not a person here: “ann@ward”, its uid, has more than letters",
		"“svc$”", "“*)(uid=*”", "“a b”", "uid=" + huge[:70],
		"several secretary, so none of them is taken",
		`uid=carl,ou=hospital,dc=example,dc=org: “root\x1b[2J” cannot be a login`,
		"uid=gone,ou=hospital,dc=example,dc=org, its substitute, is nobody here",
		`cn=admin\00x,ou=groups,dc=example,dc=org: that is no name of an entry`,
	} {
		if !slices.ContainsFunc(a.Left, func(l ldap.Left) bool { return strings.Contains(l.String(), want) }) {
			t.Errorf("not said: %s", want)
		}
	}
	for _, l := range a.Left {
		if strings.ContainsAny(l.String(), "\x1b\x00\u202e") || len(l.String()) > 1000 {
			t.Errorf("not fit to be shown: %q", l)
		}
	}
	if a.LeftOut != len(a.Left) {
		t.Errorf("%d, and %d named", a.LeftOut, len(a.Left))
	}
}

// Where it is not sure who is who nothing is taken, and the entry is named.
func TestWhatRefusesAnAnswer(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: hospital})
	s := settings(server)
	s.People.Login = "employeeNumber"
	read(t, s)
	const top = ",ou=hospital,dc=example,dc=org"
	add := func(uid, under string, pairs ...string) string {
		dn := "uid=" + uid + "," + under
		server.Add(dn, append([]string{"objectClass", "inetOrgPerson", "objectClass", "extensibleObject", "uid", uid, "cn", uid, "sn", uid}, pairs...)...)
		return dn
	}
	// A second ann, in other letters: the directory itself does not tell the two apart.
	dn := add("Ann", "ou=ward-3"+top)
	refused[ldap.Problems](t, s, "is there twice, also as uid=")
	server.Remove(dn)
	// A login of somebody else.
	server.Set("uid=berta,ou=ward-3"+top, "employeeNumber", "root")
	server.Set("uid=dora"+top, "employeeNumber", "root")
	refused[ldap.Problems](t, s, "the login root is of berta and of dora")
	server.Set("uid=dora"+top, "employeeNumber", "dora")
	// A circle of substitutes: berta for dora, ann for berta, dora for ann.
	server.Set("uid=berta,ou=ward-3"+top, "secretary", "uid=ann,ou=night shift,ou=ward-3"+top)
	server.Set("uid=ann,ou=night shift,ou=ward-3"+top, "secretary", "uid=dora"+top)
	refused[ldap.Problems](t, s, "stand in for each other: end the chain with somebody else")
	server.Set("uid=ann,ou=night shift,ou=ward-3"+top, "secretary")
	// Organisations of one name, and in a circle.
	server.Add("ou=Ward-3,ou=night shift,ou=ward-3"+top, "objectClass", "organizationalUnit", "ou", "Ward-3")
	refused[ldap.Problems](t, s, "give an organisation a name of its own")
	server.Remove("ou=Ward-3,ou=night shift,ou=ward-3" + top)
	server.Set("ou=hospital"+below, "description", "ward-3")
	server.Set("ou=ward-3"+top, "description", "hospital")
	s.Organisations.PartOf = "description"
	refused[ldap.Problems](t, s, "ou=hospital,dc=example,dc=org: hospital, ward-3, hospital are part of each other: remove part_of of the topmost one")
	s.Organisations.PartOf = ldap.Above
	read(t, s)
	// Nobody can be a person.
	s.People.Name = "description"
	refused[ldap.Problems](t, s, "nobody of 3 entries can be a person here")
}

// liar answers every connection with the same bytes, again and again.
func liar(t *testing.T, answer []byte) ldap.Settings {
	return served(t, func(conn net.Conn) {
		_, err := conn.Read(make([]byte, 1<<10))
		for err == nil {
			_, err = conn.Write(answer)
		}
	})
}

// teller answers the requests of every connection, each with its answer.
func teller(t *testing.T, answers ...string) ldap.Settings {
	return served(t, func(conn net.Conn) {
		for _, answer := range answers {
			if _, err := ber.ReadPacket(conn); err != nil {
				return
			}
			if _, err := conn.Write([]byte(answer)); err != nil {
				return
			}
		}
		_, _ = conn.Read(make([]byte, 1)) // it is hung up on
	})
}

// served are the settings of a server that serves connections so.
func served(t *testing.T, serve func(net.Conn)) ldap.Settings {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return ldap.Settings{
		URL: "ldap://" + l.Addr().String(), Timeout: 2 * time.Second,
		People: ldap.People{Search: search("", "(objectClass=*)"), Name: "uid"},
	}
}

// found is an entry, and its end of a search, as a server sends them in answer to a message.
func found(id int64, dn string, attributes ...string) string {
	message := func(op *ber.Packet) string {
		p := ber.NewSequence("")
		p.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, id, ""))
		p.AppendChild(op)
		return string(p.Bytes())
	}
	text := func(s string) *ber.Packet {
		return ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, s, "")
	}
	all := ber.NewSequence("")
	for i := 0; i+1 < len(attributes); i += 2 {
		one, values := ber.NewSequence(""), ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSet, nil, "")
		values.AppendChild(text(attributes[i+1]))
		one.AppendChild(text(attributes[i]))
		one.AppendChild(values)
		all.AppendChild(one)
	}
	entry := ber.Encode(ber.ClassApplication, ber.TypeConstructed, 4, nil, "")
	entry.AppendChild(text(dn))
	entry.AppendChild(all)
	done := ber.Encode(ber.ClassApplication, ber.TypeConstructed, 5, nil, "")
	done.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagEnumerated, 0, ""))
	done.AppendChild(text(""))
	done.AppendChild(text(""))
	return message(entry) + message(done)
}

// Active Directory gives only the first 1,500 members of a group at once: they are not all.
func TestPartOfTheMembersIsNotAll(t *testing.T) {
	s := teller(t, found(1, "cn=ann", "uid", "ann"), found(2, "cn=nurse", "cn", "nurse", "member;range=0-1499", "cn=ann"))
	s.Roles = &ldap.Roles{Search: search("", "(objectClass=*)"), Name: "cn", Member: "member"}
	refused[ldap.Problems](t, s, "cn=nurse: the directory gives only part of its member at once: let `roles` of people name their attribute that has the groups (memberOf)")
}

// An answer that ends in the middle, wherever that is, is none.
func TestAnAnswerThatIsCut(t *testing.T) {
	server := ldaptest.New(t, ldaptest.Options{LDIF: hospital})
	s := settings(server)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var most atomic.Int64
	go func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", strings.TrimPrefix(server.URL(), "ldap://"))
			if err != nil {
				_ = here.Close()
				continue
			}
			go func() {
				defer there.Close()
				_, _ = io.Copy(there, here)
			}()
			go func() {
				defer here.Close()
				_, _ = io.CopyN(here, there, most.Load())
			}()
		}
	}()
	s.URL = "ldap://" + l.Addr().String()
	cuts, whole := 0, 0
	for n := int64(0); whole < 2; n += 37 {
		most.Store(n)
		a, err := ldap.Read(t.Context(), s, ward)
		switch {
		case err != nil && whole > 0:
			t.Fatalf("after %d bytes: %v", n, err)
		case err != nil:
			cuts++
		default:
			if whole++; a.Staff.Len() != 3 || len(a.Staff.WithRole("nurse")) != 2 || len(a.Staff.Organisations()) != 2 {
				t.Fatalf("after %d bytes part of the answer is taken for the staff", n)
			}
		}
	}
	if cuts < 20 {
		t.Errorf("%d cuts only", cuts)
	}
}

// A server that sends what is no answer, or no end of it, is an error within bounds.
func TestAServerThatLies(t *testing.T) {
	for name, answer := range map[string]string{
		"no LDAP":                  "HTTP/1.1 400 Bad Request\r\n\r\n",
		"a packet of 2 GiB":        "\x30\x84\x7f\xff\xff\xff",
		"an entry without an end":  "\x30\x80\x02\x01\x01\x64\x80",
		"nested without an end":    strings.Repeat("\x30\x80", 1000),
		"entries without an end":   "\x30\x0c\x02\x01\x01\x64\x07\x04\x03\x61\x3d\x62\x30\x00",
		"a result of another kind": "\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00",
		"an empty message":         "\x30\x00",
		"a negative number":        "\x30\x05\x02\x01\xff\x64\x00",
	} {
		t.Run(name, func(t *testing.T) {
			s := liar(t, []byte(answer))
			begun := time.Now()
			refused[error](t, s, s.URL)
			if took := time.Since(begun); took > 2*time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}
