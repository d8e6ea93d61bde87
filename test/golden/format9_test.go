package golden

import (
	"fmt"

	"fmqm/api"
	"fmqm/test/fleet"
)

// What came with tables of format 9 is brought about at B alone, in instances that no older story tells of. All of it
// ends by itself, once the gates open.

// shared is a process whose activity is offered to people of B, which decides who has it, and of C.
const shared = `
process: shared
version: 1
structures:
  Order: {n: int, text: string}
input: Order
starts: [B]
activities:
  gate: {node: B, program: gate, input: Order, cancels: [both]}
  both: {node: B, staff: role("clerk"), title: "Both {text}", input: Order, output: Order, offered_at: [B, C]}
data:
  - source -> gate
  - source -> both
`

// again is a process of which an activity can be restarted as long as the gate is shut: the one after it waits for that, too.
const again = `
process: again
version: 1
structures:
  Order: {n: int, text: string}
input: Order
starts: [B]
activities:
  gate: {node: B, program: gate, input: Order}
  one:  {node: B, program: pass, input: Order, output: Order}
  next: {node: B, program: pass, input: Order}
control:
  - one -> next
  - gate -> next
data:
  - source -> gate
  - source -> one
  - one -> next
`

// offers has somebody of B claim what is offered at C too, which has heard of neither.
func (m *maker) offers() {
	m.Helper()
	m.command("B", "fmqm-define", "upload", file(m.T, shared))
	m.start("B", 53, "shared", "hold", 0)
	m.command("B", "fmqm", "work", "claim", m.item("bob", "both"), "--as", "bob")
}

// restarts has operators of B restart an activity: in one instance the one after it has not answered, in
// the next it has, and nobody has heard that; one was restarted, and of one the restart was given up.
func (m *maker) restarts() {
	m.Helper()
	m.command("B", "fmqm-define", "upload", file(m.T, again))
	until := m.restsUntil()
	do := func(number int, verb, activity string, args ...string) {
		m.Helper()
		m.command("B", "fmqm", append([]string{verb, instance(number).String(), activity}, args...)...)
	}
	for number := 54; number <= 57; number++ {
		m.start("B", number, "again", "hold", 0)
		m.until("B", fmt.Sprintf("fmqm history %s", instance(number)), "one  terminated", 1)
		if number != 56 {
			do(number, "suspend", "next", "--until", until)
		}
		m.again(number)
		m.until("B", fmt.Sprintf("fmqm history %s", instance(number)), "one  recalled", 1)
	}
	do(55, "suspend", "one", "--until", until)
	do(55, "resume", "next")
	m.until("B", fmt.Sprintf("fmqm history %s", instance(55)), "next  recalled", 1)
	m.until("B", fmt.Sprintf("fmqm history %s", instance(56)), "restarted", 1)
	do(57, "restart", "one", "--withdraw")
	do(57, "resume", "next")
	m.until("B", fmt.Sprintf("fmqm history %s", instance(57)), "kept", 1)
}

// again has an operator of B restart an activity, and does not wait for what comes of it.
func (m *maker) again(number int) {
	m.Helper()
	client, told := m.Sites["B"].Client, make(chan struct{})
	go func() {
		defer close(told)
		_, _ = client.Restart(m.ctx, instance(number), api.RestartRequest{Activity: "one", Reason: "a wrong number"})
	}()
	m.Cleanup(func() { <-told })
}

// erase has what an instance was about erased.
func (m *maker) erase() {
	m.Helper()
	m.start("B", 58, "again", "go", 0)
	m.until("B", fmt.Sprintf("fmqm status %s", instance(58)), "finished", 1)
	m.Until(m.ctx, "B has erased it", func() bool {
		_, _, code := fleet.Run(m.T, m.Sites["B"].Binary("fmqm"), "erase", instance(58).String(), "--members", "text", "--reason", "asked for", "--to", m.Sites["B"].To())
		return code == 0
	})
}

// format9 has B have what came with it.
func (m *maker) format9() {
	m.Helper()
	m.offers()
	m.restarts()
	m.erase()
	m.command("B", "fmqm", "expedite", instance(51).String(), "7", "--reason", "the customer waits")
	m.until("B", fmt.Sprintf("fmqm history %s", instance(51)), "expedited", 1)
}
