package api

import (
	"context"
	"net/http"
	"time"

	"fmqm/container"
)

// EraseRequest says which data of an instance that has ended are to be overwritten, at all nodes of its process.
type EraseRequest struct {
	Process string   `json:"process,omitempty"`  // NAME@VERSION that the instance is of; missing: whatever it is of
	Members []string `json:"members,omitempty"`  // paths such as person.name: see container.Members
	AllData bool     `json:"all_data,omitempty"` // all members, instead
	Reason  string   `json:"reason,omitempty"`   // the operator's, for the history; at most MaxReason bytes
}

// The results of an erasing at a node, besides ResultRefused; the words are API.
const (
	ResultErased      Result = "erased"      // nothing of it is in the records or the files of the node any more
	ResultErasing     Result = "erasing"     // it is on disk there that it is to be done, and it goes on by itself
	ResultLeft        Result = "left"        // records are overwritten; Reason says what of the instance lies there besides
	ResultNone        Result = "none"        // the node has nothing of the instance
	ResultRemoved     Result = "removed"     // retention has removed what it had
	ResultUnreachable Result = "unreachable" // it has not answered: nothing is known
)

// EraseAnswer has one line for each node of the process, of the origin first.
type EraseAnswer struct {
	Instance InstanceID   `json:"instance"`
	Process  string       `json:"process"`
	Nodes    []EraseNode  `json:"nodes"`
	Children []EraseChild `json:"children,omitempty"` // instances that its activities have begun: what these have stays
}

// EraseNode is how far a node is.
type EraseNode struct {
	Node      string    `json:"node"`
	Result    Result    `json:"result"`
	Records   uint64    `json:"records,omitempty"` // of its history that were overwritten, by this request and those before it
	Reason    string    `json:"reason,omitempty"`
	LastHeard time.Time `json:"last_heard,omitzero"` // of one that is unreachable
}

// EraseChild is an instance that an activity has begun.
type EraseChild struct {
	Instance InstanceID `json:"instance"`
	Process  string     `json:"process"`
}

// Eraser is a node at which data of instances are erased.
type Eraser interface {
	// Erase returns when the nodes that are heard have answered, after some seconds at most. Repeated, it changes nothing that
	// was done, and says how far each is. An instance that has not ended is CodeRefused, a member that no container of the
	// process has CodeUsage; then nothing has changed.
	Erase(ctx context.Context, id InstanceID, r EraseRequest) (EraseAnswer, error)
}

func (s server) erase(w http.ResponseWriter, r *http.Request) (a EraseAnswer, err error) {
	id, err := pathInstance(r)
	if err != nil {
		return a, err
	}
	node, ok := s.b.(Eraser)
	if !ok {
		return a, Errorf(CodeRefused, "ask the daemon of a site", "this node has no instances to erase")
	}
	var req EraseRequest
	if err := readBody(w, r, 64<<10, &req); err != nil {
		return a, err
	}
	if err := checkWord("", "", req.Reason, WordID{}); err != nil {
		return a, err
	}
	m := container.Members{All: req.AllData, Paths: req.Members}
	if err := m.Check(); err != nil {
		return a, ContainerErrorf(CodeUsage, err, "", "erase")
	}
	a, err = node.Erase(r.Context(), id, req)
	a.Nodes = orEmpty(a.Nodes)
	return a, err
}

// Erase overwrites data of an instance that has ended.
func (c *Client) Erase(ctx context.Context, id InstanceID, r EraseRequest) (EraseAnswer, error) {
	return ask[EraseAnswer](ctx, c, c.timeout, http.MethodPost, "/v1/instances/"+id.String()+"/erase", r)
}
