// Command run runs worlds of package sim/world: one by its seed, with its story, or many.
//
//	run -seed N                 one world, and its hash
//	run -seeds N -base B        N worlds from seed B on, on all cores
//	run -minutes M -base B      as many as there is time for
//	run -of signals ...         of many those that have a process of that kind, or in which that is done: restart
//
// A world that breaks an invariant is shrunk and told (with -brief only named), and the exit
// code is 1.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"fmqm/sim/world"
)

func main() {
	seed := flag.Int64("seed", -1, "run this world only, and tell it")
	seeds := flag.Uint64("seeds", 500, "how many worlds")
	base := flag.Uint64("base", 1, "the first seed")
	minutes := flag.Float64("minutes", 0, "run worlds for so long instead")
	lines := flag.Bool("lines", false, "with -seed: print every event")
	kind := flag.String("of", "", "of many: only those with a process of this kind, such as signals, or in which this is done, such as restart")
	brief := flag.Bool("brief", false, "of many: do not shrink the one that breaks an invariant")
	flag.Parse()
	failed := false
	if *seed >= 0 {
		failed = one(os.Stdout, uint64(*seed), *lines)
	} else {
		failed = many(os.Stdout, *base, *seeds, time.Duration(*minutes*float64(time.Minute)), *kind, *brief)
	}
	if failed {
		os.Exit(1)
	}
}

// one runs a world, and tells it.
func one(out io.Writer, seed uint64, lines bool) (failed bool) {
	r := world.Run(world.Draw(seed), world.Options{Lines: true})
	if lines {
		for _, line := range r.Lines {
			fmt.Fprintln(out, line)
		}
	}
	fmt.Fprint(out, world.Story(r))
	fmt.Fprintf(out, "hash %s\n", r.Hash)
	return r.Broken != nil
}

// patience is how long a world may take, of which there are hundreds a minute where the machine is free.
const patience = 2 * time.Minute

// busy is a goroutine that runs, or waits for a lock.
var busy = regexp.MustCompile(`\[(running|runnable|sync\.(RW)?Mutex)`)

// hangs ends the program: a task of a world goes on for ever, or waits for a lock that a task holds
// which waits: no other runs, and nothing can stop it.
func hangs(out io.Writer, seed uint64) {
	fmt.Fprintf(out, "seed %d breaks invariant ends: a task goes on for ever, or waits for a lock of one that waits\n", seed)
	stacks := make([]byte, 1<<22)
	for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		head, _, _ := strings.Cut(stack, "\n")
		if busy.MatchString(head) { // the others wait for their turn
			fmt.Fprintf(out, "%s\n\n", stack)
		}
	}
	os.Exit(1)
}

// shrinkAsks is how many worlds a failure may cost.
const shrinkAsks = 1000

// many runs worlds on all cores, until one fails, all are run, or the time is over.
func many(out io.Writer, base, seeds uint64, limit time.Duration, of string, brief bool) (failed bool) {
	var total world.Totals
	began := time.Now()
	var mu sync.Mutex
	var broken *world.Report
	next := base
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		over := limit == 0 && next == base+seeds || limit > 0 && time.Since(began) >= limit
		if over || broken != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				seed, more := take()
				if !more {
					return
				}
				plan := world.Draw(seed)
				if of != "" && !plan.Has(world.Kind(of)) && !plan.Does(world.Deed(of)) {
					continue
				}
				stuck := time.AfterFunc(patience, func() { hangs(out, seed) })
				r := world.Run(plan, world.Options{})
				stuck.Stop()
				mu.Lock()
				total.Add(r)
				if r.Broken != nil && (broken == nil || r.Plan.Seed < broken.Plan.Seed) {
					broken = r
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	fmt.Fprintf(out, "%s\nweather: %s\n", total.String(time.Since(began)), total.Weather())
	if broken == nil {
		return false
	}
	fmt.Fprintf(out, "seed %d breaks invariant %s\n", broken.Plan.Seed, broken.Broken.Invariant)
	if !brief {
		fmt.Fprintf(out, "it is shrunk\n\n%s", world.ShrunkStory(broken, shrinkAsks))
	}
	return true
}
