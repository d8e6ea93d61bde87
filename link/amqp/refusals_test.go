package amqp

import (
	"context"
	"os"
	"strings"
	"testing"

	"fmqm/internal/rabbittest"
	"fmqm/link"
	"fmqm/processtable"
)

// What keeps a node from its broker is said in plain words, with what to do.
func TestRefusals(t *testing.T) {
	rabbit := rabbittest.Shared(t)
	vhost := rabbittest.VHost(t, rabbit)
	must(t, rabbit.AddUser("nobody", "secret"))
	must(t, rabbit.AddUser("weak", "secret"))
	must(t, rabbit.Permit("weak", vhost, "", "", ""))
	declare(t, rabbit, vhost, "fmqm.OLD", "classic")
	tests := []struct {
		name   string
		node   processtable.NodeID
		change func(*Options)
		want   string
	}{
		{"wrong password", "A", func(o *Options) { o.PasswordFile = passwordFile(t, "wrong") }, "the broker refuses the login of user fmqm: wrong password or certificate, or no such user"},
		{"no such user", "A", func(o *Options) { o.User = "somebody-else" }, "the broker refuses the login of user somebody-else: wrong password or certificate, or no such user"},
		{"no such virtual host", "A", func(o *Options) { o.URL = rabbittest.URL(rabbit.Addr(), "none") }, "the broker has no virtual host \"none\": as its administrator run `rabbitmqctl add_vhost none`"},
		{"no way into the virtual host", "A", as("nobody", t), "user nobody may not use the virtual host \"" + vhost + "\": as the broker's administrator run `rabbitmqctl set_permissions -p " + vhost + " nobody '^fmqm\\.A(\\.lock)?$' '^amq\\.default$' '^fmqm\\.A$'`"},
		{"no permission", "A", as("weak", t), "user weak lacks a permission ("},
		{"a queue of another kind", "OLD", func(o *Options) { o.Queues = QueuesQuorum }, "the queue fmqm.OLD at the broker has another setting: its x-queue-type is classic, expected quorum: as the broker's administrator run `rabbitmqctl delete_queue -p " + vhost + " fmqm.OLD`"},
		{"nothing listens", "A", func(o *Options) { o.URL = "amqp://127.0.0.1:1/" }, "nothing listens at 127.0.0.1:1: the broker is down, or has another port"},
		{"a name that does not resolve", "A", func(o *Options) { o.URL = "amqp://broker.invalid/" }, "the name of the broker, broker.invalid, does not resolve"},
		{"TLS where there is none", "A", func(o *Options) { o.URL = "amqps://" + rabbit.Addr() + "/" }, "TLS: " + rabbit.Addr() + " does not speak TLS"},
		{"no password file", "A", func(o *Options) { o.PasswordFile = "/nonexistent" }, "the broker's password: cannot read /nonexistent: no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.node, rabbit.Addr(), vhost, tt.change)
			st := s.untilState("a reason", func(st Status) bool { return st.Reason != "" })
			if !strings.Contains(st.Reason, tt.want) {
				t.Fatalf("got %q\nexpected %q", st.Reason, tt.want)
			}
			if strings.Contains(s.log.String(), "secret") || strings.Contains(st.Reason, rabbittest.Password) {
				t.Fatalf("a password is shown: %s", s.log)
			}
		})
	}
}

func as(user string, t *testing.T) func(*Options) {
	return func(o *Options) { o.User, o.PasswordFile = user, passwordFile(t, "secret") }
}

func declare(t *testing.T, rabbit *rabbittest.Broker, vhost, queue, kind string) {
	t.Helper()
	_, err := rabbit.Eval(`rabbit_amqqueue:declare(rabbit_misc:r(<<"` + vhost + `">>, queue, <<"` + queue + `">>), true, false, [{<<"x-queue-type">>, longstr, <<"` + kind + `">>}], none, <<"test">>)`)
	must(t, err)
}

// A second daemon with the same name gets nothing, and says why; when the first is gone
// it takes over.
func TestSecondDaemon(t *testing.T) {
	rabbit := rabbittest.Shared(t)
	vhost := rabbittest.VHost(t, rabbit)
	first := newSite(t, "A", rabbit.Addr(), vhost, nil)
	first.until(StateConnected)
	second := newSite(t, "A", rabbit.Addr(), vhost, nil)
	st := second.untilState("a reason", func(st Status) bool { return st.Reason != "" })
	if !strings.Contains(st.Reason, "a second daemon runs with this node's name: stop one of the two") {
		t.Fatalf("got %q", st.Reason)
	}
	must(t, first.broker.Stop(t.Context()))
	second.until(StateConnected)
}

// A user with no more than what docs say is enough.
func TestLeastPermissions(t *testing.T) {
	rabbit := rabbittest.Shared(t)
	vhost := rabbittest.VHost(t, rabbit)
	least := func(name string) func(*Options) {
		user := vhost + "-" + name
		must(t, rabbit.AddUser(user, "secret"))
		must(t, rabbit.Permit(user, vhost, `^fmqm\.`+name+`(\.lock)?$`, `^amq\.default$`, `^fmqm\.`+name+`$`))
		return as(user, t)
	}
	a, b := newSite(t, "A", rabbit.Addr(), vhost, least("A")), newSite(t, "B", rabbit.Addr(), vhost, least("B"))
	a.connect("B")
	b.connect("A")
	f := &traffic{a: a, b: b}
	f.put(10)
	f.arrived(t)
}

