package node_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/internal/store/badger"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/queue"
)

func definerKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func public(seed byte) ed25519.PublicKey { return definerKey(seed).Public().(ed25519.PublicKey) }

func trusting(seeds ...byte) node.Definers {
	d := node.Definers{Required: true}
	for _, s := range seeds {
		d.Known = append(d.Known, node.Definer{Key: public(s)})
	}
	return d
}

// limited is one definer, with what he may define and have run.
func limited(processes, programs []string) node.Definers {
	return node.Definers{Required: true, Known: []node.Definer{{Key: public(1), Processes: processes, Programs: programs}}}
}

// signed signs the tables of an upload; 0: nobody does.
func signed(t *testing.T, r api.UploadRequest, seed byte) api.UploadRequest {
	t.Helper()
	for i := range r.Tables {
		if seed == 0 {
			continue
		}
		table, err := processtable.Sign(r.Tables[i].Table, definerKey(seed))
		if err != nil {
			t.Fatal(err)
		}
		r.Tables[i].Table = table
	}
	return r
}

func uploaded(t *testing.T, n *node.Node, r api.UploadRequest) api.UploadNode {
	t.Helper()
	answer, err := n.Upload(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Nodes[0]
}

func TestWhoseTablesANodeTakes(t *testing.T) {
	for _, c := range []struct {
		name    string
		trusted node.Definers
		signer  byte
		result  api.Result
		reason  string
	}{
		{"anybody's", node.Definers{}, 0, api.ResultStored, ""},
		{"anybody's, signed by whomever", node.Definers{}, 1, api.ResultStored, ""},
		{"of a definer", trusting(1), 1, api.ResultStored, ""},
		{"of one of two definers", trusting(2, 1), 1, api.ResultStored, ""},
		{"of one who may define it", limited([]string{"hr-*", "ch*n"}, nil), 1, api.ResultStored, ""},
		{"of one who may define it, by another entry", node.Definers{Required: true, Known: append(limited([]string{"hr-*"}, nil).Known, trusting(1).Known...)}, 1, api.ResultStored, ""},
		{
			"of one who may define others", limited([]string{"hr-*", "chai"}, nil), 1, api.ResultRefused,
			"chain@1 is signed by iojj3XQJ, who may not define it at A: see processes of this key under `definers` in its configuration",
		},
		{"of one whose programs these are", limited(nil, []string{"ec*"}), 1, api.ResultStored, ""},
		{
			"of one who may not have them run", limited(nil, []string{"hr-*"}), 1, api.ResultRefused,
			"chain@1 is signed by iojj3XQJ, who may not have program echo run at A: see programs of this key under `definers` in its configuration",
		},
		{
			"of one who may nothing", limited([]string{}, []string{}), 1, api.ResultRefused, "chain@1 is signed by iojj3XQJ, who may not define it at A",
		},
		{
			"not signed", trusting(1), 0, api.ResultRefused,
			"chain@1 is not signed, and A takes only what a definer that it knows has signed: upload it with fmqm-define, without --unsigned",
		},
		{
			"of somebody else", trusting(1), 2, api.ResultRefused,
			`chain@1 is signed by gTl3Dqh9, whom A does not know: if that is a definer of yours, add "ed25519:gTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5Q=" to ` + "`definers` in its configuration and reload it",
		},
		{
			"of anybody, where nobody is known", trusting(), 2, api.ResultRefused,
			`chain@1 is signed by gTl3Dqh9, and A knows no definer yet: if that is one of yours, add "ed25519:gTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5Q=" to ` + "`definers`",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := openNode(t, "A", "")
			n.SetDefiners(c.trusted)
			r := signed(t, compiled(t, chain), c.signer)
			plan := r
			plan.PlanOnly = true
			if line := uploaded(t, n, plan); (line.Plan == api.PlanRefuse) != (c.result == api.ResultRefused) {
				t.Errorf("plan: %+v", line)
			}
			if line := uploaded(t, n, r); line.Result != c.result || !strings.HasPrefix(line.Reason, c.reason) {
				t.Errorf("%+v\nwant %q", line, c.reason)
			}
			list, err := n.Definitions(context.Background())
			if err != nil || (len(list.Definitions) == 1) != (c.result == api.ResultStored) {
				t.Fatalf("%+v, %v", list, err)
			}
			if c.result == api.ResultStored {
				want := ""
				if c.signer != 0 {
					want = processtable.DefinerText(public(c.signer))
				}
				if got := list.Definitions[0].Definer; got != want {
					t.Errorf("definer %q, want %q", got, want)
				}
			}
		})
	}
}

