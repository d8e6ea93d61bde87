package node

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/container"
	"fmqm/link/frame"
	"fmqm/node/answer"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// What a peer is told of an activity with an output of 4 MB of JSON: all but the output. It was an
// error, and the activity unknown.
func TestAPeerIsToldAllButALargeOutput(t *testing.T) {
	w, table, id := secretWorld(t)
	output, err := container.DecodeJSON(table.Activity(processtable.RowID{Name: "s1"}).Output, []byte(`{"text": "`+strings.Repeat(`\u0001`, 700_000)+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := container.EncodeCBOR(output)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.a.commit(context.Background(), &record.Tx{Audit: []record.AuditRecord{{
		Time: time.Now(), Clock: 9, Process: table.Process, Definition: table.Definition.Short(), Instance: id, Origin: "A",
		Activity: "s1", Event: record.EventTerminated, Output: encoded,
	}}}); err != nil {
		t.Fatal(err)
	}
	question, err := json.Marshal(report.Question{Instance: id, Process: "secret@1"})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := w.a.respond(context.Background(), "C", answer.AskInstance, question)
	if err != nil || len(reply) > frame.MaxBody {
		t.Fatalf("%d bytes, %v", len(reply), err)
	}
	var r report.Report
	if err := json.Unmarshal(reply, &r); err != nil {
		t.Fatal(err)
	}
	if !r.More || len(r.Activities) != 1 || !r.Activities[0].More || r.Activities[0].State != api.ActivityTerminated {
		t.Errorf("told: %+v", r)
	}
	g := report.NewGathered("C", id)
	g.Add("A", r)
	if s := g.Status(); !slices.Equal(s.More, []string{"A"}) || s.Activities[0].State != api.ActivityTerminated {
		t.Errorf("the status says: more %v, %+v", s.More, s.Activities)
	}
	if own, err := w.a.answers.Report(report.Question{Instance: id}); err != nil || own.More || len(own.Activities[0].Output) < 4_000_000 {
		t.Errorf("to itself the node tells all: %v, %v", own.More, err)
	}
}
