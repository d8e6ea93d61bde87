package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/internal/rabbittest"
)

// With --broker the same order goes through a RabbitMQ: each site has a certificate, a
// password that no command line shows, and a queue at the broker. A broker on this
// machine knows the user guest.
func TestDemoOverABroker(t *testing.T) {
	broker := rabbittest.Shared(t)
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for user, password := range map[string]string{"guest": "guest", "carol": "secret"} {
		if err := broker.AddUser(user, password); err != nil {
			t.Fatal(err)
		}
	}
	for user, args := range map[string][]string{"guest": nil, "carol": {"--broker-password", password}} {
		t.Run(user, func(t *testing.T) {
			vhost := rabbittest.VHost(t, broker)
			if err := broker.Permit(user, vhost, "^fmqm", "^amq.default$", "^fmqm"); err != nil {
				t.Fatal(err)
			}
			url := rabbittest.URL(broker.Addr(), vhost)
			if args != nil {
				url = strings.Replace(url, "://", "://"+user+"@", 1)
			}
			exit, out, talk := fmqmd(append([]string{"demo", "--broker", url}, args...)...)
			if exit != 0 {
				t.Fatalf("exit %d: %s\n%s", exit, talk, out)
			}
			for _, want := range []string{"through the broker " + broker.Addr(), "B  killed", "B  started again", "The order is finished.", "A  count[1]: its deadline has come", "The count is finished."} {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing:\n%s", want, out)
				}
			}
			queues, err := broker.Queues(vhost)
			if err != nil || len(queues) < len(demoSites) {
				t.Errorf("at the broker are %v (%v), not a queue for each site", queues, err)
			}
		})
	}
}

// What is wrong with the broker is said before a site is started, and a password on the
// command line is not shown once more.
func TestDemoWithTheWrongBroker(t *testing.T) {
	for _, tc := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"--broker", "amqp://carol:secret@127.0.0.1:1/x"}, 2, "--broker-password FILE"},
		{[]string{"--broker", "broker"}, 2, "--broker: this is not an address: write amqp://USER@HOST/VHOST"},
		{[]string{"--broker-password", "x"}, 2, "needs --broker"},
		{[]string{"--broker", "http://127.0.0.1:1"}, 1, "amqp"},
		{[]string{"--broker", "amqp://carol@127.0.0.1:1/x"}, 1, "there is no password for the user carol"},
		{[]string{"--broker", "amqp://127.0.0.1:1/x"}, 1, "nothing listens at 127.0.0.1:1"},
	} {
		exit, _, talk := fmqmd(append([]string{"demo"}, tc.args...)...)
		if exit != tc.exit || !strings.Contains(talk, tc.want) || strings.Contains(talk, "secret") {
			t.Errorf("fmqmd demo %s: exit %d, want %d and %q; it said\n%s", strings.Join(tc.args, " "), exit, tc.exit, tc.want, talk)
		}
	}
}
