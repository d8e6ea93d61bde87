package lane_test

import (
	"context"
	"testing"

	"fmqm/internal/store/memory"
	"fmqm/message"
	"fmqm/queue"
	"fmqm/queue/record"
)

// What a trim removes is gone from the store before its end is known in memory: who
// reads just then, a link or an operator who asks for the nodes, finds no damage.
func TestReadingBetweenATrimAndItsEnd(t *testing.T) {
	const items = 10
	for name, upto := range map[string]uint64{"some": 4, "all": items} {
		t.Run(name, func(t *testing.T) {
			engine, err := memory.NewDisk("A").Open(memory.Options{})
			if err != nil {
				t.Fatal(err)
			}
			m, err := queue.Open(engine, queue.Options{Node: "A"})
			if err != nil {
				t.Fatal(err)
			}
			tx := &record.Tx{}
			for n := range items {
				tx.Put = append(tx.Put, sent(n, "B"))
			}
			must(t, submit(m, tx))
			to := m.Transmission("B")
			back := to.Remember()
			to.Trim(0, upto)
			must(t, submit(m, &record.Tx{Put: []message.Message{sent(items, "A")}}))
			if low := to.Low(0).Number; low != upto {
				t.Fatalf("trimmed up to %d, want %d", low, upto)
			}
			back()

			if _, err := to.Stats(); err != nil {
				t.Error(err)
			}
			found, err := to.Read(0, 1, 1<<20)
			if err != nil || len(found) != int(items-upto) || len(found) > 0 && found[0].Number != upto+1 {
				t.Errorf("%d items, %v", len(found), err)
			}
			if m.Failed().Given().IsOpen() {
				t.Error("it counts as damage")
			}
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
