package definition

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

// Compiled is a process bound to its nodes: one process table for each node that
// hosts an activity or may start an instance.
type Compiled struct {
	Hash     processtable.DefinitionHash
	Tables   []*processtable.Table // sorted by node
	Encoded  [][]byte              // Encoded[i] is Tables[i] as it is sent and stored
	Manifest Manifest
}

// maxTables is how many bytes all tables of a process may have together: an upload has to
// carry them all. Every table names every activity and every start node, so what n nodes
// have together grows as n * n where each of them is in `starts`: 3,000 have 85 MB.
const maxTables = 128 << 20

// bounds are what a process is held to: its tables in bytes, and the comparison of its
// conditions in steps.
type bounds struct{ table, tables, comparing int }

var languageBounds = bounds{table: processtable.MaxUnsigned, tables: maxTables, comparing: maxComparing}

// CompileOptions say how a process is compiled.
type CompileOptions struct {
	// TableFormat is the version of the tables' format; 0 is the newest. Version 1 is for
	// sites that read no other yet: there dead paths do not pass around dead nodes (N6).
	TableFormat int
	// AsWritten takes the texts of conditions as the file has them, with their spaces and
	// comments, as versions did before texts became canonical: for a definition that such a
	// version has bound to its name and version (N3). The definition hash depends on it.
	AsWritten bool
}

// Manifest lists what a compilation gave. Its JSON keys are API.
type Manifest struct {
	Process    string          `json:"process"`
	Version    int             `json:"version"`
	Format     int             `json:"table_format"`
	Definition string          `json:"definition"` // the definition hash, hexadecimal
	Tables     []ManifestTable `json:"tables"`     // sorted by node
}

// ManifestTable describes one process table.
type ManifestTable struct {
	Node       string   `json:"node"`
	File       string   `json:"file"`   // the name to store it under, such as purchase-order@1.A.table
	SHA256     string   `json:"sha256"` // of its encoded form, hexadecimal
	Bytes      int      `json:"bytes"`
	Activities []string `json:"activities"` // hosted or done there, in file order, without source and sink
}

// Compile binds a process to its nodes (paper §3.2). It adds source and sink (N1),
// resolves start conditions to trees over connectors, and gives each node the table
// with just what it needs. It is a function: the same process gives the same bytes.
// A process that Load gave compiles.
func Compile(p *Process) (*Compiled, error) { return CompileWith(p, CompileOptions{}) }

