package interpret

import (
	"encoding/json"
	"fmt"
	"slices"

	"fmqm/container"
	"fmqm/definition"
)

// status has the keys of every node's status, less the instance and times. They are
// API.
type status struct {
	Process     string           `json:"process"`
	State       State            `json:"state"`
	InError     int              `json:"in_error,omitempty"`
	Reason      string           `json:"reason,omitempty"`
	Output      json.RawMessage  `json:"output,omitempty"`
	Scope       Scope            `json:"scope,omitempty"`
	Activities  []activityStatus `json:"activities"`
	Unreachable []struct{}       `json:"unreachable"`
}

type activityStatus struct {
	Activity   string          `json:"activity"`
	Scope      Scope           `json:"scope,omitempty"`
	Kind       string          `json:"kind,omitempty"` // in a process that has more than programs and empty ones
	Node       string          `json:"node"`
	At         string          `json:"at,omitempty"` // of a call: where it is done
	State      State           `json:"state"`
	Iterations int             `json:"iterations,omitempty"`
	Attempts   int             `json:"attempts,omitempty"`      // where there was more than one
	Process    string          `json:"child_process,omitempty"` // of a subprocess that was run
	RC         *int64          `json:"rc,omitempty"`
	Timeout    bool            `json:"timeout,omitempty"`
	Failure    string          `json:"error,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	Elements   *Counts         `json:"elements,omitempty"` // of a bundle
	Waits      *awaitedStatus  `json:"waits,omitempty"`    // of a receive that waits
}

type awaitedStatus struct {
	Events []string `json:"events"`
	Key    string   `json:"key,omitempty"`
}

// StatusJSON writes a result in the shape of an instance's status, so that the two can
// be compared line by line: what is at the top, with one line for each block and bundle. It leaves
// out the instance and all times. As there, what is not terminated shows neither return
// code nor output.
func StatusJSON(r *Result) ([]byte, error) { return StatusJSONOf(r, pointers(r.Activities)) }

// StatusJSONOf is StatusJSON with these executions, at least one: those of a scope
// ([Result.In]), which it names, or all of [Result.Family].
func StatusJSONOf(r *Result, shown []*ActivityResult) ([]byte, error) {
	s := status{
		Process:     fmt.Sprintf("%s@%d", r.Process.Name, r.Process.Version),
		State:       r.State,
		Reason:      r.Error,
		Scope:       ScopeOf(shown),
		Activities:  []activityStatus{},
		Unreachable: []struct{}{},
	}
	var err error
	if s.Output, err = containerJSON(r.Output); err != nil {
		return nil, fmt.Errorf("status of %s: output: %w", s.Process, err)
	}
	kinds := slices.ContainsFunc(r.Activities, func(a ActivityResult) bool {
		of := a.Definition
		return of.Bundle != nil || of.Block != nil || of.Wait != nil || of.Child != nil || of.Receive != nil || of.Send != nil || of.Staff != nil
	})
	for _, a := range shown {
		as, err := activityStatusOf(a)
		if err != nil {
			return nil, fmt.Errorf("status of %s: output of %s: %w", s.Process, a.Path(), err)
		}
		if kinds {
			as.Kind = kindOf(a.Definition)
		}
		s.Activities = append(s.Activities, as)
	}
	for a := range r.Family() {
		if a.State == InError {
			s.InError++
		}
	}
	return json.Marshal(s)
}

// ScopeOf is the scope that what is shown is in: that of a bundle, where its elements are.
func ScopeOf(shown []*ActivityResult) Scope { return shown[0].Scope.listing(shown[0].Activity) }

func kindOf(a *definition.Activity) string {
	switch {
	case a.Bundle != nil:
		return "bundle"
	case a.Block != nil:
		return "block"
	case a.Wait != nil:
		return "wait"
	case a.Child != nil:
		return "process"
	case a.Receive != nil:
		return "receive"
	case a.Send != nil:
		return "send"
	case a.Staff != nil:
		return "manual"
	case a.Empty:
		return "empty"
	}
	return "program"
}

func activityStatusOf(a *ActivityResult) (activityStatus, error) {
	s := activityStatus{Activity: a.Activity, Scope: a.Scope, Node: a.Node, State: a.State, Iterations: a.Iterations, Reason: a.Error}
	s.At, s.Elements = a.At, a.Counts
	if a.Definition.Bundle != nil { // it is done once for each element
		s.Iterations = 0
		return s, nil
	}
	if a.Attempts > 1 {
		s.Attempts = a.Attempts
	}
	if n := len(a.Children); n > 0 {
		of := a.Children[n-1].Result.Process
		s.Process = fmt.Sprintf("%s@%d", of.Name, of.Version)
	}
	if w := a.Waits; w != nil {
		s.Waits = &awaitedStatus{w.Events, w.Key}
	}
	if a.State != Terminated {
		return s, nil
	}
	s.RC, s.Timeout, s.Failure = a.RC, a.TimedOut, a.Failure
	if a.Definition.NoOutput {
		return s, nil
	}
	var err error
	s.Output, err = containerJSON(a.Output)
	return s, err
}

// containerJSON gives nothing for a container without members.
func containerJSON(c *container.Struct) (json.RawMessage, error) {
	if c == nil || len(c.Fields) == 0 {
		return nil, nil
	}
	return container.EncodeJSON(c)
}
