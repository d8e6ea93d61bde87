package node_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/node"
)

const repair = `
process: repair
version: 1
structures:
  Job: {job: string, note: string}
  Part: {serial: string, note: string}
  Result: {serial: string, note: string, event: string}
events:
  part_arrived: Part
  cancelled: {}
input: Job
output: Result
activities:
  arrival:
    node: A
    receive: {one_of: [part_arrived, cancelled], key: job}
    input: Job
    output: Part
data:
  - source -> arrival
  - arrival -> sink: {serial: serial, note: note, event: _EVENT}
`

const agent = `
process: agent
version: 1
structures:
  Told: {job: string, serial: string, note: string}
  Part: {serial: string, note: string}
events:
  part_arrived: Part
input: Told
activities:
  tell: {node: A, send: {event: part_arrived, key: job, to: A}, input: Told}
data:
  - source -> tell
`

const canceller = `
process: canceller
version: 1
structures:
  Told: {job: string}
events:
  cancelled: {}
input: Told
activities:
  tell: {node: A, send: {event: cancelled, key: job}, input: Told}
data:
  - source -> tell
`

// beginOf starts an instance, and does not wait for its end.
func beginOf(t *testing.T, n *node.Node, process, input string) api.InstanceID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := n.Start(t.Context(), api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(input)}); err != nil {
		t.Fatal(err)
	}
	return id
}

// waits lets it come to that an activity is under way.
func waits(t *testing.T, n *node.Node, id api.InstanceID, name string) {
	t.Helper()
	until(t, func() bool {
		s, err := n.Status(t.Context(), id)
		return err == nil && activity(s, name).State == api.ActivityRunning
	})
}

// ended is how an instance has ended.
func ended(t *testing.T, n *node.Node, id api.InstanceID, output string) {
	t.Helper()
	s, err := n.Wait(t.Context(), id)
	if err != nil || s.State != api.InstanceFinished || string(s.Output) != output {
		t.Fatalf("it is %s with %s, %v; want %s", s.State, s.Output, err, output)
	}
}

func happened(t *testing.T, n *node.Node, id api.InstanceID, activity, want string) {
	t.Helper()
	if got := strings.Join(events(t, n, id, activity), " "); got != want {
		t.Errorf("history of %s: %s, want %s", activity, got, want)
	}
}

const arrived = `{"serial":"S-1","note":"","event":"part_arrived"}`

// R37, R39: a receive terminates with the event that is sent while it waits.
func TestAReceiveWaitsForItsEvent(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair, agent)
	other, id := beginOf(t, n, "repair", `{"job": "J-8"}`), beginOf(t, n, "repair", `{"job": "J-7"}`)
	waits(t, n, id, "arrival")
	waits(t, n, other, "arrival")
	sender := run(t, n, "agent", `{"job": "J-7", "serial": "S-1"}`)
	ended(t, n, id, arrived)
	happened(t, n, id, "arrival", "received terminated")
	happened(t, n, sender.Instance, "tell", "sent terminated")
	waits(t, n, other, "arrival")
}

// An event that comes before its receive is kept for it.
func TestAnEventWaitsForItsReceive(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair, agent)
	run(t, n, "agent", `{"job": "J-7", "serial": "S-1"}`)
	run(t, n, "agent", `{"job": "J-7", "serial": "S-2"}`)
	ended(t, n, beginOf(t, n, "repair", `{"job": "J-7"}`), arrived)
	ended(t, n, beginOf(t, n, "repair", `{"job": "J-7"}`), strings.Replace(arrived, "S-1", "S-2", 1))
}
