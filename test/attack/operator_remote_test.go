package attack

import (
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/link"
	"fmqm/test/fleet"
)

const shared = `process: shared
version: 1
structures: {Work: {rc: int}}
input: Work
starts: [A]
activities:
  here:  {node: A, program: fails, input: Work, output: Work}
  there: {node: B, program: pass, input: Work}
  far:   {node: C, program: pass}
control: [here -> there, there -> far]
data: [source -> here, here -> there]
`

// elsewhere is an operator who asks at B what A has to do.
type elsewhere struct {
	*world
	credentials []string
}

// asks runs fmqm at B, as the operator with the certificate; without one as the user here.
func (e *elsewhere) asks(certified bool, args ...string) (out, talk string, code int) {
	e.t.Helper()
	if !certified {
		return fleet.Run(e.t, "fmqm", append(args, "--to", e.Sites["B"].To())...)
	}
	return fleet.Run(e.t, "fmqm", append(append(args, "--to", "https://"+e.Sites["B"].Listen), e.credentials...)...)
}

// begins starts an instance at A, and waits until its first activity is in error there.
func (e *elsewhere) begins() string {
	e.t.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := e.Sites["A"].Client.Start(e.ctx, api.StartRequest{Instance: id, Process: "shared", Input: []byte(`{"rc": 3}`)}); err != nil {
		e.t.Fatal(err)
	}
	e.state(id.String(), api.InstanceInError)
	return id.String()
}

func (e *elsewhere) state(id string, want api.InstanceState) {
	e.t.Helper()
	e.eventually("instance "+id+" is "+string(want), func() (string, bool) {
		s, err := e.Sites["A"].Client.Status(e.ctx, uuid.MustParse(id))
		return string(s.State) + " " + s.Reason, err == nil && s.State == want
	})
}

// refused says that A does nothing for who asks at B, tells him what to do, and notes it.
func (e *elsewhere) refused(id, who string, certified bool) {
	e.t.Helper()
	for _, command := range [][]string{{"terminate", id}, {"retry", id, "here", "--output", `{"rc": 0}`}} {
		_, talk, code := e.asks(certified, command...)
		if code != 4 || !strings.Contains(talk, "A refuses "+command[0]+" from "+who+" at B: its `remote_operators` does not allow it") || !strings.Contains(talk, "run it at A (--to), or") {
			e.t.Errorf("%s asks for %s: exit %d: %s", who, command[0], code, talk)
		}
		e.Sites["A"].Says(`"by":"` + who + ` at B","peer":"B","command":"` + command[0] + `"`)
	}
	e.state(id, api.InstanceInError)
	h, err := e.Sites["A"].Client.History(e.ctx, uuid.MustParse(id))
	if err != nil {
		e.t.Fatal(err)
	}
	for _, event := range h.Events {
		if word := event.Event == api.EventAsked || event.Event == api.EventAnswered || event.Event == api.EventStarted; event.By != "" && !word || event.Event == api.EventRetried || event.Event == api.EventStopped {
			e.t.Errorf("the history has %+v", event)
		}
	}
}

// byWhom are the events of an instance, as a site tells them, that somebody did by hand; the
// words that were asked for it, and its start, are told apart.
func (e *elsewhere) byWhom(site, id string) string {
	e.t.Helper()
	h, err := e.Sites[site].Client.History(e.ctx, uuid.MustParse(id))
	if err != nil {
		e.t.Fatal(err)
	}
	var all []string
	for _, event := range h.Events {
		if event.By != "" && event.Event != api.EventAsked && event.Event != api.EventAnswered && event.Event != api.EventStarted {
			all = append(all, event.Activity+" "+string(event.Event)+" by "+event.By)
		}
	}
	return strings.Join(all, ", ")
}

