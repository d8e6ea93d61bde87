package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// MaxReason is how long the reason that an operator gives may be, in bytes.
const MaxReason = 1 << 10

// RefusedMessage is everything that a node knows of a message that it has set aside. What
// cannot be read of it is missing.
type RefusedMessage struct {
	Refused
	Node       string `json:"node,omitempty"`       // that it is for
	Definition string `json:"definition,omitempty"` // the beginning of the definition's hash
	Origin     string `json:"origin,omitempty"`     // where the instance was started
	Scope      string `json:"scope,omitempty"`
	Control    string `json:"control,omitempty"` // TRUE or FALSE; empty: no control connector
	Data       string `json:"data,omitempty"`    // present or absent; empty: no data connector
	OnBehalf   string `json:"on_behalf,omitempty"`
	Lane       int    `json:"lane"`
	Clock      uint64 `json:"clock,omitempty"`
	Trace      string `json:"trace,omitempty"`
	Bytes      int    `json:"bytes"`      // of the message as it came
	BodyBytes  int    `json:"body_bytes"` // of what it carries
	// Body is what it carries, as the table here reads it, by member of the target's input;
	// or, for a notice and a marker, what they say.
	Body json.RawMessage `json:"body,omitempty"`
	// Hex is the beginning of what it carries, or of the message, where it cannot be read.
	Hex string `json:"hex,omitempty"`
}

// DropRequest is an operator's word that a message is not to take effect.
type DropRequest struct {
	Reason string `json:"reason,omitempty"` // for the history; at most 1 KiB
}

// Done says what became of a message that was set aside; the words are API.
type Done string

const (
	RefusedDelivered Done = "delivered" // it is in its queue again, and is judged again
	RefusedStored    Done = "stored"    // it brought a process table, which is taken now
	RefusedResolved  Done = "resolved"  // its connector counts as FALSE, or as without data
	RefusedRemoved   Done = "removed"   // nothing waits for it
)

// RefusedDecision is what came of an operator's word about a message.
type RefusedDecision struct {
	Number uint64 `json:"number"`
	Done   Done   `json:"done"`
	Text   string `json:"text"` // the same in words
}

func pathNumber(r *http.Request) (uint64, error) {
	n, err := strconv.ParseUint(r.PathValue("number"), 10, 64)
	if err != nil || n == 0 {
		return 0, Errorf(CodeUsage, "send one of the numbers that `fmqm refused list` shows", "%q is no number of a message", r.PathValue("number"))
	}
	return n, nil
}

func (s server) refusedMessage(_ http.ResponseWriter, r *http.Request) (RefusedMessage, error) {
	n, err := pathNumber(r)
	if err != nil {
		return RefusedMessage{}, err
	}
	if _, err := query(r); err != nil {
		return RefusedMessage{}, err
	}
	return s.b.RefusedMessage(r.Context(), n)
}

func (s server) retryRefused(w http.ResponseWriter, r *http.Request) (RefusedDecision, error) {
	n, err := pathNumber(r)
	if err != nil {
		return RefusedDecision{}, err
	}
	if err := readBody(w, r, 1<<10, &nothing{}); err != nil {
		return RefusedDecision{}, err
	}
	return s.b.RetryRefused(r.Context(), n)
}

func (s server) dropRefused(w http.ResponseWriter, r *http.Request) (RefusedDecision, error) {
	n, err := pathNumber(r)
	if err != nil {
		return RefusedDecision{}, err
	}
	var req DropRequest
	if err := readBody(w, r, 8<<10, &req); err != nil {
		return RefusedDecision{}, err
	}
	if len(req.Reason) > MaxReason {
		return RefusedDecision{}, Errorf(CodeUsage, "be brief", "reason: over %d bytes", MaxReason)
	}
	return s.b.DropRefused(r.Context(), n, req)
}

func refusedPath(number uint64, rest string) string {
	return "/v1/dead/" + url.PathEscape(strconv.FormatUint(number, 10)) + rest
}

// RefusedMessage gives one of the messages that the node has set aside.
func (c *Client) RefusedMessage(ctx context.Context, number uint64) (RefusedMessage, error) {
	return ask[RefusedMessage](ctx, c, c.timeout, http.MethodGet, refusedPath(number, ""), nil)
}

// RetryRefused delivers a message that was set aside once more. A repeat finds nothing.
func (c *Client) RetryRefused(ctx context.Context, number uint64) (RefusedDecision, error) {
	return ask[RefusedDecision](ctx, c, c.timeout, http.MethodPost, refusedPath(number, "/retry"), nothing{})
}

// DropRefused lets go of a message that was set aside. A repeat finds nothing.
func (c *Client) DropRefused(ctx context.Context, number uint64, r DropRequest) (RefusedDecision, error) {
	return ask[RefusedDecision](ctx, c, c.timeout, http.MethodPost, refusedPath(number, "/drop"), r)
}
