package amqp

import (
	"strings"
	"testing"

	"fmqm/internal/faultnet"
	"fmqm/internal/rabbittest"
	"fmqm/link"
)

// faults is what happens to a broker and to the ways there while items go both ways.
type faults struct {
	*traffic
	t      *testing.T
	rabbit *rabbittest.Broker
	vhost  string
}

// each calls do n times while items are under way.
func (f *faults) each(n int, do func() error) {
	f.t.Helper()
	for range n {
		f.put(100)
		must(f.t, do())
	}
}

// TestFaults is the room's promise: whatever the broker and the network do, everything
// arrives, once and in order. About a minute, of which RabbitMQ takes
// half a minute to start.
func TestFaults(t *testing.T) {
	rabbit := rabbittest.Start(t, rabbittest.Options{})
	const vhost = "sites"
	must(t, rabbit.AddVHost(vhost))
	a, b := pair(t, rabbit.Addr(), vhost)
	flow := &traffic{a: a, b: b}
	for _, tt := range []struct {
		name string
		do   func(f *faults)
	}{
		{"nothing", func(*faults) {}},
		{"queues are purged", func(f *faults) { f.each(20, func() error { return f.rabbit.PurgeAll(vhost) }) }},
		{"queues are deleted", func(f *faults) {
			f.each(3, func() error { return f.rabbit.DeleteQueues(vhost) })
			f.a.until(StateConnecting)
			f.a.until(StateConnected)
		}},
		{"max-length with drop-head", func(f *faults) { f.policy(`{"max-length": 1}`, "has been silent") }},
		{"max-length with reject-publish", func(f *faults) {
			f.policy(`{"max-length": 1, "overflow": "reject-publish"}`, "limits its queue")
			if f.a.broker.Status().Refused == 0 {
				f.t.Fatal("nothing was refused")
			}
		}},
		{"messages expire at once", func(f *faults) { f.policy(`{"message-ttl": 0}`, "has been silent") }},
		{"connections are closed by the broker", func(f *faults) {
			before := f.a.broker.Status().Lost
			f.each(3, func() error { return f.rabbit.CloseConnections("a test") })
			f.a.untilState("that connections were lost", func(s Status) bool { return s.Lost >= before+2 })
		}},
		{"connections are cut within messages", func(f *faults) {
			for n := range int64(5) {
				f.a.proxy.CutAfter(1000 + 3000*n)
				f.put(200)
				f.a.until(StateConnecting)
				f.a.until(StateConnected)
			}
		}},
		{"confirms are lost", func(f *faults) {
			f.a.proxy.Set(faultnet.Faults{Silent: faultnet.ToClient})
			f.put(1000)
			f.a.proxy.Cut()
			f.a.proxy.Set(faultnet.Faults{})
		}},
		{"half-open", func(f *faults) {
			f.a.proxy.Set(faultnet.Faults{Silent: faultnet.Both})
			f.put(1000)
			f.a.until(StateConnecting)
			f.a.proxy.Set(faultnet.Faults{})
			f.a.until(StateConnected)
		}},
		{"a black hole", func(f *faults) {
			f.a.proxy.Set(faultnet.Faults{BlackHole: true})
			f.a.proxy.Cut()
			f.put(1000)
			f.a.untilState("that nothing answers", func(s Status) bool { return strings.Contains(s.Reason, "does not answer") })
			f.a.proxy.Set(faultnet.Faults{})
			f.a.until(StateConnected)
		}},
		{"a slow and far line", func(f *faults) {
			f.a.proxy.Set(faultnet.Faults{Rate: 30_000, Delay: 50_000_000})
			f.put(100)
			f.arrived(f.t)
			f.a.proxy.Set(faultnet.Faults{})
		}},
		{"memory alarm", func(f *faults) { f.alarm(rabbittest.Memory) }},
		{"disk alarm", func(f *faults) { f.alarm(rabbittest.Disk) }},
		{"a queue answers nobody", func(f *faults) {
			must(f.t, f.rabbit.Deafen(vhost, "fmqm.A"))
			must(f.t, f.rabbit.CloseConnections("a test"))
			f.put(500)
			f.a.untilState("that the queue does not answer", func(s Status) bool {
				return strings.Contains(s.Reason, "the broker did not answer within 5s: receive from queue fmqm.A")
			})
			f.a.until(StateConnected)
		}},
		{"the broker is killed", func(f *faults) { must(f.t, f.rabbit.Restart()) }},
		{"the broker is frozen", func(f *faults) {
			must(f.t, f.rabbit.Freeze())
			f.put(500)
			f.a.until(StateConnecting)
			must(f.t, f.rabbit.Thaw())
			f.a.until(StateConnected)
		}},
		{"the broker loses everything", func(f *faults) {
			must(f.t, f.rabbit.Wipe())
			f.put(500)
			must(f.t, f.rabbit.Start())
		}},
	} {
		if !t.Run(tt.name, func(t *testing.T) {
			f := &faults{traffic: flow, t: t, rabbit: rabbit, vhost: vhost}
			a.t, b.t = t, t
			a.drain()
			b.drain()
			f.put(500)
			tt.do(f)
			f.put(500)
			f.arrived(t)
		}) {
			t.FailNow() // what follows would begin in the middle of this
		}
	}
	t.Logf("%d items each way; A: %+v", flow.n, a.broker.Status())
}

// policy: what A sends while B is away meets a bad policy, until A gives up, for a reason
// that it says; then B is back.
func (f *faults) policy(definition, reason string) {
	f.t.Helper()
	must(f.t, f.rabbit.SetPolicy(f.vhost, "bad", "^fmqm", definition))
	f.b.proxy.Set(faultnet.Faults{Refuse: true})
	f.b.proxy.Cut()
	f.b.until(StateConnecting)
	f.put(1000)
	f.a.untilLink("the connection ends", func(s link.Status) bool { return strings.Contains(s.Reason, reason) })
	f.b.proxy.Set(faultnet.Faults{})
	f.b.until(StateConnected)
	f.put(1000)
	must(f.t, f.rabbit.ClearPolicy(f.vhost, "bad"))
}

// alarm: the state says so, nothing hangs, and what was held back arrives afterwards.
func (f *faults) alarm(which rabbittest.Alarm) {
	f.t.Helper()
	must(f.t, f.rabbit.Raise(which))
	f.put(1000)
	s := f.a.until(StateBlocked)
	if !strings.Contains(s.Reason, string(which)) {
		f.t.Fatalf("the reason does not name the alarm: %s", s.Reason)
	}
	if s.BlockedFor < 0 || f.a.broker.Status().BlockedFor <= s.BlockedFor {
		f.t.Errorf("blocked for %s, and it goes on", s.BlockedFor)
	}
	must(f.t, f.rabbit.Clear(which))
	f.a.until(StateConnected)
	if over := f.a.broker.Status().BlockedFor; over <= s.BlockedFor || over != f.a.broker.Status().BlockedFor {
		f.t.Errorf("blocked for %s at its beginning, %s at its end", s.BlockedFor, over)
	}
}

// drain forgets the states that were told so far.
func (s *site) drain() {
	for len(s.states) > 0 {
		<-s.states
	}
	for len(s.links) > 0 {
		<-s.links
	}
}
