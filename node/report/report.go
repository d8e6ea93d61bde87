package report

import (
	"encoding/json"
	"time"

	"fmqm/api"
	"fmqm/message"
)

// Question asks what a node knows of an instance. Process may be empty.
type Question struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process,omitempty"`
	// Scopes are those of which activities are asked for that have ended, or of which there is nothing;
	// "" is the top. What has not ended is told of all. With neither Scopes nor Tree everything is told,
	// as nodes of the version before want it.
	Scopes   []string `json:"scopes,omitempty"`
	Tree     *Page    `json:"tree,omitempty"` // instead of Scopes: a page of all scopes
	History  bool     `json:"history,omitempty"`
	Activity string   `json:"activity,omitempty"` // of the history: see api.HistoryRequest
	Since    uint64   `json:"since,omitempty"`
	Told     Mark     `json:"told,omitzero"` // of the history: only what is new since; see news
	// Watch: who asks goes on asking. Of a history that is too large for one answer he is told the
	// oldest first, and the rest when he asks with the mark of that.
	Watch bool `json:"watch,omitempty"`
}

// Report is what one node knows of an instance.
type Report struct {
	Known      bool               `json:"known"`
	Clock      uint64             `json:"clock,omitempty"` // the logical clock's, up to which this tells of the instance
	Heard      []string           `json:"heard,omitempty"` // activities of other nodes whose messages have come, as by api.InScope
	Anew       bool               `json:"anew,omitempty"`  // the node's store is a new or an older one: what had ended may be missing
	Process    string             `json:"process,omitempty"`
	Origin     string             `json:"origin,omitempty"`
	Roster     []api.Place        `json:"roster,omitempty"`
	State      api.InstanceState  `json:"state,omitempty"`      // of the origin: running, finished, terminated
	Key        string             `json:"key,omitempty"`        // of the origin
	StartedBy  string             `json:"started_by,omitempty"` // of the origin: who has started it by hand
	Priority   *int               `json:"priority,omitempty"`   // of the origin: that it was started with; missing: 4
	Parent     *api.Parent        `json:"parent,omitempty"`     // of the origin: the activity that has begun the instance
	By         string             `json:"by,omitempty"`         // of the origin: who has terminated it
	Why        string             `json:"why,omitempty"`        // of the origin: with which reason of his own
	Started    time.Time          `json:"started,omitzero"`
	Ended      time.Time          `json:"ended,omitzero"`
	Output     json.RawMessage    `json:"output,omitempty"`
	Activities []api.Activity     `json:"activities,omitempty"` // those hosted there that were asked for, also inactive ones, and what has not ended
	Begun      []string           `json:"begun,omitempty"`      // of a page: iterations of blocks hosted there, by the scope of what is inside
	Upto       string             `json:"upto,omitempty"`       // of a page: the last one, by its name as by api.InScope, where it ends before all was told
	Inside     []string           `json:"inside,omitempty"`     // which of them are inside of composites: without a scope there is nothing of them
	Waits      []Waiting          `json:"waits,omitempty"`
	Marks      []Suspending       `json:"marks,omitempty"`   // what suspends and resumes it there
	Notices    []string           `json:"notices,omitempty"` // of the origin: activities that told of an error, as by api.InScope
	Events     []api.HistoryEvent `json:"events,omitempty"`
	Mark       Mark               `json:"mark,omitzero"`    // of the history, also of what was not asked for; the zero one: of an older node
	Erased     time.Time          `json:"erased,omitzero"`  // of the origin: when data of the instance were first overwritten there
	Removed    time.Time          `json:"removed,omitzero"` // when retention removed what was recorded there
	More       bool               `json:"more,omitempty"`   // it was too large for an answer over a link: something was left out
	Disk       string             `json:"disk,omitempty"`   // why the node takes on nothing, where room on its disk is low
}

// Waiting is an activity that has not ended: the sources of its unresolved
// connectors, and its program.
type Waiting struct {
	Scope    string    `json:"scope,omitempty"`
	Activity string    `json:"activity"`
	For      []string  `json:"for,omitempty"`
	Program  string    `json:"program,omitempty"`
	Due      time.Time `json:"due,omitzero"`
	Held     string    `json:"held,omitempty"` // what keeps it from running although it could (S3)
	// At is the execution that it is in; nil: of an older node. A word about it names this one.
	At    *Execution `json:"at,omitempty"`
	Aside uint64     `json:"aside,omitempty"` // number of a message that it would need, and that was set aside (L5)
	// Stuck: of a bundle, all elements that are under way are in error.
	Stuck bool `json:"stuck,omitempty"`
	// UnderWay: of a bundle, how many elements are. Nodes of the version before do not tell.
	UnderWay int `json:"under_way,omitempty"`
}

// Execution names one execution of an activity, as in message.Execution.
type Execution struct {
	Iteration int `json:"iteration"`
	Run       int `json:"run"`
}

// Mark says how much of an instance's history a node has told: from which store, up to
// which moment of the logical clock, and how many events these were. The count is needed: the
// branches of an instance have clocks of their own, so what comes later may stand below.
type Mark struct {
	Store string `json:"store"` // its incarnation
	Clock uint64 `json:"clock"`
	Count int    `json:"count"`
	// At, if it is not 0, says that there is more to tell, and what of the events of the moment Clock was
	// told: those up to this time, in nanoseconds since 1970. The elements of a bundle may have one moment.
	At int64 `json:"at,omitempty"`
}
