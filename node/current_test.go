package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/processtable"
)

// N19: a version is current once all its sites have stored it, or at once where its upload says so; NAME alone is
// the highest that is. The stories are of vintages, with these words besides:
//
//	chain SITE...                 as define, but each has a link to the one before and to the one behind only
//	put VERSION at=SITE [now]     uploads a version of p, at a site
//	list at=SITE                  which versions there are
func TestCurrentVersions(t *testing.T) {
	datadriven.Walk(t, "testdata/current", func(t *testing.T, path string) {
		v := &vintages{T: t, tasks: task.NewWorld(1, dawn), sites: map[string]*vintage{}}
		v.control = v.tasks.NewSite(0)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			return strings.Join(v.versions(d), "\n") + "\n"
		})
		for _, s := range v.sites {
			s.down()
		}
		v.control.Kill()
	})
}

func (v *vintages) versions(d *datadriven.TestData) (told []string) {
	words, named := wordsOf(d)
	switch d.Cmd {
	case "chain":
		v.chain(words)
		return []string{"ok"}
	case "put":
		r := apitest.Upload(v, fmt.Sprintf("process: p\nversion: %s\n%s", words[0], d.Input))
		r.Now = slices.Contains(words, "now")
		return v.puts(named["at"], r)
	case "list":
		return v.list(named["at"])
	case "start":
		return v.starts(named["at"], words)
	}
	return v.do(d)
}

func (v *vintages) chain(names []string) {
	for i, name := range names {
		s := &vintage{name: name, peers: map[string]*vintage{}, disk: memory.NewDisk(name)}
		if v.sites[name] = s; i > 0 {
			before := v.sites[names[i-1]]
			s.peers[before.name], before.peers[name] = before, s
		}
	}
	for _, name := range names {
		v.up(v.sites[name])
	}
	v.pass(time.Second)
}

func (v *vintages) puts(at string, r api.UploadRequest) (told []string) {
	v.does(v.sites[at], func(ctx context.Context) {
		r.AllowNewNode = true
		a, err := v.sites[at].node.Upload(ctx, r)
		if err != nil {
			told = answered(err)
		}
		for _, n := range a.Nodes {
			told = append(told, strings.TrimSpace(fmt.Sprintf("%s: %s %s", n.Node, n.Result, n.State)))
		}
	})
	return told
}

func (v *vintages) list(at string) (told []string) {
	v.does(v.sites[at], func(ctx context.Context) {
		a, err := v.sites[at].node.Definitions(ctx)
		if err != nil {
			told = answered(err)
		}
		for _, d := range a.Definitions {
			line := fmt.Sprintf("%s@%d: %s", d.Process, d.Version, d.State)
			if len(d.Lacking) > 0 {
				line += ", " + api.NotYet(d.Lacking)
			}
			told = append(told, line)
		}
	})
	return told
}

// starts starts an instance of p, and says of which version it is.
func (v *vintages) starts(at string, words []string) (told []string) {
	v.does(v.sites[at], func(ctx context.Context) {
		s, err := v.sites[at].node.Start(ctx, api.StartRequest{Instance: v.instance(words[0]), Process: "p"})
		if err != nil {
			told = answered(err)
			return
		}
		told = append(told, s.Process)
		if n := s.Newer; n != nil {
			told = append(told, n.Process+" is stored: "+api.NotYet(n.Lacking))
		}
	})
	return told
}

// Only who has a part in a process is believed that sites have it, and no peer tells for another process's.
func TestWhoIsBelievedThatSitesHaveAVersion(t *testing.T) {
	v := &vintages{T: t, tasks: task.NewWorld(1, dawn), sites: map[string]*vintage{}}
	v.control = v.tasks.NewSite(0)
	v.chain([]string{"A"})
	defer v.control.Kill()
	defer v.sites["A"].down()
	const text = "starts: [A]\nactivities: {x: {node: A, program: w}, y: {node: B, program: w}, z: {node: C, program: w}}\ncontrol: [x -> y, y -> z]"
	v.puts("A", apitest.Upload(t, "process: p\nversion: 1\n"+text))
	r := apitest.Upload(t, "process: p\nversion: 2\n"+text)
	v.puts("A", r)
	id := processtable.ProcessID{Name: "p", Version: 2}
	says := func(peer processtable.NodeID, definition, told string) {
		t.Helper()
		body := fmt.Sprintf(`{"process": "p@2", "definition": %q, %s}`, definition, told)
		v.does(v.sites["A"], func(ctx context.Context) {
			if _, err := v.sites["A"].node.respond(ctx, peer, "table", []byte(body)); err != nil {
				t.Error(err)
			}
		})
		v.pass(time.Second)
	}
	lacks := func(want string) {
		t.Helper()
		n := v.sites["A"].node
		if got := fmt.Sprint(n.tables.Lacking(id)); got != want || n.queue.IsPending(id) != (want != "[]") {
			t.Errorf("it lacks %s, want %s; pending %t", got, want, n.queue.IsPending(id))
		}
	}
	of := r.Tables[0].Definition
	says("M", of, `"all": true`)
	says("M", of, `"has": ["B", "C"]`)
	says("B", strings.Repeat("0", 64), `"all": true`)
	says("B", of, `"has": []`)
	lacks("[B C]")
	says("B", of, `"has": ["B", "M", "A"]`)
	lacks("[C]")
	says("B", of, `"has": ["B", "C"]`)
	lacks("[]")
}

// A daemon that is killed before, while or after a version has become current goes on from what is on disk.
func TestAKillWhileAVersionBecomesCurrent(t *testing.T) {
	const text = "starts: [A]\nactivities: {x: {node: A, program: w}, y: {node: B, program: w}}\ncontrol: [x -> y]"
	for step := range 40 {
		v := &vintages{T: t, tasks: task.NewWorld(uint64(step), dawn), sites: map[string]*vintage{}}
		v.control = v.tasks.NewSite(0)
		v.chain([]string{"A", "B"})
		v.puts("A", apitest.Upload(t, "process: p\nversion: 1\n"+text))
		v.sites["B"].down()
		v.puts("A", apitest.Upload(t, "process: p\nversion: 2\n"+text))
		v.up(v.sites["B"])
		for range 25 * step { // then it is killed, wherever it is
			v.tasks.Step()
		}
		dies := v.sites[[]string{"A", "B"}[step%2]]
		dies.down()
		v.up(dies)
		v.pass(2 * time.Minute)
		for _, at := range []string{"A", "B"} {
			if got := strings.Join(v.list(at), "; "); got != "p@1: current; p@2: current" {
				t.Errorf("killed after %d steps, at %s: %s", 25*step, at, got)
			}
		}
		for _, s := range v.sites {
			s.down()
		}
		v.control.Kill()
	}
}
