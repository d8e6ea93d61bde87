package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fmqm/api"
	"fmqm/api/apitest"
)

// Links, and decisions about messages that were set aside, arrive as they were sent.
func TestLinksAndDecisionsOverTheWire(t *testing.T) {
	at := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	links := api.LinksAnswer{
		Broker: &api.Broker{Address: "amqps://u@h:5671/v", State: "connected", Since: at, Queue: "fmqm.A", Kind: "quorum", Server: "RabbitMQ 4.1.0", Published: 7, Confirmed: 6},
		Links: []api.Link{{
			Peer: "B", State: "stopped", Reason: "another store", LastHeard: at, Waiting: 3, Bytes: 300, Oldest: at, Stopped: 4, Store: "0102",
			Transports: []api.Transport{{Route: "direct", State: "connecting", Since: at, Dialed: true, Address: "https://b:7411", Reason: "refused"}},
			Lanes:      []api.Lane{{Lane: 1, Next: 4, Acknowledged: 3, Expected: 9}},
		}},
	}
	whole := api.RefusedMessage{
		Refused: api.Refused{Number: 7, Time: at, From: "B", Kind: "connector", Process: "p@1", Instance: instance(t), Activity: "x", Source: "y", Reason: "no"},
		Node:    "A", Definition: "01", Origin: "A", Control: "TRUE", Data: "present", Lane: 1, Clock: 5, Bytes: 90, BodyBytes: 3, Body: json.RawMessage(`{"n":7}`),
	}
	var asked []any
	c := client(t, apitest.Serve(t, &apitest.Backend{
		OnLinks: func(context.Context) (api.LinksAnswer, error) { return links, nil },
		OnRetryLink: func(_ context.Context, peer string) (api.Link, error) {
			asked = append(asked, peer)
			return links.Links[0], nil
		},
		OnDeadMessage: func(_ context.Context, n uint64) (api.RefusedMessage, error) {
			asked = append(asked, n)
			return whole, nil
		},
		OnRetryDead: func(_ context.Context, n uint64) (api.RefusedDecision, error) {
			asked = append(asked, n)
			return api.RefusedDecision{Number: n, Done: api.RefusedDelivered, Text: "again"}, nil
		},
		OnDropDead: func(_ context.Context, n uint64, r api.DropRequest) (api.RefusedDecision, error) {
			asked = append(asked, n, r)
			return api.RefusedDecision{}, api.Errorf(api.CodeNotFound, "look", "gone")
		},
	}), 0)
	got, err := c.Links(t.Context())
	if d := cmp.Diff(links, got); err != nil || d != "" {
		t.Errorf("links, %v (-want +got):\n%s", err, d)
	}
	l, err := c.RetryLink(t.Context(), "B/2 ?")
	if d := cmp.Diff(links.Links[0], l); err != nil || d != "" {
		t.Errorf("retry of a link, %v (-want +got):\n%s", err, d)
	}
	m, err := c.RefusedMessage(t.Context(), 7)
	if d := cmp.Diff(whole, m); err != nil || d != "" {
		t.Errorf("message, %v (-want +got):\n%s", err, d)
	}
	if d, err := c.RetryRefused(t.Context(), 8); err != nil || d != (api.RefusedDecision{Number: 8, Done: api.RefusedDelivered, Text: "again"}) {
		t.Errorf("retry: %+v %v", d, err)
	}
	drop := api.DropRequest{Reason: "agreed"}
	var e *api.Error
	if _, err := c.DropRefused(t.Context(), 9, drop); !errors.As(err, &e) || e.Code != api.CodeNotFound {
		t.Errorf("drop: %v", err)
	}
	if d := cmp.Diff([]any{"B/2 ?", uint64(7), uint64(8), uint64(9), drop}, asked); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
}

// Every malformed request about a message that was set aside, with what it is told; none
// reaches the node.
func TestMalformedRequestsAboutMessages(t *testing.T) {
	for _, tc := range []struct{ method, path, body, want string }{
		{"GET", "/v1/dead/x", "", `\"x\" is no number of a message`},
		{"GET", "/v1/dead/0", "", "is no number of a message"},
		{"GET", "/v1/dead/-1", "", "is no number of a message"},
		{"GET", "/v1/dead/99999999999999999999", "", "is no number of a message"},
		{"GET", "/v1/dead/7?wait=1s", "", "unknown parameter"},
		{"POST", "/v1/dead/x/retry", "{}", "is no number of a message"},
		{"POST", "/v1/dead/7/retry", "", "the request is empty"},
		{"POST", "/v1/dead/7/retry", `{"reason": "r"}`, "unknown member reason"},
		{"POST", "/v1/dead/x/drop", "{}", "is no number of a message"},
		{"POST", "/v1/dead/7/drop", `{"word": "w"}`, "unknown member word"},
		{"POST", "/v1/dead/7/drop", `{"reason": "` + strings.Repeat("x", api.MaxReason+1) + `"}`, "reason: over 1024 bytes"},
		{"GET", "/v1/links?peer=B", "", "unknown parameter"},
		{"POST", "/v1/links/B/retry", "", "the request is empty"},
		{"POST", "/v1/links/B/retry", `{"store": "1"}`, "unknown member store"},
	} {
		status, body := request(t, &apitest.Backend{}, tc.method, tc.path, tc.body)
		if status != http.StatusBadRequest || !strings.Contains(body, tc.want) || !strings.Contains(body, `"code":"usage"`) {
			t.Errorf("%s %s: %d %s, want %s", tc.method, tc.path, status, body, tc.want)
		}
	}
}

// Lists that are empty are lists in JSON too.
func TestLinksWithoutAnything(t *testing.T) {
	answer := api.LinksAnswer{}
	b := &apitest.Backend{
		OnLinks: func(context.Context) (api.LinksAnswer, error) { return answer, nil },
		OnNodes: func(context.Context) (api.NodesAnswer, error) {
			return api.NodesAnswer{Nodes: []api.Node{{Node: "B", Link: &api.Link{Peer: "B"}}}}, nil
		},
	}
	if _, body := request(t, b, http.MethodGet, "/v1/links", ""); body != `{"links":[]}`+"\n" {
		t.Errorf("no links: %s", body)
	}
	answer.Links = []api.Link{{Peer: "B"}}
	for _, path := range []string{"/v1/links", "/v1/nodes"} {
		if _, body := request(t, b, http.MethodGet, path, ""); !strings.Contains(body, `"transports":[]`) || !strings.Contains(body, `"lanes":[]`) {
			t.Errorf("%s: %s", path, body)
		}
	}
}
