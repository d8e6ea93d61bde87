package daemon_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/daemon/daemontest"
)

// A reload makes two daemons remove what they have of an instance that has ended: the one
// where it was not started asks the other over their link. It is told of, and counted; a
// start that is repeated is the same instance.
func TestRetentionOverALink(t *testing.T) {
	n := newNetwork(t)
	journals := map[string]*journal{}
	for _, site := range []string{"A", "B"} {
		journals[site] = &journal{more: make(chan struct{})}
		n.daemons[site] = daemontest.Start(t, n.config(site, sites...), zerolog.New(journals[site]))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	a := n.daemons["A"].Node
	text := "process: p\nversion: 1\nactivities:\n  here: {node: A, program: ship}\n  there: {node: B, program: ship}\ncontrol: [here -> there]\n"
	if _, err := a.Upload(ctx, apitest.Upload(t, text)); err != nil {
		t.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7())
	if _, err := a.Start(ctx, api.StartRequest{Instance: id, Process: "p"}); err != nil {
		t.Fatal(err)
	}
	for {
		s, err := a.Wait(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if s.State == api.InstanceFinished {
			break
		}
	}
	for _, site := range []string{"B", "A"} {
		after := n.config(site, sites...)
		after.Audit.Age = time.Nanosecond
		if err := n.daemons[site].Reload(after); err != nil {
			t.Fatal(err)
		}
		journals[site].await(t, "audit removed by retention", `"instances":1`)
	}
	again, err := a.Start(ctx, api.StartRequest{Instance: id, Process: "p"})
	if err != nil || again.State != api.InstanceFinished || len(again.Removed) != 2 || again.Removed[1].Node != "B" {
		t.Errorf("started again: %+v, %v", again, err)
	}
	if h, err := n.daemons["B"].Node.History(ctx, id); err != nil || len(h.Events) != 0 || len(h.Removed) != 2 {
		t.Errorf("history: %+v, %v", h, err)
	}
	for _, site := range []string{"A", "B"} {
		_, body := n.get(site, "/metrics", true)
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]float64{
			"fmqm_audit_instances": 0, "fmqm_audit_size_bytes": 0, "fmqm_audit_overdue_instances": 0,
			"fmqm_audit_remnants": 1, "fmqm_audit_instances_removed_total": 1,
		} {
			if got, shown := value(families, name); !shown || got != want {
				t.Errorf("%s: %s is %g (shown: %t), expected %g", site, name, got, shown, want)
			}
		}
	}
}
