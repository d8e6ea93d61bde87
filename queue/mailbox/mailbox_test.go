package mailbox_test

import (
	"fmt"
	"slices"
	"testing"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/mailbox"
)

// committer notes what it is told.
type committer struct{ told []string }

func (c *committer) Tell(e commit.Event) { c.told = append(c.told, fmt.Sprintf("%T", e)) }

func entry(name processtable.ActivityID) message.Entry { return message.Entry{Activity: name} }

func deliver(b *mailbox.Box, to processtable.ActivityID, body []byte) {
	b.Deliver(&message.Message{Body: body}, &commit.Put{Entry: entry(to), Oldest: uint64(to[0])})
}

// Entries are taken in the order in which something came for them first, each with all that came;
// the committer hears of a reader once, and of what he took before he can submit anything.
func TestEntriesAreTakenInTheirOrder(t *testing.T) {
	var c committer
	by := task.Goroutines{}
	box := mailbox.New(processtable.ProcessID{Name: "p", Version: 1}, mailbox.NewLoad(by, 10, by.Bell()), &c)
	r := box.Open()
	if box.Open(); !slices.Equal(c.told, []string{"commit.Opened"}) {
		t.Fatalf("told %v", c.told)
	}
	for _, to := range []processtable.ActivityID{"a", "b", "a", "c"} {
		deliver(box, to, nil)
	}
	var got []string
	for _, limit := range []int{2, 2, 2} {
		for _, d := range r.Take(limit) {
			got = append(got, fmt.Sprint(d.Entry.Activity, len(d.Messages)))
		}
	}
	if want := []string{"a2", "b1", "c1"}; !slices.Equal(got, want) {
		t.Errorf("taken %v, want %v", got, want)
	}
	if want := []string{"commit.Opened", "commit.Taken", "commit.Taken"}; !slices.Equal(c.told, want) {
		t.Errorf("told %v, want %v", c.told, want)
	}
}

// Bodies count as well as entries: 64 MiB of them are as many as there may be, also for one entry.
func TestBodiesCongest(t *testing.T) {
	by := task.Goroutines{}
	relaxed := by.Bell()
	load := mailbox.NewLoad(by, 10, relaxed)
	box := mailbox.New(processtable.ProcessID{Name: "p", Version: 1}, load, &committer{})
	body := make([]byte, message.MaxBody)
	for n := 1; n <= 9; n++ {
		deliver(box, "a", body)
		if full := n >= 8; load.Congested() != full || (load.Spare() == 0) != full {
			t.Errorf("with %d bodies of 8 MiB congested is %t, with room for %d", n, load.Congested(), load.Spare())
		}
	}
	box.Open().Take(1)
	if load.Congested() || load.Spare() != 10 || load.Count() != 0 {
		t.Errorf("congested %t, room for %d, %d there, once all was taken", load.Congested(), load.Spare(), load.Count())
	}
	if _, err := by.Wait(t.Context(), relaxed); err != nil {
		t.Error(err)
	}
}
