package world

import (
	"testing"
	"time"
)

// family are processes over two sites: of the second, activities at both sites begin instances of the first, also
// inside of a block; of the third, one begins the second.
func family(clear time.Duration) Plan {
	p := given(2, `
structures: {D: {n: int, text: string}}
input: D
output: D
starts: [A, B]
activities:
  take: {node: A, program: many, input: D, output: D}
  wrap: {node: B, program: few, input: D, output: D}
control: [take -> wrap]
data: [source -> take, take -> wrap, wrap -> sink]
`, `
structures: {E: {n: int, text: string}}
input: E
output: E
starts: [A, B]
activities:
  check: {node: B, program: many, input: E, output: E}
  pack: {node: A, process: given-0, input: E, output: E}
  inside:
    node: A
    input: E
    output: E
    activities:
      again: {node: A, process: given-0, input: E, output: E}
    data: [source -> again, again -> sink]
  bill: {node: B, process: given-0, input: E, output: E}
control: [check -> pack, pack -> inside, inside -> bill]
data: [source -> check, check -> pack, pack -> inside, inside -> bill, bill -> sink]
`, `
structures: {F: {n: int, text: string}}
input: F
output: F
starts: [B]
activities:
  whole: {node: A, process: given-1, input: F, output: F}
data: [source -> whole, whole -> sink]
`)
	p.Sites, p.Clear = []name{"A", "B"}, clear
	for i := range p.Processes {
		p.Processes[i].Sites = p.Sites
	}
	return p
}

// N19: subprocesses come to what the interpreter says, which runs them in one place.
func TestAFamily(t *testing.T) {
	t.Parallel()
	if r := Run(family(time.Minute), Options{}); r.Broken != nil {
		t.Fatalf("%v\n%s", r.Broken, ShrunkStory(r, 60))
	}
}

// So they do wherever a site dies, whether the commit is on disk by then or not.
func TestAFamilyDiesAtEachCommit(t *testing.T) {
	t.Parallel()
	for _, site := range []name{"A", "B"} {
		for number := 1; ; number++ {
			met := 0
			for _, kept := range []bool{false, true} {
				p := family(time.Minute)
				p.Events = []Event{{At: 5 * time.Second, Do: CrashAt, Site: site, Number: number, Kept: kept, For: time.Second}}
				r := Run(p, Options{})
				if r.Broken != nil {
					t.Fatalf("%s at commit %d, kept %t: %v\n%s", site, number, kept, r.Broken, ShrunkStory(r, 60))
				}
				met += r.Recoveries
			}
			if met == 0 { // nothing is committed any more
				if number < 20 {
					t.Errorf("%s has died at %d commits only", site, number)
				}
				break
			}
		}
	}
}

// Terminated at any moment, whoever dies beside, nothing of it and of what it has begun is left.
func TestAFamilyIsTerminated(t *testing.T) {
	t.Parallel()
	for n := range 60 {
		p := family(time.Minute)
		at := 5*time.Second + time.Duration(n)*11*time.Millisecond
		p.Events = []Event{
			{At: at, Do: Terminate, Site: "A", Instance: 2 + 2*(n%2)},
			{At: at, Do: CrashAt, Site: p.Sites[n%2], Number: 1 + n%5, Kept: n%3 == 0, For: time.Second},
		}
		if r := Run(p, Options{}); r.Broken != nil {
			t.Fatalf("terminated after %v: %v\n%s", at, r.Broken, ShrunkStory(r, 60))
		}
	}
}

// S4: a site that loses its store, or goes on from a backup, begins again what it had begun, under the same
// identifiers; what its peers have of that they send once it is known there.
func TestAFamilyLosesAStore(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		for _, do := range []Deed{Lose, Restore} {
			p, site := family(time.Minute), []name{"A", "B"}[n%2]
			p.Events = []Event{
				{At: 5100 * time.Millisecond, Do: Backup, Site: site},
				{At: 5*time.Second + time.Duration(n)*43*time.Millisecond, Do: do, Site: site, For: time.Second},
			}
			if r := Run(p, Options{}); r.Broken != nil {
				t.Fatalf("%s, %s at moment %d: %v\n%s", site, do, n, r.Broken, ShrunkStory(r, 60))
			}
		}
	}
}
