package broker

import (
	"fmt"
	"strings"
	"testing"

	"fmqm/internal/rabbittest"
)

// says waits until a site says something, in its log and in what `fmqm nodes` shows, that
// it has not said before.
func (r *trial) says(site, what string, before int) {
	r.t.Helper()
	s := r.fleet.Sites[site]
	r.fleet.Until(r.ctx, fmt.Sprintf("%s logs %q", site, what), func() bool { return strings.Count(s.Log(), what) > before })
	r.fleet.Until(r.ctx, fmt.Sprintf("fmqm nodes at %s shows %q", site, what), func() bool {
		a, err := s.Client.Nodes(r.ctx)
		r.do(err)
		for _, node := range a.Nodes {
			if strings.Contains(node.Reason, what) {
				return true
			}
		}
		return false
	})
}

// The broker's user may not make queues, not write, not read, in turn: the daemon says
// what is missing and how to grant it, and goes on once it is granted.
func TestUserWithoutPermission(t *testing.T) {
	t.Parallel()
	r := newTrial(t, options{seed: 71}, 3)
	const all, notB, notDefault = ".*", `^(?!fmqm\.B)`, `^(?!amq\.default)`
	missing := []struct{ configure, write, read, says string }{
		{notB, all, all, "user fmqm lacks a permission (access to queue 'fmqm.B'"},
		{all, notDefault, all, "user fmqm lacks a permission (access to exchange 'amq.default'"},
		{all, all, notB, "user fmqm lacks a permission (access to queue 'fmqm.B'"},
	}
	r.rounds(len(missing), func(i int) {
		m := missing[i]
		before := strings.Count(r.fleet.Sites["B"].Log(), m.says)
		r.do(r.broker.Permit(rabbittest.User, r.vhost, m.configure, m.write, m.read))
		r.do(r.broker.DeleteQueue(r.vhost, "fmqm.B")) // which it may use, if somebody made it
		r.do(r.broker.CloseConnections("permissions have changed"))
		r.says("B", m.says, before)
		r.says("B", "rabbitmqctl set_permissions -p "+r.vhost+" fmqm ", 0)
		r.start(r.share)
		r.do(r.broker.Permit(rabbittest.User, r.vhost, all, all, all))
		r.fleet.Connected(r.ctx)
	})
	r.end("a user without a permission")
}

// Somebody made a daemon's queue before, of another kind and with other arguments: the
// daemon says so and what to do, and goes on once that is done.
func TestQueueOfTheWrongKind(t *testing.T) {
	t.Parallel()
	r := newTrial(t, options{seed: 72}, 2)
	wrong := []string{
		`[{<<"x-queue-type">>, longstr, <<"classic">>}, {<<"x-max-length">>, long, 7}]`,
		`[{<<"x-queue-type">>, longstr, <<"stream">>}]`,
	}
	r.rounds(len(wrong), func(i int) {
		name := fmt.Sprintf("rabbit_misc:r(<<%q>>, queue, <<\"fmqm.C\">>)", r.vhost)
		says := "the queue fmqm.C at the broker has another setting: its x-"
		before := strings.Count(r.fleet.Sites["C"].Log(), says)
		r.away("C", func() {
			r.do(r.broker.DeleteQueue(r.vhost, "fmqm.C"))
			_, err := r.broker.Eval(fmt.Sprintf("{new, _} = rabbit_amqqueue:declare(%s, true, false, %s, none, <<\"test\">>), ok", name, wrong[i]))
			r.do(err)
		})
		r.says("C", says, before)
		r.says("C", "rabbitmqctl delete_queue -p "+r.vhost+" fmqm.C", 0)
		r.start(r.share)
		r.do(r.broker.DeleteQueue(r.vhost, "fmqm.C"))
		r.fleet.Connected(r.ctx)
	})
	r.end("a queue of the wrong kind")
}
