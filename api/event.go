package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// EventRequest is an event that is sent from outside of processes.
type EventRequest struct {
	Event string          `json:"event"`
	Key   string          `json:"key,omitempty"`
	ID    string          `json:"id"` // of its sender's making: a repeat with the same one changes nothing
	Data  json.RawMessage `json:"data,omitempty"`
	At    string          `json:"at,omitempty"`   // the node that it is for; empty: the one that is asked
	Keep  string          `json:"keep,omitempty"` // how long it is kept, as in 14d; empty: as that node says
}

// EventResult is what came of an event; the words are API.
type EventResult string

const (
	EventKept     EventResult = "kept"   // it is in the node's event queue: a receive that waits has it at once
	EventKnown    EventResult = "known"  // it was sent before with this identifier: nothing has changed
	EventPassedOn EventResult = "passed" // it is on disk at the node that was asked, which sends it on
)

// EventAnswer says what came of an event.
type EventAnswer struct {
	ID     string      `json:"id"`
	Event  string      `json:"event"`
	Key    string      `json:"key,omitempty"`
	Node   string      `json:"node"` // whose event queue it is for
	Result EventResult `json:"result"`
}

// EventState is how it is with an event that a node keeps; the words are API.
type EventState string

const (
	EventStored  EventState = "kept"
	EventTaken   EventState = "taken"   // by a receive; it is remembered so that a repeat changes nothing
	EventExpired EventState = "expired" // too old: no receive takes it
	EventWaiting EventState = "waiting" // it is none: a receive waits
)

// KeptEvent is an event that a node keeps, or a receive that waits for one.
type KeptEvent struct {
	ID       string          `json:"id,omitempty"` // that it was sent with, or one made of the activity's execution that sent it
	Event    string          `json:"event"`
	Key      string          `json:"key,omitempty"`
	State    EventState      `json:"state"`
	Since    time.Time       `json:"since,omitzero"`
	Until    time.Time       `json:"until,omitzero"` // then it is set aside, or forgotten
	From     string          `json:"from,omitempty"` // the node, or who has sent it from outside, as "alice at B"
	Instance InstanceID      `json:"instance,omitzero"`
	Activity string          `json:"activity,omitempty"` // that has sent it; of a taken one that took it; of waiting the receive
	Data     json.RawMessage `json:"data,omitempty"`     // where a process of the node has their structure
}

// EventsRequest asks for what a node keeps.
type EventsRequest struct {
	Name    string
	Key     string
	Keyed   bool // only those with just this key, which may be empty
	Waiting bool // the receives that wait, in the place of events
	After   string
	Limit   int
}

// EventsAnswer is one page; More: others follow, after Next.
type EventsAnswer struct {
	Events []KeptEvent `json:"events"`
	More   bool        `json:"more"`
	Next   string      `json:"next,omitempty"`
}

// Postbox is a node that keeps events.
type Postbox interface {
	// SendEvent returns when the event is on disk. What no process receives, and data of another shape, are CodeRefused.
	SendEvent(ctx context.Context, r EventRequest) (EventAnswer, error)
	Events(ctx context.Context, r EventsRequest) (EventsAnswer, error)
	// Event gives one by its identifier, DropEvent lets go of it and gives it as it was; CodeNotFound: there is none.
	Event(ctx context.Context, id string) (KeptEvent, error)
	DropEvent(ctx context.Context, id string) (KeptEvent, error)
}

// ParseKeep reads a duration as the language writes it: 90s, 2h30m, or 14d, of 24 hours each.
func ParseKeep(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}

// maxEvent is the longest request that sends an event, in bytes.
const maxEvent = MaxStart

func postbox(b Backend) (Postbox, error) {
	node, ok := b.(Postbox)
	if !ok {
		return nil, Errorf(CodeRefused, "ask the daemon of a site", "this node keeps no events")
	}
	return node, nil
}

