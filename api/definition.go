package api

import (
	"context"
	"net/http"
	"net/url"
)

// DefinitionText is the text of a definition, as it is uploaded with its tables.
type DefinitionText struct {
	Process string `json:"process"` // NAME@VERSION
	Text    string `json:"text"`    // YAML, with this process; whether it is that of the tables, who gets it checks
}

// DefinitionAnswer is the text of a definition, and what it should mean.
type DefinitionAnswer struct {
	DefinitionText
	Definition string `json:"definition"` // the definition's hash, 64 hexadecimal digits
	Node       string `json:"node"`       // that keeps the text
}

// Library is a node that keeps the texts of definitions.
type Library interface {
	// DefinitionOf gives the text of a definition, NAME@VERSION, or NAME: of what that alone is here. It is this node's, or
	// that of the first of the process's sites that has it; with at, of that site alone. A process that has no table here,
	// or whose text nobody has who answers, is CodeNotFound; where somebody did not answer, CodeUnreachable.
	DefinitionOf(ctx context.Context, process, at string) (DefinitionAnswer, error)
}

func (s server) definition(_ http.ResponseWriter, r *http.Request) (DefinitionAnswer, error) {
	node, ok := s.b.(Library)
	if !ok {
		return DefinitionAnswer{}, Errorf(CodeRefused, "ask the daemon of a site", "this node keeps no definitions")
	}
	return node.DefinitionOf(r.Context(), r.PathValue("process"), r.URL.Query().Get("at"))
}

// DefinitionOf gives the text of a definition; at is the node that is to have it, or empty.
func (c *Client) DefinitionOf(ctx context.Context, process, at string) (DefinitionAnswer, error) {
	path := "/v1/definitions/" + url.PathEscape(process)
	if at != "" {
		path += "?at=" + url.QueryEscape(at)
	}
	return ask[DefinitionAnswer](ctx, c, c.timeout, http.MethodGet, path, nil)
}
