package node

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"fmqm/node/report"
	"fmqm/node/tables"
	"fmqm/node/trust"
	"fmqm/processtable"
)

// What a site took in time it passes on whenever the other is heard: a month later its
// messages wait there for the table, and no clock may keep it from them. The network is
// looked at again; and a table that is here stays, whatever is configured later.
func TestATableThatComesLate(t *testing.T) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	w := newInboxWorld(t, false)
	w.a.SetDefiners(trust.Definers{Network: "production"})
	encoded, err := processtable.Encode(w.table)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(network string) []byte {
		table, err := processtable.SignFor(encoded, key, processtable.Terms{Network: network, NotAfter: time.Unix(1_000_000, 0)})
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	m := w.connector()
	w.accept(m)
	for _, c := range []struct{ network, want string }{
		{"test", "B: two-sites@1 is signed for network test, and A belongs to network production"},
		{"production", ""},
	} {
		w.accept(w.tableMessage(signed(c.network)))
		if got := w.aside(); c.want != "" && !strings.HasPrefix(got, c.want) {
			t.Errorf("set aside %q, want %q", got, c.want)
		}
		if here := w.a.thread(w.table.Process) != nil; here != (c.want == "") {
			t.Errorf("signed for %s: taken %v", c.network, here)
		}
	}
	w.unparked()
	r, err := w.a.answers.Report(report.Question{Instance: m.Instance})
	if err != nil || len(r.Activities) != 1 || r.Activities[0].State != "waiting" {
		t.Errorf("what waited for it: %+v %v", r, err)
	}
	w.a.SetDefiners(trust.Definers{Network: "elsewhere"})
	if list, err := w.a.Definitions(context.Background()); err != nil || len(list.Definitions) != 1 || list.Definitions[0].Network != "production" {
		t.Errorf("%+v %v", list, err)
	}
}

// A peer that asks before it sends is told the same.
func TestAPeerAsksWhetherATableIsOfTheNetwork(t *testing.T) {
	w := newInboxWorld(t, false)
	w.a.SetDefiners(trust.Definers{Network: "production"})
	for network, want := range map[string]string{
		"production": "",
		"test":       "two-sites@1 is signed for network test, and A belongs to network production",
		"":           "two-sites@1 is not signed, and A takes only what is signed for network production",
		"a b":        "the network that it is signed for cannot be read",
	} {
		q := tables.Question{Process: "two-sites@1", Table: "sum", Network: network}
		if network != "" {
			q.Definer = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
		}
		if r, err := w.a.tables.Report(q); err != nil || !strings.HasPrefix(r.Untrusted, want) || want == "" && r.Untrusted != "" || r.Signatures != 2 {
			t.Errorf("%s: %+v %v", network, r, err)
		}
	}
}
