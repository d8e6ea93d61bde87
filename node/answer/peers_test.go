package answer

import (
	"testing"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// A site names the processes whose tables it lacks: one that is not named is not uploaded.
func TestASiteNamesTheTablesThatItLacks(t *testing.T) {
	w := newWorld(t)
	for n, c := range []struct{ name, want string }{
		{"c", "messages for c@1 wait here for its table: upload it"},
		{"a", "messages for a@1 and c@1 wait here for their tables: upload them"},
		{"b", "messages for a@1, b@1 and c@1 wait here for their tables: upload them"},
		{"d", ""},
		{"e", ""},
		{"f", "messages for a@1, b@1, c@1, d@1, e@1 and 1 other process wait here for their tables: upload them"},
	} {
		process := processtable.ProcessID{Name: c.name, Version: 1}
		w.commit(&record.Tx{Park: []record.Parked{{Process: process, Instance: message.InstanceID{1}, Peer: "B", Message: []byte("m")}}})
		nodes, err := w.Nodes()
		if err != nil {
			t.Fatal(err)
		}
		if self := nodes.Nodes[0]; c.want != "" && self.Reason != c.want || self.Waiting != uint64(n+1) {
			t.Errorf("%d wait: %q, want %q", self.Waiting, self.Reason, c.want)
		}
	}
}
