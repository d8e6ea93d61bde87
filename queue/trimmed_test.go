package queue

import (
	"context"
	"testing"

	"fmqm/message"
)

// What a trim removes is gone from the store before its end is known in memory: who
// reads just then, a link or an operator who asks for the nodes, finds no damage.
func TestReadingBetweenATrimAndItsEnd(t *testing.T) {
	const items = 10
	for name, upto := range map[string]uint64{"some": 4, "all": items} {
		t.Run(name, func(t *testing.T) {
			m := openCrashing(t, newCrashing(t, 0))
			tx := &Tx{}
			for n := range items {
				tx.Put = append(tx.Put, drivenMessage(n, "B", 10))
			}
			submit := func(tx *Tx) {
				t.Helper()
				done := make(chan error, 1)
				tx.Done = func(err error) { done <- err }
				m.Submit(tx)
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
			submit(tx)
			to := m.Transmission("B")
			before := to.ends
			to.Trim(0, upto)
			submit(&Tx{Put: []message.Message{drivenMessage(items, "A", 10)}})
			if low := to.Low(0).Number; low != upto {
				t.Fatalf("trimmed up to %d, want %d", low, upto)
			}
			to.mu.Lock()
			to.ends = before
			to.mu.Unlock()

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
