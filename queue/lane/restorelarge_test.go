package lane_test

import (
	"bytes"
	"context"
	"testing"

	"fmqm/internal/store/memory"
	"fmqm/message"
	"fmqm/queue"
	"fmqm/queue/backup"
	"fmqm/queue/record"
)

// L1: a backup may be made while a large transaction is half made. What it was about to accept counts as
// little for the restored store as what it had accepted; its messages are there, all or none.
func TestRestoreInTheMiddleOfALargeAccept(t *testing.T) {
	const messages = 10
	few := memory.Options{Overhead: 600_000} // changes in a commit
	for in, died := 1, true; died; in++ {
		d := memory.NewDisk("A")
		few.Faults = &memory.Killed{In: in, Kept: true}
		engine, err := d.Open(few)
		must(t, err)
		if m, err := queue.Open(engine, queue.Options{Node: "A"}); err == nil {
			accept := &record.Tx{Accept: &record.Accept{Peer: "B", Incarnation: store1, Number: messages, Count: messages, Hash: record.Hash{1}}}
			for n := range messages {
				accept.Put = append(accept.Put, sent(n, "A"))
			}
			died = m.BindIncarnation("B", store1) != nil || submit(m, accept) != nil
			_ = m.Close(context.Background())
		}
		d.Crash(false)
		copied, err := d.Peek()
		must(t, err)
		var file bytes.Buffer
		info, err := backup.Write(copied, &file)
		must(t, err)
		if info.Node == "" {
			continue // killed before there was a store
		}
		few.Faults = nil
		restored, err := memory.NewDisk("A").Open(few)
		must(t, err)
		_, err = backup.Restore(&file, restored, nil)
		must(t, err)
		m, err := queue.Open(restored, queue.Options{Node: "A"})
		must(t, err)
		if at := m.Accepted("B", message.LaneData); at != (record.Position{}) {
			t.Errorf("killed in commit %d: the restored store has accepted %d", in, at.Number)
		}
		entries, _, err := m.BrowseFrom(procP, message.Entry{}, messages+1)
		if n := len(entries); err != nil || n != 0 && n != messages || !died && n == 0 {
			t.Errorf("killed in commit %d: %d messages, %v", in, n, err)
		}
		must(t, m.Close(context.Background()))
	}
}
