package main

import (
	"math"
	"runtime"
	"strings"
	"time"
)

// heldRate is how many bytes are allocated for each sample of the heap, so that some MiB of small objects are known to
// a few per cent.
const heldRate = 64 << 10

// held is what of the heap the garbage collector has found alive last, in bytes, but for what the storage engine has:
// that is its memtables and the buffers in which it builds tables, whatever is written.
func held() int64 {
	var records []runtime.MemProfileRecord
	for {
		n, ok := runtime.MemProfile(records, false)
		if ok {
			records = records[:n]
			break
		}
		records = make([]runtime.MemProfileRecord, n+64)
	}
	total := 0.0
	for i := range records {
		r := &records[i]
		if objects := r.InUseObjects(); objects > 0 && !ofEngine(r.Stack()) {
			size := float64(r.InUseBytes())
			total += size / (1 - math.Exp(-size/float64(objects)/heldRate)) // a large object is more often a sample
		}
	}
	return int64(total)
}

// ofEngine says whether something was allocated by the storage engine.
func ofEngine(stack []uintptr) bool {
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "github.com/dgraph-io/") {
			return true
		}
		if !more {
			return false
		}
	}
}

// highest watches a figure until stop is closed, and gives the most that it was.
func highest(figure func() int64) (most <-chan int64, stop chan struct{}) {
	found, stop := make(chan int64, 1), make(chan struct{})
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		var high int64
		for {
			select {
			case <-tick.C:
				high = max(high, figure())
			case <-stop:
				found <- high
				return
			}
		}
	}()
	return found, stop
}
