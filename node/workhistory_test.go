package node_test

import (
	"encoding/json"
	"slices"
	"testing"

	"fmqm/api"
)

const paper = `
process: paper
version: 1
structures: {D: {n: int}}
input: D
output: D
activities:
  sign: {node: A, staff: role("clerk"), output: D}
data: [sign -> sink]
`

// What was refused about a work item stands in history behind what had happened to the item by then, also once it has ended.
func TestWhatIsRefusedIsInHistoryWhereItWasSaid(t *testing.T) {
	o, id := newOffice(t, paper, "paper")
	o.are("offered", map[string][]string{"ann": {"work sign"}})
	item := o.list("ann")[0].Item
	say := func(who string, verb api.WorkVerb, output, refused string) {
		t.Helper()
		if err := o.say(who, item, verb, api.WorkWord{Output: json.RawMessage(output)}); refused != "" {
			o.refused(refused, err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	say("mia", api.WorkClaim, "", "mia@A may not have it")
	say("ann", api.WorkClaim, "", "")
	say("bob", api.WorkClaim, "", "ann@A has claimed it")
	say("ann", api.WorkComplete, `{"n": 3}`, "")
	if _, err := o.n.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := o.n.Retry(t.Context(), id, api.RetryRequest{Activity: "sign"}); err == nil {
		t.Error("what has ended is retried")
	}
	h, err := o.n.History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var got []api.Event
	for _, e := range h.Events {
		if e.Activity == "sign" {
			got = append(got, e.Event)
		}
	}
	want := []api.Event{
		api.EventOffered, api.EventAnswered, api.EventClaimed, api.EventAnswered, api.EventCompleted, api.EventTerminated, api.EventAnswered,
	}
	if !slices.Equal(got, want) {
		t.Errorf("history has %v, want %v", got, want)
	}
}

// Who shows an operator's certificate is told that it is no person's, whomever the staff has of that name.
func TestN28AnOperatorsCertificateIsNoPersons(t *testing.T) {
	o, _ := newOffice(t, paper, "paper")
	bob := api.Caller{Name: "bob", Proved: api.ProvedCertificate, Rights: &api.Rights{}}
	_, err := o.n.Work(api.WithCaller(t.Context(), bob), api.WorkRequest{Limit: 10})
	o.refused("bob is no person of the staff of A: the certificate is an operator's: ask with a certificate of `fmqmd pki issue --person`, or over the staff's socket; who has the right operator writes --as PERSON", err)
	bob.Proved, bob.Name = api.ProvedSocket, "user:bob"
	_, err = o.n.Work(api.WithCaller(t.Context(), bob), api.WorkRequest{Limit: 10})
	o.refused("user:bob is no person of the staff of A: let the staff of A have that login", err)
}
