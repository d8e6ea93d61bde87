package api

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// StatusRequest says which activities of an instance are asked for: those at its top, if nothing else
// is said. A PATH names an activity, an iteration of a block, or what is in one: "documents",
// "documents#2", "documents#2/check".
type StatusRequest struct {
	Scope  string          // those in this block, without iteration in its newest
	Tree   bool            // instead: all, each block before what is inside of it
	States []ActivityState // only those in one of these states; nil: in any
	Limit  int             // at most so many; 0: all, or MaxPage of a tree
	After  string          // the PATH of the last one of the page before, or Status.Next; empty: from the beginning
}

// HistoryRequest says which events of an instance are asked for.
type HistoryRequest struct {
	Activity string // PATH of an activity, with what is inside of it, or of an iteration of a block; empty: of all
	Since    uint64 // from this moment of the logical clock on
}

// WhyRequest says of which instance, and of what of it.
type WhyRequest struct {
	Process  string // NAME@VERSION; empty: of whichever the nodes know it. Another site may have made up instances of others under the same identifier
	Activity string // as in HistoryRequest
}

// InScope names an activity where it is, as people read it: "documents#2/review", and by its name
// alone at the top of its process.
func InScope(scope, activity string) string {
	if scope == "" {
		return activity
	}
	return scope + "/" + activity
}

// Shown names an activity where it is, as people read and write it: as InScope does, but that one execution
// of an activity with for_each, which is in a scope of its own, is "count[3]" alone.
func Shown(scope, activity string) string {
	last := scope[strings.LastIndexByte(scope, '/')+1:]
	if name, _, element := strings.Cut(last, "["); element && name == activity && strings.HasSuffix(last, "]") {
		return scope
	}
	return InScope(scope, activity)
}

// CutScope takes apart what InScope has put together.
func CutScope(text string) (scope, activity string) {
	if at := strings.LastIndexByte(text, '/'); at >= 0 {
		return text[:at], text[at+1:]
	}
	return "", text
}

// MaxPath is how long a PATH may be, in bytes: the longest that 16 blocks around one another come to.
const MaxPath = 2 << 10

// path says what is wrong with a PATH that was sent as a parameter, as far as its text tells.
func path(name, text string) error {
	if len(text) > MaxPath {
		return Errorf(CodeUsage, "write it as a status shows it, such as documents#2/check", "%s has over %d bytes", name, MaxPath)
	}
	return nil
}

// activityStates are all that an activity may be in.
var activityStates = []ActivityState{
	ActivityInactive, ActivityWaiting, ActivityReady, ActivityRunning, ActivitySuspended, ActivityInError, ActivityExecuted,
	ActivityTerminated, ActivitySkipped, ActivityCancelled, ActivityUnknown,
}

// parameters are a request as the server reads it.
func (r StatusRequest) parameters() url.Values {
	q := url.Values{}
	states := make([]string, len(r.States))
	for i, s := range r.States {
		states[i] = string(s)
	}
	for name, v := range map[string]string{"scope": r.Scope, "after": r.After, "state": strings.Join(states, ",")} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if r.Tree {
		q.Set("tree", "true")
	}
	if r.Limit > 0 {
		q.Set("limit", strconv.Itoa(r.Limit))
	}
	return q
}

// statusRequest reads the parameters of a request.
func statusRequest(q url.Values) (r StatusRequest, err error) {
	r.Scope, r.After = q.Get("scope"), q.Get("after")
	if v := q.Get("tree"); v != "" {
		if r.Tree, err = strconv.ParseBool(v); err != nil {
			return r, Errorf(CodeUsage, "send true or false", "tree=%s is neither", v)
		}
	}
	if r.Tree && r.Scope != "" {
		return r, Errorf(CodeUsage, "send one of them", "scope and tree do not go together")
	}
	if q.Has("limit") {
		if r.Limit, err = pageLimit(q, "after"); err != nil {
			return r, err
		}
	}
	if v := q.Get("state"); v != "" {
		for name := range strings.SplitSeq(v, ",") {
			s := ActivityState(name)
			if !slices.Contains(activityStates, s) {
				return r, Errorf(CodeUsage, "send states of activities, with commas between them, such as running,in-error", "state=%s: no activity is %s", v, name)
			}
			r.States = append(r.States, s)
		}
	}
	return r, cmp.Or(path("scope", r.Scope), path("after", r.After))
}
