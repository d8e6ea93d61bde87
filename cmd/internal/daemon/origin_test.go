package daemon_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/daemon/daemontest"
	"fmqm/node/config"
	"fmqm/test/fleet"
)

// logbook is started at A and at B; C asks and answers, all else is where it was started.
const logbook = `
process: logbook
version: 1
starts: [A, B]
events: {asked: {}}
activities:
  note:  {node: _ORIGIN, program: ship}
  ask:   {node: C, program: ship}
  check: {node: _ORIGIN, program: refuse}
  tell:  {node: C, send: {event: asked, key: _INSTANCE, to: _ORIGIN}}
  hear:  {node: _ORIGIN, receive: {event: asked, key: _INSTANCE}}
  round:
    node: _ORIGIN
    activities:
      look: {node: C, program: ship}
      file: {node: _ORIGIN, program: ship}
    control: [look -> file]
control:
  - note -> ask
  - ask -> check
  - ask -> tell
  - check -> round
`

// atOrigin are the activities that are hosted where the instance was started.
var atOrigin = []string{"note", "check", "hear", "round", "file"}

// told says of each activity where it is, as an answer has it.
func told(s api.Status) string {
	var all []string
	for _, a := range s.Activities {
		all = append(all, a.Activity+" at "+a.Node)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// R40: two instances of one process, started at two sites, have their activities there, each where it was started,
// whoever is asked; also where that site is stopped before the others have answered, and a word that is asked elsewhere
// reaches them.
func TestActivitiesAtTwoOrigins(t *testing.T) {
	n := newNetwork(t)
	start := func(site string) {
		c := n.config(site, sites...)
		c.RemoteOperators = append(c.RemoteOperators, config.RemoteOperator{Site: "C", Operators: []string{"ann"}})
		n.daemons[site] = daemontest.Start(t, c, daemontest.Log(t))
	}
	start("A")
	start("B")
	ctx, cancel := context.WithTimeout(api.WithOperator(context.Background(), "ann"), 5*time.Minute)
	defer cancel()
	up, err := n.daemons["A"].Node.Upload(ctx, apitest.Upload(t, logbook))
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(up.Warnings, func(w string) bool { return strings.Contains(w, "not registered") }) {
		t.Errorf("the upload warns: %v", up.Warnings)
	}
	ids := map[string]api.InstanceID{}
	for _, origin := range []string{"A", "B"} {
		ids[origin] = uuid.Must(uuid.NewV7())
		if err := fleet.Until(ctx, func() (bool, error) { // the table may still be on its way
			_, err := n.daemons[origin].Node.Start(ctx, api.StartRequest{Instance: ids[origin], Process: "logbook@1"})
			return err == nil, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	daemontest.Stop(t, n.daemons["A"])
	start("A")
	n.start("C")

	for _, origin := range []string{"A", "B"} {
		var s api.Status
		err := fleet.Until(ctx, func() (bool, error) {
			s, err = n.daemons["C"].Node.Status(ctx, ids[origin])
			return err == nil && s.InError == 1, nil
		})
		if err != nil {
			t.Fatalf("of %s: %v\n%+v", origin, err, s)
		}
		want := fmt.Sprintf("ask at C, check at %[1]s, hear at %[1]s, note at %[1]s, round at %[1]s, tell at C", origin)
		for _, at := range []string{"A", "B", "C"} {
			s, err := n.daemons[at].Node.Status(ctx, ids[origin])
			if got := told(s); got != want || err != nil {
				t.Errorf("%s says of what %s has started: %s, %v; want %s", at, origin, got, err, want)
			}
			w, err := n.daemons[at].Node.WhyOf(ctx, ids[origin], api.WhyRequest{})
			if err != nil || !slices.ContainsFunc(w.Waits, func(w api.Wait) bool { return w.Activity == "check" && w.Node == origin }) {
				t.Errorf("%s says why what %s has started waits: %+v, %v", at, origin, w.Waits, err)
			}
		}
		list, err := n.daemons["C"].Node.List(ctx, api.ListRequest{InError: true, Everywhere: true, Limit: 10})
		i := slices.IndexFunc(list.Instances, func(i api.Instance) bool { return i.Instance == ids[origin] })
		if err != nil || i < 0 || len(list.Instances[i].Errors) != 1 || list.Instances[i].Errors[0].Node != origin {
			t.Errorf("the list of all sites has %+v, %v", list.Instances, err)
		}
		word, err := n.daemons["C"].Node.Retry(ctx, ids[origin], api.RetryRequest{Activity: "check", Output: []byte("{}")})
		if err != nil || word.Result != api.WordDone || word.Node != origin {
			t.Errorf("retry: %+v, %v", word, err)
		}
	}
	for _, origin := range []string{"A", "B"} {
		s, err := n.daemons[origin].Node.Wait(ctx, ids[origin])
		if err != nil || s.State != api.InstanceFinished {
			t.Fatalf("what %s has started is %s, %v\n%+v", origin, s.State, err, s)
		}
		h, err := n.daemons["C"].Node.HistoryOf(ctx, ids[origin], api.HistoryRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range h.Events {
			if slices.Contains(atOrigin, e.Activity) && e.Node != origin && e.Event != api.EventAsked && e.Event != api.EventAnswered {
				t.Errorf("%s of %s, which %s has started, is told by %s", e.Event, e.Activity, origin, e.Node)
			}
		}
	}
}
