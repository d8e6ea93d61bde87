package sim

import (
	"fmt"
	"strings"

	"fmqm/internal/store"
	"fmqm/processtable"
)

// transient are the classes of a store's keys, as package queue lays them out, of
// which nothing may be left when all instances have ended.
var transient = []struct {
	class byte
	what  string
}{
	{'q', "process queues"},
	{'r', "instance records"},
	{'x', "transmission queues"},
	{'i', "parts of large messages"},
	{'s', "messages set aside"},
	{'d', "timers"},
}

// Left says what is left in a store that should be empty but for tables, markers,
// audit and the links' numbers; nothing if nothing is.
func Left(e store.Engine) (string, error) {
	left, _, err := leftFor(e, "")
	return left, err
}

// LeftFor is Left of a site's store beside what waits there for a peer, and how many
// messages those are.
func LeftFor(s *Site, peer processtable.NodeID) (left string, waiting int, err error) {
	return leftFor(s.disk, peer)
}

func leftFor(e store.Engine, peer processtable.NodeID) (_ string, waiting int, _ error) {
	var left []string
	for _, t := range transient {
		count, first := 0, ""
		err := e.Scan(store.ScanOptions{Prefix: []byte{t.class}, KeysOnly: true}, func(key, _ []byte) bool {
			if peer != "" && strings.HasPrefix(string(key), "x"+string(peer)+"\x00") {
				waiting++
				return true
			}
			if count == 0 {
				first = string(key)
			}
			count++
			return true
		})
		if err != nil {
			return "", 0, fmt.Errorf("look into %s: %w", t.what, err)
		}
		if count > 0 {
			left = append(left, fmt.Sprintf("%d in %s, the first %q", count, t.what, first))
		}
	}
	return strings.Join(left, "; "), waiting, nil
}
