package node

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/node/answer"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// A process thread decides, and answers nobody who only wants to know: so whoever reads slowly
// delays no work, and whoever asks waits for none. Here no process thread runs at all, and
// every question about what the node knows has its answer.
func TestNoAnswerWaitsForAProcessThread(t *testing.T) {
	k := newKeeper(t, "A", retainedSites)
	id := uuid.UUID{7}
	k.must(k.start(id, `{"n": 7}`))
	k.await(id, "go", record.EventTerminated)
	k.settled()
	k.close()
	k.openOnly("A")

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	seen := errors.New("an event")
	for name, ask := range map[string]func() error{
		"status": func() error {
			s, err := k.Status(ctx, id)
			if s.State != api.InstanceRunning || len(s.Activities) == 0 || s.Activities[0].State != api.ActivityTerminated {
				t.Errorf("status: %+v", s)
			}
			return err
		},
		"wait": func() error {
			over, end := context.WithCancel(ctx)
			end()
			_, err := k.Wait(over, id)
			return err
		},
		"history": func() error {
			h, err := k.History(ctx, id)
			if len(h.Events) == 0 {
				t.Error("no history")
			}
			return err
		},
		"why": func() error {
			w, err := k.Why(ctx, id, "")
			if len(w.Waits) == 0 {
				t.Error("nothing waits")
			}
			return err
		},
		"watch": func() error {
			err := k.Watch(ctx, id, func(api.HistoryEvent) error { return seen })
			if !errors.Is(err, seen) {
				t.Errorf("watch: %v", err)
			}
			return nil
		},
		"list": func() error {
			l, err := k.List(ctx, api.ListRequest{Limit: 10})
			if len(l.Instances) != 1 {
				t.Errorf("list: %+v", l)
			}
			return err
		},
		"refused":     func() error { _, err := k.Refused(ctx, api.RefusedRequest{Limit: 10}); return err },
		"definitions": func() error { _, err := k.Definitions(ctx); return err },
		"nodes":       func() error { _, err := k.Nodes(ctx); return err },
		"links":       func() error { _, err := k.Links(ctx); return err },
		"metrics":     func() error { _, err := k.Stats(); return err },
		"a peer's question": func() error {
			r, err := question.Ask[report.Report](ctx, answering{k.Node}, "A", answer.AskInstance, report.Question{Instance: id})
			if !r.Known || len(r.Activities) == 0 {
				t.Errorf("told: %+v", r)
			}
			return err
		},
	} {
		if err := ask(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The test would be worth nothing if a thread answered.
	short, end := context.WithTimeout(ctx, 10*time.Millisecond)
	defer end()
	if _, err := k.threads()[0].Gauges(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a process thread runs: %v", err)
	}
}

// answering asks a node as its peer B does.
type answering struct{ of *Node }

func (a answering) Query(ctx context.Context, _ processtable.NodeID, kind string, body []byte) ([]byte, error) {
	return a.of.respond(ctx, "B", kind, body)
}
