package node

import (
	"cmp"
	"context"
	"crypto/ed25519"
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
	"fmqm/message"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// N19: a version is current once all its sites have stored it, or at once where its upload says so; NAME alone is
// the highest that is. The stories are of vintages, with these words besides:
//
//	chain SITE...                 as define, but each has a link to the one before and to the one behind only
//	put VERSION at=SITE [now] [of=NAME]   uploads a version of p, or of another process, at a site
//	list at=SITE                          which versions there are
//	start N at=SITE [of=NAME]             of which version the instance is, and of its subprocess, if it has one
//	schedules at=SITE                     which start instances there
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
		r := apitest.Upload(v, fmt.Sprintf("process: %s\nversion: %s\n%s", cmp.Or(named["of"], "p"), words[0], d.Input))
		r.Now = slices.Contains(words, "now")
		return v.puts(named["at"], r)
	case "list":
		return v.list(named["at"])
	case "start":
		return v.starts(named["at"], cmp.Or(named["of"], "p"), words[0])
	case "schedules":
		return v.schedules(named["at"])
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

// starts starts an instance, and says of which version it is.
func (v *vintages) starts(at, process, instance string) (told []string) {
	v.does(v.sites[at], func(ctx context.Context) {
		n, id := v.sites[at].node, v.instance(instance)
		s, err := n.Start(ctx, api.StartRequest{Instance: id, Process: process})
		if err != nil {
			told = answered(err)
			return
		}
		told = append(told, s.Process)
		if n := s.Newer; n != nil {
			told = append(told, n.Process+" is stored: "+api.NotYet(n.Lacking))
		}
		_ = task.Sleep(ctx, v.sites[at].by, time.Second) // what it begins has begun
		if s, err = n.Status(ctx, id); err != nil {
			told = append(told, answered(err)...)
		}
		for _, a := range s.Activities {
			if a.Of != "" {
				told = append(told, a.Activity+" is "+a.Of)
			}
		}
	})
	return told
}

func (v *vintages) schedules(at string) (told []string) {
	v.does(v.sites[at], func(ctx context.Context) {
		a, err := v.sites[at].node.Schedules(ctx)
		if err != nil {
			told = answered(err)
		}
		for _, s := range a.Schedules {
			told = append(told, fmt.Sprintf("%s every %s", s.Process, s.Every))
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

// Who says that a version is current at once has to bring a table that the site would store: a peer that has none
// for it, or one of a definer whom it does not trust, or of another definition, says it in vain; and the version
// stays as it was (invariant 11).
func TestWhoMaySayThatAVersionIsCurrent(t *testing.T) {
	const text = "process: p\nversion: %d\nactivities: {x: {node: A, program: %s}, y: {node: B, program: w}, z: {node: C, program: w}}\ncontrol: [x -> y, y -> z]"
	v := &vintages{T: t, tasks: task.NewWorld(1, dawn), sites: map[string]*vintage{}}
	v.control = v.tasks.NewSite(0)
	v.chain([]string{"A", "B"})
	defer v.control.Kill()
	a, b := v.sites["A"], v.sites["B"]
	defer a.down()
	defer b.down()
	v.puts("A", apitest.Upload(t, fmt.Sprintf(text, 1, "w")))
	second := apitest.Upload(t, fmt.Sprintf(text, 2, "w"))
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	for i := range second.Tables {
		signed, err := processtable.Sign(second.Tables[i].Table, key)
		if err != nil {
			t.Fatal(err)
		}
		second.Tables[i].Table = signed
	}
	v.puts("A", second)
	a.node.SetDefiners(trust.Definers{Required: true, Known: []trust.Definer{{Key: key.Public().(ed25519.PublicKey)}}})
	id := processtable.ProcessID{Name: "p", Version: 2}
	of := func(r api.UploadRequest, node string) []byte {
		at := slices.IndexFunc(r.Tables, func(t api.Table) bool { return t.Node == node })
		return r.Tables[at].Table
	}
	for _, c := range []struct {
		name    string
		table   []byte
		current bool
	}{
		{"no table", []byte("now"), false},
		{"the table of the peer itself", of(second, "B"), false},
		{"one that nobody signed", of(apitest.Upload(t, fmt.Sprintf(text, 2, "w")), "A"), false},
		{"another definition", of(apitest.Upload(t, fmt.Sprintf(text, 2, "other")), "A"), false},
		{"a table that the site would store", of(second, "A"), true},
	} {
		v.does(b, func(ctx context.Context) {
			if err := b.node.commit(ctx, &record.Tx{Put: []message.Message{{
				Header: message.Header{Queue: message.Queue{Process: id, Node: "A"}, Kind: message.KindCurrent}, Body: c.table,
			}}}); err != nil {
				t.Error(err)
			}
		})
		v.pass(time.Second)
		if pending := a.node.queue.IsPending(id); pending == c.current {
			t.Errorf("%s: it is pending: %t", c.name, pending)
		}
	}
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
