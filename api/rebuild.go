package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// MaxNamed is how many instances a Rebuild names; what is more is counted.
const MaxNamed = 10_000

// rebuildPause is how long one request waits for a rebuilding to end.
const rebuildPause = 5 * time.Second

// RebuildStage says how far a node has come with sending a peer again what it lost; the
// words are API.
type RebuildStage string

const (
	RebuildPlanned RebuildStage = "planned" // nothing was done: the link is stopped
	RebuildDecided RebuildStage = "decided" // the peer's store is known from now on; what it has is being asked
	RebuildWaiting RebuildStage = "waiting" // the peer lacks process tables, which are to be uploaded there
	RebuildSending RebuildStage = "sending"
	RebuildDone    RebuildStage = "done"
)

// Rebuild is how one node sends a peer again what that had lost with its store (S4).
type Rebuild struct {
	Node  string       `json:"node"` // that sends
	Peer  string       `json:"peer"`
	Stage RebuildStage `json:"stage"`
	Store string       `json:"store"` // the peer's new store; 32 hexadecimal digits
	// Restored: the peer has an older copy of its store, and is sent what that lacks.
	Restored bool `json:"restored"`
	// Messages of Instances are to be sent, in a plan at most; or were sent.
	Messages  uint64 `json:"messages"`
	Instances uint64 `json:"instances"`
	By        string `json:"by,omitempty"` // who has decided it, as "alice at B"
	// Lacks are processes whose tables the peer has not: they are to be uploaded there.
	Lacks []string `json:"lacks"`
	// Unknown are instances that were started at the peer, and that it does not know.
	Unknown []UnknownInstance `json:"unknown"`
	More    uint64            `json:"more,omitempty"` // of these, that are not named
	// Removed are instances that were started at the peer and had ended, of which this node
	// can send nothing again: retention has removed its audit of them.
	Removed     []RemovedInstance `json:"removed,omitempty"`
	MoreRemoved uint64            `json:"more_removed,omitempty"` // of these, that are not named
	Unasked     []string          `json:"unasked"`                // nodes that did not answer whether their instances have ended
	Reason      string            `json:"reason,omitempty"`       // what it waits for, or why this node did not answer
	// Code is what kind of reason it is where there is no stage, as of an error; not-found: this
	// node has nothing to send the peer again.
	Code Code `json:"code,omitempty"`
}

// UnknownInstance is an instance whose record was only at a peer that lost it.
type UnknownInstance struct {
	Instance InstanceID `json:"instance"`
	Process  string     `json:"process"`
	UnderWay bool       `json:"under_way"`       // something of it waits or runs at the node that tells
	Child    bool       `json:"child,omitempty"` // an activity has begun it, which begins it again (N19): nobody else is to start it
}

// RemovedInstance is an instance that had ended, whose audit was removed at the node that
// tells. The peer does not know it, or has it from an older copy, as one that runs.
type RemovedInstance struct {
	Instance InstanceID `json:"instance"`
	Process  string     `json:"process"`
	Time     time.Time  `json:"time"`    // of the removal
	Running  bool       `json:"running"` // at the peer, from an older copy of its store
}

// RebuildAnswer is the answer of one node, or of all that were asked.
type RebuildAnswer struct {
	Rebuilds []Rebuild `json:"rebuilds"`
}

// RebuildRequest asks a node to send a peer again what it lost.
type RebuildRequest struct {
	Peer string
	All  bool          // the node asks the others, too
	Do   bool          // else it says what it would do
	Wait time.Duration // with Do: how long to wait for the end
}

// Rebuilder is a node that can send its peers again what they lost.
type Rebuilder interface {
	// Rebuild plans, or decides and sends: what it has begun goes on after it returns, and
	// after a restart. A peer that is not known is CodeNotFound; one whose link is not
	// stopped for a new store, and was not, is CodeRefused.
	Rebuild(ctx context.Context, r RebuildRequest) (RebuildAnswer, error)
}

func (s server) rebuildPlan(w http.ResponseWriter, r *http.Request) (RebuildAnswer, error) {
	return s.rebuilt(w, r, false)
}

func (s server) rebuild(w http.ResponseWriter, r *http.Request) (RebuildAnswer, error) {
	return s.rebuilt(w, r, true)
}

// rebuilt serves the rebuilding of a node, if it does that.
func (s server) rebuilt(w http.ResponseWriter, r *http.Request, do bool) (RebuildAnswer, error) {
	node, ok := s.b.(Rebuilder)
	if !ok {
		return RebuildAnswer{}, Errorf(CodeRefused, "ask the daemon of a site", "this node rebuilds nothing")
	}
	q, err := query(r, "all")
	if err != nil {
		return RebuildAnswer{}, err
	}
	req := RebuildRequest{Peer: r.PathValue("peer"), Do: do, Wait: rebuildPause}
	if v := q.Get("all"); v != "" {
		if req.All, err = strconv.ParseBool(v); err != nil {
			return RebuildAnswer{}, Errorf(CodeUsage, "send true or false", "all=%s is neither", v)
		}
	}
	if do {
		if err := readBody(w, r, 1<<10, &nothing{}); err != nil {
			return RebuildAnswer{}, err
		}
	}
	a, err := node.Rebuild(r.Context(), req)
	a.Rebuilds = orEmpty(a.Rebuilds)
	for i := range a.Rebuilds {
		b := &a.Rebuilds[i]
		b.Lacks, b.Unknown, b.Unasked = orEmpty(b.Lacks), orEmpty(b.Unknown), orEmpty(b.Unasked)
	}
	return a, err
}

// Rebuild asks the node for a plan, or, with Do, to carry it out. A repeat goes on with
// what was begun; one of what is done does it again, which changes nothing twice.
func (c *Client) Rebuild(ctx context.Context, r RebuildRequest) (RebuildAnswer, error) {
	method, body := http.MethodGet, any(nil)
	if r.Do {
		method, body = http.MethodPost, nothing{}
	}
	path := "/v1/rebuild/" + url.PathEscape(r.Peer)
	if r.All {
		path += "?all=true"
	}
	return ask[RebuildAnswer](ctx, c, c.timeout, method, path, body)
}
