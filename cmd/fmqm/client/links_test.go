package client_test

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fmqm/api"
	"fmqm/api/apitest"
)

func someLinks(now time.Time) api.LinksAnswer {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	return api.LinksAnswer{
		Broker: &api.Broker{
			Address: "amqps://site-a@broker.example.org:5671/fmqm", State: "blocked", Reason: "the broker takes no messages (low on disk): free disk space there",
			Since: ago(3*time.Minute + time.Second), Queue: "fmqm.A", Kind: "quorum", Server: "RabbitMQ 3.13.7", Published: 7,
		},
		Links: []api.Link{
			{
				Peer: "lyon", State: "connected", LastHeard: ago(2500 * time.Millisecond), Waiting: 1204, Bytes: 1_530_000, Oldest: ago(3 * time.Hour),
				Transports: []api.Transport{{Route: "direct", State: "connecting", Reason: "dial lyon:7411: nothing listens there"}, {Route: "amqp", State: "connected"}},
				Lanes:      []api.Lane{{Lane: 0, Next: 88201, Acknowledged: 86996, Expected: 1500}, {Lane: 1, Next: 12, Acknowledged: 11, Expected: 2}},
			},
			{
				Peer: "C", State: "stopped", Reason: "site C has another store than the one known here (known 11, now 22): its data directory was replaced or emptied",
				Stopped: 4, Store: "22", Transports: []api.Transport{},
				Lanes: []api.Lane{{Lane: 0, Next: 1, Expected: 1}, {Lane: 1, Next: 1, Expected: 1}},
			},
			{Peer: "D", State: "unconfigured", Reason: "messages wait for it", Waiting: 1, Bytes: 96, Oldest: ago(50 * time.Hour)},
		},
	}
}

// links

func TestLinks(t *testing.T) {
	answer := someLinks(time.Now())
	to := apitest.Serve(t, &apitest.Backend{OnLinks: func(context.Context) (api.LinksAnswer, error) { return answer, nil }})
	want(t, "table", fmqm(to, "", "links"), result{0, `PEER  STATE         WAYS          HEARD  WAITS  BYTES  OLDEST  SEND      TAKE
lyon  connected     amqp,direct?  2s     1204   1.5M   3h      88201/12  1500/2
C     stopped       -             -      0      0      -       1/1       1/1
D     unconfigured  -             -      1      96     2d      -         -

broker amqps://site-a@broker.example.org:5671/fmqm: blocked for 3m, RabbitMQ
  3.13.7, receives from the quorum queue fmqm.A: the broker takes no messages
  (low on disk): free disk space there

lyon, direct: dial lyon:7411: nothing listens there

C: site C has another store than the one known here (known 11, now 22): its data
  directory was replaced or emptied

D: messages wait for it
`, ""})
	for line := range strings.Lines(fmqm(to, "", "links").out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
	r := fmqm(to, "", "links", "-o", "jsonl")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != 0 || len(lines) != 4 || !strings.HasPrefix(lines[0], `{"broker":"amqps://site-a@broker.example.org:5671/fmqm","state":"blocked","reason":"`) ||
		!strings.HasPrefix(lines[1], `{"peer":"lyon","state":"connected","last_heard":`) || !strings.Contains(lines[2], `"stopped":4,"store":"22"`) ||
		!strings.Contains(lines[3], `"transports":[],"waiting":1,"bytes":96,`) || !strings.Contains(lines[3], `"lanes":[]`) {
		t.Errorf("jsonl: %+v", r)
	}
	none := apitest.Serve(t, &apitest.Backend{OnLinks: func(context.Context) (api.LinksAnswer, error) { return api.LinksAnswer{}, nil }})
	want(t, "none", fmqm(none, "", "links", "-o", "json"), result{0, "[]\n", "this node has no links: see links in its configuration\n"})
	want(t, "no daemon", fmqm("unix:/nonexistent", "", "links"), result{5, "", "fmqm: no daemon here: there is no socket unix:/nonexistent: start fmqmd, or name another node with --to (or FMQM_TO)\n"})
}

// links PEER

func TestLinksOfOnePeer(t *testing.T) {
	answer := someLinks(time.Now())
	to := apitest.Serve(t, &apitest.Backend{OnLinks: func(context.Context) (api.LinksAnswer, error) { return answer, nil }})
	want(t, "one", fmqm(to, "", "links", "D"), result{0, `PEER  STATE         WAYS  HEARD  WAITS  BYTES  OLDEST  SEND  TAKE
D     unconfigured  -     -      1      96     2d      -     -

D: messages wait for it
`, ""})
	if r := fmqm(to, "", "links", "lyon", "-o", "jsonl"); r.code != 0 || strings.Count(r.out, "\n") != 2 ||
		!strings.HasPrefix(r.out, `{"broker":"amqps://`) || !strings.Contains(r.out, "\n"+`{"peer":"lyon",`) {
		t.Errorf("over a broker: %+v", r)
	}
	if r := fmqm(to, "", "links", "C", "-o", "json"); r.code != 0 || strings.Contains(r.out, `"broker"`) || !strings.Contains(r.out, `"peer": "C"`) || strings.Contains(r.out, "lyon") {
		t.Errorf("not over a broker: %+v", r)
	}
	want(t, "nobody", fmqm(to, "", "links", "again"), result{3, "", "fmqm: this node has no peer again: see fmqm links\n"})
}

// links retry

func TestLinksRetry(t *testing.T) {
	answers := map[string]api.Link{
		"B": {Peer: "B", State: "connected"},
		"C": {Peer: "C", State: "connecting", Reason: "dial c:7411: nothing listens\nthere"},
	}
	to := apitest.Serve(t, &apitest.Backend{OnRetryLink: func(_ context.Context, peer string) (api.Link, error) {
		l, ok := answers[peer]
		switch {
		case peer == "D":
			return l, api.Errorf(api.CodeRefused, "remove the cause, and retry", "the link to D is stopped again: two daemons run under the name D")
		case !ok:
			return l, api.Errorf(api.CodeNotFound, "see fmqm links", "A has no peer %s", peer)
		}
		return l, nil
	}})
	want(t, "connected", fmqm(to, "", "links", "retry", "B"), result{0, "B: connected\n", ""})
	want(t, "json", fmqm(to, "", "links", "retry", "B", "-o", "jsonl"), result{0, `{"peer":"B","state":"connected","transports":[],"waiting":0,"bytes":0,"lanes":[]}` + "\n", ""})
	want(t, "on its way", fmqm(to, "", "links", "retry", "C"), result{0, "C: connecting: dial c:7411: nothing listens there\n", ""})
	want(t, "stopped again", fmqm(to, "", "links", "retry", "D"), result{4, "", "fmqm: the link to D is stopped again: two daemons run under the name D: remove the cause, and retry\n"})
	want(t, "nobody", fmqm(to, "", "links", "retry", "E"), result{3, "", "fmqm: A has no peer E: see fmqm links\n"})
	if r := fmqm("unix:/nonexistent", "", "links", "retry", "B"); r.code != 5 || !strings.Contains(r.err, "no daemon here") {
		t.Errorf("no daemon: %+v", r)
	}
	want(t, "which", fmqm(to, "", "links", "retry"), result{2, "", "fmqm: PEER is missing: see fmqm links retry --help\n"})
	want(t, "no such command", fmqm(to, "", "links", "again", "B"), result{2, "", "fmqm: \"B\" is one argument too many: see fmqm links --help\n"})
}
