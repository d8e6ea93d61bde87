package sites

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/internal/skip"
	"fmqm/test/fleet"
)

// S3: a site whose disk has little room takes nothing from its links; `fmqm why` says so
// wherever it is asked, and all goes on by itself when there is room.
func TestWhyTellsOfALowDiskElsewhere(t *testing.T) {
	n := smallNetworkWith(t, "B")
	a, b := n.sites["A"], n.sites["B"]
	if !b.disk.mounted() {
		skip.Untested(t, "a disk with little room: no small file system could be mounted (%s): run as root", b.disk.reason)
	}
	b.disk.fill(leaveLow)
	b.Says("room on the disk is low: nothing is started, run or accepted from links")
	id := started(t, fleet.Must(t, "fmqm", "start", "small", "--to", a.To(), "--input", `{"text": "x"}`, "-o", "json"))
	a.until(id, "one", api.EventTerminated)

	want := regexp.MustCompile(`two .*messages from one are on their way; ` +
		`the disk of B is low: 1\d\d MiB are free, and below 128 MiB \(limits.free\) the node runs nothing and accepts nothing from links: ` +
		`make room on the file system of the data directory`)
	for _, site := range []*site{a, b} {
		n.Until(t.Context(), "it is told at "+site.Name+": "+want.String(), func() bool {
			return want.MatchString(fleet.Must(t, "fmqm", "why", id, "--to", site.To()))
		})
	}
	b.disk.free()
	b.until(id, "two", api.EventTerminated)
}

// until watches an instance until something has happened to an activity of it at the
// site.
func (s *site) until(id, activity string, want api.Event) {
	s.t.Helper()
	instance, err := uuid.Parse(id)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience)
	defer cancel()
	seen := errors.New("seen")
	err = s.Client.Watch(ctx, instance, func(e api.HistoryEvent) error {
		if e.Activity == activity && e.Event == want {
			return seen
		}
		return nil
	})
	if !errors.Is(err, seen) {
		s.t.Fatalf("%s of %s at %s: %v", want, activity, s.Name, err)
	}
}
