package api

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// RetireRequest retires a version at all sites of its process (N31), or takes that back. Where sites name definers, one
// of them has to sign it: see processtable.RetirementText.
type RetireRequest struct {
	Undo      bool   `json:"undo,omitempty"`
	Number    uint64 `json:"number"`              // that of what was said last of it (Definition.Said) and one more
	Network   string `json:"network,omitempty"`   // for which it is signed
	Key       []byte `json:"key,omitempty"`       // of who signs, base64; missing: nobody does
	Signature []byte `json:"signature,omitempty"` // base64
	// Without is a node that is gone for ever: nothing is said of the version, which is retired, but the table goes here
	// without the final word of that node; with Undo, it waits for it again. Other sites are not told, so nobody signs.
	Without string `json:"without,omitempty"`
	Reason  string `json:"reason,omitempty"` // of Without; at most 1024 bytes
	Do      bool   `json:"do,omitempty"`     // of Without; else the answer only says what it would do
}

// WrittenOff is a node without which the table of a retired version goes at a site (RetireRequest.Without), and who has said so.
type WrittenOff struct {
	Node   string    `json:"node"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	Time   time.Time `json:"time"`
}

// The results of retiring a version, besides ResultQueued, and ResultRemoved: its table is gone there. The words are API.
const (
	ResultRetired Result = "retired" // nothing new begins there
	ResultKept    Result = "kept"    // it may begin there: that was taken back
	ResultWithout Result = "without" // the node that was asked removes its table without that one
	ResultAwaited Result = "awaited" // it does not, or does not yet
)

// RetireAnswer has one line for each site of the process, of the node that was asked first.
type RetireAnswer struct {
	Nodes []RetireNode `json:"nodes"`
}

// RetireNode is how a version stands at a site then.
type RetireNode struct {
	Node      string `json:"node"`
	Process   string `json:"process"`   // NAME@VERSION
	Result    Result `json:"result"`    // retired, removed, kept, queued (the site is told when it is heard), without or awaited
	Instances int    `json:"instances"` // that were started there and have not ended, if it has answered
	Reason    string `json:"reason,omitempty"`
}

// Retirer is a node at which versions are retired.
type Retirer interface {
	// Retire returns when it is on disk here and the sites that are heard have answered, after 2 s at most. What is so
	// already changes nothing. A version without a table here is CodeNotFound.
	Retire(ctx context.Context, process string, r RetireRequest) (RetireAnswer, error)
}

func (s server) retire(w http.ResponseWriter, r *http.Request) (a RetireAnswer, err error) {
	node, ok := s.b.(Retirer)
	if !ok {
		return a, Errorf(CodeRefused, "ask the daemon of a site", "this node has no versions to retire")
	}
	var req RetireRequest
	if err := readBody(w, r, 4<<10, &req); err != nil {
		return a, err
	}
	a, err = node.Retire(r.Context(), r.PathValue("process"), req)
	a.Nodes = orEmpty(a.Nodes)
	return a, err
}

// Retire retires a version, NAME@VERSION, or takes that back.
func (c *Client) Retire(ctx context.Context, process string, r RetireRequest) (RetireAnswer, error) {
	return ask[RetireAnswer](ctx, c, c.timeout, http.MethodPost, "/v1/definitions/"+url.PathEscape(process)+"/retire", r)
}