func (s server) sendEvent(w http.ResponseWriter, r *http.Request) (a EventAnswer, err error) {
	node, err := postbox(s.b)
	if err != nil {
		return a, err
	}
	var req EventRequest
	if err := readBody(w, r, maxEvent, &req); err != nil {
		return a, err
	}
	if err := s.permitEvent(r.Context(), req.Event); err != nil {
		return a, err
	}
	return node.SendEvent(r.Context(), req)
}

// EventFinder is a node that says which processes of its, NAME@VERSION, send or receive an event of a name. Who has
// rights over some processes only may send what one of those sends or receives.
type EventFinder interface {
	ProcessesOfEvent(name string) []string
}

// permitEvent says why the caller may not send an event, or nil.
func (s server) permitEvent(ctx context.Context, name string) error {
	if finder, ok := s.b.(EventFinder); ok {
		for _, process := range finder.ProcessesOfEvent(name) {
			if Permit(ctx, process) == nil {
				return nil
			}
		}
	}
	return PermitNode(ctx)
}

func (s server) events(_ http.ResponseWriter, r *http.Request) (a EventsAnswer, err error) {
	node, err := postbox(s.b)
	if err != nil {
		return a, err
	}
	q, err := query(r, "name", "key", "waiting", "after", "limit")
	if err != nil {
		return a, err
	}
	req := EventsRequest{Name: q.Get("name"), Key: q.Get("key"), Keyed: q.Has("key"), After: q.Get("after")}
	if req.Limit, err = pageLimit(q, "after"); err != nil {
		return a, err
	}
	switch v := q.Get("waiting"); v {
	case "", "false":
	case "true":
		req.Waiting = true
	default:
		return a, Errorf(CodeUsage, "write waiting=true, or leave it out", "waiting=%s", v)
	}
	a, err = node.Events(r.Context(), req)
	a.Events = orEmpty(a.Events)
	return a, err
}

func (s server) event(_ http.ResponseWriter, r *http.Request) (k KeptEvent, err error) {
	node, err := postbox(s.b)
	if err != nil {
		return k, err
	}
	return node.Event(r.Context(), r.PathValue("id"))
}

func (s server) dropEvent(w http.ResponseWriter, r *http.Request) (k KeptEvent, err error) {
	node, err := postbox(s.b)
	if err != nil {
		return k, err
	}
	if err := readBody(w, r, 1<<10, &nothing{}); err != nil {
		return k, err
	}
	return node.DropEvent(r.Context(), r.PathValue("id"))
}

// SendEvent sends an event. A repeat with the same identifier changes nothing.
func (c *Client) SendEvent(ctx context.Context, r EventRequest) (EventAnswer, error) {
	return ask[EventAnswer](ctx, c, c.timeout, http.MethodPost, "/v1/events", r)
}

// Events gives one page of what the node keeps.
func (c *Client) Events(ctx context.Context, r EventsRequest) (EventsAnswer, error) {
	q := url.Values{"limit": {strconv.Itoa(r.Limit)}}
	if r.Name != "" {
		q.Set("name", r.Name)
	}
	if r.Keyed {
		q.Set("key", r.Key)
	}
	if r.Waiting {
		q.Set("waiting", "true")
	}
	if r.After != "" {
		q.Set("after", r.After)
	}
	return ask[EventsAnswer](ctx, c, c.timeout, http.MethodGet, "/v1/events?"+q.Encode(), nil)
}

// Event gives an event by its identifier.
func (c *Client) Event(ctx context.Context, id string) (KeptEvent, error) {
	return ask[KeptEvent](ctx, c, c.timeout, http.MethodGet, "/v1/events/"+url.PathEscape(id), nil)
}

// DropEvent lets go of an event that nothing has received, and gives it as it was.
func (c *Client) DropEvent(ctx context.Context, id string) (KeptEvent, error) {
	return ask[KeptEvent](ctx, c, c.timeout, http.MethodPost, "/v1/events/"+url.PathEscape(id)+"/drop", nothing{})
}