// A table that was changed after it was signed is nobody's, whether definers count or not.
func TestATableThatWasChangedOnItsWay(t *testing.T) {
	n := openNode(t, "A", "")
	r := signed(t, compiled(t, chain), 1)
	other := compiled(t, strings.Replace(chain, "amount > 5", "amount > 6", 1))
	signature := r.Tables[0].Table[len(r.Tables[0].Table)-102:]
	other.Tables[0].Table = append(bytes.Clone(other.Tables[0].Table), signature...)
	_, err := n.Upload(context.Background(), other)
	if api.CodeOf(err) != api.CodeRefused || !strings.Contains(err.Error(), "it was changed after it was signed") {
		t.Errorf("error = %v", err)
	}
}

// Who is no definer any more defines nothing new; what he has defined goes on, also after
// a restart, and is still his.
func TestADefinerWhoGoes(t *testing.T) {
	dir := t.TempDir()
	open := func() (*node.Node, func()) {
		engine, err := badger.Open(badger.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		registry := builtins(t)
		n, err := node.Open(node.Options{Name: "A", Engine: engine, Registry: registry, Definers: trusting(2)})
		if err != nil {
			t.Fatal(err)
		}
		n.Launch()
		return n, func() {
			if err := n.Stop(context.Background()); err != nil {
				t.Error(err)
			}
			registry.Close()
		}
	}
	n, stop := open()
	n.SetDefiners(trusting(1))
	if line := uploaded(t, n, signed(t, compiled(t, chain), 1)); line.Result != api.ResultStored {
		t.Fatalf("%+v", line)
	}
	stop()
	n, stop = open()
	defer stop()
	if s := run(t, n, "chain", `{"amount": 7}`); s.State != api.InstanceFinished {
		t.Errorf("%s %s", s.State, s.Reason)
	}
	for _, signer := range []byte{0, 1, 2} {
		if line := uploaded(t, n, signed(t, compiled(t, chain), signer)); line.Result != api.ResultUnchanged {
			t.Errorf("what is there, again: %+v", line)
		}
	}
	next := strings.Replace(chain, "version: 1", "version: 2", 1)
	if line := uploaded(t, n, signed(t, compiled(t, next), 1)); line.Result != api.ResultRefused {
		t.Errorf("a new version by who is gone: %+v", line)
	}
	if line := uploaded(t, n, signed(t, compiled(t, next), 2)); line.Result != api.ResultStored {
		t.Errorf("a new version by who came: %+v", line)
	}
	list, err := n.Definitions(context.Background())
	if err != nil || len(list.Definitions) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, seed := range []byte{1, 2} {
		if got, want := list.Definitions[i].Definer, processtable.DefinerText(public(seed)); got != want {
			t.Errorf("version %d is of %s, want %s", i+1, got, want)
		}
	}
}

// A signature goes with its table into a backup and out of it. Verify looks at it, and
// dump says whose it is.
func TestASignatureInABackup(t *testing.T) {
	n := openNode(t, "A", "")
	if line := uploaded(t, n, signed(t, compiled(t, chain), 1)); line.Result != api.ResultStored {
		t.Fatalf("%+v", line)
	}
	var file bytes.Buffer
	if err := n.WriteBackup(context.Background(), &file); err != nil {
		t.Fatal(err)
	}
	engine, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := queue.Restore(&file, engine, nil); err != nil {
		t.Fatal(err)
	}
	if report, err := queue.Verify(engine); err != nil || len(report.Problems) != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	var definers []string
	if err := queue.Dump(engine, func(d queue.Dumped) error {
		if d.Definer != "" {
			definers = append(definers, d.Process+" by "+d.Definer)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := "chain@1 by " + processtable.DefinerText(public(1)); len(definers) != 1 || definers[0] != want {
		t.Errorf("definers %q, want %q", definers, want)
	}
	restored, err := node.Open(node.Options{Name: "A", Engine: engine, Registry: builtins(t), Definers: trusting(2)})
	if err != nil {
		t.Fatal(err)
	}
	restored.Launch()
	list, err := restored.Definitions(context.Background())
	if err != nil || len(list.Definitions) != 1 || list.Definitions[0].Definer != processtable.DefinerText(public(1)) {
		t.Errorf("%+v, %v", list, err)
	}
	if err := restored.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}
