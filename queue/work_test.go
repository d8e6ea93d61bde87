package queue

import (
	"testing"

	"fmqm/queue/record"
)

// What a large transaction was encoded into is for other large ones: a small one that took it would hold it for as long
// as it waits for the disk, and thousands of them wait.
func TestMemoryOfLargeTransactionsStaysApart(t *testing.T) {
	m := driven(1 << 30)
	transaction := func(messages, size int) *record.Tx {
		tx := &record.Tx{}
		for n := range messages {
			tx.Put = append(tx.Put, drivenMessage(n, "A", size))
		}
		return tx
	}
	for name, large := range map[string]*record.Tx{"many messages": transaction(1000, 100), "large messages": transaction(8, 30<<10)} {
		m.reuse(m.prepare(large))
		for range 10 {
			if m.prepare(transaction(1, 100)).Large() {
				t.Fatalf("%s: a small transaction is encoded into their memory", name)
			}
		}
	}
}
