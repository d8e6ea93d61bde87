package world

import (
	"math/rand/v2"
	"time"
)

// weather is how things go on the way from one site to another.
type weather struct {
	cut     bool // no connection, and none begins
	stalled bool // what is sent waits until it is over: on a wire, one way only
	slow    bool // seconds instead of milliseconds
}

// takes draws how long a frame is on its way.
func (s *weather) takes(r *rand.Rand) time.Duration {
	if s.slow {
		return time.Second + time.Duration(r.Int64N(int64(9*time.Second)))
	}
	return time.Millisecond + time.Duration(r.Int64N(int64(20*time.Millisecond)))
}

// mood is how the broker treats what it confirms.
type mood struct {
	down   bool // no connection
	lossy  bool // it loses, repeats, reorders and replays
	drowsy bool // it delivers late
}

// copies draws how many of a frame are delivered.
func (m *mood) copies(r *rand.Rand) int {
	if !m.lossy {
		return 1
	}
	switch r.IntN(10) {
	case 0, 1:
		return 0
	case 2:
		return 2
	}
	return 1
}

// takes draws how long a frame lies there.
func (m *mood) takes(r *rand.Rand) time.Duration {
	d := 2*time.Millisecond + time.Duration(r.Int64N(int64(30*time.Millisecond)))
	if m.drowsy {
		d += time.Duration(r.Int64N(int64(20 * time.Second)))
	}
	return d
}
