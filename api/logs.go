package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// LogsRequest says what of an instance is asked for, of what its programs have written.
type LogsRequest struct {
	Activity string // PATH, as in HistoryRequest, with what is inside of it; empty: of all
	Attempt  int    // only attempts of this number; 0: all
	Limit    int    // the newest so many attempts, at most MaxPage
}

// AttemptLog is what one attempt of a program has written last to its standard error; where its activity
// has no output to its standard output as well; of a web service the beginning of what it answered to a
// failed attempt.
type AttemptLog struct {
	Node      string    `json:"node"`            // where it ran
	Scope     string    `json:"scope,omitempty"` // as in HistoryEvent
	Activity  string    `json:"activity"`
	Program   string    `json:"program"`
	Iteration int       `json:"iteration"`
	Run       int       `json:"run,omitempty"` // as in HistoryEvent
	Attempt   int       `json:"attempt"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended,omitzero"`    // missing: it runs
	RC        *int64    `json:"rc,omitempty"`      // missing: it runs, or Error says why there is none
	Error     string    `json:"error,omitempty"`   // why the attempt failed, whatever its return code
	Skipped   int64     `json:"skipped,omitempty"` // bytes that it had written before Text, and that are not kept
	Text      string    `json:"text"`              // lines of UTF-8, as the program wrote them; empty only while it runs
}

// LogsAnswer has the attempts in the order in which they ended, those that run last.
type LogsAnswer struct {
	Process     string        `json:"process"`
	Logs        []AttemptLog  `json:"logs"`
	More        bool          `json:"more"` // there are older ones
	Unreachable []Unreachable `json:"unreachable"`
}

// LogKeeper is a node that keeps what programs write.
type LogKeeper interface {
	// Logs gives what is kept at all nodes of an instance. That nothing is kept is no error.
	Logs(ctx context.Context, id InstanceID, r LogsRequest) (LogsAnswer, error)
}

func (s server) logs(_ http.ResponseWriter, r *http.Request) (a LogsAnswer, err error) {
	node, ok := s.b.(LogKeeper)
	if !ok {
		return a, Errorf(CodeRefused, "ask the daemon of a site", "this node keeps no logs of programs")
	}
	id, err := pathInstance(r)
	if err != nil {
		return a, err
	}
	q, err := query(r, "activity", "attempt", "limit")
	if err != nil {
		return a, err
	}
	req := LogsRequest{Activity: q.Get("activity")}
	if err := path("activity", req.Activity); err != nil {
		return a, err
	}
	if req.Limit, err = pageLimit(q, "attempt"); err != nil {
		return a, Errorf(CodeUsage, "send a number from 1 to 1000, and ask for one activity or attempt where there are more", "limit=%s is out of range", q.Get("limit"))
	}
	if v := q.Get("attempt"); v != "" {
		if req.Attempt, err = strconv.Atoi(v); err != nil || req.Attempt < 1 {
			return a, Errorf(CodeUsage, "send the number of an attempt, from 1 on", "attempt=%s is no number of an attempt", v)
		}
	}
	a, err = node.Logs(r.Context(), id, req)
	a.Logs, a.Unreachable = orEmpty(a.Logs), orEmpty(a.Unreachable)
	return a, err
}

// Logs gives what programs of an instance have written last. Without a Limit it is MaxPage.
func (c *Client) Logs(ctx context.Context, id InstanceID, r LogsRequest) (LogsAnswer, error) {
	q := url.Values{}
	if r.Activity != "" {
		q.Set("activity", r.Activity)
	}
	if r.Attempt > 0 {
		q.Set("attempt", strconv.Itoa(r.Attempt))
	}
	if r.Limit > 0 {
		q.Set("limit", strconv.Itoa(r.Limit))
	}
	return ask[LogsAnswer](ctx, c, c.timeout, http.MethodGet, parameters(instancePath(id, "/logs"), q), nil)
}
