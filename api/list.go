package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// listStates are those that an instance of a list has.
var listStates = []InstanceState{InstanceRunning, InstanceSuspended, InstanceInError, InstanceFinished, InstanceTerminated, InstanceUnknown}

// listWords are the parameters of a list.
var listWords = []string{
	"all", "everywhere", "state", "process", "in_error", "since", "until", "parent", "activity", "started_by", "where", "waiting_on",
	"oldest", "count", "after", "next", "limit", "search...",
}

// flags, texts and times are those of its parameters that are such.
func (r *ListRequest) flags() map[string]*bool {
	return map[string]*bool{"all": &r.All, "everywhere": &r.Everywhere, "in_error": &r.InError, "oldest": &r.Oldest, "count": &r.Count}
}

func (r *ListRequest) texts() map[string]*string {
	return map[string]*string{
		"process": &r.Process, "activity": &r.Activity, "started_by": &r.StartedBy, "where": &r.Where, "waiting_on": &r.WaitingOn, "next": &r.Next,
	}
}

func (r *ListRequest) times() map[string]*time.Time {
	return map[string]*time.Time{"since": &r.Since, "until": &r.Until}
}

func (r *ListRequest) instances() map[string]*InstanceID {
	return map[string]*InstanceID{"parent": &r.Parent, "after": &r.After}
}

func (s server) list(_ http.ResponseWriter, r *http.Request) (ListAnswer, error) {
	q, err := query(r, listWords...)
	if err != nil {
		return ListAnswer{}, err
	}
	req, err := listRequest(q)
	if err != nil {
		return ListAnswer{}, err
	}
	a, err := s.b.List(r.Context(), req)
	a.Instances = orEmpty(a.Instances)
	return a, err
}

func listRequest(q url.Values) (req ListRequest, err error) {
	for name, flag := range req.flags() {
		if v := q.Get(name); v != "" {
			if *flag, err = strconv.ParseBool(v); err != nil {
				return req, Errorf(CodeUsage, "send true or false", "%s=%s is neither", name, v)
			}
		}
	}
	for name, text := range req.texts() {
		if *text = q.Get(name); len(*text) > maxListText {
			return req, Errorf(CodeUsage, "send a shorter one", "%s has %d bytes, and at most %d are allowed", name, len(*text), maxListText)
		}
	}
	for name, at := range req.times() {
		if v := q.Get(name); v != "" {
			if *at, err = time.Parse(time.RFC3339Nano, v); err != nil {
				return req, Errorf(CodeUsage, "send a time as 2006-01-02T15:04:05Z", "%s=%s is no time", name, v)
			}
		}
	}
	for name, id := range req.instances() {
		if v := q.Get(name); v != "" {
			if *id, err = ParseInstance(v); err != nil {
				return req, err
			}
		}
	}
	for _, term := range q["search"] {
		if req.Search = append(req.Search, term); len(term) > maxListText {
			return req, Errorf(CodeUsage, "send a shorter one", "search has %d bytes, and at most %d are allowed", len(term), maxListText)
		}
	}
	if req.Limit, err = pageLimit(q, "next"); err != nil {
		return req, err
	}
	if req.After != (InstanceID{}) && req.Next != "" {
		return req, Errorf(CodeUsage, "send `next` of the page before alone", "`after` and `next` both say where the list goes on")
	}
	return req, req.readStates(q.Get("state"))
}

// readStates reads the states that a list is narrowed to: one, or several with commas between.
func (r *ListRequest) readStates(v string) error {
	if v == "" {
		return nil
	}
	for word := range strings.SplitSeq(v, ",") {
		state := InstanceState(word)
		if !slices.Contains(listStates, state) {
			return Errorf(CodeUsage, "send running, suspended, in-error, finished, terminated or unknown", "state=%s is no state of a list", word)
		}
		if !slices.Contains(r.States, state) {
			r.States = append(r.States, state)
		}
	}
	if len(r.States) == 1 {
		r.State, r.States = r.States[0], nil
	}
	if slices.Contains(r.States, InstanceUnknown) {
		return Errorf(CodeUsage, "ask for unknown alone", "state=unknown is of other instances than those of other states")
	}
	return nil
}

// maxListText bounds the texts of a request for a list, in bytes: a condition may have 4 KiB.
const maxListText = 8 << 10

// List gives one page of the instances that were started at the node, or at any site that
// it has to do with.
func (c *Client) List(ctx context.Context, r ListRequest) (ListAnswer, error) {
	q := url.Values{}
	for name, flag := range r.flags() {
		if *flag {
			q.Set(name, "true")
		}
	}
	for name, text := range r.texts() {
		if *text != "" {
			q.Set(name, *text)
		}
	}
	for name, at := range r.times() {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	for name, id := range r.instances() {
		if *id != (InstanceID{}) {
			q.Set(name, id.String())
		}
	}
	states := make([]string, 0, 1+len(r.States))
	for _, s := range append([]InstanceState{r.State}, r.States...) {
		if s != "" {
			states = append(states, string(s))
		}
	}
	if len(states) > 0 {
		q.Set("state", strings.Join(states, ","))
	}
	for _, term := range r.Search {
		q.Add("search", term)
	}
	if r.Limit > 0 {
		q.Set("limit", strconv.Itoa(r.Limit))
	}
	return ask[ListAnswer](ctx, c, c.timeout, http.MethodGet, "/v1/instances?"+q.Encode(), nil)
}
