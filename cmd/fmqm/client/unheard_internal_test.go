package client

import (
	"strings"
	"testing"
	"time"

	"fmqm/api"
)

// Of many nodes that do not answer those are named that were heard last, and how many more there are.
func TestUnheardNamesSome(t *testing.T) {
	nodes := []api.Unreachable{{Node: "a"}, {Node: "b"}}
	if got := unheard(nodes); got != "a (never heard since the daemon started), b (never heard since the daemon started)" {
		t.Error(got)
	}
	for _, name := range strings.Fields("c d e f g h i j k l") {
		nodes = append(nodes, api.Unreachable{Node: name})
	}
	nodes[11].LastHeard = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	got := unheard(nodes)
	if !strings.HasPrefix(got, "l (last heard 2026-03-02") || !strings.HasSuffix(got, "g (never heard since the daemon started), and 4 more (fmqm nodes)") {
		t.Error(got)
	}
	if nodes[0].Node != "a" {
		t.Error("the answer itself is put into another order")
	}
}
