package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
)

// finding is a backend that knows one instance, of order@1, and one refused message of it; it notes what else it
// is asked, and does nothing.
type finding struct {
	*apitest.Backend
	asked []string
}

func newFinding() *finding {
	f := &finding{}
	f.Backend = &apitest.Backend{OnDeadMessage: func(context.Context, uint64) (api.RefusedMessage, error) {
		return api.RefusedMessage{Refused: api.Refused{Process: "order@1"}}, nil
	}}
	return f
}

func (f *finding) ProcessOf(context.Context, api.InstanceID) (string, error) { return "order@1", nil }

func (f *finding) ProcessesOfEvent(string) []string { return []string{"order@1"} }

func (f *finding) note(what string) error {
	f.asked = append(f.asked, what)
	return api.Errorf(api.CodeFailed, "", "reached %s", what)
}

func (f *finding) Rebuild(context.Context, api.RebuildRequest) (api.RebuildAnswer, error) {
	return api.RebuildAnswer{}, f.note("rebuild")
}

func (f *finding) Schedules(context.Context) (api.SchedulesAnswer, error) {
	return api.SchedulesAnswer{}, f.note("schedules")
}

func (f *finding) SaySchedule(context.Context, string, api.ScheduleWord) (api.SchedulesAnswer, error) {
	return api.SchedulesAnswer{}, f.note("schedule word")
}

func (f *finding) SendEvent(context.Context, api.EventRequest) (api.EventAnswer, error) {
	return api.EventAnswer{}, f.note("event")
}

func (f *finding) Events(context.Context, api.EventsRequest) (api.EventsAnswer, error) {
	return api.EventsAnswer{}, f.note("events")
}

func (f *finding) Event(context.Context, string) (api.KeptEvent, error) {
	return api.KeptEvent{}, f.note("event")
}

func (f *finding) DropEvent(context.Context, string) (api.KeptEvent, error) {
	return api.KeptEvent{}, f.note("drop")
}

func (f *finding) Work(context.Context, api.WorkRequest) (api.WorkAnswer, error) {
	return api.WorkAnswer{}, f.note("work")
}

func (f *finding) WorkItem(context.Context, string, string) (api.WorkShown, error) {
	return api.WorkShown{}, f.note("item")
}

func (f *finding) SayWork(context.Context, string, api.WorkVerb, api.WorkWord) (api.WorkDone, error) {
	return api.WorkDone{}, f.note("work word")
}

// bodies are what requests of the table carry; of the others it is empty, or {}.
var bodies = map[string]string{
	"POST /v1/instances":                  `{"instance": "` + id + `", "process": "order@1"}`,
	"POST /v1/instances/{id}/retry":       `{"activity": "a"}`,
	"POST /v1/instances/{id}/terminate":   `{}`,
	"POST /v1/instances/{id}/finish":      `{"activity": "a", "output": {}}`,
	"POST /v1/instances/{id}/restart":     `{"activity": "a"}`,
	"POST /v1/instances/{id}/skip":        `{"activity": "a"}`,
	"POST /v1/events":                     `{"event": "arrived", "id": "1"}`,
	"POST /v1/upload":                     `{"tables": [{"node": "A", "process": "order@1", "definition": "", "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "table": ""}]}`,
	"POST /v1/schedules/{process}/run":    `{}`,
	"POST /v1/links/{peer}/retry":         `{}`,
	"POST /v1/dead/{number}/drop":         `{}`,
	"POST /v1/dead/{number}/retry":        `{}`,
	"POST /v1/events/{id}/drop":           `{}`,
	"POST /v1/rebuild/{peer}":             `{}`,
	"POST /v1/schedules/{process}/resume": `{}`,
}

// ask makes the request of a row as somebody, and gives the answer's status and error.
func ask(t *testing.T, f *finding, row api.Request, c api.Caller) (int, *api.Error) {
	t.Helper()
	method, path, _ := strings.Cut(row.Pattern, " ")
	path = strings.NewReplacer("{id}", id, "{number}", "1", "{peer}", "B", "{process}", "order", "{item}", "k3v9x2m4q8ra").Replace(path)
	body := bodies[row.Pattern]
	if body == "" && method == http.MethodPost {
		body = `{}`
	}
	r := httptest.NewRequestWithContext(api.WithCaller(t.Context(), c), method, path, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	api.Handler(f).ServeHTTP(w, r)
	var answer struct {
		Error *api.Error `json:"error"`
	}
	line, _, _ := strings.Cut(w.Body.String(), "\n")
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		t.Fatalf("%s: %q: %v", row.Pattern, w.Body, err)
	}
	if answer.Error == nil {
		answer.Error = &api.Error{}
	}
	return w.Code, answer.Error
}

