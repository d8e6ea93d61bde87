package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/internal/rabbittest"
	"fmqm/test/fleet"
)

// authority is a directory with certificates, made as a sysadmin makes them.
type authority string

func newAuthority(t *testing.T, name string, nodes ...string) authority {
	t.Helper()
	dir := t.TempDir()
	fleet.Must(t, "fmqmd", "pki", "init", "--dir", dir, "--name", name)
	for _, node := range nodes {
		fleet.Must(t, "fmqmd", "pki", "issue", node, "--dir", dir)
	}
	fleet.Must(t, "fmqmd", "pki", "issue", "--server", "127.0.0.1", "--dir", dir) // the broker
	return authority(dir)
}

func (a authority) ca() string { return filepath.Join(string(a), "ca.crt") }
func (a authority) certificate(node string) string {
	return filepath.Join(string(a), "node-"+node+".crt")
}

func (a authority) key(node string) string { return filepath.Join(string(a), "node-"+node+".key") }

// secret is the password of a site's user at the broker.
func secret(site string) string { return "secret-of-" + site }

// account makes a user at the broker who may do for a site what is needed, and no more.
func (s *scene) account(site, vhost string) {
	s.t.Helper()
	s.do(s.broker.AddUser(site, secret(site)))
	s.do(s.broker.Permit(site, vhost, `^fmqm\.`+site+`(\.lock)?$`, `^amq\.default$`, `^fmqm\.`+site+`$`))
}

// definerKey is that of whoever uploads in these tests.
func definerKey(t *testing.T) string {
	t.Helper()
	fleet.Run(t, "fmqm-define", "keygen") // refused where there is one
	return strings.TrimSpace(fleet.Must(t, "fmqm-define", "keygen", "--public"))
}

// overTLS gives the broker, and how four sites reach it: A and B are known by their
// certificates (SASL EXTERNAL), C and D by a user and a password. The broker's own
// certificate is judged by the authority in trusted.
func overTLS(t *testing.T, pki authority, trusted map[string]authority) options {
	t.Helper()
	definer, passwords := definerKey(t), t.TempDir()
	return options{
		tls: &rabbittest.TLS{CA: pki.ca(), Cert: filepath.Join(string(pki), "server-127.0.0.1.crt"), Key: filepath.Join(string(pki), "server-127.0.0.1.key"), Require: true},
		vhosts: func(s *scene) map[string]string {
			vhost, all := rabbittest.VHost(t, s.broker), map[string]string{}
			for _, site := range fleet.Names {
				s.account(site, vhost)
				all[site] = vhost
			}
			return all
		},
		identity: func(site string) string {
			return fmt.Sprintf("identity: {certificate: %s, key: %s, ca: %s}\ndefiners: [%q]\n", pki.certificate(site), pki.key(site), pki.ca(), definer)
		},
		amqp: func(s *scene, site string) string {
			where := s.proxies[site].Addr() + "/" + s.vhosts[site]
			if site == "A" || site == "B" {
				return fmt.Sprintf("{url: %q, ca: %s}", "amqps://"+where, trusted[site].ca())
			}
			password := filepath.Join(passwords, site)
			s.do(os.WriteFile(password, []byte(secret(site)), 0o600))
			return fmt.Sprintf("{url: %q, password: %s, ca: %s}", "amqps://"+site+"@"+where, password, trusted[site].ca())
		},
	}
}

// restart has a site go on with a configuration that has changed.
func restart(site *fleet.Site) {
	site.Stop()
	site.Configure()
	site.Start()
	site.Answers()
}

// checked runs `fmqmd check-config --connect` with a site's configuration, changed by
// replacing something in it.
func checked(t *testing.T, site *fleet.Site, old, instead, want string, code int) {
	t.Helper()
	text, err := os.ReadFile(site.File("fmqmd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("there is no %s in\n%s", old, text)
	}
	file := site.File("checked.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, instead, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, talk, got := fleet.Run(t, "fmqmd", "check-config", file, "--connect")
	if got != code || !strings.Contains(words(out), want) {
		t.Errorf("check-config --connect with %s ended with %d:\n%s%s\nwant %d, %s", instead, got, out, talk, code, want)
	}
}

// words is a text without the breaks of its lines.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// Four sites over a broker that takes nothing but TLS with certificates. The broker is
// killed, the ways to it are cut, all certificates are renewed, a daemon is killed. One
// daemon is told of a wrong authority: it says so, in plain words, and goes on when that
// is mended.
func TestTLSToTheBroker(t *testing.T) {
	rabbittest.Need(t)
	t.Parallel()
	pki := newAuthority(t, "head office", "A", "B", "C", "D")
	other := newAuthority(t, "somebody else", "A")
	trusted := map[string]authority{"A": pki, "B": pki, "C": pki, "D": pki}
	o := overTLS(t, pki, trusted)
	o.seed = 74
	r := newTrial(t, o, 5)
	a, b := r.fleet.Sites["A"], r.fleet.Sites["B"]
	faults := []func(){
		func() {
			r.count()
			r.do(r.broker.Restart())
		},
		func() {
			for _, p := range r.proxies {
				p.Cut()
			}
		},
		func() {
			for name, site := range r.fleet.Sites {
				fleet.Must(t, "fmqmd", "pki", "issue", name, "--dir", string(pki), "--force")
				site.Reload(r.ctx)
				r.proxies[name].Cut() // so that the new one is shown
			}
		},
		func() {
			b.Kill()
			r.some(r.share)
			b.Start()
		},
		func() {
			wrong := "TLS: the broker's certificate (of server 127.0.0.1, issued by head office) is signed by an authority that this site does not trust: name the right one (ca)"
			trusted["A"] = other
			restart(a)
			r.fleet.Until(r.ctx, "fmqm links says "+wrong, func() bool {
				return strings.Contains(words(fleet.Must(t, "fmqm", "links", "--to", a.To())), wrong)
			})
			checked(t, a, "", "", wrong, 1)
			r.some(r.share)
			trusted["A"] = pki
			restart(a)
		},
	}
	r.rounds(len(faults), func(i int) { faults[i]() })
	r.fleet.Connected(r.ctx)
	good := "ca: " + pki.ca() + "}\n  peers:" // of the broker
	checked(t, a, "", "", "connection ok logged in at "+r.proxies["A"].Addr()+" as the user of this side's certificate", 0)
	checked(t, a, good, fmt.Sprintf("ca: %s, certificate: %s, key: %s}\n  peers:", pki.ca(), other.certificate("A"), other.key("A")),
		"(it was shown that of A, issued by somebody else): use one that the broker's authorities signed", 1)
	checked(t, r.fleet.Sites["C"], "amqps://C@", "amqps://D@", "the broker refuses the login of user D: wrong password", 1)
	r.end("a fault over TLS (kill of the broker, cut of all ways, renewal of all certificates, kill of a daemon, wrong authority)")
	for _, site := range r.fleet.Sites {
		if strings.Contains(site.Log(), secret(site.Name)) {
			t.Errorf("the password is in the log of %s", site.Name)
		}
	}
}
