package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fmqm/internal/rabbittest"
)

// brokerPage is what docs/links.md has an administrator do to set up a broker.
type brokerPage struct {
	commands [][]string // rabbitmqctl's arguments, as written
	pki      []string   // fmqmd's arguments that make the broker's certificate
	conf     []string   // lines of rabbitmq.conf
}

var (
	word    = regexp.MustCompile(`'[^']*'|\S+`)
	comment = regexp.MustCompile(`\s+#.*`)
	setting = regexp.MustCompile("(?:ssl_options|auth_mechanisms|ssl_cert_login_from)[a-z_.0-9]* *= *[^`\n]+")
)

func readBrokerPage(t *testing.T) (p brokerPage) {
	t.Helper()
	text, err := os.ReadFile("../../docs/links.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Set up a broker\n")
	section, _, _ = strings.Cut(section, "\n#")
	for line := range strings.Lines(section) {
		command, indented := strings.CutPrefix(comment.ReplaceAllString(strings.TrimRight(line, "\n"), ""), "    ")
		if !indented {
			continue
		}
		args := word.FindAllString(command, -1)
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
		switch {
		case len(args) > 0 && args[0] == "rabbitmqctl":
			p.commands = append(p.commands, args[1:])
		case len(args) > 1 && args[0] == "fmqmd" && args[1] == "pki":
			p.pki = args[1:]
		}
	}
	for _, s := range setting.FindAllString(section, -1) {
		key, value, _ := strings.Cut(s, "=")
		p.conf = append(p.conf, strings.TrimSpace(key)+" = "+strings.TrimSpace(value))
	}
	if len(p.commands) < 8 || len(p.pki) == 0 || len(p.conf) < 8 {
		t.Fatalf("docs/links.md does not say how to set up a broker: %+v", p)
	}
	return p
}

// brokerFinding is a line of check-config --connect.
type brokerFinding struct{ Check, Result, Text string }

func (f brokerFinding) String() string { return f.Check + " " + f.Result + ": " + f.Text }

// tried runs check-config --connect for site A and gives what it found of the broker.
func tried(t *testing.T, dir, amqp string) (exit int, found []brokerFinding) {
	t.Helper()
	file := filepath.Join(dir, "A.yaml")
	text := "node: A\nidentity: {certificate: node-A.crt, key: node-A.key, ca: ca.crt}\nlinks:\n  amqp: " + amqp + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	exit, out, talk := fmqmd("check-config", file, "--connect", "-o", "jsonl")
	for line := range strings.Lines(out) {
		var f brokerFinding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		found = append(found, f)
	}
	if len(found) == 0 {
		t.Fatalf("exit %d: %s", exit, talk)
	}
	return exit, found
}

