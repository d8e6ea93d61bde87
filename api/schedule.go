package api

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// ScheduleState is whether a node starts what is due; the words are API.
type ScheduleState string

const (
	ScheduleActive    ScheduleState = "active"
	ScheduleSuspended ScheduleState = "suspended" // by an operator
	ScheduleOff       ScheduleState = "off"       // by the node's configuration
)

// Schedule is one by which a node starts instances of a process. State, Last, Instance, Missed and
// Reason are of all schedules that the process has there.
type Schedule struct {
	Process  string        `json:"process"` // NAME@VERSION, of the version that is current there
	Node     string        `json:"node"`
	Cron     string        `json:"cron,omitempty"`
	Zone     string        `json:"zone,omitempty"`  // of Cron; missing: UTC
	Every    string        `json:"every,omitempty"` // in the place of Cron
	State    ScheduleState `json:"state"`
	By       string        `json:"by,omitempty"`       // who has suspended it, as "alice at B"
	Next     time.Time     `json:"next,omitzero"`      // when it is due; zero: never
	Last     time.Time     `json:"last,omitzero"`      // for which an instance was started last
	Instance *InstanceID   `json:"instance,omitempty"` // that one
	Missed   uint64        `json:"missed"`             // times for which none was
	Reason   string        `json:"reason,omitempty"`   // why none was for the last of those; missing: nobody was there to start it
	Overlap  string        `json:"overlap"`            // allow or skip
	OnMissed string        `json:"on_missed"`          // once, all or skip
}

// SchedulesAnswer has the schedules of a node, by process.
type SchedulesAnswer struct {
	Schedules []Schedule `json:"schedules"`
}

// ScheduleWord is what an operator wants of the schedules of a process.
type ScheduleWord string

const (
	ScheduleSuspend ScheduleWord = "suspend" // nothing is started until resume
	ScheduleResume  ScheduleWord = "resume"
	ScheduleRun     ScheduleWord = "run" // as if it were due now
)

// Timetable is a node that starts instances by schedules.
type Timetable interface {
	Schedules(ctx context.Context) (SchedulesAnswer, error)
	// SaySchedule does what an operator wants of the schedules of a process, and gives them. It returns
	// when that is on disk. A process that has none at the node is CodeNotFound.
	SaySchedule(ctx context.Context, process string, w ScheduleWord) (SchedulesAnswer, error)
}

func (s server) schedules(w http.ResponseWriter, r *http.Request) (SchedulesAnswer, error) {
	return s.scheduled(w, r, "")
}

func (s server) suspendSchedule(w http.ResponseWriter, r *http.Request) (SchedulesAnswer, error) {
	return s.scheduled(w, r, ScheduleSuspend)
}

func (s server) resumeSchedule(w http.ResponseWriter, r *http.Request) (SchedulesAnswer, error) {
	return s.scheduled(w, r, ScheduleResume)
}

func (s server) runSchedule(w http.ResponseWriter, r *http.Request) (SchedulesAnswer, error) {
	return s.scheduled(w, r, ScheduleRun)
}

// scheduled serves the schedules of a node, if it has such; an empty word asks for them.
func (s server) scheduled(w http.ResponseWriter, r *http.Request, word ScheduleWord) (a SchedulesAnswer, err error) {
	node, ok := s.b.(Timetable)
	if !ok {
		return a, Errorf(CodeRefused, "ask the daemon of a site", "this node has no schedules")
	}
	if word == "" {
		a, err = node.Schedules(r.Context())
	} else {
		if err := readBody(w, r, 1<<10, &nothing{}); err != nil {
			return a, err
		}
		a, err = node.SaySchedule(r.Context(), r.PathValue("process"), word)
	}
	a.Schedules = orEmpty(a.Schedules)
	return a, err
}

// Schedules says by which schedules the node starts instances.
func (c *Client) Schedules(ctx context.Context) (SchedulesAnswer, error) {
	return ask[SchedulesAnswer](ctx, c, c.timeout, http.MethodGet, "/v1/schedules", nil)
}

// SaySchedule suspends or resumes the schedules of a process at the node, or starts an instance as if
// it were due now, and says how they are then.
func (c *Client) SaySchedule(ctx context.Context, process string, w ScheduleWord) (SchedulesAnswer, error) {
	return ask[SchedulesAnswer](ctx, c, c.timeout, http.MethodPost, "/v1/schedules/"+url.PathEscape(process)+"/"+string(w), nothing{})
}
