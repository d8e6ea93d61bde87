package execute

// grown has the stack of a new activity thread grow while next to nothing is on it. The
// runtime begins a goroutine with 2 KiB, and the way down to a program is longer than that:
// to grow in the midst of it costs a walk over every frame. (CockroachDB does the same,
// pkg/util/growstack.)
//
//go:noinline
func grown() {
	var room [1536]byte
	touched(&room)
}

// touched has the compiler keep the room.
//
//go:noinline
func touched(room *[1536]byte) { room[0] = 1 }
