package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"fmqm/container"
)

// ItemKind is what an item on a worklist is; the words are API.
type ItemKind string

const (
	ItemWork   ItemKind = "work"   // a manual activity to be done
	ItemNotice ItemKind = "notice" // tells of an activity, or of an instance, whose sink it names: nobody has it, and complete takes it off the worklists
)

// ItemState is how it is with an item; the words are API.
type ItemState string

const (
	ItemOffered   ItemState = "offered"   // to all who may have it
	ItemClaimed   ItemState = "claimed"   // somebody has it
	ItemSuspended ItemState = "suspended" // an operator has suspended it: nothing that is said of it is carried out until he resumes it
)

// WorkItem is a line of a worklist (N27).
type WorkItem struct {
	Item      string     `json:"item"` // 12 letters; the beginning of the execution's idempotency key
	Kind      ItemKind   `json:"kind"`
	Instance  InstanceID `json:"instance"`
	Process   string     `json:"process"`
	Activity  string     `json:"activity"`
	Scope     string     `json:"scope,omitempty"` // as in HistoryEvent, as people write it
	Node      string     `json:"node"`
	Title     string     `json:"title"`
	State     ItemState  `json:"state"`
	Priority  int        `json:"priority"`
	Offered   time.Time  `json:"offered"`
	Due       time.Time  `json:"due,omitzero"`
	ClaimedBy string     `json:"claimed_by,omitempty"` // as "ann@ward"
	Claimed   time.Time  `json:"claimed,omitzero"`
	For       string     `json:"for,omitempty"` // whom that person stands in for
	Draft     bool       `json:"draft"`         // something was saved
	Claim     uint64     `json:"claim,omitempty"`
	Of        string     `json:"of,omitempty"` // of a notice: the item of its activity, which who sees the notice may transfer
}

// WorkRequest asks for a page of a worklist.
type WorkRequest struct {
	All      bool // also what the caller may not have, or others have: for operators
	Claimed  bool // only what somebody has: the caller, with All anybody
	Process  string
	Activity string
	After    string // the item that ends the page before
	As       string // a person for whom an operator asks; empty: for nobody but himself
	Limit    int    // at most so many; 1 to MaxPage
}

// WorkAnswer is a page of a worklist: by priority, then the oldest first.
type WorkAnswer struct {
	Items []WorkItem `json:"items"`
	More  bool       `json:"more"`
}

// WorkShown is an item with what a form of it needs.
type WorkShown struct {
	WorkItem
	Input      json.RawMessage `json:"input,omitempty"`
	Draft      json.RawMessage `json:"draft"` // the output so far, in the place of whether there is one
	OutputType []MemberType    `json:"output_type"`
	Error      string          `json:"error,omitempty"`  // of a notice of what has happened: what is wrong, or why the instance was terminated
	Output     json.RawMessage `json:"output,omitempty"` // of a notice of the end of an instance: its output
	Eligible   int             `json:"eligible"`         // how many of the node's people may have it
	People     []string        `json:"people,omitempty"` // some of them
	History    []HistoryEvent  `json:"history,omitempty"`
}

// MemberType is a member of a container's type.
type MemberType struct {
	Name    string          `json:"name"`
	Type    string          `json:"type"` // as the language writes it
	Default json.RawMessage `json:"default,omitempty"`
	Members []MemberType    `json:"members,omitempty"` // of a structure, or of a list of structures
}

// MembersOf describes a structure for people who fill it in.
func MembersOf(t *container.Type) []MemberType {
	all := make([]MemberType, 0, len(t.Members))
	for _, m := range t.Members {
		out := MemberType{Name: m.Name, Type: m.Type.String()}
		if m.Default != nil {
			out.Default, _ = container.EncodeJSON(m.Default)
		}
		inner := m.Type
		for inner.Kind == container.List {
			inner = inner.Elem
		}
		if inner.Kind == container.Structure {
			out.Members = MembersOf(inner)
		}
		all = append(all, out)
	}
	return all
}

// WorkVerb is what somebody does with an item; the words are API, and those of commands.
type WorkVerb string

const (
	WorkClaim    WorkVerb = "claim"
	WorkRelease  WorkVerb = "release"
	WorkTransfer WorkVerb = "transfer"
	WorkSave     WorkVerb = "save"
	WorkComplete WorkVerb = "complete"
)

// WorkVerbs are all of them.
var WorkVerbs = []WorkVerb{WorkClaim, WorkRelease, WorkTransfer, WorkSave, WorkComplete}

// WorkWord is what somebody says about an item.
type WorkWord struct {
	Output json.RawMessage `json:"output,omitempty"` // of save and complete: the members that it changes
	To     string          `json:"to,omitempty"`     // of transfer: a person of the item's node, or as "ann@ward"
	Claim  uint64          `json:"claim,omitempty"`  // the claim that was seen; 0: whatever there is
	Reason string          `json:"reason,omitempty"`
	As     string          `json:"as,omitempty"`  // the person for whom an operator acts; the history has both
	Word   uuid.UUID       `json:"word,omitzero"` // a UUIDv7: a repeat has the same one, and is answered as it was
}

