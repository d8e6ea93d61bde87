package people

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }

// Two processes: who may see the first, and not the second, is to hear nothing of the second.
const processes = `process: claim
version: 1
structures:
  Claim: {number: string}
  Verdict: {number: string, approved: bool}
input: Claim
output: Verdict
starts: [A]
staff: role("assessor")
activities:
  assess:  {node: A, staff: role("assessor"), title: "Assess claim {number}", input: Claim, output: Verdict}
  approve: {node: A, staff: role("assessor") && !did(assess), title: "Approve claim {number}", input: Verdict, output: Verdict}
control: [assess -> approve]
data: [source -> assess, assess -> approve, approve -> sink]
---
process: salary
version: 1
structures: {Work: {number: string}}
input: Work
starts: [A]
activities:
  raise: {node: A, staff: role("boss"), title: "Raise {number}", input: Work}
data: [source -> raise]
`

// answer is what a command came to.
type answer struct {
	out, talk string
	code      int
}

// house is one site, seen by who administers it.
type house struct {
	*fleet.Site
	t *testing.T
}

// begins starts an instance, and waits until its first item is offered.
func (h *house) begins(process, number string) (id, item string) {
	h.t.Helper()
	one := uuid.Must(uuid.NewV7())
	if _, err := h.Client.Start(h.t.Context(), api.StartRequest{Instance: one, Process: process, Input: []byte(`{"number": "` + number + `"}`)}); err != nil {
		h.t.Fatal(err)
	}
	return one.String(), h.offered(one.String())
}

// offered waits until an instance has an item that nobody has.
func (h *house) offered(id string) (item string) {
	h.t.Helper()
	err := fleet.Until(h.t.Context(), func() (bool, error) {
		for _, i := range h.all() {
			if i.Instance.String() == id && i.State == api.ItemOffered {
				item = i.Item
			}
		}
		return item != "", nil
	})
	if err != nil {
		h.t.Fatalf("instance %s is not offered: %v\n%s", id, err, h.LastLog(15))
	}
	return item
}

// all is every item of the site.
func (h *house) all() []api.WorkItem {
	h.t.Helper()
	a, err := h.Client.Work(h.t.Context(), api.WorkRequest{All: true, Limit: api.MaxPage})
	if err != nil {
		h.t.Fatal(err)
	}
	return a.Items
}

// picture is all that the site has of instances, but for that words were refused: where two are the same nothing has
// changed.
func (h *house) picture(ids ...string) string {
	h.t.Helper()
	var all strings.Builder
	for _, args := range [][]string{{"list"}, {"list", "--count"}, {"work", "list", "--all"}} {
		all.WriteString(fleet.Must(h.t, "fmqm", append(args, "-o", "json", "--to", h.To())...))
	}
	for _, id := range ids {
		for _, e := range h.history(id) {
			if e.Event != api.EventAnswered {
				line, err := json.Marshal(e)
				if err != nil {
					h.t.Fatal(err)
				}
				all.Write(append(line, '\n'))
			}
		}
	}
	return all.String()
}

// doneBy gives the events of an instance that somebody has brought about, EVENT by WHO.
func (h *house) doneBy(id string) (all []string) {
	h.t.Helper()
	for _, e := range h.history(id) {
		if e.By != "" {
			all = append(all, strings.TrimSpace(e.Activity+" "+string(e.Event)+" by "+e.By))
		}
	}
	return all
}

func (h *house) history(id string) []api.HistoryEvent {
	h.t.Helper()
	history, err := h.Client.History(h.t.Context(), uuid.MustParse(id))
	if err != nil {
		h.t.Fatal(err)
	}
	return history.Events
}

// read takes the JSON of an answer apart.
func read[T any](t *testing.T, a answer) (v T) {
	t.Helper()
	if a.code != 0 {
		t.Fatalf("it ended with %d: %s%s", a.code, a.out, a.talk)
	}
	if err := json.Unmarshal([]byte(a.out), &v); err != nil {
		t.Fatalf("%v:\n%s", err, a.out)
	}
	return v
}

// refusal is something that somebody may not do.
type refusal struct {
	who  string
	args []string
	code int
	says []string // all of it
}

// refuses checks that each is refused, with what it is told, and that nothing has changed.
func (h *house) refuses(ask func(who string, args ...string) answer, all []refusal, ids ...string) {
	h.t.Helper()
	before := h.picture(ids...)
	for _, r := range all {
		a := ask(r.who, r.args...)
		if a.code != r.code || a.out != "" {
			h.t.Errorf("%s: fmqm %v ends with %d, want %d: %s%s", r.who, r.args, a.code, r.code, a.out, a.talk)
		}
		for _, want := range r.says {
			if !strings.Contains(a.talk, want) {
				h.t.Errorf("%s: fmqm %v does not say %q: %s", r.who, r.args, want, a.talk)
			}
		}
		if after := h.picture(ids...); after != before {
			h.t.Errorf("%s: fmqm %v changed what there is:\n%s", r.who, r.args, cmp.Diff(before, after))
			before = after
		}
	}
}
