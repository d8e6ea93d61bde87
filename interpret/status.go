package interpret

import (
	"encoding/json"
	"fmt"

	"fmqm/container"
)

// status has the keys of every node's status, less the instance and times. They are
// API.
type status struct {
	Process     string           `json:"process"`
	State       State            `json:"state"`
	InError     int              `json:"in_error,omitempty"`
	Reason      string           `json:"reason,omitempty"`
	Output      json.RawMessage  `json:"output,omitempty"`
	Activities  []activityStatus `json:"activities"`
	Unreachable []struct{}       `json:"unreachable"`
}

type activityStatus struct {
	Activity   string          `json:"activity"`
	Node       string          `json:"node"`
	State      State           `json:"state"`
	Iterations int             `json:"iterations,omitempty"`
	Attempts   int             `json:"attempts,omitempty"` // where there was more than one
	RC         *int64          `json:"rc,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
}

// StatusJSON writes a result in the shape of an instance's status, so that the two can
// be compared line by line. It leaves out the instance and all times. As there, what is
// not terminated shows neither return code nor output.
func StatusJSON(r *Result) ([]byte, error) {
	s := status{
		Process:     fmt.Sprintf("%s@%d", r.Process.Name, r.Process.Version),
		State:       r.State,
		Reason:      r.Error,
		Activities:  make([]activityStatus, len(r.Activities)),
		Unreachable: []struct{}{},
	}
	var err error
	if s.Output, err = shown(r.Output); err != nil {
		return nil, fmt.Errorf("status of %s: output: %w", s.Process, err)
	}
	for i, a := range r.Activities {
		if s.Activities[i], err = activityStatusOf(a, r.Process.Activities[i].NoOutput); err != nil {
			return nil, fmt.Errorf("status of %s: output of %s: %w", s.Process, a.Activity, err)
		}
		if a.State == InError {
			s.InError++
		}
	}
	return json.Marshal(s)
}

func activityStatusOf(a ActivityResult, noOutput bool) (activityStatus, error) {
	s := activityStatus{Activity: a.Activity, Node: a.Node, State: a.State, Iterations: a.Iterations, Reason: a.Error}
	if a.Attempts > 1 {
		s.Attempts = a.Attempts
	}
	if a.State != Terminated {
		return s, nil
	}
	s.RC = a.RC
	if noOutput {
		return s, nil
	}
	var err error
	s.Output, err = shown(a.Output)
	return s, err
}

// shown gives nothing for a container without members.
func shown(c *container.Struct) (json.RawMessage, error) {
	if c == nil || len(c.Fields) == 0 {
		return nil, nil
	}
	return container.EncodeJSON(c)
}
