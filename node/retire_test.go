package node

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/internal/task"
	"fmqm/node/tables"
	"fmqm/node/trust"
	"fmqm/processtable"
)

// N31: a version that is retired at one site begins nothing at any, also after a restart, and at one that was cut off
// once that is heard; what is taken back may begin again.
func TestRetiredVersions(t *testing.T) {
	const text = "process: p\nversion: %d\nstarts: [A, B]\nactivities: {x: {node: A, program: w}, y: {node: B, program: w}}\ncontrol: [x -> y]"
	v := &vintages{T: t, tasks: task.NewWorld(1, dawn), sites: map[string]*vintage{}}
	v.control = v.tasks.NewSite(0)
	v.chain([]string{"A", "B"})
	for version := 1; version <= 2; version++ {
		v.puts("A", apitest.Upload(t, fmt.Sprintf(text, version)))
	}
	v.pass(time.Minute)
	retire := func(number uint64, undo bool) (got string) {
		v.does(v.sites["A"], func(ctx context.Context) {
			a, err := v.sites["A"].node.Retire(ctx, "p@2", api.RetireRequest{Number: number, Undo: undo})
			if err != nil {
				got = string(api.CodeOf(err))
			}
			for _, l := range a.Nodes {
				got += l.Node + " " + string(l.Result) + " "
			}
		})
		return got
	}
	begins := func(at, want string) {
		t.Helper()
		if got := fmt.Sprint(v.sites[at].node.queue.IsRetired(processtable.ProcessID{Name: "p", Version: 2})); got != want {
			t.Errorf("at %s it is retired: %s, want %s", at, got, want)
		}
	}
	v.sites["B"].down()
	if got := retire(1, false); got != "A retired B queued " {
		t.Errorf("while B is down: %s", got)
	}
	if got := v.starts("A", "p", "1"); len(got) == 0 || got[0] != "p@1" {
		t.Errorf("the name alone is %q", got)
	}
	if got := v.starts("A", "p@2", "2"); len(got) == 0 || got[0] == "p@2" {
		t.Errorf("what is retired starts: %q", got)
	}
	v.up(v.sites["B"])
	v.pass(2 * time.Minute)
	begins("B", "true")
	v.sites["B"].down()
	v.up(v.sites["B"])
	v.pass(time.Minute)
	begins("B", "true")
	if got := retire(1, true); got != string(api.CodeRefused) {
		t.Errorf("what was overtaken: %s", got)
	}
	if got := retire(2, true); got != "A kept B kept " {
		t.Errorf("taken back: %s", got)
	}
	begins("B", "false")
	for _, s := range v.sites {
		s.down()
	}
	v.control.Kill()
}

// Who says that a version is retired has to be a definer whom the site trusts, and has to have signed just that.
func TestWhoMayRetire(t *testing.T) {
	v := &vintages{T: t, tasks: task.NewWorld(1, dawn), sites: map[string]*vintage{}}
	v.control = v.tasks.NewSite(0)
	v.chain([]string{"A", "B"})
	defer v.control.Kill()
	defer v.sites["A"].down()
	defer v.sites["B"].down()
	v.puts("A", apitest.Upload(t, "process: p\nversion: 1\nactivities: {x: {node: A, program: w}, y: {node: B, program: w}}\ncontrol: [x -> y]"))
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public, _ := key.Public().(ed25519.PublicKey)
	a, id := v.sites["A"].node, processtable.ProcessID{Name: "p", Version: 1}
	definition, _ := a.queue.Bound(id)
	a.SetDefiners(trust.Definers{Required: true, Known: []trust.Definer{{Key: public}}})
	said := func(number uint64, key []byte, signature []byte) *tables.Said {
		return &tables.Said{Definition: definition.String(), Number: number, Key: key, Signature: signature}
	}
	good := ed25519.Sign(key, processtable.RetirementText(id, definition, 1, false, ""))
	for _, c := range []struct {
		name, peer string
		said       *tables.Said
		retired    bool
	}{
		{"nobody has signed", "B", said(1, nil, nil), false},
		{"another number was signed", "B", said(2, public, good), false},
		{"no part in the process", "M", said(1, public, good), false},
		{"signed", "B", said(1, public, good), true},
	} {
		v.does(v.sites["A"], func(ctx context.Context) {
			if _, err := a.tables.VersionTo(ctx, processtable.NodeID(c.peer), tables.VersionQuestion{Process: "p@1", Said: c.said}); err != nil {
				t.Error(err)
			}
		})
		if got := a.queue.IsRetired(id); got != c.retired {
			t.Errorf("%s: it is retired: %t", c.name, got)
		}
	}
}

// Who starts a process by its name is told that it is retired, where all versions of it are, and how that is taken back.
func TestAStartByTheNameOfARetiredProcess(t *testing.T) {
	v := &vintages{T: t, tasks: task.NewWorld(1, dawn), sites: map[string]*vintage{}}
	v.control = v.tasks.NewSite(0)
	v.chain([]string{"A", "B"})
	v.puts("A", apitest.Upload(t, "process: p\nversion: 1\nstarts: [A]\nactivities: {x: {node: A, program: w}}"))
	v.pass(time.Minute)
	v.does(v.sites["A"], func(ctx context.Context) {
		if _, err := v.sites["A"].node.Retire(ctx, "p@1", api.RetireRequest{Number: 1}); err != nil {
			t.Error(err)
		}
	})
	got := strings.Join(v.starts("A", "p", "1"), " ")
	if !strings.Contains(got, "p@1 is retired at A") || !strings.Contains(got, "fmqm-define retire --undo p@1") {
		t.Errorf("a start of p is told %q", got)
	}
	for _, s := range v.sites {
		s.down()
	}
	v.control.Kill()
}
