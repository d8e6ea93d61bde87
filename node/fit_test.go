package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/container"
	"fmqm/link"
	"fmqm/queue"
)

// A report that is too large for an answer over a link loses what is long, and says so;
// what the instance and its activities are at stays.
func TestAReportThatIsTooLargeIsCut(t *testing.T) {
	text := func(size int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`) }
	const limit = 20_000
	for _, c := range []struct {
		name                     string
		outputs                  [3]int // the instance's, and those of two activities
		events, reason           int
		outputsLeft              string
		eventsLeft, reasonLength int
		more                     bool
	}{
		{"nothing is long", [3]int{10, 10, 10}, 10, 300, "10 10 10", 10, 300, false},
		{"one output", [3]int{10, limit, 2000}, 10, 300, "10 0 2000", 10, 300, true},
		{"the result", [3]int{limit, 1000, 2000}, 10, 300, "0 1000 2000", 10, 300, true},
		{"events: no output is left", [3]int{1000, 1000, 2000}, 1000, 300, "0 0 0", 217, 300, true},
		{"reasons", [3]int{1000, 1000, 2000}, 10, limit, "0 0 0", 0, shortReason + 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := instanceReport{Known: true, Process: "p@1", State: api.InstanceRunning, Output: text(c.outputs[0])}
			for i, size := range c.outputs[1:] {
				r.Activities = append(r.Activities, api.Activity{Activity: fmt.Sprint("a", i), State: api.ActivityTerminated, Output: text(size), Reason: strings.Repeat("ä", c.reason/2)})
			}
			for i := range c.events {
				r.Events = append(r.Events, api.HistoryEvent{Clock: uint64(2000 - i), Activity: "a0", Event: api.EventFailed})
			}
			r.fit(limit)
			if size := jsonSize(r); size > limit {
				t.Errorf("it still has %d bytes of %d", size, limit)
			}
			outputs := fmt.Sprint(len(r.Output), len(r.Activities[0].Output), len(r.Activities[1].Output))
			if r.More != c.more || outputs != c.outputsLeft || len(r.Events) != c.eventsLeft || len(r.Activities[0].Reason) != c.reasonLength {
				t.Errorf("more %v, outputs %s, %d events, reason of %d bytes", r.More, outputs, len(r.Events), len(r.Activities[0].Reason))
			}
			for i, a := range r.Activities {
				if a.State != api.ActivityTerminated || a.More != (len(a.Output) == 0) {
					t.Errorf("activity %d: %s, more %v, output of %d", i, a.State, a.More, len(a.Output))
				}
			}
			if n := len(r.Events); c.more && n > 0 && !slices.ContainsFunc(r.Events, func(e api.HistoryEvent) bool { return e.Clock == 2000 }) {
				t.Error("the newest event is left out")
			}
		})
	}
}

// What a peer is told of an activity with an output of 4 MB of JSON: all but the output. It was an
// error, and the activity unknown.
func TestAPeerIsToldAllButALargeOutput(t *testing.T) {
	w, table, id := secretWorld(t)
	output, err := container.DecodeJSON(table.Activity("s1").Output, []byte(`{"text": "`+strings.Repeat(`\u0001`, 700_000)+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := container.EncodeCBOR(output)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.a.commit(context.Background(), &queue.Tx{Audit: []queue.AuditRecord{{
		Time: time.Now(), Clock: 9, Process: table.Process, Definition: table.Definition.Short(), Instance: id, Origin: "A",
		Activity: "s1", Event: queue.EventTerminated, Output: encoded,
	}}}); err != nil {
		t.Fatal(err)
	}
	question, err := json.Marshal(instanceQuestion{Instance: id, Process: "secret@1"})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := w.a.respond(context.Background(), "C", askInstance, question)
	if err != nil || len(reply) > link.MaxBody {
		t.Fatalf("%d bytes, %v", len(reply), err)
	}
	var r instanceReport
	if err := json.Unmarshal(reply, &r); err != nil {
		t.Fatal(err)
	}
	if !r.More || len(r.Activities) != 1 || !r.Activities[0].More || r.Activities[0].State != api.ActivityTerminated {
		t.Errorf("told: %+v", r)
	}
	g := &gathered{self: "C", reports: map[string]instanceReport{}}
	g.add("A", r)
	if s := g.status(); !slices.Equal(s.More, []string{"A"}) || s.Activities[0].State != api.ActivityTerminated {
		t.Errorf("the status says: more %v, %+v", s.More, s.Activities)
	}
	if own, err := w.a.report(instanceQuestion{Instance: id}); err != nil || own.More || len(own.Activities[0].Output) < 4_000_000 {
		t.Errorf("to itself the node tells all: %v, %v", own.More, err)
	}
}
