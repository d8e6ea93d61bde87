package golden

import (
	"fmt"
	"os"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/test/fleet"
)

// What people and operators do is brought about at B alone, in instances that no older story tells of. All of
// it ends by itself, once the gates open: the gate's activity cancels what waits for people, and what is
// suspended goes on when its time has come.

// clerks are the staff of B.
const clerks = `
roles: [clerk, head]
people:
  ann:  {roles: [clerk]}
  bob:  {roles: [clerk]}
  dora: {roles: [head], absent: true, substitute: bob}
`

// desk is a process with activities of people: one that somebody completes, one that nobody does by its deadline,
// and those that wait until the gate opens. One of these is offered to nobody: who could do it has done another. Two have notices for
// people, of which somebody takes one off.
const desk = `
process: desk
version: 1
structures:
  Order: {n: int, text: string}
input: Order
starts: [B]
activities:
  gate:    {node: B, program: gate, input: Order, cancels: [signed, offered, claimed, drafted]}
  done:    {node: B, staff: role("clerk"), title: "Do {text}", input: Order, output: Order}
  signed:  {node: B, staff: role("head") && !did(done), title: "Sign {text}", input: Order, output: Order}
  lost:    {node: B, staff: role("clerk"), title: Lose it, deadline: {after: 1s}}
  late:    {node: B, program: pass}
  offered: {node: B, staff: role("clerk"), title: "Offer {text}", input: Order, output: Order, notify: [{after: 1s, staff: role("head")}]}
  claimed: {node: B, staff: role("head"), title: "Claim {text}", input: Order, output: Order}
  drafted: {node: B, staff: role("clerk"), title: "Draft {text}", input: Order, output: Order, notify: [{after: 1s, every: 720h, staff: role("head")}]}
control:
  - done -> signed
  - lost -> late: _TIMEOUT
data:
  - source -> gate
  - source -> done
  - done -> signed
  - source -> offered
  - source -> claimed
  - source -> drafted
`

// hands is a process of which an operator ends activities, and suspends others: of those one waits for
// the gate, and one is cancelled by it. Its instances are found by their input (table format 9).
const hands = `
process: hands
version: 1
structures:
  Order: {n: int, text: string}
input: Order
search: [n, text]
starts: [B]
activities:
  gate:     {node: B, program: gate, input: Order, cancels: [paused]}
  finished: {node: B, wait: {for: 720h}}
  broken:   {node: B, program: broken, input: Order, output: Order}
  skipped:  {node: B, program: later, input: Order, output: Order}
  paused:   {node: B, wait: {for: 720h}}
  rests:    {node: B, program: pass, input: Order}
control:
  - gate -> rests
data:
  - source -> gate
  - source -> broken
  - source -> skipped
  - source -> rests
`

// retired is a version that begins no instance any more; B removes its table without D, which is down.
const retired = `
process: retired
version: 1
starts: [B]
activities:
  one: {node: B, program: pass}
  two: {node: D, program: pass}
control:
  - one -> two
`

// gone is a version of which the table was removed.
const gone = `
process: gone
version: 1
starts: [B]
activities:
  one: {node: B, program: pass}
`

// rest is how long something of B rests: longer than B lives on.
const rest = 90 * time.Second

// restsUntil is when what rests from now on goes on.
func (m *maker) restsUntil() string { return time.Now().Add(rest).UTC().Format(time.RFC3339) }

// staffed has people work at B.
func (m *maker) staffed() {
	m.Helper()
	b := m.Sites["B"]
	if err := os.WriteFile(b.File("staff.yaml"), []byte(clerks), 0o600); err != nil {
		m.Fatal(err)
	}
	m.staff = "staff: {file: staff.yaml}\n"
	b.Configure()
	b.Reload(m.ctx)
}

// item waits until somebody is offered an activity, and gives the item's name.
func (m *maker) item(person, activity string) (item string) {
	m.Helper()
	m.Until(m.ctx, fmt.Sprintf("%s is offered %s", person, activity), func() bool {
		a, err := m.Sites["B"].Client.Work(m.ctx, api.WorkRequest{As: person, Activity: activity, Limit: 10})
		if err != nil || len(a.Items) != 1 {
			return false
		}
		item = a.Items[0].Item
		return true
	})
	return item
}

