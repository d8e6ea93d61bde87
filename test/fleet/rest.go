package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/sim/oracle"
)

// Empty stops the daemons, when everything has come where it should, and looks into
// their stores: nothing may be left in any queue, nor set aside.
func (f *Fleet) Empty(ctx context.Context) {
	f.T.Helper()
	left := ""
	err := Until(ctx, func() (bool, error) {
		f.Until(ctx, "transmission queues are empty", func() bool { return f.Waiting(ctx) == 0 })
		left = f.leftInStores()
		if left == "" {
			return true, nil
		}
		for _, site := range f.Sites {
			site.Start()
		}
		f.Connected(ctx)
		return false, nil
	})
	if err != nil {
		f.T.Errorf("left in the stores: %s (%v)", left, err)
	}
}

func (f *Fleet) leftInStores() string {
	f.T.Helper()
	var all []string
	for _, site := range f.Sites {
		site.Stop()
		site.Look(func(engine store.Engine) error {
			left, err := oracle.Left(engine)
			if left != "" {
				all = append(all, site.Name+": "+left)
			}
			return err
		})
	}
	return strings.Join(all, "; ")
}

// Look opens the store of a site that is down, for one look: a process that the test has just
// begun elsewhere can have the directory's lock for a moment behind it.
func (s *Site) Look(look func(store.Engine) error) {
	s.t.Helper()
	engine, err := badger.Open(badger.Options{Dir: s.File("data")})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := errors.Join(look(engine), engine.Close()); err != nil {
		s.t.Fatal(err)
	}
}

// Whole checks each store at rest, with the operator's own commands: every record can be
// read, and is of a kind that stays.
func (f *Fleet) Whole() {
	f.T.Helper()
	for _, site := range f.Sites {
		data := site.File("data")
		Must(f.T, "fmqmd", "verify", "--data", data)
		for line := range strings.Lines(Must(f.T, "fmqmd", "dump", "--data", data, "-o", "jsonl")) {
			var record struct{ Kind, Of, Key, Problem string }
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				f.T.Fatalf("%v: %s", err, line)
			}
			switch record.Kind {
			case "meta", "process table", "body chunk", "marker", "trimmed position", "accepted position", "peer", "left by a peer",
				"instance", "start", "value", "activity end", "event", "removed instance": // these stay
			case "index":
				if !strings.HasPrefix(record.Key, "Ff") && !strings.HasPrefix(record.Key, "Ft") { // it lists what has ended
					f.T.Errorf("left at %s: %s", site.Name, line)
				}
			case "staged body":
				if record.Of != "process table" { // tables stay, and a large one with its body
					f.T.Errorf("left at %s: %s", site.Name, line)
				}
			default:
				f.T.Errorf("left at %s: %s", site.Name, line)
			}
			if record.Problem != "" {
				f.T.Errorf("at %s: %s", site.Name, line)
			}
		}
	}
}
