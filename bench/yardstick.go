package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"fmqm/internal/store/badger"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

var benchProcess = processtable.ProcessID{Name: "bench", Version: 1}

func openManager(dir string) (*queue.Manager, error) {
	engine, err := badger.Open(badger.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	return queue.Open(engine, queue.Options{Node: "A"})
}

// bareTx is the yardstick's transaction: it removes two messages and puts three
// records of 200 bytes, as a termination with its audit record does.
func bareTx(instance uuid.UUID, i int, body []byte) *record.Tx {
	put := func(activity string) message.Message {
		return message.Message{Header: message.Header{
			Queue:    message.Queue{Process: benchProcess, Node: "A"},
			Instance: instance, Origin: "A", Activity: processtable.ActivityID(activity), Source: "s",
			Kind: message.KindConnector, Control: message.True,
		}, Body: body}
	}
	name := func(n int) string { return fmt.Sprintf("a%d", n) }
	key := []message.Key{{Kind: message.KindConnector, Source: "s"}}
	consume := func(activity string) record.Consume {
		return record.Consume{Process: benchProcess, Keys: key, Entry: message.Entry{Instance: instance, Activity: processtable.ActivityID(activity)}}
	}
	return &record.Tx{
		Consume: []record.Consume{consume(name(3 * i)), consume(name(3*i + 1))},
		Put:     []message.Message{put(name(3*i + 3)), put(name(3*i + 4)), put(name(3*i + 5))},
	}
}

// submitter commits transactions one after the other, and counts them, until the time
// is over; it gives how long each took.
func submitter(m *queue.Manager, count *atomic.Int64, begun time.Time, d time.Duration) ([]time.Duration, error) {
	instance, body := uuid.Must(uuid.NewV7()), make([]byte, 120) // with header and key about 200 bytes
	done := make(chan error, 1)
	var took []time.Duration
	for i := 0; time.Since(begun) < d; i++ {
		tx := bareTx(instance, i, body)
		tx.Done = func(err error) { done <- err }
		at := time.Now()
		m.Submit(tx)
		if err := <-done; err != nil {
			return nil, err
		}
		took = append(took, time.Since(at))
		count.Add(1)
	}
	return took, nil
}

// bareRate gives the transactions a second of n submitters on a new store.
func bareRate(ctx context.Context, n int, d time.Duration) (float64, error) {
	return inDirectory(func(dir string) (float64, error) {
		m, err := openManager(dir)
		if err != nil {
			return 0, err
		}
		var count atomic.Int64
		begun := time.Now()
		err = parallel(n, func() error {
			_, err := submitter(m, &count, begun, d)
			return err
		})
		took := time.Since(begun)
		if closing := m.Close(ctx); err == nil {
			err = closing
		}
		return float64(count.Load()) / took.Seconds(), err
	})
}

// writeTime is the median time of one durable write of a single submitter.
func writeTime(ctx context.Context, d time.Duration) (time.Duration, error) {
	return inDirectory(func(dir string) (time.Duration, error) {
		m, err := openManager(dir)
		if err != nil {
			return 0, err
		}
		var count atomic.Int64
		took, err := submitter(m, &count, time.Now(), d)
		if closing := m.Close(ctx); err == nil {
			err = closing
		}
		return median(took), err
	})
}

// parallel runs f n times at once and gives the first error.
func parallel(n int, f func() error) error {
	errs := make(chan error, n)
	var wg sync.WaitGroup
	for range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs <- f()
		}()
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