// people has those of B do all that can be done with what they are offered, and leaves some of it as it is then.
func (m *maker) people() {
	m.Helper()
	m.command("B", "fmqm-define", "upload", file(m.T, desk))
	m.start("B", 50, "desk", "hold", 0)
	work := func(person, verb, item string, args ...string) {
		m.Helper()
		m.command("B", "fmqm", append([]string{"work", verb, item, "--as", person}, args...)...)
	}
	done := m.item("ann", "done")
	work("ann", "claim", done)
	work("ann", "save", done, "--output", `{"n": 6}`)
	work("ann", "release", done, "--reason", "home")
	work("ann", "claim", done)
	m.command("B", "fmqm", "work", "transfer", done, "bob", "--as", "ann", "--reason", "he knows it")
	work("bob", "complete", done, "--output", `{"text": "done"}`)
	m.until("B", fmt.Sprintf("fmqm history %s", instance(50)), "lost  withdrawn", 1)
	m.item("ann", "offered")
	work("bob", "claim", m.item("bob", "claimed"))
	drafted := m.item("ann", "drafted")
	work("ann", "claim", drafted)
	work("ann", "save", drafted, "--output", `{"text": "half of it"}`)
	work("bob", "complete", m.item("bob", "drafted"), "--reason", "seen") // a notice, which he sees in place of dora
	m.until("B", fmt.Sprintf("fmqm history %s", instance(50)), "escalated", 3)
}

// operators has those of B end activities by hand, suspend an instance and activities, and retire versions.
func (m *maker) operators() {
	m.Helper()
	b := m.Sites["B"]
	m.command("B", "fmqm-define", "upload", file(m.T, hands))
	m.start("B", 51, "hands", "hold", 0)
	m.start("B", 52, "hands", "hold", 0)
	one, other := instance(51).String(), instance(52).String()
	m.until("B", "fmqm status "+one, "in-error", 1)
	m.until("B", "fmqm status "+one, "running", 5) // the instance, the gates, and the waits
	m.command("B", "fmqm", "finish", one, "finished", "--output", "{}", "--reason", "on paper")
	m.command("B", "fmqm", "finish", one, "broken", "--output", `{"n": 8}`)
	m.command("B", "fmqm", "skip", one, "skipped", "--reason", "nobody wants it")
	m.until("B", "fmqm history "+one, "forced", 2)
	until := m.restsUntil()
	m.command("B", "fmqm", "suspend", one, "paused", "--until", until, "--reason", "stock-taking")
	m.command("B", "fmqm", "suspend", one, "rests", "--until", until)

	m.until("B", "fmqm status "+other, "in-error", 1)
	m.command("B", "fmqm", "skip", other, "broken")
	m.command("B", "fmqm", "skip", other, "finished")
	m.command("B", "fmqm", "skip", other, "skipped")
	m.command("B", "fmqm", "suspend", other, "--reason", "stock-taking")
	m.command("B", "fmqm", "resume", other)
	m.until("B", "fmqm history "+other, "resumed", 1)
	m.command("B", "fmqm", "suspend", other, "--until", until)

	m.removed()
	define := func(args ...string) { // D is told later
		_, _, _ = fleet.Run(m.T, b.Binary("fmqm-define"), append(args, "--to", b.To())...)
	}
	define("upload", file(m.T, retired))
	define("retire", "retired@1")
	m.Until(m.ctx, "B has retired it", func() bool {
		out, talk, _ := fleet.Run(m.T, b.Binary("fmqm"), "start", "retired@1", "--input", "{}", "--to", b.To())
		return strings.Contains(out+talk, "retired")
	})
	m.command("B", "fmqm-define", "retire", "retired@1", "--without", "D", "--reason", "closed", "--yes")
}

// removed has B retire a version, which cannot be taken back for a moment, and remove its table.
func (m *maker) removed() {
	m.Helper()
	b, before := m.Sites["B"], m.staff
	takes := func(more string) {
		m.staff = before + more
		b.Configure()
		b.Reload(m.ctx)
	}
	takes("retired: 0s\n")
	m.command("B", "fmqm-define", "upload", file(m.T, gone))
	m.command("B", "fmqm-define", "retire", "gone@1")
	m.until("B", "fmqm-define list", "retired, removed", 1)
	takes("")
}

// format8 has B have work that people and operators have had a hand in.
func (m *maker) format8() {
	m.Helper()
	m.staffed()
	m.people()
	m.operators()
}