// Queues that the broker's administrator made need no permission to make them, and where
// a queue is of another kind than the best, auto takes it.
func TestGivenQueues(t *testing.T) {
	rabbit := rabbittest.Shared(t)
	vhost := rabbittest.VHost(t, rabbit)
	declare(t, rabbit, vhost, "fmqm.A", "classic")
	declare(t, rabbit, vhost, "fmqm.B", "classic")
	user := vhost + "-user"
	must(t, rabbit.AddUser(user, "secret"))
	must(t, rabbit.Permit(user, vhost, "", `^amq\.default$`, `^fmqm\.`))
	a, b := newSite(t, "A", rabbit.Addr(), vhost, as(user, t)), newSite(t, "B", rabbit.Addr(), vhost, nil)
	a.connect("B")
	b.connect("A")
	f := &traffic{a: a, b: b}
	f.put(10)
	f.arrived(t)
	if kindA, kindB := a.broker.Status().Kind, b.broker.Status().Kind; kindA != "given" || kindB != QueuesClassic {
		t.Fatalf("queues are %s and %s", kindA, kindB)
	}
}

// Who may receive and not send hears that, and so does who has no queue at the peer.
func TestSendRefusals(t *testing.T) {
	rabbit := rabbittest.Shared(t)
	vhost := rabbittest.VHost(t, rabbit)
	user := vhost + "-mute"
	must(t, rabbit.AddUser(user, "secret"))
	must(t, rabbit.Permit(user, vhost, ".*", "", ".*"))
	mute := newSite(t, "A", rabbit.Addr(), vhost, as(user, t))
	declare(t, rabbit, vhost, "fmqm.B", "classic")
	mute.connect("B")
	mute.untilLink("no permission to send", func(st link.Status) bool {
		return strings.Contains(st.Reason, "user "+user+" lacks a permission") && strings.Contains(st.Reason, "amq.default")
	})
	alone := newSite(t, "C", rabbit.Addr(), vhost, nil)
	alone.connect("D")
	alone.untilLink("no queue", func(st link.Status) bool {
		return strings.Contains(st.Reason, "site D has no queue (fmqm.D) at the broker yet: it was never connected there")
	})
}

func TestProbe(t *testing.T) {
	rabbit := rabbittest.Shared(t)
	vhost := rabbittest.VHost(t, rabbit)
	user := vhost + "-mute"
	must(t, rabbit.AddUser(user, "secret"))
	must(t, rabbit.Permit(user, vhost, ".*", "", ""))
	declare(t, rabbit, vhost, "fmqm.B", "classic")
	tests := []struct {
		name   string
		change func(*Options)
		want   []string // "check ok|not text"
	}{
		{"all is well", nil, []string{
			"password ok there is one for user fmqm", "name ok 127.0.0.1 is 127.0.0.1",
			"connection ok logged in at " + rabbit.Addr() + " as user fmqm: RabbitMQ 3.", "queue ok fmqm.A is there (quorum)", "receive ok this user may receive from fmqm.A",
			"send ok this user may send, and the broker confirms", "peer B ok fmqm.B is there", "peer C not site C has no queue (fmqm.C) at the broker yet",
		}},
		{"a wrong password", func(o *Options) { o.PasswordFile = passwordFile(t, "wrong") }, []string{
			"password ok", "name ok", "connection not the broker refuses the login of user fmqm",
		}},
		{"a password that all can read", func(o *Options) { must(t, os.Chmod(o.PasswordFile, 0o644)) }, []string{
			"password not the broker's password: ",
		}},
		{"no permission", as(user, t), []string{
			"password ok", "name ok", "connection ok", "queue ok",
			"receive not user " + user + " lacks a permission", "send not user " + user + " lacks a permission", "peer B ok", "peer C not",
		}},
		{"no name", func(o *Options) { o.URL = "amqp://broker.invalid/" }, []string{
			"password ok", "name not the name of the broker, broker.invalid, does not resolve",
		}},
		{"a password in the address", func(o *Options) { o.URL = "amqp://me:hunter2@127.0.0.1/" }, []string{
			"options not address of the broker: amqp://me:xxxxx@127.0.0.1/ has a password",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t, "A", rabbit.Addr(), vhost)
			if tt.change != nil {
				tt.change(&o)
			}
			expectFindings(t, Probe(t.Context(), o, "B", "C"), tt.want)
		})
	}
	t.Run("while the daemon runs", func(t *testing.T) {
		newSite(t, "A", rabbit.Addr(), vhost, nil).until(StateConnected)
		expectFindings(t, Probe(t.Context(), options(t, "A", rabbit.Addr(), vhost)), []string{
			"password ok", "name ok", "connection ok", "queue ok", "receive ok a daemon receives from fmqm.A now", "send ok",
		})
	})
	t.Run("no time", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		found := Probe(ctx, options(t, "A", rabbit.Addr(), vhost))
		if last := found[len(found)-1]; last.OK {
			t.Fatalf("got %+v", found)
		}
	})
}

func expectFindings(t *testing.T, found []Finding, want []string) {
	t.Helper()
	if len(found) != len(want) {
		t.Fatalf("got %+v\nexpected %d findings", found, len(want))
	}
	for i, f := range found {
		is := f.Check + " not "
		if f.OK {
			is = f.Check + " ok "
		}
		if !strings.HasPrefix(is+f.Text, want[i]) {
			t.Errorf("got %q\nexpected %q", is+f.Text, want[i])
		}
	}
}
