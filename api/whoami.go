package api

import (
	"context"
	"net/http"
)

// WhoAmI is who makes a request, as the node has proved it, and what he may there. Its keys are API.
type WhoAmI struct {
	Name   string `json:"name,omitempty"`   // as the history shows it; missing: nobody knows
	Node   string `json:"node"`             // that was asked
	Proved Proof  `json:"proved,omitempty"` // how: socket, work-socket or certificate; missing: not at all
	Person string `json:"person,omitempty"` // of the node's staff, NAME@NODE
	As     string `json:"as,omitempty"`     // for whom an operator acts
	// Roles are those of the staff, StandsInFor those whom the person stands in for now.
	Roles       []string `json:"roles,omitempty"`
	StandsInFor []string `json:"stands_in_for,omitempty"`
	// Rights are those that the configuration grants; All: it grants none, so whoever may ask may do all.
	All    bool    `json:"all,omitempty"`
	Rights []Grant `json:"rights,omitempty"`
}

// Introducer is a node that tells a caller who it takes him for.
type Introducer interface {
	// WhoAmI tells the caller of ctx. What he may, WhoAmIOf says.
	WhoAmI(ctx context.Context) (WhoAmI, error)
}

// WhoAmIOf is what a request's context says of its caller.
func WhoAmIOf(ctx context.Context) WhoAmI {
	c := CallerOf(ctx)
	w := WhoAmI{Name: c.Name, Proved: c.Proved, As: c.As, All: c.Rights == nil}
	if c.Person != "" {
		w.Person = c.Name
	}
	if c.Rights != nil {
		w.Rights = c.Rights.Grants
	}
	return w
}

func (s server) whoami(_ http.ResponseWriter, r *http.Request) (WhoAmI, error) {
	if _, err := query(r); err != nil {
		return WhoAmI{}, err
	}
	node, ok := s.b.(Introducer)
	if !ok {
		return WhoAmI{}, Errorf(CodeRefused, "ask the daemon of a site", "this node knows nobody")
	}
	return node.WhoAmI(r.Context())
}

// WhoAmI asks the node who it takes the caller for.
func (c *Client) WhoAmI(ctx context.Context) (WhoAmI, error) {
	return ask[WhoAmI](ctx, c, c.timeout, http.MethodGet, "/v1/whoami", nil)
}

// As lets all further requests of the client say that an operator acts for a person; empty: for nobody but himself.
// It is for before the first request.
func (c *Client) As(person string) { c.as = person }
