package api

import "encoding/json"

// RestartRequest has an activity that has terminated run once more, if nothing was decided on what it has come to.
type RestartRequest struct {
	Scope    string          `json:"scope,omitempty"` // as in RetryRequest
	Activity string          `json:"activity"`
	Input    json.RawMessage `json:"input,omitempty"`    // one JSON object: it runs with that
	Withdraw bool            `json:"withdraw,omitempty"` // a restart for which not all sites have answered is given up
	Reason   string          `json:"reason,omitempty"`   // as in RetryRequest, likewise the next
	Word     WordID          `json:"word,omitzero"`
	Asked    bool            `json:"asked,omitempty"`
}

// ActivityRestart says that an activity which has ended is to run once more, or was to.
type ActivityRestart string

// What an ActivityRestart is.
const (
	RestartAsked   ActivityRestart = "asked"    // an operator wants it, and not all have given back what it had come to
	RestartGivenUp ActivityRestart = "given-up" // it keeps its end, and not all who were asked know that
)