// WorkDone says what came of it.
type WorkDone struct {
	Item     string     `json:"item"`
	Kind     ItemKind   `json:"kind"` // of the item
	Instance InstanceID `json:"instance"`
	Process  string     `json:"process"`
	Activity string     `json:"activity"`
	Scope    string     `json:"scope,omitempty"`
	Node     string     `json:"node"`
	Word     WorkVerb   `json:"word"`
	Result   WordResult `json:"result"`
	By       string     `json:"by,omitempty"`
	To       string     `json:"to,omitempty"`
}

// Desk is a node that offers work to people.
type Desk interface {
	// Work gives a page of the worklist of who asks.
	Work(ctx context.Context, r WorkRequest) (WorkAnswer, error)
	// WorkItem gives an item by the beginning of its name; CodeNotFound: there is none that who asks may see.
	WorkItem(ctx context.Context, item, as string) (WorkShown, error)
	// SayWork returns when what was said is on disk with all that follows from it: else nothing has changed.
	SayWork(ctx context.Context, item string, verb WorkVerb, w WorkWord) (WorkDone, error)
}

func desk(b Backend) (Desk, error) {
	node, ok := b.(Desk)
	if !ok {
		return nil, Errorf(CodeRefused, "ask the daemon of a site", "this node offers no work")
	}
	return node, nil
}

func (s server) work(_ http.ResponseWriter, r *http.Request) (a WorkAnswer, err error) {
	node, err := desk(s.b)
	if err != nil {
		return a, err
	}
	q, err := query(r, "all", "claimed", "process", "activity", "after", "limit", "as")
	if err != nil {
		return a, err
	}
	req := WorkRequest{Process: q.Get("process"), Activity: q.Get("activity"), After: q.Get("after"), As: q.Get("as")}
	for name, to := range map[string]*bool{"all": &req.All, "claimed": &req.Claimed} {
		switch v := q.Get(name); v {
		case "", "false":
		case "true":
			*to = true
		default:
			return a, Errorf(CodeUsage, "write "+name+"=true, or leave it out", "%s=%s", name, v)
		}
	}
	if req.Limit, err = pageLimit(q, "after"); err != nil {
		return a, err
	}
	a, err = node.Work(r.Context(), req)
	a.Items = orEmpty(a.Items)
	return a, err
}

func (s server) workItem(_ http.ResponseWriter, r *http.Request) (a WorkShown, err error) {
	node, err := desk(s.b)
	if err != nil {
		return a, err
	}
	q, err := query(r, "as")
	if err != nil {
		return a, err
	}
	return node.WorkItem(r.Context(), r.PathValue("item"), q.Get("as"))
}

// workWord answers one verb.
func workWord(verb WorkVerb) func(server, http.ResponseWriter, *http.Request) (WorkDone, error) {
	return func(s server, w http.ResponseWriter, r *http.Request) (a WorkDone, err error) {
		node, err := desk(s.b)
		if err != nil {
			return a, err
		}
		var req WorkWord
		if err := readBody(w, r, MaxStart, &req); err != nil {
			return a, err
		}
		return node.SayWork(r.Context(), r.PathValue("item"), verb, req)
	}
}

// Work gives a page of the worklist of who asks.
func (c *Client) Work(ctx context.Context, r WorkRequest) (WorkAnswer, error) {
	q := url.Values{"limit": {strconv.Itoa(r.Limit)}}
	for name, v := range map[string]string{"process": r.Process, "activity": r.Activity, "after": r.After, "as": r.As} {
		if v != "" {
			q.Set(name, v)
		}
	}
	for name, v := range map[string]bool{"all": r.All, "claimed": r.Claimed} {
		if v {
			q.Set(name, "true")
		}
	}
	return ask[WorkAnswer](ctx, c, c.timeout, http.MethodGet, "/v1/work?"+q.Encode(), nil)
}

// WorkItem gives an item by the beginning of its name; as is the person for whom an operator asks, or empty.
func (c *Client) WorkItem(ctx context.Context, item, as string) (WorkShown, error) {
	path := "/v1/work/" + url.PathEscape(item)
	if as != "" {
		path += "?as=" + url.QueryEscape(as)
	}
	return ask[WorkShown](ctx, c, c.timeout, http.MethodGet, path, nil)
}

// SayWork says something about an item. A repeat with the same identifier changes nothing, and is answered as it was.
func (c *Client) SayWork(ctx context.Context, item string, verb WorkVerb, w WorkWord) (WorkDone, error) {
	return ask[WorkDone](ctx, c, c.timeout, http.MethodPost, "/v1/work/"+url.PathEscape(item)+"/"+string(verb), w)
}
