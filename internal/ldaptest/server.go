package ldaptest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	goldap "github.com/go-ldap/ldap/v3"

	"fmqm/internal/faultnet"
	"fmqm/internal/skip"
)

// Suffix is the top of the directory; Admin may do everything in it, with Password.
const (
	Suffix   = "dc=example,dc=org"
	Admin    = "cn=admin," + Suffix
	Password = "slapd-test"
)

const startLimit = 2 * time.Minute // it takes a tenth of a second, and much longer where many others compute

// Options say how a server is to be.
type Options struct {
	LDIF   string   // what the directory has; Suffix itself is there already
	Config []string // more lines of slapd.conf, before the database
	Access []string // more lines of slapd.conf, of the database
}

// Server is a slapd. One goroutine at a time may call its methods.
type Server struct {
	tb   testing.TB
	dir  string
	slap string
	port struct{ plain, tls int }
	run  *exec.Cmd
	log  bytes.Buffer
	CA   string // file of the authority of its certificate, which names localhost and 127.0.0.1
}

// New prepares a server, starts it, and stops it when the test ends. Without slapd the test is
// skipped.
func New(tb testing.TB, o Options) *Server {
	tb.Helper()
	s := &Server{tb: tb, dir: tb.TempDir()}
	var err error
	if s.slap, err = exec.LookPath("slapd"); err != nil {
		if s.slap = "/usr/sbin/slapd"; !there(s.slap) {
			skip.Untested(tb, "slapd is not installed: as root on Debian run scripts/install-slapd.sh (it starts no service)")
		}
	}
	for _, p := range []*int{&s.port.plain, &s.port.tls} {
		port, hold, err := faultnet.Port()
		s.must(err)
		*p = port
		tb.Cleanup(func() { _ = hold.Close() })
	}
	s.must(os.Mkdir(s.path("db"), 0o700))
	s.certify()
	s.must(os.WriteFile(s.path("slapd.conf"), []byte(s.config(o)), 0o600))
	s.must(os.WriteFile(s.path("load.ldif"), []byte("dn: "+Suffix+"\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n"+o.LDIF), 0o600))
	load := exec.Command(s.slap, "-T", "add", "-f", s.path("slapd.conf"), "-l", s.path("load.ldif"))
	if out, err := load.CombinedOutput(); err != nil {
		tb.Fatalf("slapadd: %v\n%s", err, out)
	}
	tb.Cleanup(s.Kill)
	s.Start()
	return s
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (s *Server) must(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatal(err)
	}
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Server) config(o Options) string {
	var b bytes.Buffer
	for _, schema := range []string{"core", "cosine", "nis", "inetorgperson"} {
		fmt.Fprintf(&b, "include /etc/ldap/schema/%s.schema\n", schema)
	}
	fmt.Fprintf(&b, "modulepath /usr/lib/ldap\nmoduleload back_mdb\nmoduleload memberof\n")
	fmt.Fprintf(&b, "TLSCACertificateFile %s\nTLSCertificateFile %s\nTLSCertificateKeyFile %s\n", s.CA, s.path("cert.pem"), s.path("key.pem"))
	for _, line := range o.Config {
		fmt.Fprintln(&b, line)
	}
	fmt.Fprintf(&b, "database mdb\nsuffix %q\nrootdn %q\nrootpw %s\ndirectory %s\nmaxsize 268435456\ndbnosync\n", Suffix, Admin, Password, s.path("db"))
	for _, line := range o.Access {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// Start starts the server, and waits until it answers.
func (s *Server) Start() {
	s.tb.Helper()
	s.run = exec.Command(s.slap, "-d", "0", "-f", s.path("slapd.conf"), "-h", s.URL()+"/ "+s.TLS()+"/ ldapi://"+url.PathEscape(s.path("ldapi"))+"/")
	s.run.Stdout, s.run.Stderr = &s.log, &s.log
	s.run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.must(s.run.Start())
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(startLimit); ; <-tick.C {
		conn, err := goldap.DialURL(s.URL(), goldap.DialWithDialer(&net.Dialer{Timeout: time.Second}))
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(end) {
			s.Kill()
			s.tb.Fatalf("slapd does not start: %v\n%s", err, s.log.String())
		}
	}
}

// Kill ends the server as a crash would.
func (s *Server) Kill() {
	if s.run != nil {
		_ = s.run.Process.Kill()
		_ = s.run.Wait()
		s.run = nil
	}
}

// Pause lets the server hang: it takes connections and does not answer. Its end lets it go on.
func (s *Server) Pause() (end func()) {
	s.must(s.run.Process.Signal(syscall.SIGSTOP))
	return func() { s.must(s.run.Process.Signal(syscall.SIGCONT)) }
}

// URL is where it answers in plain text, or after StartTLS.
func (s *Server) URL() string { return "ldap://127.0.0.1:" + strconv.Itoa(s.port.plain) }

// TLS is where it answers over TLS.
func (s *Server) TLS() string { return "ldaps://127.0.0.1:" + strconv.Itoa(s.port.tls) }

// Socket is the URL of its socket.
func (s *Server) Socket() string { return "ldapi://" + s.path("ldapi") }

// Secret writes a file with a password, which only its owner can read.
func (s *Server) Secret(password string) string {
	s.tb.Helper()
	path := s.path("password-" + password)
	s.must(os.WriteFile(path, []byte(password+"\n"), 0o600))
	return path
}

// Change changes the directory while the server runs.
func (s *Server) Change(change func(*goldap.Conn) error) {
	s.tb.Helper()
	conn, err := goldap.DialURL(s.URL())
	s.must(err)
	defer conn.Close()
	s.must(errors.Join(conn.Bind(Admin, Password), change(conn)))
}

// Set replaces the values of an attribute; without values it is removed.
func (s *Server) Set(dn, attribute string, values ...string) {
	s.tb.Helper()
	s.Change(func(conn *goldap.Conn) error {
		r := goldap.NewModifyRequest(dn, nil)
		r.Replace(attribute, values)
		return conn.Modify(r)
	})
}

// Add adds an entry; pairs are attributes and values, by turns.
func (s *Server) Add(dn string, pairs ...string) {
	s.tb.Helper()
	s.Change(func(conn *goldap.Conn) error {
		r := goldap.NewAddRequest(dn, nil)
		all := map[string][]string{}
		for i := 0; i+1 < len(pairs); i += 2 {
			all[pairs[i]] = append(all[pairs[i]], pairs[i+1])
		}
		for a, values := range all {
			r.Attribute(a, values)
		}
		return conn.Add(r)
	})
}

// Remove removes an entry.
func (s *Server) Remove(dn string) {
	s.tb.Helper()
	s.Change(func(conn *goldap.Conn) error { return conn.Del(goldap.NewDelRequest(dn, nil)) })
}
