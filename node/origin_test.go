package node

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

const alone = `
process: two
version: 1
activities:
  work: {node: B, program: echo}
starts: [B]
`

// Terminate without a known origin would end what is here, and leave the instance's record
// at its origin for ever. It is refused: where somebody did not answer, since he may know,
// else since nobody does.
func TestTerminateWithoutAnOriginIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, text string
		source     processtable.ActivityID
		code       api.Code
		want       string
	}{
		{"A does not answer", retainedSites, "go", api.CodeUnreachable, "no answer from A"},
		{"nobody else is there", alone, processtable.Source, api.CodeNotFound, "neither B nor any node that it can ask knows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newKeeper(t, "B", c.text)
			table := b.thread(processtable.ProcessID{Name: "two", Version: 1}).Process().Table()
			id := uuid.Must(uuid.NewV7())
			b.take(message.Message{Header: message.Header{ // refused: it does not say where the instance was started
				Queue:      message.Queue{Process: table.Process, Node: "B"},
				Definition: table.Definition.Short(), Instance: id, Activity: "work", Source: c.source,
				Kind: message.KindConnector, Control: message.True, Clock: 2,
			}})
			b.settled()
			s, err := b.Status(context.Background(), id)
			if err != nil || s.State != api.InstanceUnknown || s.Reason != "none of the nodes that answered knows where it was started" {
				t.Errorf("status: %s: %q, %v", s.State, s.Reason, err)
			}
			err = b.Terminate(context.Background(), id, "")
			if api.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("terminate: %s: %v, want %s: %s", api.CodeOf(err), err, c.code, c.want)
			}
			if marker, err := b.queue.Marker(table.Process, id); marker != nil || err != nil {
				t.Errorf("a marker is here: %v", err)
			}
			if peers := b.queue.Peers(); len(peers) > 0 {
				t.Errorf("something is on its way to %v", peers)
			}
		})
	}
}
