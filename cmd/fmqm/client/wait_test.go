package client_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/cli"
)

// wait ends as start --wait does; --timeout bounds both, says that the instance goes on,
// and ends with 5.
func TestWait(t *testing.T) {
	for _, state := range []api.InstanceState{api.InstanceFinished, api.InstanceTerminated, api.InstanceInError} {
		last := fullStatus()
		last.State = state
		to := apitest.Serve(t, &apitest.Backend{
			OnStatus: func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error) { return fullStatus(), nil },
			OnWait:   func(context.Context, api.InstanceID) (api.Status, error) { return last, nil },
		})
		r := fmqm(to, "", "wait", id, "-o", "json")
		var st api.Status
		if err := json.Unmarshal([]byte(r.out), &st); err != nil || st.State != state || (r.code == 0) != (state == api.InstanceFinished) || r.code > 1 {
			t.Errorf("%s: %+v, %v", state, r, err)
		}
	}
	never := apitest.Serve(t, &apitest.Backend{
		OnStart:  func(context.Context, api.StartRequest) (api.Status, error) { return fullStatus(), nil },
		OnStatus: func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error) { return fullStatus(), nil },
		OnWait: func(ctx context.Context, _ api.InstanceID) (api.Status, error) {
			<-ctx.Done()
			return api.Status{}, ctx.Err()
		},
	})
	for _, args := range [][]string{{"wait", id}, {"start", "p", "--wait"}, {"start", "p", "-n", "2", "--wait"}} {
		within(t, 300*time.Millisecond, func(timeout string) (result, bool) {
			r := fmqm(never, "", append(args, "--timeout", timeout)...)
			return r, r.code == cli.ExitUnreachable && strings.Contains(r.out, id) &&
				strings.Contains(r.err, "instance "+id+" is running: it has not ended after "+timeout+": it goes on: see fmqm why "+id+", or wait longer: fmqm wait "+id)
		})
	}
}

// On a terminal start --wait says at once which instance it waits for; scripts get the
// status alone.
func TestStartWaitSaysTheInstanceAtOnce(t *testing.T) {
	last := fullStatus()
	last.State = api.InstanceFinished
	to := apitest.Serve(t, &apitest.Backend{
		OnStart: func(context.Context, api.StartRequest) (api.Status, error) { return fullStatus(), nil },
		OnWait:  func(context.Context, api.InstanceID) (api.Status, error) { return last, nil },
	})
	if _, talk, code := onTerminal(t, 100, to, nil, "start", "p", "--wait"); code != 0 || talk != "instance "+id+"\n" {
		t.Errorf("on a terminal: exit %d, %q", code, talk)
	}
	if r := fmqm(to, "", "start", "p", "--wait"); r.code != 0 || r.err != "" {
		t.Errorf("in a script: %+v", r)
	}
}

// A watch of an instance that is in error and does not go on ends, with the reason and 1,
// once nothing comes any more; and it says who is not heard.
func TestWatchEndsWhenNothingMoves(t *testing.T) {
	stuck := fullStatus()
	stuck.State = api.InstanceInError
	watched := make(chan struct{})
	to := apitest.Serve(t, &apitest.Backend{
		OnWait: func(ctx context.Context, _ api.InstanceID) (api.Status, error) {
			select {
			case <-watched:
				return stuck, nil
			case <-ctx.Done():
				return api.Status{}, ctx.Err()
			}
		},
		OnWatch: func(ctx context.Context, _ api.InstanceID, event func(api.HistoryEvent) error) error {
			for _, e := range events {
				if err := event(e); err != nil {
					return err
				}
			}
			close(watched)
			<-ctx.Done()
			return nil
		},
	})
	r := fmqm(to, "", "watch", id, "-o", "jsonl")
	if r.code != cli.ExitFailed || r.out != eventsJSONL || !strings.Contains(r.err, "instance "+id+" is in error") || !strings.Contains(r.err, "credit at B: ") ||
		!strings.Contains(r.err, "unreachable: ") || !strings.Contains(r.err, "what happens there is not shown") {
		t.Errorf("%+v", r)
	}
}

// While the node does not answer that is said, and when it does again; scripts get the status alone.
func TestWaitSaysThatTheNodeIsAway(t *testing.T) {
	last := fullStatus()
	last.State = api.InstanceFinished
	for _, args := range [][]string{{"wait", id}, {"start", "p", "--wait"}} {
		var asked atomic.Int32
		to := apitest.Serve(t, &apitest.Backend{
			OnStart:  func(context.Context, api.StartRequest) (api.Status, error) { return fullStatus(), nil },
			OnStatus: func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error) { return fullStatus(), nil },
			OnWait: func(context.Context, api.InstanceID) (api.Status, error) {
				if asked.Add(1) < 3 {
					return api.Status{}, api.Errorf(api.CodeUnreachable, "", "the node is stopping")
				}
				return last, nil
			},
		})
		r := fmqm(to, "", append(args, "-o", "json")...)
		if r.code != 0 || !strings.HasPrefix(r.out, "{") || r.err != "the node is stopping: asking again\nthe node answers again\n" {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
