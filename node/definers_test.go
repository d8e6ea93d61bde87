package node_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/node"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/queue/backup"
	"fmqm/queue/inspect"
)

func definerKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func public(seed byte) ed25519.PublicKey { return definerKey(seed).Public().(ed25519.PublicKey) }

func trusting(seeds ...byte) trust.Definers {
	d := trust.Definers{Required: true}
	for _, s := range seeds {
		d.Known = append(d.Known, trust.Definer{Key: public(s)})
	}
	return d
}

// limited is one definer, with what he may define and have run.
func limited(processes, programs []string) trust.Definers {
	return trust.Definers{Required: true, Known: []trust.Definer{{Key: public(1), Processes: processes, Programs: programs}}}
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
		trusted trust.Definers
		signer  byte
		result  api.Result
		reason  string
	}{
		{"anybody's", trust.Definers{}, 0, api.ResultStored, ""},
		{"anybody's, signed by whomever", trust.Definers{}, 1, api.ResultStored, ""},
		{"of a definer", trusting(1), 1, api.ResultStored, ""},
		{"of one of two definers", trusting(2, 1), 1, api.ResultStored, ""},
		{"of one who may define it", limited([]string{"hr-*", "ch*n"}, nil), 1, api.ResultStored, ""},
		{"of one who may define it, by another entry", trust.Definers{Required: true, Known: append(limited([]string{"hr-*"}, nil).Known, trusting(1).Known...)}, 1, api.ResultStored, ""},
		{
			"of one who may define others", limited([]string{"hr-*", "chai"}, nil), 1, api.ResultRefused,
			"chain@1 is signed by iojj3XQJ, who may not define it at A: see `processes` of this key under `definers` in the configuration there",
		},
		{"of one whose programs these are", limited(nil, []string{"ec*"}), 1, api.ResultStored, ""},
		{
			"of one who may not have them run", limited(nil, []string{"hr-*"}), 1, api.ResultRefused,
			"chain@1 is signed by iojj3XQJ, who may not use program echo at A: see `programs` of this key under `definers` in the configuration there",
		},
		{
			"of one who may not have them run, and may have others run in what is not this process",
			trust.Definers{Required: true, Known: append(limited(nil, []string{"hr-*"}).Known, limited([]string{"hr-*"}, nil).Known...)},
			1, api.ResultRefused,
			"chain@1 is signed by iojj3XQJ, who may not use program echo at A: see `programs` of this key under `definers` in the configuration there",
		},
		{
			"of one who may nothing", limited([]string{}, []string{}), 1, api.ResultRefused, "chain@1 is signed by iojj3XQJ, who may not define it at A",
		},
		{
			"not signed", trusting(1), 0, api.ResultRefused,
			"chain@1 is not signed, and A accepts only tables that a known definer has signed: upload it with fmqm-define, without --unsigned",
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
	if api.CodeOf(err) != api.CodeRefused || !strings.Contains(err.Error(), "the table was changed after it was signed") {
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

// restoredOf is a store that was filled from a backup of a node, and in which nothing is damaged.
func restoredOf(t *testing.T, n *node.Node) store.Engine {
	t.Helper()
	var file bytes.Buffer
	if err := n.WriteBackup(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	engine, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(&file, engine, nil); err != nil {
		t.Fatal(err)
	}
	if report, err := inspect.Verify(engine); err != nil || len(report.Problems) != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	return engine
}

// A signature goes with its table into a backup and out of it. Verify looks at it, and
// dump says whose it is.
func TestASignatureInABackup(t *testing.T) {
	n := openNode(t, "A", "")
	if line := uploaded(t, n, signed(t, compiled(t, chain), 1)); line.Result != api.ResultStored {
		t.Fatalf("%+v", line)
	}
	engine := restoredOf(t, n)
	var definers []string
	if err := inspect.Dump(engine, func(d inspect.Dumped) error {
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

// For which network a table is signed is looked at wherever it comes, and until when where
// it is uploaded.
func TestForWhichNetworkATableIsSigned(t *testing.T) {
	in := func(network string, d trust.Definers) trust.Definers {
		d.Network = network
		return d
	}
	old := in("production", trusting(1))
	old.OldSignatures = true
	until := time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	past := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		site   trust.Definers
		signer byte
		terms  processtable.Terms
		reason string // empty: it is taken
	}{
		{"of this network", in("production", trusting(1)), 1, processtable.Terms{Network: "production", NotAfter: until}, ""},
		{"of this network, where anybody defines", in("production", trust.Definers{}), 2, processtable.Terms{Network: "production", NotAfter: until}, ""},
		{"of a network, where it does not matter", trusting(1), 1, processtable.Terms{Network: "test", NotAfter: until}, ""},
		{"of none, where it does not matter", trusting(1), 1, processtable.Terms{}, ""},
		{"of none, while that is taken", old, 1, processtable.Terms{}, ""},
		{
			"of another network", in("production", trusting(1)), 1,
			processtable.Terms{Network: "test", NotAfter: until},
			"chain@1 is signed for network test, and A belongs to network production: if it is meant for this one, upload it with --network production",
		},
		{"of another network, where anybody defines", in("production", trust.Definers{}), 1, processtable.Terms{Network: "test", NotAfter: until}, "chain@1 is signed for network test, and A belongs to"},
		{"of another network, while those of none are taken", old, 1, processtable.Terms{Network: "test", NotAfter: until}, "chain@1 is signed for network test, and A belongs to"},
		{
			"of none", in("production", trusting(1)), 1,
			processtable.Terms{},
			"chain@1 is signed for no network in particular, and A takes only what is signed for network production: upload it with --network production, or, until all definers do that, set `old_signatures: true` in its configuration and reload it",
		},
		{
			"not signed, where anybody defines", in("production", trust.Definers{}), 0,
			processtable.Terms{},
			"chain@1 is not signed, and A takes only what is signed for network production: upload it with fmqm-define and --network production, without --unsigned",
		},
		{"not signed, while those of no network are taken", old, 0, processtable.Terms{}, "chain@1 is not signed, and A accepts only tables that a known definer has signed"},
		{"of this network, by somebody else", in("production", trusting(1)), 2, processtable.Terms{Network: "production", NotAfter: until}, "chain@1 is signed by gTl3Dqh9, whom A does not know"},
		{
			"whose time is over", in("production", trusting(1)), 1,
			processtable.Terms{Network: "production", NotAfter: past},
			"the signature of chain@1 expired at 2026-01-31T12:00:00Z, and at A it is 20",
		},
		{"whose time is over, where the network does not matter", trust.Definers{}, 1, processtable.Terms{Network: "test", NotAfter: past}, "the signature of chain@1 expired at 2026-01-31T12:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := openNode(t, "A", "")
			n.SetDefiners(c.site)
			r := signedFor(t, compiled(t, chain), c.signer, c.terms)
			plan := r
			plan.PlanOnly = true
			for _, r := range []api.UploadRequest{plan, r} {
				line := uploaded(t, n, r)
				if (line.Plan == api.PlanRefuse) != (c.reason != "") || !strings.HasPrefix(line.Reason, c.reason) {
					t.Errorf("plan only %v: %+v\nwant %q", r.PlanOnly, line, c.reason)
				}
				if line.Network != c.terms.Network || !line.Expires.Equal(c.terms.NotAfter) {
					t.Errorf("the line says network %q, until %v", line.Network, line.Expires)
				}
			}
			list, err := n.Definitions(context.Background())
			if err != nil || (len(list.Definitions) == 1) != (c.reason == "") {
				t.Fatalf("%+v, %v", list, err)
			}
			if c.reason == "" && (list.Definitions[0].Network != c.terms.Network || !list.Definitions[0].Expires.Equal(c.terms.NotAfter)) {
				t.Errorf("%+v", list.Definitions[0])
			}
		})
	}
}

// An upload is for its door: what is for other sites may no more be of another network, or
// over, than what is for the site itself, or a site that is not heard would get it.
func TestTheDoorLooksAtAllTables(t *testing.T) {
	two := strings.Replace(chain, "{node: A, program: echo", "{node: Z, program: echo", 1)
	for reason, terms := range map[string]processtable.Terms{
		"chain@1 is signed for network test, and A belongs to network production": {Network: "test", NotAfter: time.Now().Add(time.Hour)},
		"the signature of chain@1 expired at 2020-":                               {Network: "production", NotAfter: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		n := openNode(t, "A", "")
		n.SetDefiners(trust.Definers{Network: "production"})
		r := signedFor(t, compiled(t, two), 1, terms)
		r.Tables = slices.DeleteFunc(r.Tables, func(t api.Table) bool { return t.Node != "Z" })
		r.AllowNewNode = true
		if line := uploaded(t, n, r); len(r.Tables) != 1 || line.Result != api.ResultRefused || !strings.HasPrefix(line.Reason, reason) {
			t.Errorf("%+v\nwant %q", line, reason)
		}
	}
}

func signedFor(t *testing.T, r api.UploadRequest, seed byte, terms processtable.Terms) api.UploadRequest {
	t.Helper()
	if terms.Network == "" {
		return signed(t, r, seed)
	}
	for i := range r.Tables {
		table, err := processtable.SignFor(r.Tables[i].Table, definerKey(seed), terms)
		if err != nil {
			t.Fatal(err)
		}
		r.Tables[i].Table = table
	}
	return r
}
