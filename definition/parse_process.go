package definition

import (
	"errors"
	"fmt"
	"math"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

// The keys of the language; schema.json has the same.
var (
	processKeys = []string{
		"process", "version", "description", "structures", "input", "output", "nodes", "starts", "schedule", "deadline", "notify", "history", "activities", "control", "data", "last_wins", "events", "staff", "administrator", "priority", "search",
	}
	historyKeys  = []string{"iterations"}
	memberKeys   = []string{"type", "default"}
	activityKeys = []string{
		"node", "program", "empty", "activities", "control", "data", "process", "autonomy", "wait", "input", "output", "start", "choice", "exit", "max_iterations", "again", "retry", "on_rc", "on_error", "deadline", "notify", "cancels", "description", "last_wins", "for_each", "parallel", "until", "failed", "at", "receive", "send", "staff", "title", "offered_at", "priority",
	}
	startKeys = []string{"at_least", startFirst}
	againKeys = []string{"after", "max"}
	retryKeys = []string{"attempts", "backoff", "max_backoff"}
	callKeys  = []string{"node", "of"}
)

// processDraft is a process on its way from YAML to a *Process: what its graphs share.
type processDraft struct {
	*loader
	result    *Process
	types     map[string]*container.Type // nil: declared with errors
	typeNames []string
	sets      []*nodeSet
	top       *draft
	graphs    []*draft          // top, and those of blocks, each behind the one that it is inside of
	home      map[string]*draft // the graph of each activity
	names     []string          // of all activities
	found     int               // activities
	joined    int               // connectors of all graphs
	full      bool              // more of them were reported as too many
	declared  []*declaredLast
	eventsDraft
	left       efforts
	claimed    map[conditionKey]*condition.Claim // nil: it makes none
	saidPartly bool                              // that not all conditions are compared
}

// process reads and checks one document. It returns nil if it could not make out
// what the process is.
func (l *loader) process(root *yaml.Node) *Process {
	if !l.is(root, yaml.MappingNode, "a process", "begin with `process: NAME` and `version: 1`") || l.otherFile(root) {
		return nil
	}
	p := &processDraft{
		loader: l, result: &Process{Pos: l.pos(root)}, types: map[string]*container.Type{},
		left: fullEfforts(l.bounds), claimed: map[conditionKey]*condition.Claim{}, home: map[string]*draft{},
	}
	errorsBefore := l.errors
	f := l.fields(root, "a process", processKeys)
	p.header(root, f)
	p.structures(f["structures"])
	p.ends(f)
	p.nodeSets(f["nodes"])
	p.events(f["events"])
	if p.required(root, f, "activities", "a process", remedyActivities) {
		p.top.activities(f["activities"])
	}
	p.starts(f["starts"])
	for _, d := range p.graphs {
		d.connect()
	}
	p.defaultStarts(f["starts"])
	p.schedules(f["schedule"])
	over := &step{Activity: &Activity{}, block: p.top, input: p.top.input}
	over.input.started = false
	p.result.Deadline = p.top.moment(over, f["deadline"], deadlineForm)
	p.result.Notify = p.top.notify(over, f["notify"])
	p.processNotices(over)
	p.result.Priority = p.top.priority(over, f["priority"])
	p.result.Staff, p.result.Administrator = p.processWho(f["staff"], "staff"), p.processWho(f["administrator"], "administrator")
	p.top.noticesLate(p.result.Notify, p.result.Deadline)
	p.noticesNever()
	p.history(f["history"])
	p.search(f["search"])
	if l.errors == errorsBefore && !l.unclean[root] { // else what the warnings say could be wrong
		for _, d := range p.graphs {
			d.checkUse()
			d.checkRuns()
		}
		p.checkLastWins()
		p.checkSets()
		p.checkNodes()
		p.checkEvents()
		p.checkTables()
	}
	return p.result
}

// checkTables compiles the process: the sizes of its tables have limits, and what
// is compiled is what they are of.
func (p *processDraft) checkTables() {
	_, err := compileWithin(p.result, CompileOptions{}, p.bounds, func(*processtable.Table, []byte) error { return nil })
	var limit interface {
		message() string
		remedy() string
	}
	switch {
	case err == nil:
	case errors.As(err, &limit):
		p.fail(p.result.Pos, codeLimit, limit.message(), limit.remedy())
	default:
		p.fail(p.result.Pos, codeLimit, fmt.Sprintf("the process does not compile: %v", err), "simplify the process, and report this: an earlier check should have found it")
	}
}

func (p *processDraft) header(root *yaml.Node, f map[string]*yaml.Node) {
	if p.required(root, f, "process", "a process", "write `process: NAME`") {
		p.result.Pos = p.pos(f["process"])
		p.result.Name, _ = p.name(f["process"], processName)
	}
	if p.required(root, f, "version", "a process", "write `version: 1`") {
		p.result.Version, _ = p.integer(f["version"], "version", 1, math.MaxInt32)
	}
	if n := f["description"]; n != nil {
		p.result.Description, _ = p.scalar(n, "a text")
	}
}

// ends reads the process's own containers, which are those of its graph.
func (p *processDraft) ends(f map[string]*yaml.Node) {
	input, output := dataEnd{key: "input", members: container.Empty, started: true}, dataEnd{key: "output", members: container.Empty}
	p.container(f, &input)
	p.container(f, &output)
	p.result.Input, p.result.Output = input.members, output.members
	p.top = p.graph(&p.result.Graph, "the process", input, output, f)
}

// container reads which structure a container is of, if the file says so.
func (p *processDraft) container(f map[string]*yaml.Node, end *dataEnd) {
	if n := f[end.key]; n != nil {
		end.members, end.at = p.containerType(n), p.pos(n)
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
func (p *processDraft) starts(n *yaml.Node) {
	if n != nil {
		p.result.Starts = p.nodesMeant(n, nodeList{
			maxStarts, "no node may start this process", "name a node, or leave `starts` out",
			"%d nodes may start this process", "use at most %d: let nodes start it through a node near them",
		})
	}
}

// defaultStarts are the nodes of activities that source leads to, in file order: of those without
// predecessors too.
func (p *processDraft) defaultStarts(n *yaml.Node) {
	if n != nil {
		return
	}
	named := map[string]bool{"": true, OriginNode: true}
	for _, s := range p.top.steps {
		if p.top.begins(s) && !named[s.Node] {
			named[s.Node] = true
			p.result.Starts = append(p.result.Starts, s.Node)
		}
	}
	if len(p.result.Starts) == 0 {
		p.originless()
	}
}

// containerType reads the name of a structure; without one the container is empty.
func (p *processDraft) containerType(n *yaml.Node) *container.Type {
	if n == nil {
		return container.Empty
	}
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		p.fail(p.pos(n), codeForm, fmt.Sprintf("expected the name of a structure, found %s", formOf(n)),
			"declare it as a structure under `structures` and write its name here; a list can only be a member of a structure")
		return container.Empty
	}
	name, ok := p.scalar(n, "the name of a structure")
	if !ok {
		return container.Empty
	}
	if _, ok := container.ParseKind(name); ok {
		p.fail(p.pos(n), codeValue, fmt.Sprintf("a container cannot be of type %s", name),
			fmt.Sprintf("declare a structure with a member of type %s and name it here", name))
		return container.Empty
	}
	t, ok := p.types[name]
	if !ok {
		p.fail(p.pos(n), codeUnknownName, fmt.Sprintf("unknown structure %s", name), p.oneOfStructures(name))
	}
	if t == nil {
		return container.Empty // not declared, or declared with errors
	}
	return t
}

func (p *processDraft) oneOfStructures(name string) string {
	if len(p.typeNames) == 0 {
		return "declare it under `structures`"
	}
	return p.oneOf(name, p.typeNames)
}