// alice may ask at B. What she wants of A, A refuses, whoever at B asks, and nothing changes;
// until A's remote_operators takes it from her. Then it is done, and all that tell of it
// name her.
func TestOperatorOfAnotherSite(t *testing.T) {
	t.Parallel()
	more := ""
	e := &elsewhere{world: newWorld(t, options{
		sites: []string{"A", "B", "C"},
		more: func(site string) string {
			if site == "A" {
				return more
			}
			return ""
		},
		programs: []string{"fails: {builtin: fail}"},
	})}
	e.define("A", shared)
	e.operator("alice")
	e.credentials = []string{"--cert", e.certificate("operator-alice"), "--cert-key", filepath.Join(e.pki, "operator-alice.key"), "--ca", e.certificate("ca")}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	retried, ended := e.begins(), e.begins()
	e.refused(retried, "alice", true)
	e.refused(retried, "user:"+me.Username, false)
	e.losesItsStore("C")
	out, talk, _ := e.asks(true, "rebuild", "C", "--all", "--yes", "-o", "json")
	if !strings.Contains(out+talk, "A refuses rebuild from alice at B") || e.Sites["A"].Link(e.ctx, "C").State != string(link.StateStopped) {
		t.Errorf("a rebuild: %s%s", out, talk)
	}

	more = "remote_operators: [{site: B, operators: [alice]}]\n"
	e.Sites["A"].Configure()
	e.Sites["A"].Reload(e.ctx)
	if _, talk, code := e.asks(false, "terminate", retried); code != 4 {
		t.Errorf("what alice may, %s may too: exit %d: %s", me.Username, code, talk)
	}
	out, talk, _ = e.asks(true, "rebuild", "C", "--all", "--yes", "-o", "json")
	var a api.RebuildAnswer
	if err := json.Unmarshal([]byte(out), &a); err != nil || !slices.ContainsFunc(a.Rebuilds, func(r api.Rebuild) bool {
		return r.Node == "A" && r.Peer == "C" && r.Stage != api.RebuildPlanned && r.By == "alice at B"
	}) {
		t.Errorf("a rebuild: %v: %s%s", err, out, talk)
	}
	e.eventually("A's link to C goes on", func() (string, bool) {
		l := e.Sites["A"].Link(e.ctx, "C")
		return l.State + " " + l.Reason, l.State == string(link.StateConnected)
	})
	e.Sites["A"].Says(`"by":"alice at B","peer":"C","store"`)
	e.define("A", shared)

	for _, command := range [][]string{{"retry", retried, "here", "--output", `{"rc": 0}`}, {"terminate", ended}} {
		if out, talk, code := e.asks(true, command...); code != 0 {
			t.Fatalf("%v: exit %d: %s%s", command, code, out, talk)
		}
		e.Sites["A"].Says(`"by":"alice at B","peer":"B","command":"` + command[0] + `","of":"`)
	}
	e.state(retried, api.InstanceFinished)
	e.state(ended, api.InstanceTerminated)
	for _, site := range []string{"A", "B"} {
		for id, want := range map[string]string{
			retried: "here retried by alice at B, here terminated by alice at B",
			ended:   "here stopped by alice at B, sink stopped by alice at B",
		} {
			e.eventually(site+" tells who has done it", func() (string, bool) {
				got := e.byWhom(site, id)
				return got, got == want
			})
		}
		for _, tells := range [][]string{{"history", "instance terminated by alice at B"}, {"status", "terminated by alice at B"}} {
			e.eventually(site+" shows it in its "+tells[0], func() (string, bool) {
				out := fleet.Must(t, "fmqm", tells[0], ended, "--to", e.Sites[site].To())
				return out, strings.Contains(out, tells[1])
			})
		}
	}
}

// losesItsStore has a site begin anew with an empty store, and the others stop their links.
func (e *elsewhere) losesItsStore(name string) {
	e.t.Helper()
	s := e.Sites[name]
	s.Stop()
	if err := os.Rename(s.File("data"), s.File("was")); err != nil {
		e.t.Fatal(err)
	}
	s.Start()
	s.Answers()
	for _, site := range []string{"A", "B"} {
		e.eventually(site+" stops its link to "+name, func() (string, bool) {
			l := e.Sites[site].Link(e.ctx, name)
			// One may be told first by the other site why the link stops: it has not seen the new store itself.
			return l.State + " " + l.Reason, l.State == string(link.StateStopped) && l.Store != ""
		})
	}
}
