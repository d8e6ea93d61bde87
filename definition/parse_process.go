package definition

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

// The keys of the language; schema.json has the same.
var (
	processKeys = []string{
		"process", "version", "description", "structures", "input", "output", "starts", "activities", "control", "data", "last_wins",
	}
	memberKeys   = []string{"type", "default"}
	activityKeys = []string{
		"node", "program", "empty", "input", "output", "start", "exit", "max_iterations", "again", "retry", "on_rc", "description", "last_wins",
	}
	startKeys = []string{"at_least"}
	againKeys = []string{"after", "max"}
	retryKeys = []string{"attempts", "backoff", "max_backoff"}
)

// draft is a process on its way from YAML to a *Process.
type draft struct {
	*loader
	*Process
	types             map[string]*container.Type // nil: declared with errors
	typeNames         []string
	steps             []*step // one for each activity, in file order
	byName            map[string]*step
	stepNames         []string
	remedies          map[string]string // for unknown activities
	transition        []*yaml.Node      // the condition of each control connector; nil: none
	stepsUnknown      bool              // the activities could not be read
	controlUnknown    bool              // a control connector could not be read
	full              bool              // more connectors were reported as too many
	topology          []*step           // sources before targets; nil if there is a cycle
	inputAt, outputAt Pos               // of the process's containers; no line: none named
	inputUnknown      bool              // the type was reported; likewise output
	outputUnknown     bool
	inputRead         bool
	outputSet         bool
	lastWins          []*lastWins // of the process's output
}

// step is an activity with what the checks need besides.
type step struct {
	*Activity
	index                     int
	inputAt, outputAt, onRCAt Pos                   // no line: not in the file
	keys                      map[string]*yaml.Node // of the activity in the file
	startNode, exitNode       *yaml.Node
	in, out                   []int // indexes into Process.Control, in file order
	inUnknown, outUnknown     bool  // a control connector at it was reported
	dataIn, dataOut           int   // how many
	outputRead                bool  // a member of it, by a condition or mapping
	readsRC                   bool
	lastWins                  []*lastWins // of its input
	above                     bitset      // the steps from which a control path leads here
	expression                condition.Logic
	logic                     condition.Logic // the start condition, over the indexes of in
	otherwise                 *Control        // the first one out of it
}

// inputUnknown says whether the input is named but could not be resolved.
func (s *step) inputUnknown() bool  { return s.inputAt.Line > 0 && s.Input == container.Empty }
func (s *step) outputUnknown() bool { return s.outputAt.Line > 0 && s.Output == container.Empty }

// process reads and checks one document. It returns nil if it could not make out
// what the process is.
func (l *loader) process(root *yaml.Node) *Process {
	if !l.is(root, yaml.MappingNode, "a process", "begin with `process: NAME` and `version: 1`") || l.otherFile(root) {
		return nil
	}
	d := &draft{
		loader: l, Process: &Process{Pos: l.pos(root)},
		types: map[string]*container.Type{}, byName: map[string]*step{}, remedies: map[string]string{},
	}
	errorsBefore := l.errors
	f := l.fields(root, "a process", processKeys)
	d.header(root, f)
	d.structures(f["structures"])
	d.ends(f)
	d.activities(root, f["activities"])
	d.starts(f["starts"])
	d.control(f["control"])
	d.order()
	d.defaultStarts(f["starts"])
	d.startConditions()
	d.allConditions()
	d.data(f["data"])
	d.declareLastWins(f["last_wins"])
	d.fanLimits()
	d.resolveRC()
	if l.errors == errorsBefore && !l.unclean[root] { // else what the warnings say could be wrong
		d.checkUse()
		d.checkRuns()
		d.checkTables()
	}
	return d.Process
}

// checkTables compiles the process: the sizes of its tables have limits, and what
// is compiled is what they are of.
func (d *draft) checkTables() {
	_, err := compileWithin(d.Process, CompileOptions{}, d.bounds, func(*processtable.Table, []byte) error { return nil })
	var limit interface {
		message() string
		remedy() string
	}
	switch {
	case err == nil:
	case errors.As(err, &limit):
		d.fail(d.Pos, codeLimit, limit.message(), limit.remedy())
	default:
		d.fail(d.Pos, codeLimit, fmt.Sprintf("the process does not compile: %v", err), "simplify the process, and report this: an earlier check should have found it")
	}
}

