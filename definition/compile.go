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
	Activities []string `json:"activities"` // hosted there, in file order, without source and sink
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
	if o.TableFormat == 0 {
		o.TableFormat = processtable.FlowMarkFormat
	}
	if o.TableFormat < 1 || o.TableFormat > processtable.FlowMarkFormat {
		return Manifest{}, fmt.Errorf("there is no table format %d: this version writes 1 to %d", o.TableFormat, processtable.FlowMarkFormat)
	}
	if o.AsWritten {
		p = p.asWritten()
	}
	hash, err := definitionHash(p)
	if err != nil {
		return Manifest{}, err
	}
	c := newCompiler(p)
	if err := c.connect(); err != nil {
		return Manifest{}, err
	}
	if err := c.checkStart(); err != nil {
		return Manifest{}, err
	}
	m := Manifest{Process: p.Name, Version: p.Version, Format: o.TableFormat, Definition: hash.String()}
	nodes, total := c.nodes(), 0
	for i, node := range nodes {
		t := c.table(node, hash)
		t.Format = o.TableFormat
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

// tableTooLarge and tablesTooLarge are the limits that only compiling can find.
type tableTooLarge struct {
	node        processtable.NodeID
	bytes, most int
}

func (e *tableTooLarge) Error() string { return e.message() + ": " + e.remedy() }

func (e *tableTooLarge) message() string {
	return fmt.Sprintf("the table of node %s takes %d bytes", e.node, e.bytes)
}

func (e *tableTooLarge) remedy() string {
	return fmt.Sprintf("use at most %d: host fewer activities at %s, map fewer members, or split the process", e.most, e.node)
}

type tablesTooLarge struct{ nodes, fit, most int }

func (e *tablesTooLarge) Error() string { return e.message() + ": " + e.remedy() }

func (e *tablesTooLarge) message() string {
	return fmt.Sprintf("the tables of %d nodes take over %d bytes together", e.nodes, e.most)
}

func (e *tablesTooLarge) remedy() string {
	return fmt.Sprintf("the tables of %d nodes fit: each names every activity and every node in `starts`: name fewer nodes, or split the process", e.fit)
}

type startTooLarge struct{ activities, bytes int }

func (e *startTooLarge) Error() string { return e.message() + ": " + e.remedy() }

func (e *startTooLarge) message() string {
	return fmt.Sprintf("source is joined with %d activities, and what names them at the start takes %d bytes", e.activities, e.bytes)
}

func (e *startTooLarge) remedy() string {
	return fmt.Sprintf("use at most %d, where each activity takes its name, that of its node and %d bytes: shorten the names, or begin with a few empty activities that lead to these",
		maxStart, startEach)
}

// maxStart is how many bytes a start may take to name what source is joined with. One record of
// the audit has all of it (N16), beside up to 32 KiB of other things, and a store takes records
// below 1 MiB.
const maxStart = 1_000_000

// startEach is what an activity takes there beside its name and that of its node: marks and
// lengths, and its number in the link.
const startEach = 16

// checkStart holds what source is joined with to maxStart. What has other activities before it has
// too few of them for that.
func (c *compiler) checkStart() error {
	joined := map[processtable.ActivityID]bool{}
	bytes := 0
	add := func(to processtable.ActivityID, node processtable.NodeID) {
		if !joined[to] {
			joined[to] = true
			bytes += len(to) + len(node) + startEach
		}
	}
	for _, o := range c.source.OutControl {
		add(o.To, o.Node)
	}
	for _, o := range c.source.OutData {
		add(o.To, o.Node)
	}
	if bytes > maxStart {
		return &startTooLarge{len(joined), bytes}
	}
	return nil
}

// TableFile is the name of the file for a table, such as purchase-order@1.A.table.
func TableFile(t *processtable.Table) string {
	return processtable.QueueName(t.Process, t.Node) + ".table"
}

func manifestTable(t *processtable.Table, encoded []byte) ManifestTable {
	sum := sha256.Sum256(encoded)
	hosted := []string{}
	for _, place := range t.Roster {
		if place.Node == t.Node {
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

// compiler holds the entry of every activity while connectors are added to both of
// their ends.
type compiler struct {
	p            *Process
	source, sink *processtable.Activity
	entries      map[string]*processtable.Activity // by name, with source and sink
	places       map[string]processtable.NodeID
	roster       []processtable.Place
	starts       []processtable.NodeID
	resolving    map[processtable.ActivityID][]processtable.NodeID // by activity, those that may resolve what leads out of it
}

func newCompiler(p *Process) *compiler {
	c := &compiler{
		p: p,
		source: &processtable.Activity{
			Name: processtable.Source, Kind: processtable.KindSource,
			Input: container.Empty, Output: p.Input, Start: always(),
		},
		sink: &processtable.Activity{
			Name: processtable.Sink, Kind: processtable.KindSink,
			Input: p.Output, Output: container.Empty, Start: always(),
		},
		entries: make(map[string]*processtable.Activity, len(p.Activities)+2),
		places:  make(map[string]processtable.NodeID, len(p.Activities)+1),

		resolving: map[processtable.ActivityID][]processtable.NodeID{},
	}
	for _, a := range p.Activities {
		c.entries[a.Name] = entryOf(a)
		c.places[a.Name] = processtable.NodeID(a.Node)
		c.roster = append(c.roster, processtable.Place{Activity: processtable.ActivityID(a.Name), Node: processtable.NodeID(a.Node)})
	}
	for _, n := range p.Starts {
		c.starts = append(c.starts, processtable.NodeID(n))
	}
	c.entries[string(processtable.Source)] = c.source
	c.entries[string(processtable.Sink)] = c.sink
	c.places[string(processtable.Sink)] = processtable.Origin
	return c
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
	}
	if a.Empty {
		e.Kind = processtable.KindEmpty
	}
	if a.Exit != nil {
		e.Exit = &a.Exit.Checked
	}
	return e
}

// connect adds every connector to the entries at both of its ends, in file order,
// and after them what depends on them.
func (c *compiler) connect() error {
	for _, k := range c.p.Control {
		e := processtable.OutControl{Otherwise: k.Otherwise}
		if k.Condition != nil {
			e.Condition = &k.Condition.Checked
		}
		if err := c.control(k.Source, k.Target, e); err != nil {
			return err
		}
	}
	if err := c.bound(); err != nil {
		return err
	}
	for _, a := range c.p.Activities {
		if err := c.start(a); err != nil {
			return err
		}
	}
	for _, d := range c.p.Data {
		if err := c.data(d); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) control(source, target string, out processtable.OutControl) error {
	from, to := c.entries[source], c.entries[target]
	if from == nil || to == nil {
		return fmt.Errorf("control connector %s -> %s: there is no such activity", source, target)
	}
	out.To, out.Node = to.Name, c.places[target]
	from.OutControl = append(from.OutControl, out)
	to.InControl = append(to.InControl, processtable.InControl{From: from.Name})
	return nil
}

// bound joins source to what has no predecessors and sink to what has no successors (N1).
func (c *compiler) bound() error {
	for _, a := range c.p.Activities {
		e := c.entries[a.Name]
		if len(e.InControl) == 0 {
			if err := c.control(string(processtable.Source), a.Name, processtable.OutControl{}); err != nil {
				return err
			}
		}
		if len(e.OutControl) == 0 {
			if err := c.control(a.Name, string(processtable.Sink), processtable.OutControl{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// start turns a start condition into a tree over the indexes of InControl.
func (c *compiler) start(a *Activity) error {
	e := c.entries[a.Name]
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

func (c *compiler) data(d *Data) error {
	from, to := c.entries[d.Source], c.entries[d.Target]
	if from == nil || to == nil {
		return fmt.Errorf("data connector %s -> %s: there is no such activity", d.Source, d.Target)
	}
	mappings := make([]processtable.Mapping, len(d.Mappings))
	for i, m := range d.Mappings {
		mappings[i] = processtable.Mapping{RC: m.RC, From: m.From, To: m.To, Type: m.Type, Source: m.Source, Target: m.Target}
	}
	if from == to {
		from.Feedback = mappings
		return nil
	}
	from.OutData = append(from.OutData, processtable.OutData{To: to.Name, Node: c.places[d.Target], Mappings: mappings})
	to.InData = append(to.InData, processtable.InData{From: from.Name, Mappings: mappings})
	return nil
}

// nodes gives every node that needs a table, sorted.
func (c *compiler) nodes() []processtable.NodeID {
	var nodes []processtable.NodeID
	for _, a := range c.p.Activities {
		nodes = append(nodes, processtable.NodeID(a.Node))
	}
	for _, n := range c.p.Starts {
		nodes = append(nodes, processtable.NodeID(n))
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
		t.Activities = append(t.Activities, c.source)
	}
	for _, place := range c.roster {
		if place.Node == node {
			t.Activities = append(t.Activities, c.entries[string(place.Activity)])
		}
	}
	if start {
		t.Activities = append(t.Activities, c.sink)
	}
	return t
}
