package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

const (
	// listedInstances have ended, nine of ten by themselves and the tenth by an operator.
	listedInstances = 1_000_000
	// listedRunning wait for a time beside them.
	listedRunning = 1000
	filledAtOnce  = 5000 // instances of one transaction
	listedPage    = 100
	// listedPages are read of each list, each for another value where one is asked for.
	listedPages = 11
)

// searchable is a process of which instances are found by two members: of one each value has a thousand instances, of the other ten.
const searchable = `process: bench
version: 1
structures: {Order: {customer: string, quantity: int}}
input: Order
search: [customer, quantity]
activities:
  rest: {node: A, input: Order, wait: {for: 8760h}}
data: [source -> rest]
`

func searchableInput(n int) string {
	return fmt.Sprintf(`{"customer": "c%d", "quantity": %d}`, n%1000, n%100_000)
}

// lists: the first page of lists of a million instances, beside that of one with a thousand.
func lists(ctx context.Context, _ time.Duration) ([]figure, error) {
	return inDirectory(func(dir string) ([]figure, error) {
		s, err := openSite(dir, "A", nil)
		if err != nil {
			return nil, err
		}
		if err := s.upload(ctx, searchable); err != nil {
			return nil, err
		}
		for n := range listedRunning {
			r := api.StartRequest{Instance: uuid.Must(uuid.NewV7()), Process: "bench", Input: []byte(searchableInput(n))}
			if err := s.node.Begin(ctx, r); err != nil {
				return nil, err
			}
		}
		few, _, err := s.firstPages(ctx, func(int) api.ListRequest { return api.ListRequest{All: true} })
		if err != nil {
			return nil, err
		}
		if err := s.stop(ctx); err != nil {
			return nil, err
		}
		begun := time.Now()
		if err := fill(ctx, filepath.Join(dir, "A")); err != nil {
			return nil, err
		}
		filled := time.Since(begun)
		if s, err = openSite(dir, "A", nil); err != nil {
			return nil, err
		}
		all := []figure{{Name: "1,000,000 instances: written", Value: listedInstances / filled.Seconds(), Unit: "instances/s"}}
		for _, l := range listed {
			took, cpu, err := s.firstPages(ctx, l.ask)
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", l.name, err)
			}
			all = append(all,
				(figure{Name: "  list " + l.name, Value: millis(took), Unit: "ms", Goal: "under 50"}).against("ms for 100 of 1,000 instances", millis(few)),
				figure{Name: "    CPU of it", Value: millis(cpu), Unit: "ms"})
		}
		return all, s.stop(ctx)
	})
}

var listedSince = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// listed are the lists that are asked for, each several times.
var listed = []struct {
	name string
	ask  func(n int) api.ListRequest
}{
	{"--search customer=C, of a thousand one", func(n int) api.ListRequest {
		return api.ListRequest{Process: "bench", All: true, Search: []string{fmt.Sprintf("customer=c%d", 7*n)}}
	}},
	{"--search customer=C, of those that run", func(n int) api.ListRequest {
		return api.ListRequest{Process: "bench", Search: []string{fmt.Sprintf("customer=c%d", 7*n)}}
	}},
	{"--search quantity=Q, ten", func(n int) api.ListRequest {
		return api.ListRequest{Process: "bench", All: true, Search: []string{fmt.Sprintf("quantity=%d", 7919*n)}}
	}},
	{"--search customer=C --search quantity<1000", func(n int) api.ListRequest {
		return api.ListRequest{Process: "bench", All: true, Search: []string{fmt.Sprintf("customer=c%d", 7*n), "quantity<1000"}}
	}},
	{"--search customer=C*, of nine one", func(n int) api.ListRequest {
		return api.ListRequest{Process: "bench", All: true, Search: []string{fmt.Sprintf("customer=c%d*", 1+n%9)}}
	}},
	{"--search quantity<5000, of twenty one", func(n int) api.ListRequest {
		return api.ListRequest{Process: "bench", All: true, Search: []string{fmt.Sprintf("quantity<%d", 5000+n)}}
	}},
	{"--all", func(int) api.ListRequest { return api.ListRequest{All: true} }},
	{"of those that run", func(int) api.ListRequest { return api.ListRequest{} }},
	{"--state terminated", func(int) api.ListRequest { return api.ListRequest{State: api.InstanceTerminated} }},
	{"--process bench@1 --state finished", func(int) api.ListRequest {
		return api.ListRequest{Process: "bench@1", State: api.InstanceFinished}
	}},
	{"--all --started-before T", func(n int) api.ListRequest {
		return api.ListRequest{All: true, Until: listedSince.Add(time.Duration(n+1) * listedInstances / 12 * time.Second)}
	}},
	{"--all --sort oldest", func(int) api.ListRequest { return api.ListRequest{All: true, Oldest: true} }},
}