func (d *draft) header(root *yaml.Node, f map[string]*yaml.Node) {
	if d.required(root, f, "process", "a process", "write `process: NAME`") {
		d.Pos = d.pos(f["process"])
		d.Name, _ = d.name(f["process"], processName)
	}
	if d.required(root, f, "version", "a process", "write `version: 1`") {
		d.Version, _ = d.integer(f["version"], "version", 1, math.MaxInt32)
	}
	if n := f["description"]; n != nil {
		d.Description, _ = d.scalar(n, "a text")
	}
}

// ends reads the process's own containers.
func (d *draft) ends(f map[string]*yaml.Node) {
	d.Input, d.Output = container.Empty, container.Empty
	if n := f["input"]; n != nil {
		d.Input, d.inputAt = d.containerType(n), d.pos(n)
		d.inputUnknown = d.Input == container.Empty
	}
	if n := f["output"]; n != nil {
		d.Output, d.outputAt = d.containerType(n), d.pos(n)
		d.outputUnknown = d.Output == container.Empty
	}
}

func (l *loader) required(owner *yaml.Node, f map[string]*yaml.Node, key, what, remedy string) bool {
	if f[key] != nil {
		return true
	}
	l.fail(l.pos(owner), codeMissingKey, fmt.Sprintf("%s needs the key %s", what, key), remedy)
	return false
}

// starts reads the nodes where instances may be started.
func (d *draft) starts(n *yaml.Node) {
	remedy := "write it as [A, B]"
	if n != nil && n.Kind == yaml.ScalarNode && condition.ValidName(strings.ReplaceAll(n.Value, "-", "_")) {
		remedy = fmt.Sprintf("write it as [%s]", n.Value)
	}
	if n == nil || !d.is(n, yaml.SequenceNode, "a list of nodes", remedy) {
		return
	}
	switch {
	case len(n.Content) == 0:
		d.fail(d.pos(n), codeValue, "no node may start this process", "name a node, or leave `starts` out")
	case len(n.Content) > maxStarts:
		d.fail(d.pos(n.Content[maxStarts]), codeLimit, fmt.Sprintf("%d nodes may start this process", len(n.Content)),
			fmt.Sprintf("use at most %d: let nodes start it through a node near them", maxStarts))
		return
	}
	named := map[string]bool{}
	for _, c := range n.Content {
		name, ok := d.name(c, nodeName)
		switch {
		case !ok:
		case named[name]:
			d.fail(d.pos(c), codeDuplicateName, fmt.Sprintf("node %s is named twice", name), "remove one of the two")
		default:
			named[name] = true
			d.Starts = append(d.Starts, name)
		}
	}
}

// defaultStarts are the nodes of activities without predecessors, in file order.
func (d *draft) defaultStarts(n *yaml.Node) {
	if n != nil {
		return
	}
	named := map[string]bool{"": true}
	for _, s := range d.steps {
		if len(s.in) == 0 && !named[s.Node] {
			named[s.Node] = true
			d.Starts = append(d.Starts, s.Node)
		}
	}
}

// containerType reads the name of a structure; without one the container is empty.
func (d *draft) containerType(n *yaml.Node) *container.Type {
	if n == nil {
		return container.Empty
	}
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		d.fail(d.pos(n), codeForm, fmt.Sprintf("expected the name of a structure, found %s", formOf(n)),
			"declare it as a structure under `structures` and write its name here; a list can only be a member of a structure")
		return container.Empty
	}
	name, ok := d.scalar(n, "the name of a structure")
	if !ok {
		return container.Empty
	}
	if _, ok := container.ParseKind(name); ok {
		d.fail(d.pos(n), codeValue, fmt.Sprintf("a container cannot be of type %s", name),
			fmt.Sprintf("declare a structure with a member of type %s and name it here", name))
		return container.Empty
	}
	t, ok := d.types[name]
	if !ok {
		d.fail(d.pos(n), codeUnknownName, fmt.Sprintf("unknown structure %s", name), d.oneOfStructures(name))
	}
	if t == nil {
		return container.Empty // not declared, or declared with errors
	}
	return t
}

func (d *draft) oneOfStructures(name string) string {
	if len(d.typeNames) == 0 {
		return "declare it under `structures`"
	}
	return d.oneOf(name, d.typeNames)
}
