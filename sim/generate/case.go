package generate

import (
	"fmt"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// Nodes are the sites of every process that is drawn for no others.
var Nodes = []string{"A", "B", "C", "D"}

// Programs are the programs that activities name. All of them give [Case.Result].
var Programs = []string{"many", "few", "one"}

// Case is a random process with an input and the results of its programs.
type Case struct {
	body  string // the definition without its name
	Input string // a JSON object, or nothing
	Seed  uint64 // of the programs' results
	Start int    // where it is started: an index into the definition's start nodes, modulo their number
	Large bool   // three in four of the texts that programs give do not fit into one record of a store

	long    bool // a list of it is: then no text is large, since an answer would have hundreds of them
	failing int  // in a hundred attempts
	odd     int  // in a hundred ends whose return code is data: those with one other than 0
}

// Text is the definition as a file, of a process with that name.
func (c *Case) Text(process string) string {
	return fmt.Sprintf("process: %s\nversion: 1\n%s", process, c.body)
}

// String shows all that a failure needs to be understood.
func (c *Case) String() string {
	return fmt.Sprintf("%sinput: %s\nseed: %d, start: %d, failing %d%%, return codes %d%%\n",
		c.Text("process"), c.Input, c.Seed, c.Start, c.failing, c.odd)
}

// Given is a process that is not drawn: its definition without its first two lines (process
// and version). Its programs never fail, and return 0.
func Given(body string) *Case { return &Case{body: body, Seed: 7} }

// Cases draws processes of which about half end in error: what can go wrong does.
func Cases() *rapid.Generator[*Case] { return CasesAt(Nodes) }

// CasesAt is Cases with other sites.
func CasesAt(nodes []string) *rapid.Generator[*Case] { return cases(nodes, (*drawing).process) }

// Steady draws processes of which nine in ten finish: attempts fail as often, and are
// repeated until one does not; loops end; few conditions can fail. They run for longer
// than those of Cases, of which many are over before much has run.
func Steady() *rapid.Generator[*Case] { return SteadyAt(Nodes) }

// SteadyAt is Steady with other sites.
func SteadyAt(nodes []string) *rapid.Generator[*Case] {
	return cases(nodes, func(d *drawing) {
		d.steady = true
		d.process()
	})
}

func cases(nodes []string, process func(*drawing)) *rapid.Generator[*Case] {
	return rapid.Custom(func(t *rapid.T) *Case {
		d := &drawing{T: t, nodes: nodes}
		process(d)
		return &Case{
			body:    d.text.String(),
			Input:   d.processInput(),
			Seed:    rapid.Uint64().Draw(t, "seed"),
			Start:   d.upTo(3, "start"),
			long:    d.longest,
			failing: rapid.SampledFrom([]int{0, 0, 5, 20}).Draw(t, "failing"),
			odd:     rapid.SampledFrom([]int{0, 20, 50}).Draw(t, "odd"),
		}
	})
}

// Named gives the process that a name stands for, drawn-N of Cases, steady-N of Steady or nested-N of
// Nested: always the same one, so that programs in processes of their own know what they
// are to give. A version (@1) may follow.
func Named(process string) (*Case, error) {
	name, _, _ := strings.Cut(process, "@")
	kind, number, _ := strings.Cut(name, "-")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
	case kind == "drawn":
		return Cases().Example(n), nil
	case kind == "steady":
		return Steady().Example(n), nil
	case kind == "nested":
		return Nested().Example(n), nil
	}
	return nil, fmt.Errorf("process %q: expected drawn-N, steady-N or nested-N", process)
}

// drawing is a process that is being drawn.
type drawing struct {
	*rapid.T
	nodes      []string
	steady     bool // see Steady
	races      bool // see Racing
	bundling   bool // see Bundling
	long       bool // some lists have more elements than lie in an entry one by one (R31)
	longest    bool // and one has
	signals    bool // see SignalsAt
	atOrigin   bool // some activities are hosted where the instance was started (N20)
	timed      bool // see TimedAt
	thins      bool // its history keeps few iterations
	scheduled  bool // see ScheduledAt
	people     bool // see PeopleAt
	events     []event
	text       strings.Builder
	structures []*structure
	input      *structure // of the process; nil: none
	deepest    int        // how many blocks are inside one another, where there are any
	blocks     int        // that may still be drawn
	within     int        // how many blocks are around what is written now
	frames     int        // how many of them are bundles
}

// graph is what the process consists of, or a block: source and sink are the containers of that.
type graph struct {
	of            *step      // the block; nil: the process
	loops         int        // how many of the blocks around have an exit condition
	input, output *structure // nil: none
	steps         []*step    // in an order in which control leads forward
}

// step is an activity.
type step struct {
	name          string
	block         bool       // it is done by a graph of its own
	input, output *structure // nil: none
	before        []*step    // direct predecessors, in file order
	above         map[*step]bool
	out           int // control connectors out of it
	otherwise     bool
	exit          bool
	late          bool // it has a deadline
	read          bool // a connector out of it asks for that
	continues     bool // it goes on after errors
	bundle        *bundled
	receives      []string // names of events
	sends         bool
	manual        bool
	first         bool // it begins with the first of what leads to it
}

func (d *drawing) upTo(n int, label string) int { return rapid.IntRange(0, n).Draw(d.T, label) }

// in says yes one time out of n; a shrunken draw says no.
func (d *drawing) in(n int, label string) bool { return d.upTo(n-1, label) == n-1 }

// line writes one, as far in as the graph is that it belongs to.
func (d *drawing) line(format string, args ...any) {
	fmt.Fprintf(&d.text, strings.Repeat("    ", d.within)+format+"\n", args...)
}

func pick[T any](d *drawing, from []T, label string) T {
	return from[d.upTo(len(from)-1, label)]
}

func (d *drawing) process() {
	d.drawStructures()
	g := &graph{input: d.maybeStructure("input"), output: d.maybeStructure("output")}
	d.input = g.input
	d.containers(g.input, g.output)
	d.declare()
	d.times()
	d.notify(append(d.inTime(&step{input: d.input}), d.happenings()...))
	if d.scheduled {
		d.schedule()
	} else if d.in(4, "starts") {
		d.line("starts: [%s]", strings.Join(d.subset(d.nodes, "start node"), ", "))
		d.atOrigin = d.in(2, "at the origin")
	}
	d.nesting()
	d.graph(g)
}

// containers writes those that a process or an activity has.
func (d *drawing) containers(input, output *structure) {
	if input != nil {
		d.line("input: %s", input.name)
	}
	if output != nil {
		d.line("output: %s", output.name)
	}
}

// subset draws some of the names, at least one.
func (d *drawing) subset(names []string, label string) []string {
	shuffled := rapid.Permutation(names).Draw(d.T, label)
	return shuffled[:1+d.upTo(len(names)-1, label+"s")]
}
