package daemon_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/daemon/daemontest"
	"fmqm/node/config"
	"fmqm/processtable"
	"fmqm/test/fleet"
)

const overTwo = `
process: over-two
version: 1
activities:
  one: {node: A, program: ship}
  two: {node: B, program: ship}
control:
  - one -> two
`

func definer(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

// startTrusting starts a site that takes tables of one definer only.
func (n *network) startTrusting(site string, seed byte) {
	n.t.Helper()
	c := n.config(site, "A", "B")
	c.Definers = []config.Definer{{Key: definer(seed).Public().(ed25519.PublicKey)}}
	n.daemons[site] = daemontest.Start(n.t, c, daemontest.Log(n.t))
}

// until asks again and again, as a person would who waits for something.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), fleet.Patience)
	defer cancel()
	if err := fleet.Until(ctx, func() (bool, error) { return happened(), nil }); err != nil {
		t.Fatalf("not within %v: %s", fleet.Patience, what)
	}
}

func (n *network) upload(text string, seed byte) map[string]api.UploadNode {
	n.t.Helper()
	r := apitest.Upload(n.t, text)
	for i := range r.Tables {
		if seed == 0 {
			continue
		}
		signed, err := processtable.Sign(r.Tables[i].Table, definer(seed))
		if err != nil {
			n.t.Fatal(err)
		}
		r.Tables[i].Table = signed
	}
	answer, err := n.daemons["A"].Node.Upload(context.Background(), r)
	if err != nil {
		n.t.Fatal(err)
	}
	lines := map[string]api.UploadNode{}
	for _, l := range answer.Nodes {
		lines[l.Node] = l
	}
	return lines
}

// Each node judges by itself whose tables it takes: A takes anybody's and passes them on,
// B only those of its definer. What came while B was not heard is set aside there.
func TestTablesOfDefinersOverALink(t *testing.T) {
	n := newNetwork(t)
	n.start("A")
	if lines := n.upload(overTwo, 2); lines["A"].Result != api.ResultStored || lines["B"].Result != api.ResultQueued {
		t.Fatalf("B is down: %+v", lines)
	}
	n.startTrusting("B", 1)
	b := n.daemons["B"].Node
	until(t, "B sets the table aside", func() bool {
		dead, err := b.Refused(t.Context(), api.RefusedRequest{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return len(dead.Messages) == 1 && strings.Contains(dead.Messages[0].Reason, "over-two@1 is signed by gTl3Dqh9, whom B does not know")
	})

	// B is heard: the upload that it refuses is sent to nobody, and says what B says.
	next := strings.Replace(overTwo, "version: 1", "version: 2", 1)
	for seed, want := range map[byte]string{
		0: "over-two@2 is not signed, and B accepts only tables that a known definer has signed",
		2: "over-two@2 is signed by gTl3Dqh9, whom B does not know",
	} {
		lines := n.upload(next, seed)
		if l := lines["B"]; l.Plan != api.PlanRefuse || l.Result != api.ResultRefused || !strings.HasPrefix(l.Reason, want) {
			t.Errorf("B: %+v, want %q", l, want)
		}
		if l := lines["A"]; l.Result != api.ResultRefused || l.Reason != "not sent, since B refuses" {
			t.Errorf("A: %+v", l)
		}
	}

	// With the right key it is taken, although the same table was refused before.
	if lines := n.upload(overTwo, 1); lines["A"].Result != api.ResultUnchanged || lines["B"].Result != api.ResultStored {
		t.Fatalf("%+v", lines)
	}
	list, err := b.Definitions(t.Context())
	if err != nil || len(list.Definitions) != 1 || list.Definitions[0].Definer != processtable.DefinerText(definer(1).Public().(ed25519.PublicKey)) {
		t.Errorf("at B: %+v, %v", list, err)
	}
	id := uuid.Must(uuid.NewV7())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if _, err := n.daemons["A"].Node.Start(ctx, api.StartRequest{Instance: id, Process: "over-two"}); err != nil {
		t.Fatal(err)
	}
	if s, err := n.daemons["A"].Node.Wait(ctx, id); err != nil || s.State != api.InstanceFinished {
		t.Fatalf("%+v, %v", s, err)
	}

	// A definer is added and the configuration read again: then his tables are taken.
	after := n.config("B", "A", "B")
	after.Definers = []config.Definer{{Key: definer(2).Public().(ed25519.PublicKey)}}
	if err := n.daemons["B"].Reload(after); err != nil {
		t.Fatal(err)
	}
	if lines := n.upload(next, 2); lines["A"].Result != api.ResultStored || lines["B"].Result != api.ResultStored {
		t.Errorf("%+v", lines)
	}
}

// The same as a client sees it: a refusal is an answer with a line for each node; a table
// that was changed on its way is an error.
func TestDefinersOverTheAPI(t *testing.T) {
	n := newNetwork(t)
	n.startTrusting("B", 1)
	client, err := api.NewClient("http://"+n.daemons["B"].Address(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := func(sign func([]byte) []byte) api.UploadRequest {
		r := apitest.Upload(t, strings.ReplaceAll(overTwo, "node: A", "node: B"))
		table := sign(r.Tables[0].Table)
		sum := sha256.Sum256(table)
		r.Tables[0].Table, r.Tables[0].SHA256 = table, hex.EncodeToString(sum[:])
		return r
	}
	by := func(seed byte) func([]byte) []byte {
		return func(table []byte) []byte {
			signed, err := processtable.Sign(table, definer(seed))
			if err != nil {
				t.Fatal(err)
			}
			return signed
		}
	}
	for _, c := range []struct {
		name string
		sign func([]byte) []byte
		want api.Result
	}{
		{"nobody", func(table []byte) []byte { return table }, api.ResultRefused},
		{"somebody", by(2), api.ResultRefused},
		{"its definer", by(1), api.ResultStored},
	} {
		answer, err := client.Upload(t.Context(), request(c.sign))
		if err != nil || len(answer.Nodes) != 1 || answer.Nodes[0].Result != c.want {
			t.Errorf("signed by %s: %+v, %v", c.name, answer, err)
		}
	}
	_, err = client.Upload(t.Context(), request(func(table []byte) []byte {
		signed := by(1)(table)
		signed[len(signed)-1] ^= 1
		return signed
	}))
	if api.CodeOf(err) != api.CodeRefused || !strings.Contains(err.Error(), "the table was changed after it was signed") {
		t.Errorf("changed on its way: %v", err)
	}
}
