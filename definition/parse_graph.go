package definition

import (
	"fmt"
	"iter"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
)

// draft is a graph on its way: that of the process, or of a block.
type draft struct {
	*processDraft
	*Graph
	of             *step                 // the block that it is of; nil: the process
	outer          *draft                // the graph that the block is in; nil: none
	depth          int                   // how many blocks are around it
	owner          string                // in messages: "the process"
	input, output  dataEnd               // of what the graph is of: its data connectors' source and sink
	keys           map[string]*yaml.Node // of what the graph is of
	head           *step                 // what its control connectors out of source are out of; none of steps
	steps          []*step               // one for each activity, in file order
	byName         map[string]*step
	stepNames      []string
	remedies       map[string]string // for unknown activities
	transition     []*yaml.Node      // the condition of each control connector; nil: none
	stepsUnknown   bool              // the activities could not be read
	controlUnknown bool              // a control connector could not be read
	topology       []*step           // sources before targets; nil if there is a cycle
	inputRead      bool
	outputSet      bool
	ends           map[*step]endEdges // of the graph that is searched
	lastWins       []*lastWins        // of the output
}

// step is an activity with what the checks need besides.
type step struct {
	*Activity
	block                 *draft // nil: it is none
	index                 int
	input, output         dataEnd               // of one execution
	outside               *bundleEnds           // nil: it is no bundle
	onRCAt, onErrorAt     Pos                   // no line: not in the file
	keys                  map[string]*yaml.Node // of the activity in the file
	startNode, exitNode   *yaml.Node
	in, out               []int // indexes into Graph.Control, in file order
	inUnknown, outUnknown bool  // a control connector at it was reported
	dataIn, dataOut       int   // how many
	outputRead            bool  // a member of it, by a condition or mapping
	readsRC               bool
	reads                 condition.Words // by transition conditions and mappings out of it
	outUnsure             bool            // one of these was reported
	cancelledBy           int             // how many cancel it
	lastWins              []*lastWins     // of its input
	whos                  []whoRead       // that ask who may do it, and be told of it
	above                 bitset          // the steps from which a control path leads here
	expression            condition.Logic
	logic                 condition.Logic // the start condition, over the indexes of in
	otherwise             *Control        // the first one out of it
}

// graph begins the draft of a graph.
func (p *processDraft) graph(g *Graph, owner string, input, output dataEnd, keys map[string]*yaml.Node) *draft {
	input.owner, output.owner = owner, owner
	input.step, output.step = nil, nil
	d := &draft{
		processDraft: p, Graph: g, owner: owner, input: input, output: output, keys: keys,
		byName: map[string]*step{}, remedies: map[string]string{}, stepsUnknown: true,
		head: &step{Activity: &Activity{Name: sourceEnd, Output: input.members}, output: input},
	}
	p.graphs = append(p.graphs, d)
	return d
}

// stepOf gives what a connector leads out of: an activity, or source.
func (d *draft) stepOf(name string) *step {
	if name == sourceEnd {
		return d.head
	}
	return d.byName[name]
}

// before gives the activities from which a control connector leads to s.
func (d *draft) before(s *step) iter.Seq[*step] {
	return func(yield func(*step) bool) {
		for _, i := range s.in {
			if from := d.Control[i].Source; from != sourceEnd && !yield(d.byName[from]) {
				return
			}
		}
	}
}

const remedyActivities = "write `activities:` and below it NAME: {node: A, program: P}"

// activities reads the activities of a graph. Until they are read nobody knows which names are unknown.
func (d *draft) activities(n *yaml.Node) {
	if !d.is(n, yaml.MappingNode, "activities by name", "write NAME: {node: A, program: P}") {
		return
	}
	d.stepsUnknown = false
	entries := d.entries(n, codeDuplicateName, "activity")
	if len(entries) == 0 {
		d.fail(d.pos(n), codeNoActivities, d.owner+" has no activities", "write NAME: {node: A, program: P}")
	}
	for _, e := range entries {
		if d.found++; d.found > maxActivities {
			d.tooManyActivities(e)
			return
		}
		d.activity(e)
	}
}

// tooManyActivities reports the first activity over the limit. No other is read.
func (d *draft) tooManyActivities(first entry) {
	if d.found == maxActivities+1 {
		d.fail(d.pos(first.key), codeLimit, fmt.Sprintf("the process has %d activities", activitiesIn(d.top.keys["activities"])),
			fmt.Sprintf("use at most %d: split it into several processes", maxActivities))
	}
}

// activitiesIn counts activities as they are written, with those inside of blocks.
func activitiesIn(n *yaml.Node) int {
	all := 0
	for i := 1; i < len(n.Content); i += 2 {
		all++
		for a, j := n.Content[i], 1; j < len(a.Content); j += 2 {
			if a.Content[j-1].Value == "activities" {
				all += activitiesIn(a.Content[j])
			}
		}
	}
	return all
}

// connect reads the connectors between the activities, which are known, and all that is
// about them.
func (d *draft) connect() {
	d.control(d.keys["control"])
	d.order()
	d.startConditions()
	d.allConditions()
	d.data(d.keys["data"])
	d.doers()
	d.declareLastWins()
	d.cancels()
	d.memberAsNode()
	d.fanLimits()
	d.deadlinesRead()
	d.resolveRC()
	d.collect()
}