// granted is somebody who has rights over some processes, or over all.
func granted(rights []api.Right, processes ...string) api.Caller {
	return api.Caller{Name: "user:bob", Rights: &api.Rights{
		Node: "A", Grants: []api.Grant{{Rights: rights, Processes: processes}},
		Could: func(api.Right, string) []string { return []string{"user:alice"} },
	}}
}

// Each row of the table is refused to who lacks its right, over all processes or over the one that it is about, with who
// may and what to do; what is asked for is not done. Who has the right reaches the node.
func TestEachRequestNeedsItsRight(t *testing.T) {
	for _, row := range api.Requests() {
		t.Run(row.Pattern, func(t *testing.T) {
			if row.Right == api.RightNone {
				if status, e := ask(t, newFinding(), row, granted(nil)); status == http.StatusForbidden {
					t.Errorf("who has no right: %v", e)
				}
				return
			}
			var low []api.Right
			for _, r := range api.AllRights() {
				if !r.Includes(row.Right) {
					low = append(low, r)
				}
			}
			refused := []api.Caller{granted(nil), granted(low), granted([]api.Right{row.Right}, "other", "o"), granted(low, "order")}
			if row.Of == api.OfNode {
				refused = append(refused, granted([]api.Right{row.Right}, "order"))
			}
			for i, c := range refused {
				if row.Of == api.OfSeveral && i == 2 {
					continue // the node shows what is of other processes, and nothing else
				}
				f := newFinding()
				status, e := ask(t, f, row, c)
				if status != http.StatusForbidden || e.Code != api.CodeRefused || len(f.asked) > 0 {
					t.Errorf("caller %d: %d %v, and %q was done", i, status, e, f.asked)
				}
				if !strings.Contains(e.Error(), "user:bob may not do this at A: it needs the right "+string(row.Right)) ||
					!strings.Contains(e.Error(), "ask user:alice, who may; or let `rights` in its configuration have {who: user:bob, roles: ["+string(row.Right)+"]") {
					t.Errorf("caller %d is told: %v", i, e)
				}
			}
			enough := []api.Caller{{}, {Name: "user:bob"}, granted([]api.Right{row.Right}), granted([]api.Right{api.RightAdmin})}
			if row.Of != api.OfNode {
				enough = append(enough, granted([]api.Right{row.Right}, "ord*"))
			}
			for i, c := range enough {
				if status, e := ask(t, newFinding(), row, c); status == http.StatusForbidden || status == http.StatusBadRequest {
					t.Errorf("who may, %d, is told %d: %v", i, status, e)
				}
			}
		})
	}
}

// Rights include others as the documentation says.
func TestWhatRightsInclude(t *testing.T) {
	for right, want := range map[api.Right]string{
		api.RightNone: "", api.RightViewer: "viewer", api.RightClerk: "viewer clerk", api.RightOperator: "viewer clerk operator",
		api.RightDefiner: "viewer definer", api.RightAdmin: "viewer clerk operator definer admin",
	} {
		var got []string
		for _, r := range api.AllRights() {
			if right.Includes(r) {
				got = append(got, string(r))
			}
		}
		if strings.Join(got, " ") != want || !right.Includes(api.RightNone) {
			t.Errorf("%q includes %q, want %s", right, got, want)
		}
	}
}

// A caller is named as the history has him, and as other nodes are told; what cannot be a name is nobody's.
func TestCallers(t *testing.T) {
	for _, tc := range []struct {
		caller         api.Caller
		name, operator string
	}{
		{api.Caller{}, "", ""},
		{api.Caller{Name: "user:bob"}, "user:bob", "user:bob"},
		{api.Caller{Name: "ann@ward", Person: "ann"}, "ann@ward", "person:ann"},
		{api.Caller{Name: "ann@ward"}, "ann@ward", "ann@ward"}, // an operator who is called so
		{api.Caller{Name: "user:root", Person: "ann"}, "user:root", "user:root"},
		{api.Caller{Name: "a b"}, "", ""},
		{api.Caller{Name: "a b@ward", Person: "a b"}, "", ""},
	} {
		c := api.CallerOf(api.WithCaller(context.Background(), tc.caller))
		if c.Name != tc.name || c.Operator() != tc.operator {
			t.Errorf("%+v is %q, %q", tc.caller, c.Name, c.Operator())
		}
	}
	if c := api.CallerOf(context.Background()); c != (api.Caller{}) {
		t.Errorf("nobody is %+v", c)
	}
}

// Every request that is a command changes something, and no other does.
func TestWhatChangesIsPosted(t *testing.T) {
	rows := api.Requests()
	for _, row := range rows {
		if strings.HasPrefix(row.Pattern, "POST ") != row.Changes {
			t.Errorf("%s: changes %t", row.Pattern, row.Changes)
		}
	}
	if !slices.ContainsFunc(rows, func(r api.Request) bool { return r.Right == api.RightAdmin }) {
		t.Error("nothing needs the right admin")
	}
}
