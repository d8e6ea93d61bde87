package answer

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/container"
	"fmqm/internal/store/badger"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

var listed = flag.Int("listed", 100_000, "of how many instances BenchmarkList makes its store")

// benchWorld is a store on disk with instances of claim@1 and claim@2: of ten six have finished, one was ended, three
// run, and of a hundred one is in error.
func benchWorld(b *testing.B, count int) *world {
	engine, err := badger.Open(badger.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	w := worldAt(b, "A", engine, task.Goroutines{})
	b.Cleanup(w.close)
	w.query = func(context.Context, processtable.NodeID, string, []byte) ([]byte, error) {
		return nil, link.ErrNotConnected
	}
	searched := strings.Replace(claims, "input: Claim\n", "input: Claim\nsearch: [customer, n]\n", 1)
	w.takeUp(fmt.Sprintf(searched, 1, ", n: int"))
	w.takeUp(fmt.Sprintf(searched, 2, ", n: int, vip: bool"))
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const together = 1000
	for from := 0; from < count; from += together {
		starts, ends := &record.Tx{}, &record.Tx{}
		for n := from; n < min(from+together, count); n++ {
			i := message.InstanceID{6: 0x70, 8: 0x80}
			binary.BigEndian.PutUint32(i[12:], uint32(n))
			id := processtable.ProcessID{Name: "claim", Version: 1 + n%2}
			input := inputOf(b, w, id, n)
			started := record.AuditRecord{
				Process: id, Instance: i, Activity: processtable.Source, Origin: "A", Event: record.EventStarted,
				Time: began.Add(time.Duration(n) * time.Second), Output: input, Search: record.SearchedOf(w.up[id].Table(), input),
			}
			starts.Audit = append(starts.Audit, started)
			end := started
			end.Activity, end.Event, end.Output, end.Search, end.Time = processtable.Sink, record.EventEnded, nil, nil, started.Time.Add(time.Hour)
			switch {
			case n%100 == 7:
				m := message.Message{Body: message.EncodeNotice(message.Notice{Error: "no van"})}
				m.Queue, m.Instance, m.Origin = message.Queue{Process: id, Node: "A"}, i, "A"
				m.Activity, m.Source, m.Kind = processtable.Sink, "ship", message.KindNotice
				ends.Put = append(ends.Put, m)
			case n%10 < 6:
				ends.Audit = append(ends.Audit, end)
			case n%10 == 6:
				end.Event = record.EventStopped
				ends.Audit = append(ends.Audit, end)
			}
		}
		w.commit(starts)
		w.commit(ends)
	}
	return w
}

func inputOf(b testing.TB, w *world, id processtable.ProcessID, n int) []byte {
	of := w.up[id].Table().Activity(processtable.RowID{Name: processtable.Source}).Output
	input, err := container.DecodeJSON(of, fmt.Appendf(nil, `{"customer": "c%d", "amount": %d, "n": %d}`, n%1000, n%10_000, n))
	if err != nil {
		b.Fatal(err)
	}
	encoded, err := container.EncodeCBOR(input)
	if err != nil {
		b.Fatal(err)
	}
	return encoded
}

// BenchmarkList measures the first page of lists, and how long it takes to count: docs/performance.md has what it says
// with -listed 1000000.
func BenchmarkList(b *testing.B) {
	w := benchWorld(b, *listed)
	middle := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(*listed/2) * time.Second)
	for _, c := range []struct {
		name string
		r    api.ListRequest
	}{
		{"running", api.ListRequest{}},
		{"all", api.ListRequest{All: true}},
		{"state=terminated", api.ListRequest{State: api.InstanceTerminated}},
		{"process,state=finished", api.ListRequest{Process: "claim@1", State: api.InstanceFinished}},
		{"process,until the middle", api.ListRequest{Process: "claim", All: true, Until: middle}},
		{"process,oldest", api.ListRequest{Process: "claim@2", All: true, Oldest: true}},
		{"in-error", api.ListRequest{InError: true}},
		{"where,of a thousand one", api.ListRequest{Process: "claim@1", All: true, Where: `customer == "c8"`}},
		{"search,one", api.ListRequest{Process: "claim", All: true, Search: []string{fmt.Sprintf("n=%d", *listed/3)}}},
		{"search,of a thousand one", api.ListRequest{Process: "claim@1", All: true, Search: []string{"customer=c8"}}},
		{"search,of a thousand one,running", api.ListRequest{Process: "claim@1", Search: []string{"customer=c8"}}},
		{"search,of nine one", api.ListRequest{Process: "claim", All: true, Search: []string{"customer=c8*"}}},
		{"search,half,and the oldest 5000", api.ListRequest{Process: "claim", All: true, Search: []string{fmt.Sprintf("n<%d", *listed/2), "n<5000"}}},
		{"search,the oldest 30000", api.ListRequest{Process: "claim", All: true, Search: []string{"n<30000"}}},
		{"search,count,of a thousand one", api.ListRequest{Process: "claim", All: true, Count: true, Search: []string{"customer=c8"}}},
		{"count", api.ListRequest{All: true, Count: true}},
		{"count,state=running", api.ListRequest{State: api.InstanceRunning, Count: true}},
	} {
		c.r.Limit = 100
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				a, err := w.List(b.Context(), c.r)
				if err != nil || c.r.Count == (len(a.Instances) > 0) {
					b.Fatal(err, len(a.Instances))
				}
				b.ReportMetric(float64(len(a.Instances)), "instances")
			}
		})
	}
}