// firstPages gives the median time of the first pages of lists, and their mean CPU time.
func (s *site) firstPages(ctx context.Context, ask func(n int) api.ListRequest) (took, cpu time.Duration, err error) {
	var all []time.Duration
	used := cpuTime()
	for n := range listedPages {
		r := ask(n)
		r.Limit = listedPage
		at := time.Now()
		page, err := s.node.List(ctx, r)
		if err != nil {
			return 0, 0, err
		}
		if len(page.Instances) == 0 { // where it has come to its time a page is shorter
			return 0, 0, fmt.Errorf("page %d is empty", n)
		}
		all = append(all, time.Since(at))
	}
	return median(all), (cpuTime() - used) / listedPages, nil
}

// fill writes the instances into the store of a node that does not run, a second one after the other: the records of start
// and end, as a daemon writes them.
func fill(ctx context.Context, dir string) error {
	tables, err := compiled(searchable)
	if err != nil {
		return err
	}
	table, err := processtable.Decode(tables[0].Table)
	if err != nil {
		return err
	}
	m, err := openManager(dir)
	if err != nil {
		return err
	}
	for from := 0; from < listedInstances && err == nil; from += filledAtOnce {
		var starts, ends record.Tx
		if starts.Audit, err = startsOf(table, from); err != nil {
			break
		}
		for n, started := range starts.Audit {
			end := started
			end.Activity, end.Event, end.Output, end.Search, end.Time = processtable.Sink, record.EventEnded, nil, nil, started.Time.Add(time.Hour)
			if n%10 == 0 {
				end.Event = record.EventStopped
			}
			ends.Audit = append(ends.Audit, end)
		}
		if err = committed(m, &starts); err == nil {
			err = committed(m, &ends)
		}
	}
	if closing := m.Close(ctx); err == nil {
		err = closing
	}
	return err
}

// startsOf is the starts of as many instances as are written at once.
func startsOf(table *processtable.Table, from int) (starts []record.AuditRecord, err error) {
	for n := from; n < from+filledAtOnce; n++ {
		i := message.InstanceID{6: 0x70, 8: 0x80}
		binary.BigEndian.PutUint32(i[12:], uint32(n))
		input, err := container.DecodeJSON(table.Input, []byte(searchableInput(n)))
		if err != nil {
			return nil, err
		}
		encoded, err := container.EncodeCBOR(input)
		if err != nil {
			return nil, err
		}
		starts = append(starts, record.AuditRecord{
			Process: table.Process, Definition: table.Definition.Short(), Instance: i, Activity: processtable.Source, Origin: "A", Event: record.EventStarted,
			Time: listedSince.Add(time.Duration(n) * time.Second), Output: encoded, Search: record.SearchedOf(table, encoded),
		})
	}
	return starts, nil
}

func committed(m *queue.Manager, tx *record.Tx) error {
	done := make(chan error, 1)
	tx.Done = func(err error) { done <- err }
	m.Submit(tx)
	return <-done
}
