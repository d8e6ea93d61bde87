package daemon_test

import (
	"testing"

	"fmqm/node/config"
	"fmqm/processtable"
)

// A configuration that is read again makes and ends only those links that it adds and
// removes, and dials anew where a peer has moved; the others do not even lose their
// connection.
func TestReloadLeavesUnchangedLinksAlone(t *testing.T) {
	n := newNetwork(t)
	n.start("A")
	a := n.daemons["A"]
	before := n.config("A", sites...)
	b, c, d := a.Node.Link("B"), a.Node.Link("C"), a.Node.Link("D")

	after := n.config("A", "B", "C") // D is gone, C has moved, E will call
	after.Peers["C"] = config.Peer{Address: "http://127.0.0.1:1"}
	after.Peers["E"] = config.Peer{}
	if err := a.Reload(before, after); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		peer      processtable.NodeID
		unchanged bool
		there     bool
	}{{"B", true, true}, {"C", true, true}, {"D", false, false}, {"E", false, true}} {
		now := a.Node.Link(tc.peer)
		before := map[processtable.NodeID]any{"B": b, "C": c, "D": d}[tc.peer]
		if (now != nil) != tc.there || now != nil && (any(now) == before) != tc.unchanged {
			t.Errorf("link to %s: there %t, the same %t", tc.peer, now != nil, any(now) == before)
		}
	}
	until(t, "C has moved, and is dialed there", func() bool { // the link takes it up by itself
		moved := c.Status().Transports
		return len(moved) == 1 && moved[0].Address == "http://127.0.0.1:1"
	})
	e := a.Node.Link("E")
	if err := a.Reload(after, after); err != nil {
		t.Fatal(err)
	}
	if a.Node.Link("E") != e || a.Node.Link("B") != b {
		t.Error("a reload that changes nothing has renewed a link")
	}
}