// CompileWith is Compile with options. The definition hash does not depend on the format.
func CompileWith(p *Process, o CompileOptions) (*Compiled, error) {
	out := &Compiled{}
	var err error
	out.Manifest, err = CompileEach(p, o, func(t *processtable.Table, encoded []byte) error {
		out.Hash = t.Definition
		out.Tables, out.Encoded = append(out.Tables, t), append(out.Encoded, encoded)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// CompileEach gives the tables of a process one by one, sorted by node, as they are sent
// and stored and as their nodes will see them. It holds one of them at a time: those of a
// process that starts at thousands of nodes may take more memory than there is. An error
// of each ends it.
func CompileEach(p *Process, o CompileOptions, each func(t *processtable.Table, encoded []byte) error) (Manifest, error) {
	if p == nil {
		return Manifest{}, errors.New("compile: there is no process")
	}
	m, err := compileWithin(p, o, languageBounds, each)
	if err != nil {
		return Manifest{}, fmt.Errorf("compile %s@%d: %w", p.Name, p.Version, err)
	}
	return m, nil
}

func compileWithin(p *Process, o CompileOptions, most bounds, each func(t *processtable.Table, encoded []byte) error) (Manifest, error) {
	format, err := tableFormat(p, o.TableFormat)
	if err != nil {
		return Manifest{}, err
	}
	if o.AsWritten {
		p = p.asWritten()
	}
	hash, err := definitionHash(p)
	if err != nil {
		return Manifest{}, err
	}
	c := newCompiler(p)
	for _, g := range c.graphs {
		if inside, n := c.longestScope(g); n > processtable.MaxScope {
			return Manifest{}, &scopeTooLong{inside, n}
		}
		if err := c.connect(g); err != nil {
			return Manifest{}, err
		}
		if err := g.checkStart(); err != nil {
			return Manifest{}, err
		}
	}
	m := Manifest{Process: p.Name, Version: p.Version, Format: format, Definition: hash.String()}
	nodes, total := c.nodes(), 0
	for i, node := range nodes {
		t := c.table(node, hash)
		t.Format = format
		if t.Format >= 2 {
			c.detours(t)
		}
		encoded, read, err := encodeWithin(t, most)
		if err != nil {
			return Manifest{}, err
		}
		if total += len(encoded); total > most.tables {
			return Manifest{}, &tablesTooLarge{nodes: len(nodes), fit: i, most: most.tables}
		}
		m.Tables = append(m.Tables, manifestTable(read, encoded))
		if err := each(read, encoded); err != nil {
			return Manifest{}, err
		}
	}
	return m, nil
}

// encodeWithin encodes a table that leaves room for a signature.
func encodeWithin(t *processtable.Table, most bounds) ([]byte, *processtable.Table, error) {
	encoded, read, err := processtable.EncodeAsRead(t)
	var large *processtable.TooLarge
	switch {
	case errors.As(err, &large):
		return nil, nil, &tableTooLarge{node: t.Node, bytes: large.Bytes, most: most.table}
	case err == nil && len(encoded) > most.table:
		return nil, nil, &tableTooLarge{node: t.Node, bytes: len(encoded), most: most.table}
	}
	return encoded, read, err
}

// TableFile is the name of the file for a table, such as purchase-order@1.A.table.
func TableFile(t *processtable.Table) string {
	return processtable.QueueName(t.Process, t.Node) + ".table"
}

func manifestTable(t *processtable.Table, encoded []byte) ManifestTable {
	sum := sha256.Sum256(encoded)
	hosted := []string{}
	for _, place := range t.Roster {
		if w := t.WorkersOf(place.Activity); t.HasPlace(place) || w != nil && slices.Contains(w.Nodes, t.Node) {
			hosted = append(hosted, string(place.Activity))
		}
	}
	return ManifestTable{
		Node:       string(t.Node),
		File:       TableFile(t),
		SHA256:     hex.EncodeToString(sum[:]),
		Bytes:      len(encoded),
		Activities: hosted,
	}
}

// compiler holds the row of every activity while connectors are added to both of
// their ends.
type compiler struct {
	p         *Process
	graphs    []*graph // the process's, then those of its blocks
	rows      map[processtable.RowID]*processtable.Activity
	begun     map[processtable.ActivityID]*begun // of bundles and calls
	workers   []processtable.Worker
	roster    []processtable.Place
	byName    map[processtable.ActivityID]processtable.RowID // of the roster
	places    map[processtable.RowID]processtable.NodeID
	starts    []processtable.NodeID
	resolving map[processtable.ActivityID][]processtable.NodeID // by activity, those that may resolve what leads out of it
	children  int                                               // instances that may be under way at once
}

// graph is one of activities and connectors, with the source and the sink that the compiler adds.
type graph struct {
	*Graph
	inside       processtable.ActivityID // the block that it is of; empty: the process
	source, sink *processtable.Activity
}

func newCompiler(p *Process) *compiler {
	c := &compiler{
		p:         p,
		rows:      map[processtable.RowID]*processtable.Activity{},
		begun:     map[processtable.ActivityID]*begun{},
		byName:    map[processtable.ActivityID]processtable.RowID{},
		places:    map[processtable.RowID]processtable.NodeID{},
		resolving: map[processtable.ActivityID][]processtable.NodeID{},
	}
	for _, n := range p.Starts {
		c.starts = append(c.starts, processtable.NodeID(n))
	}
	c.graph(&p.Graph, p.Input, p.Output, nil, processtable.Origin, 1)
	c.graphs[0].sink.Deadline, c.graphs[0].sink.Notify = p.Deadline.inTable(), noticesInTable(p.Notify)
	return c
}

// graph adds the rows of a graph, and of the blocks in it. Node is where its source and sink live, parallel
// how often the graph may be under way at once.
func (c *compiler) graph(of *Graph, input, output *container.Type, path []processtable.Composite, node processtable.NodeID, parallel int) {
	g := &graph{
		Graph: of,
		source: &processtable.Activity{
			Name: processtable.Source, Kind: processtable.KindSource,
			Input: container.Empty, Output: input, Start: always(), Path: path,
		},
		sink: &processtable.Activity{
			Name: processtable.Sink, Kind: processtable.KindSink,
			Input: output, Output: container.Empty, Start: always(), Path: path,
		},
	}
	g.inside = g.source.Inside()
	c.graphs = append(c.graphs, g)
	c.add(g.source, node)
	c.add(g.sink, node)
	for _, a := range of.Activities {
		host, each := placeOf(a.Node), parallel
		row, last := c.rowsOf(a, path)
		c.add(row, host)
		c.byName[row.Name] = row.Row()
		if a.Bundle != nil {
			each = min(each*a.Bundle.Parallel, processtable.MaxChildren)
		}
		if a.Child != nil {
			c.children = min(c.children+each, processtable.MaxChildren)
		}
		c.roster = append(c.roster, processtable.Place{Activity: row.Name, Node: host, Inside: g.inside})
		if a.Block != nil {
			c.graph(a.Block, a.Input, a.Output, slices.Concat(last.Path, []processtable.Composite{last.Inner()}), host, each)
		}
	}
}

func (c *compiler) add(row *processtable.Activity, node processtable.NodeID) {
	c.rows[row.Row()], c.places[row.Row()] = row, node
}

// next is the row at the other end of a connector of a row.
func (c *compiler) next(row *processtable.Activity, to processtable.ActivityID) *processtable.Activity {
	return c.rows[processtable.RowID{Name: to, Inside: row.Inside()}]
}

// always is the start condition that holds whatever the connectors are: sink runs
// once everything is resolved, also if every path died.
func always() condition.Logic { return condition.Logic{Op: condition.LogicAnd} }

func entryOf(a *Activity) *processtable.Activity {
	e := &processtable.Activity{
		Name:          processtable.ActivityID(a.Name),
		Kind:          processtable.KindProgram,
		Program:       processtable.ProgramID(a.Program),
		Input:         a.Input,
		Output:        a.Output,
		NoOutput:      a.NoOutput,
		MaxIterations: a.MaxIterations,
		Again:         processtable.Backoff{After: a.AgainAfter, Max: a.AgainMax},
		Retry: processtable.Retry{
			Attempts: a.RetryAttempts,
			Backoff:  processtable.Backoff{After: a.RetryBackoff, Max: a.RetryMax},
		},
		RCIsData: a.RCIsData, RCContinue: a.OnRC == OnRCContinue,
		Wait: a.Wait.inTable(), Deadline: a.Deadline.inTable(), Continues: a.Continues, Notify: noticesInTable(a.Notify),
		Child: a.Child.inTable(), Independent: a.Independent,
		Receive: a.Receive.inTable(), Send: a.Send.inTable(),
		FirstMatch: a.FirstMatch,
		Manual:     a.manualInTable(), Priority: a.Priority.inTable(),
	}
	switch a.kind() {
	case kindEmpty:
		e.Kind = processtable.KindEmpty
	case kindBlock:
		e.Kind = processtable.KindBlock
	case kindWait:
		e.Kind = processtable.KindWait
	case kindProcess:
		e.Kind = processtable.KindProcess
	case kindReceive:
		e.Kind = processtable.KindReceive
	case kindSend:
		e.Kind = processtable.KindSend
	case kindManual:
		e.Kind = processtable.KindManual
	case kindProgram: // as it is
	}
	if a.Exit != nil {
		e.Exit = &a.Exit.Checked
	}
	return e
}

// connect adds every connector of a graph to the rows at both of its ends, in file order,
// and after them what depends on them.
func (c *compiler) connect(g *graph) error {
	for _, k := range g.Control {
		e := processtable.OutControl{Otherwise: k.Otherwise}
		if k.Condition != nil {
			e.Condition = &k.Condition.Checked
		}
		if err := c.control(g, k.Source, k.Target, e); err != nil {
			return err
		}
	}
	if err := c.bound(g); err != nil {
		return err
	}
	for _, a := range g.Activities {
		if err := c.start(g, a); err != nil {
			return err
		}
		if err := c.cancels(g, a); err != nil {
			return err
		}
	}
	for _, d := range g.Data {
		if err := c.data(g, d); err != nil {
			return err
		}
	}
	for _, a := range g.Activities {
		if err := c.hidden(g, a); err != nil {
			return err
		}
	}
	return nil
}

// row gives an activity of a graph, with its source and sink.
func (c *compiler) row(g *graph, name string) *processtable.Activity {
	return c.rows[processtable.RowID{Name: processtable.ActivityID(name), Inside: g.inside}]
}

func (c *compiler) control(g *graph, source, target string, out processtable.OutControl) error {
	from, to := c.row(g, source), c.row(g, target)
	if from == nil || to == nil {
		return fmt.Errorf("control connector %s -> %s: there is no such activity", source, target)
	}
	out.To, out.Node = to.Name, c.places[to.Row()]
	from.OutControl = append(from.OutControl, out)
	to.InControl = append(to.InControl, processtable.InControl{From: from.Name})
	return nil
}

// bound joins source to what nothing leads to, and sink to what has no successors (N1), or none that wait for
// it: what is decided with the first connectors may be over when the others come, and sink still ends last.
// Considered instead: that who is decided so tells sink once all its connectors have come. That keeps its entry, and
// with it a message of each connector, although nothing is to be done there any more.
func (c *compiler) bound(g *graph) error {
	awaited := c.awaited(g)
	for _, a := range g.Activities {
		e := c.row(g, a.Name)
		if len(e.InControl) == 0 {
			if err := c.control(g, string(processtable.Source), a.Name, processtable.OutControl{}); err != nil {
				return err
			}
		}
		if !awaited[a.Name] {
			if err := c.control(g, a.Name, string(processtable.Sink), processtable.OutControl{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaited are the activities of a graph for which another one waits.
func (c *compiler) awaited(g *graph) map[string]bool {
	first, all := map[string]bool{}, map[string]bool{}
	for _, a := range g.Activities {
		first[a.Name] = a.Start.Kind == StartFirst
	}
	for _, k := range g.Control {
		all[k.Source] = all[k.Source] || !first[k.Target]
	}
	return all
}

// cancels adds what an activity cancels to its row and to theirs (N25).
func (c *compiler) cancels(g *graph, a *Activity) error {
	by := c.row(g, a.Name)
	for _, name := range a.Cancels {
		to := c.row(g, name)
		if to == nil {
			return fmt.Errorf("activity %s cancels %s: there is no such activity", a.Name, name)
		}
		by.Cancels = append(by.Cancels, processtable.Place{Activity: to.Name, Node: c.places[to.Row()]})
		to.CancelledBy = append(to.CancelledBy, by.Name)
	}
	return nil
}

// start turns a start condition into a tree over the indexes of InControl.
func (c *compiler) start(g *graph, a *Activity) error {
	e := c.row(g, a.Name)
	names := make([]string, len(e.InControl))
	vars := make([]condition.Logic, len(e.InControl))
	for i, in := range e.InControl {
		names[i] = string(in.From)
		vars[i] = condition.Logic{Op: condition.LogicVar, Var: i}
	}
	switch a.Start.Kind {
	case StartAll:
		e.Start = condition.Logic{Op: condition.LogicAnd, Args: vars}
	case StartAny:
		e.Start = condition.Logic{Op: condition.LogicOr, Args: vars}
	case StartAtLeast:
		e.Start = condition.Logic{Op: condition.LogicAtLeast, N: a.Start.N, Args: vars}
	case StartFirst:
		e.Start, e.First = condition.Logic{Op: condition.LogicAtLeast, N: a.Start.N, Args: vars}, a.Start.N
	case StartExpression:
		logic, problems := condition.CheckStart(a.Start.Text, names)
		if len(problems) > 0 {
			return fmt.Errorf("activity %s: start condition %q: %s: %s", a.Name, a.Start.Text, problems[0].Message, problems[0].Remedy)
		}
		e.Start = logic
	default:
		return fmt.Errorf("activity %s: start condition of kind %d", a.Name, a.Start.Kind)
	}
	return nil
}

func (c *compiler) data(g *graph, d *Data) error {
	from, to := c.row(g, d.Source), c.row(g, d.Target)
	if from == nil || to == nil {
		return fmt.Errorf("data connector %s -> %s: there is no such activity", d.Source, d.Target)
	}
	mappings := make([]processtable.Mapping, len(d.Mappings))
	for i, m := range d.Mappings {
		mappings[i] = processtable.Mapping{RC: m.RC, Word: m.Word, OfWords: m.OfWords, Append: m.Append, From: m.From, To: m.To, Type: m.Type, Source: m.Source, Target: m.Target}
		if m.Expr != nil {
			mappings[i].Expr = &m.Expr.Checked
		}
	}
	if from == to {
		c.done(from).Feedback = mappings
		return nil
	}
	from.OutData = append(from.OutData, processtable.OutData{To: to.Name, Node: c.places[to.Row()], Mappings: mappings})
	to.InData = append(to.InData, processtable.InData{From: from.Name, Mappings: mappings})
	return nil
}

// nodes gives every node that needs a table, sorted.
func (c *compiler) nodes() []processtable.NodeID {
	nodes := slices.Clone(c.starts)
	for _, place := range c.roster {
		if place.Node != processtable.Origin {
			nodes = append(nodes, place.Node)
		}
	}
	for _, w := range c.workers {
		nodes = append(nodes, w.Nodes...)
	}
	slices.SortFunc(nodes, cmp.Compare[processtable.NodeID])
	return slices.Compact(nodes)
}

// table gives a node's table. What all tables have alike they share: none of them is
// changed.
func (c *compiler) table(node processtable.NodeID, hash processtable.DefinitionHash) *processtable.Table {
	t := &processtable.Table{
		Process:    processtable.ProcessID{Name: c.p.Name, Version: c.p.Version},
		Node:       node,
		Definition: hash,
		Input:      c.p.Input,
		Output:     c.p.Output,
		Roster:     c.roster,
		Starts:     c.starts,
	}
	start := t.IsStart()
	if start {
		t.Activities = append(t.Activities, c.graphs[0].source)
	}
	for _, place := range c.roster {
		begun := c.begun[place.Activity]
		if place.Node != node && (place.Node != processtable.Origin || !start) {
			t.Activities = append(t.Activities, begun.workAt(node)...)
			continue
		}
		row := c.rows[c.byName[place.Activity]]
		t.Activities = append(append(append(t.Activities, row), begun.atHome()...), begun.workAt(node)...)
		if c.done(row).Kind == processtable.KindBlock {
			for _, added := range []processtable.ActivityID{processtable.Source, processtable.Sink} {
				t.Activities = append(t.Activities, c.rows[processtable.RowID{Name: added, Inside: row.Name}])
			}
		}
	}
	if start {
		t.Activities = append(t.Activities, c.graphs[0].sink)
		t.Search = c.p.Search
	}
	t.Deadlines = c.graphs[0].sink.Tells()&processtable.OnDeadline != 0
	t.Children, t.Workers, t.History = c.children, c.workers, c.p.History
	t.Starters, t.Administrator, t.Priority = c.p.Staff.inTable(), c.p.Administrator.inTable(), c.p.Priority.inTable()
	for _, s := range c.p.Schedules {
		if processtable.NodeID(s.Node) == node {
			t.Schedules = append(t.Schedules, s.inTable())
		}
	}
	return t
}