// A broker that is set up by the commands of docs/links.md, with certificates of
// `fmqmd pki`, does: with passwords and with certificates, over TLS. Nothing less does:
// for each permission that is left out, check-config --connect says what is missing.
func TestBrokerOfThePage(t *testing.T) {
	rabbittest.Need(t)
	page := readBrokerPage(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	pki := func(args ...string) {
		t.Helper()
		if exit, _, talk := fmqmd(append(args, "--dir", dir)...); exit != 0 {
			t.Fatalf("fmqmd %v: exit %d: %s", args, exit, talk)
		}
	}
	pki("pki", "init")
	pki("pki", "issue", "A")
	for i, arg := range page.pki {
		if arg == "broker.example.org" {
			page.pki[i] = "127.0.0.1"
		}
	}
	pki(page.pki...)
	file := func(name string) string { return filepath.Join(dir, name) }
	rabbitDir := t.TempDir()
	rabbit, err := rabbittest.New(rabbittest.Options{Dir: rabbitDir, TLS: &rabbittest.TLS{CA: file("ca.crt"), Cert: file("server-127.0.0.1.crt"), Key: file("server-127.0.0.1.key")}})
	must(err)
	t.Cleanup(func() { must(rabbit.Close()) })
	must(rabbit.Start())

	// It runs with what the page has for rabbitmq.conf.
	conf, err := os.ReadFile(filepath.Join(rabbitDir, "rabbitmq.conf"))
	must(err)
	places := strings.NewReplacer("/etc/rabbitmq/ca.crt", file("ca.crt"), "/etc/rabbitmq/broker.crt", file("server-127.0.0.1.crt"), "/etc/rabbitmq/broker.key", file("server-127.0.0.1.key"))
	for _, line := range page.conf {
		if line = places.Replace(line); !strings.Contains(string(conf), "\n"+line+"\n") {
			t.Errorf("the page has %q, and the broker of this test runs without it", line)
		}
	}
	var grant []string // of site-a: virtual host, user, configure, write, read
	for _, args := range page.commands {
		if _, err := rabbit.CtlInput("secret\n", args...); err != nil {
			t.Errorf("a command of the page: %v", err)
		}
		if args[0] == "set_permissions" && grant == nil {
			grant = args[2:]
		}
	}
	if len(grant) != 5 || t.Failed() {
		t.Fatalf("the permissions of site-a: %v", grant)
	}

	must(os.WriteFile(file("password"), []byte("secret\n"), 0o600))
	password := fmt.Sprintf("{url: 'amqps://%s@%s/%s', password: password, ca: ca.crt}", grant[1], rabbit.TLSAddr(), grant[0])
	external := fmt.Sprintf("{url: 'amqps://%s/%s', ca: ca.crt}", rabbit.TLSAddr(), grant[0])
	for what, amqp := range map[string]string{"a password": password, "a certificate": external} {
		if exit, found := tried(t, dir, amqp); exit != 0 {
			t.Errorf("with %s: exit %d: %v", what, exit, found)
		}
	}
	_, plain, _ := strings.Cut(password, "amqps://")
	plain = "{url: 'amqp://" + strings.Replace(plain, rabbit.TLSAddr(), rabbit.Addr(), 1)
	if exit, found := tried(t, dir, strings.Replace(plain, ", ca: ca.crt", "", 1)); exit != 0 {
		t.Errorf("without TLS: exit %d: %v", exit, found)
	}
	if exit, found := tried(t, dir, strings.Replace(password, ", ca: ca.crt", "", 1)); exit != 1 ||
		!strings.Contains(found[len(found)-1].Text, "is signed by an authority that this site does not trust: name the right one (ca)") {
		t.Errorf("without the authority: exit %d: %v", exit, found)
	}

	for _, less := range []struct {
		configure, write, read string
		check, object          string
	}{
		{"", grant[3], grant[4], "queue", "queue 'fmqm.A'"},
		{`^fmqm\.A\.lock$`, grant[3], grant[4], "queue", "queue 'fmqm.A'"},
		{`^fmqm\.A$`, grant[3], grant[4], "receive", "queue 'fmqm.A.lock'"},
		{grant[2], "", grant[4], "send", "exchange 'amq.default'"},
		{grant[2], grant[3], "", "receive", "queue 'fmqm.A'"},
	} {
		must(rabbit.DeleteQueues(grant[0]))
		must(rabbit.Permit(grant[1], grant[0], less.configure, less.write, less.read))
		exit, found := tried(t, dir, password)
		said := false
		for _, f := range found {
			said = said || f.Check == less.check && f.Result == "failed" && strings.Contains(f.Text, less.object) &&
				strings.Contains(f.Text, fmt.Sprintf("rabbitmqctl set_permissions -p %s %s '%s' '%s' '%s'", grant[0], grant[1], grant[2], grant[3], grant[4]))
		}
		if exit != 1 || !said {
			t.Errorf("with %q %q %q it is not said that %s is missing, and what to run: exit %d: %v", less.configure, less.write, less.read, less.object, exit, found)
		}
	}
}
