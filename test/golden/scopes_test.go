package golden

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
)

// What stands in scopes, and what can be ended by something else, is brought about with processes
// of their own, at B, C and D alone: so the stories of sets that have none of it stay as they are. All
// of it ends by itself, once the gates open.

// inside is a process with a block at C that is under way, and has a deadline, as one of its
// activities has; and with a wait, which is cancelled when that activity has run.
const inside = `
process: inside
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [C]
activities:
  turns:
    node: C
    input: Order
    output: Order
    deadline: {after: 720h}
    activities:
      begin:  {node: C, program: pass, input: Order, output: Order}
      second: {node: C, program: gate, input: Order, output: Order}
    control:
      - begin -> second
    data:
      - source -> begin
      - begin -> second
      - second -> sink
  gate:  {node: C, program: gate, input: Order, deadline: {after: 720h}, cancels: [pause]}
  pause: {node: C, wait: {for: 720h}}
  late:  {node: C, program: pass, start: any}
control:
  - turns -> late: _TIMEOUT
  - gate -> late: _TIMEOUT
data:
  - source -> turns
  - source -> gate
  - turns -> sink
`

// judged is a process with a block of which the conditions are evaluated apart from what decides,
// where its input is large: so what begins inside, and what returns from there, comes through the queue.
func judged(name, site string) string {
	return strings.NewReplacer("NAME", name, "SITE", site).Replace(`
process: NAME
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [SITE]
activities:
  turns:
    node: SITE
    input: Order
    output: Order
    exit: n > 1 && text != ""
    activities:
      one:   {node: SITE, program: later, input: Order, output: Order}
      never: {node: SITE, program: pass}
    control:
      - source -> never: text == ""
    data:
      - source -> one
      - one -> sink
data:
  - source -> turns
  - turns -> sink
`)
}

// judgedSize is the size of a text that makes those conditions be evaluated apart.
const judgedSize = 20_000

// halt is a process in which an activity cancels one that waits for the gate, and one of D.
const halt = `
process: halt
version: 1
structures:
  Order: {n: int, text: string}
input: Order
starts: [C]
activities:
  gate: {node: C, program: gate, input: Order}
  stop: {node: C, program: pass, cancels: [near, far]}
  near: {node: C, program: pass}
  far:  {node: D, program: pass}
control:
  - gate -> near
  - gate -> far
data:
  - source -> gate
`

// crowd is a process with a block of which more is cancelled at its deadline than one transaction
// takes.
func crowd() string {
	var activities, control strings.Builder
	for n := range 901 {
		fmt.Fprintf(&activities, "      s%d: {node: B, empty: true}\n", n)
		fmt.Fprintf(&control, "      - begin -> s%d\n", n)
	}
	return `
process: crowd
version: 1
structures:
  Order: {n: int, text: string}
input: Order
starts: [B]
activities:
  all_of_them:
    node: B
    input: Order
    deadline: {after: 1s}
    activities:
      begin: {node: B, program: gate, input: Order}
` + activities.String() + `    control:
` + control.String() + `    data:
      - source -> begin
  late: {node: B, program: pass}
control:
  - all_of_them -> late: _TIMEOUT
data:
  - source -> all_of_them
`
}

// family are a process at a site, and one of which its activity begins an instance.
func family(site string) []string {
	replaced := strings.NewReplacer("SITE", site)
	return []string{replaced.Replace(`
process: child_at_SITE
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [SITE]
activities:
  work: {node: SITE, program: pass, input: Order, output: Order}
data:
  - source -> work
  - work -> sink
`), replaced.Replace(`
process: parent_at_SITE
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [SITE]
activities:
  begin: {node: SITE, process: child_at_SITE, input: Order, output: Order}
data:
  - source -> begin
  - begin -> sink
`)}
}

// family uploads them to the site.
func (m *maker) family(site string) {
	m.Helper()
	for _, text := range family(site) {
		r := apitest.Upload(m.T, text)
		if _, err := m.Sites[site].Client.Upload(m.ctx, r); err != nil {
			m.Fatal(err)
		}
	}
}

// leap is a process that C would start on the next 29 February: how far it has come with that is noted.
const leap = `
process: leap
version: 1
schedule: {node: C, cron: 0 0 29 2 *, missed: skip}
activities:
  look: {node: C, program: pass}
`

// sudden is a process that C says is current at once, to B, which has stopped the link.
const sudden = `
process: sudden
version: 1
starts: [C]
activities:
  one: {node: C, program: pass}
  two: {node: B, program: pass}
`

// file writes a process.
func file(t *testing.T, process string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "process.yaml")
	if err := os.WriteFile(name, []byte(process), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// inside has a block of C under way, and one of B ended at its deadline.
func (m *maker) inside() {
	m.Helper()
	for _, p := range []struct{ at, process string }{
		{"B", crowd()}, {"B", judged("judged", "B")}, {"C", leap}, {"C", inside}, {"C", judged("entered", "C")},
	} {
		m.command(p.at, "fmqm-define", "upload", file(m.T, p.process))
	}
	m.start("C", 16, "inside", "hold", 0)
	m.until("C", fmt.Sprintf("fmqm history %s", instance(16)), "begin  terminated", 1)
	m.until("C", fmt.Sprintf("fmqm status %s", instance(16)), "running", 4) // the instance, both gates, and the wait
	m.start("B", 17, "crowd", "hold", 0)
	m.until("B", fmt.Sprintf("fmqm status %s", instance(17)), "finished", 1)
	m.family("B")
	m.start("B", 42, "parent_at_B", "go", 0)
	m.until("B", fmt.Sprintf("fmqm status %s", instance(42)), "finished", 1)
}

// halt has C cancel something of its own that waits for another activity, and something of D, which is down.
func (m *maker) halt() {
	m.Helper()
	m.command("C", "fmqm-define", "upload", file(m.T, halt))
	m.start("C", 18, "halt", "hold", 0)
	m.until("C", fmt.Sprintf("fmqm history %s", instance(18)), "stop  terminated", 1)
}

// returned lets something come back to a block of B, of which no thread takes it.
func (m *maker) returned() {
	m.Helper()
	m.later.Open()
	m.until("B", fmt.Sprintf("fmqm history %s", instance(19)), "turns  returned", 1)
}

// enter has C die when a block has begun, and its source has not looked at that; nor has the source of
// an instance that an activity has begun.
func (m *maker) enter() {
	m.Helper()
	m.family("C")
	m.command("C", "fmqm-define", "upload", file(m.T, sudden), "--now")
	m.listen()
	m.born.On()
	m.start("C", 43, "parent_at_C", "go", 0)
	m.born.Reached(m.ctx)
	m.speak()
	input, err := json.Marshal(map[string]any{"n": 5, "text": strings.Repeat("x", judgedSize)})
	if err != nil {
		m.Fatal(err)
	}
	c := m.Sites["C"]
	_, _ = c.Client.Start(m.ctx, api.StartRequest{Instance: instance(41), Process: "entered", Input: input}) // it may die before it answers
	c.Died(m.ctx)
}
