package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// listStates are those that an instance of a list has.
var listStates = []InstanceState{InstanceRunning, InstanceSuspended, InstanceInError, InstanceFinished, InstanceTerminated, InstanceUnknown}

func (s server) list(_ http.ResponseWriter, r *http.Request) (ListAnswer, error) {
	q, err := query(r, "all", "everywhere", "state", "process", "in_error", "since", "parent", "after", "next", "limit")
	if err != nil {
		return ListAnswer{}, err
	}
	req := ListRequest{State: InstanceState(q.Get("state")), Process: q.Get("process"), Next: q.Get("next")}
	for name, flag := range map[string]*bool{"all": &req.All, "everywhere": &req.Everywhere, "in_error": &req.InError} {
		if v := q.Get(name); v != "" {
			if *flag, err = strconv.ParseBool(v); err != nil {
				return ListAnswer{}, Errorf(CodeUsage, "send true or false", "%s=%s is neither", name, v)
			}
		}
	}
	if req.State != "" && !slices.Contains(listStates, req.State) {
		return ListAnswer{}, Errorf(CodeUsage, "send running, suspended, in-error, finished, terminated or unknown", "state=%s is no state of a list", req.State)
	}
	if v := q.Get("since"); v != "" {
		if req.Since, err = time.Parse(time.RFC3339Nano, v); err != nil {
			return ListAnswer{}, Errorf(CodeUsage, "send a time as 2006-01-02T15:04:05Z", "since=%s is no time", v)
		}
	}
	if req.Limit, err = pageLimit(q, "next"); err != nil {
		return ListAnswer{}, err
	}
	if v := q.Get("parent"); v != "" {
		if req.Parent, err = ParseInstance(v); err != nil {
			return ListAnswer{}, err
		}
	}
	if v := q.Get("after"); v != "" {
		if req.After, err = ParseInstance(v); err != nil {
			return ListAnswer{}, err
		}
	}
	if req.After != (InstanceID{}) && (req.Everywhere || req.Next != "") {
		return ListAnswer{}, Errorf(CodeUsage, "send `next` of the page before", "`after` continues only a list of this node")
	}
	a, err := s.b.List(r.Context(), req)
	a.Instances = orEmpty(a.Instances)
	return a, err
}

// List gives one page of the instances that were started at the node, or at any site that
// it has to do with.
func (c *Client) List(ctx context.Context, r ListRequest) (ListAnswer, error) {
	q := url.Values{}
	for name, flag := range map[string]bool{"all": r.All, "everywhere": r.Everywhere, "in_error": r.InError} {
		if flag {
			q.Set(name, "true")
		}
	}
	for name, value := range map[string]string{"state": string(r.State), "process": r.Process, "next": r.Next} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if !r.Since.IsZero() {
		q.Set("since", r.Since.UTC().Format(time.RFC3339Nano))
	}
	if r.Parent != (InstanceID{}) {
		q.Set("parent", r.Parent.String())
	}
	if r.After != (InstanceID{}) {
		q.Set("after", r.After.String())
	}
	if r.Limit > 0 {
		q.Set("limit", strconv.Itoa(r.Limit))
	}
	return ask[ListAnswer](ctx, c, c.timeout, http.MethodGet, "/v1/instances?"+q.Encode(), nil)
}
