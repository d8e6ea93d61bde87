package client_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/cmd/internal/cli"
	"fmqm/definition"
)

// splitA and splitB are one process of the same name and version, as two definers who do
// not know of each other have written it.
const splitA = `
process: split
version: 1
structures:
  N: {n: int}
input: N
starts: [A]
activities:
  here: {node: A, program: echo, input: N, output: N}
  far:  {node: B, program: echo, input: N, output: N}
  last: {node: A, program: echo, input: N, output: N}
control:
  - here -> far
  - here -> last
  - far -> last
data:
  - source -> here
  - here -> far
  - far -> last
`

var splitB = strings.Replace(splitA, "N: {n: int}", "N: {n: string}", 1)

// give stores the table of one site, and of no other.
func (s *sites) give(site, text string) {
	s.Helper()
	processes, problems := definition.Load("test.yaml", []byte(text))
	if definition.HasErrors(problems) {
		s.Fatal(problems)
	}
	compiled, err := definition.Compile(processes[0])
	if err != nil {
		s.Fatal(err)
	}
	for i, t := range compiled.Tables {
		if string(t.Node) != site {
			continue
		}
		answer, err := s.up[site].Node.Upload(context.Background(), api.UploadRequest{Tables: []api.Table{{
			Node: site, Process: t.Process.String(), Definition: t.Definition.String(), Table: compiled.Encoded[i],
		}}})
		if err != nil || answer.Nodes[0].Result != api.ResultStored {
			s.Fatalf("%+v %v", answer, err)
		}
	}
}

// dead gives what a site has set aside.
func (s *sites) dead(site string) (out []api.Refused) {
	s.Helper()
	if err := json.Unmarshal([]byte(s.must(site, "dead", "list", "-o", "json")), &out); err != nil {
		s.Fatal(err)
	}
	return out
}

func (s *sites) untilDead(site string, number uint64) api.Refused {
	s.Helper()
	var last []api.Refused
	s.wait("message set aside", func() bool {
		last = s.dead(site)
		return len(last) == 1 && last[0].Number == number
	})
	return last[0]
}

// L5: two sites with different tables refuse each other's messages. An operator sees why,
// has one delivered again, drops it, and the instance goes on and ends; restarts of the
// sites in between change nothing.
func TestL5OperatorsDecideAboutRefusedMessages(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	s.give("A", splitA)
	s.give("B", splitB)
	id := s.begin("split", `{"n": 3}`)
	s.until("A", id, "far", "in-error")

	d := s.untilDead("B", 1)
	if d.From != "A" || d.Activity != "far" || d.Source != "here" || d.Instance.String() != id || !strings.Contains(d.Reason, "different definitions") {
		t.Errorf("set aside: %+v", d)
	}
	var m api.RefusedMessage
	if err := json.Unmarshal([]byte(s.must("B", "dead", "show", "1", "-o", "json")), &m); err != nil {
		t.Fatal(err)
	}
	if m.Control != "TRUE" || m.Data != "present" || m.Node != "B" || m.Origin != "A" || m.BodyBytes == 0 || m.Hex == "" || len(m.Body) > 0 {
		t.Errorf("message 1: %+v", m)
	}
	if why := s.must("A", "why", id); !strings.Contains(why, "message from here was refused") ||
		!strings.Contains(why, "waiting for an operator at B to retry or drop refused message 1 (fmqm refused show 1)") {
		t.Errorf("why:\n%s", why)
	}
	s.stop("B")
	s.start("B")
	if out := s.must("B", "dead", "retry", "1"); out != "message 1: it is in the queue of far again, and the node checks it again\n" {
		t.Errorf("retry: %q", out)
	}
	s.untilDead("B", 2)
	s.until("A", id, "far", "in-error")
	for _, word := range []string{"show", "retry", "drop"} {
		if r := s.fmqm("B", "dead", word, "1"); r.code != cli.ExitNotFound || !strings.Contains(r.err, "there is no refused message 1 here") {
			t.Errorf("dead %s of what is gone: %+v", word, r)
		}
	}
	if out := s.must("B", "dead", "drop", "2", "--reason", "agreed with A"); !strings.Contains(out, "the control connector from here is FALSE and the data connector from here has no data") {
		t.Errorf("drop: %q", out)
	}
	s.until("B", id, "far", "skipped")

	// The FALSE that this sends on is of the other definition too.
	s.until("A", id, "last", "in-error")
	if d := s.untilDead("A", 1); d.From != "B" || d.Source != "far" {
		t.Errorf("set aside at A: %+v", d)
	}
	s.stop("A", "B")
	s.start("A", "B")
	var decision api.RefusedDecision
	if err := json.Unmarshal([]byte(s.must("A", "dead", "drop", "1", "-o", "json")), &decision); err != nil || decision.Done != api.RefusedResolved || decision.Number != 1 {
		t.Errorf("drop: %+v %v", decision, err)
	}
	s.until("A", id, "", "finished")
	s.until("A", id, "last", "skipped")
	var events []api.HistoryEvent
	if err := json.Unmarshal([]byte(s.must("A", "history", id, "-o", "json")), &events); err != nil {
		t.Fatal(err)
	}
	var far []string
	for _, e := range events {
		if e.Activity == "far" {
			far = append(far, string(e.Event))
		}
	}
	if want := []string{"in-error", "retried", "in-error", "dropped", "skipped"}; !slices.Equal(far, want) {
		t.Errorf("history of far: %v, want %v", far, want)
	}
	if !slices.ContainsFunc(events, func(e api.HistoryEvent) bool { return strings.HasSuffix(e.Reason, ": agreed with A") }) {
		t.Errorf("the operator's word is not in the history: %+v", events)
	}
	s.quiet()
}

// Links: what waits for a site that is down, and that it does not any more once it is back.
func TestLinksOfRealSites(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	s.upload(overTwo)
	s.stop("B")
	s.begin("two", `{}`)
	last := api.Link{}
	defer func() {
		if t.Failed() {
			t.Logf("the link was %+v", last)
		}
	}()
	links := func() (out []api.Link) {
		s.Helper()
		if err := json.Unmarshal([]byte(s.must("A", "links", "-o", "json")), &out); err != nil {
			t.Fatal(err)
		}
		if len(out) != 1 || out[0].Peer != "B" || len(out[0].Lanes) != 2 || len(out[0].Transports) == 0 {
			t.Fatalf("links: %+v", out)
		}
		last = out[0]
		return out
	}
	s.wait("a link that is down", func() bool {
		l := links()[0]
		return l.State == "connecting" && l.Reason != "" && l.Waiting > 0 && l.Bytes > 0 && !l.Oldest.IsZero() &&
			l.Lanes[0].Next > l.Lanes[0].Acknowledged && l.Transports[0].Route == "direct" && l.Transports[0].Address != ""
	})
	var nodes []api.Node
	if err := json.Unmarshal([]byte(s.must("A", "nodes", "-o", "json")), &nodes); err != nil {
		t.Fatal(err)
	}
	if len(nodes) != 2 || nodes[0].Link != nil || nodes[1].Link == nil || nodes[1].Link.Waiting == 0 {
		t.Errorf("nodes: %+v", nodes)
	}
	s.start("B")
	s.quiet()
	s.wait("a link with nothing on it", func() bool {
		l := links()[0]
		return l.State == "connected" && l.Waiting == 0 && l.Bytes == 0 && l.Oldest.IsZero() &&
			l.Lanes[0].Acknowledged+1 == l.Lanes[0].Next && l.Transports[0].State == "connected" && !l.LastHeard.IsZero()
	})
}
