package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
)

// A line of history says who has done something, in whose name, and why; and of what was taken from people who took it.
func TestHistorySaysWho(t *testing.T) {
	const item, root, ill = "4f1c2b9d03aa", "user:root at a", "ann is ill"
	for _, c := range []struct {
		event api.HistoryEvent
		said  string
	}{
		{api.HistoryEvent{Event: api.EventErased, About: "customer, person.name", By: root, Reason: "asked for"}, "customer, person.name by user:root at a: asked for"},
		{api.HistoryEvent{Event: api.EventErased, About: "all data", By: root}, "all data by user:root at a"},
		{api.HistoryEvent{Event: api.EventAnswered, By: "eve@a", Reason: "eve@a may not have it"}, "by eve@a: eve@a may not have it"},
		{api.HistoryEvent{Event: api.EventAnswered, By: "eve@a", Operator: root, Reason: "ann@a has claimed it"}, "by eve@a, said by user:root at a: ann@a has claimed it"},
		{api.HistoryEvent{Event: api.EventStopped, By: root, Reason: "terminated by user:root at a"}, "terminated by user:root at a"},
		{api.HistoryEvent{Event: api.EventCompleted, About: item, By: "bob@a", For: "ann@a", Operator: root}, "item 4f1c2b9d03aa by bob@a for ann@a, said by user:root at a"},
		{api.HistoryEvent{Event: api.EventTransferred, About: item + " bob@a", Operator: root, Reason: ill}, "item 4f1c2b9d03aa to bob@a by user:root at a: ann is ill"},
		{api.HistoryEvent{Event: api.EventWithdrawn, About: item, By: "ann@a", Operator: root, Reason: ill}, "item 4f1c2b9d03aa taken from ann@a by user:root at a: ann is ill"},
		{api.HistoryEvent{Event: api.EventWithdrawn, About: item, By: "bob@a", For: "ann@a"}, "item 4f1c2b9d03aa taken from bob@a for ann@a"},
		{api.HistoryEvent{Event: api.EventWithdrawn, About: item, Operator: root}, "item 4f1c2b9d03aa taken from the worklists by user:root at a"},
	} {
		to := apitest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			events := []api.HistoryEvent{c.event}
			answer := any(api.HistoryAnswer{Events: events})
			if strings.HasPrefix(r.URL.Path, "/v1/work/") {
				answer = api.WorkShown{History: events}
			}
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		}))
		if r := fmqm(to, "", "history", id); !strings.HasSuffix(r.out, "  "+c.said+"\n") {
			t.Errorf("history of %+v:\n%s\nwant %s", c.event, r.out, c.said)
		}
		if r := fmqm(to, "", "work", "show", item); !strings.Contains(r.out, " "+string(c.event.Event)+" "+c.said+"\n") {
			t.Errorf("work show of %+v:\n%s\nwant %s", c.event, r.out, c.said)
		}
	}
}

// On a terminal the line below says it, once.
func TestErasedOnATerminal(t *testing.T) {
	to := apitest.Serve(t, &apitest.Backend{OnHistory: func(context.Context, api.InstanceID, api.HistoryRequest) (api.HistoryAnswer, error) {
		return api.HistoryAnswer{Events: []api.HistoryEvent{{Time: at, Node: "A", Event: api.EventErased, About: "customer", By: "olga at A", Reason: "asked for"}}}, nil
	}})
	const want = "12:00:00  > erased\n            \\ customer by olga at A: asked for\n"
	if shown, _, _ := onTerminal(t, 80, to, map[string]string{"NO_COLOR": "1"}, "history", id); !strings.HasSuffix(shown, want) {
		t.Errorf("shown is\n%s\nwant %s", shown, want)
	}
}
