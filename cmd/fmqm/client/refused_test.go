package client_test

import (
	"context"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
)

// dead list

func TestDeadList(t *testing.T) {
	i, _ := api.ParseInstance(id)
	var asked []api.RefusedRequest
	to := apitest.Serve(t, &apitest.Backend{OnDead: func(_ context.Context, r api.RefusedRequest) (api.RefusedAnswer, error) {
		asked = append(asked, r)
		if r.Before == 0 {
			return api.RefusedAnswer{Messages: []api.Refused{{
				Number: 7, Time: at, From: "B", Kind: "connector", Process: "p@1", Instance: i, Activity: "ship", Source: "credit",
				Reason: "late: the activity\nhas already terminated",
			}}, More: true}, nil
		}
		return api.RefusedAnswer{Messages: []api.Refused{{Number: 2, Time: at, From: "C", Reason: "it cannot be read"}}}, nil
	}})
	want(t, "table", fmqm(to, "", "dead", "list"), result{0, `NUMBER  TIME                 FROM  KIND       PROCESS  INSTANCE                              ACTIVITY  SOURCE  REASON
7       2025-06-01 12:00:00  B     connector  p@1      0197c0de-0000-7000-8000-000000000001  ship      credit  late: the activity has already terminated
2       2025-06-01 12:00:00  C     -          -        -                                     -         -       it cannot be read
`, ""})
	if len(asked) != 2 || asked[1].Before != 7 || asked[1].Limit != api.MaxPage {
		t.Errorf("asked %+v", asked)
	}
	want(t, "jsonl", fmqm(to, "", "dead", "list", "-o", "jsonl"), result{0, `{"number":7,"time":"2025-06-01T12:00:00Z","from":"B","kind":"connector","process":"p@1","instance":"` + id + `","activity":"ship","source":"credit","reason":"late: the activity\nhas already terminated"}
{"number":2,"time":"2025-06-01T12:00:00Z","from":"C","reason":"it cannot be read"}
`, ""})
	none := apitest.Serve(t, &apitest.Backend{OnDead: func(context.Context, api.RefusedRequest) (api.RefusedAnswer, error) { return api.RefusedAnswer{}, nil }})
	want(t, "nothing", fmqm(none, "", "dead", "list", "-o", "json"), result{0, "[]\n", "no refused messages here\n"})
}

// dead show, retry, drop

func TestDeadDecisions(t *testing.T) {
	i, _ := api.ParseInstance(id)
	to := apitest.Serve(t, &apitest.Backend{
		OnDeadMessage: func(_ context.Context, n uint64) (api.RefusedMessage, error) {
			return api.RefusedMessage{
				Refused: api.Refused{Number: n, Time: at, From: "B", Kind: "connector", Process: "p@1", Instance: i, Activity: "ship", Source: "credit", Reason: "no such\nmember"},
				Node:    "A", Definition: "0102", Origin: "A", Control: "TRUE", Data: "present", Lane: 0, Clock: 12, Bytes: 90, BodyBytes: 9, Body: []byte(`{"amount": 7}`),
			}, nil
		},
		OnRetryDead: func(_ context.Context, n uint64) (api.RefusedDecision, error) {
			return api.RefusedDecision{}, api.Errorf(api.CodeRefused, "drop it with `fmqm refused drop 7`", "message %d cannot take effect: late", n)
		},
		OnDropDead: func(_ context.Context, n uint64, r api.DropRequest) (api.RefusedDecision, error) {
			return api.RefusedDecision{Number: n, Done: api.RefusedResolved, Text: "FALSE: " + r.Reason}, nil
		},
	})
	want(t, "show", fmqm(to, "", "dead", "show", "7"), result{0, `number      7
time        2025-06-01 12:00:00
reason      no such member
from        B
kind        connector
process     p@1
definition  0102
instance    0197c0de-0000-7000-8000-000000000001
started at  A
for         ship at A
sent by     credit
control     TRUE
data        present
lane        0
clock       12
bytes       90, of which the body has 9
body        {"amount":7}
`, ""})
	want(t, "retry", fmqm(to, "", "dead", "retry", "7"), result{4, "", "fmqm: message 7 cannot take effect: late: drop it with `fmqm refused drop 7`\n"})
	want(t, "drop", fmqm(to, "", "dead", "drop", "7", "--reason", "agreed"), result{0, "message 7: FALSE: agreed\n", ""})
	want(t, "jsonl", fmqm(to, "", "dead", "drop", "7", "-o", "jsonl"), result{0, `{"number":7,"done":"resolved","text":"FALSE: "}` + "\n", ""})
	for _, word := range []string{"show", "retry", "drop"} {
		want(t, word, fmqm(to, "", "dead", word, "seven"), result{2, "", "fmqm: \"seven\" is not the number of a message: write one that fmqm refused list shows\n"})
		if r := fmqm(to, "", "dead", word); r.code != 2 || !strings.Contains(r.err, "NUMBER is missing") {
			t.Errorf("%s without a number: %+v", word, r)
		}
	}
}
