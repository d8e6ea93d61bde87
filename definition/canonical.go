package definition

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"

	"fmqm/container"
	"fmqm/processtable"
)

// The canonical form of a definition is what its hash is taken of: everything that
// can change how an instance runs, and nothing else. Descriptions, positions, the
// order of activities and control connectors, structures that nothing uses and
// compiled conditions are not in it; conditions are their texts, which are canonical
// themselves (condition.Canonical). These types are a
// format: a change of them changes the hash of every definition, which N3 would
// take for another definition.
type canonicalProcess struct {
	Form       int                  `cbor:"1,keyasint"` // 1
	Name       string               `cbor:"2,keyasint"`
	Version    int                  `cbor:"3,keyasint"`
	Structures []canonicalStructure `cbor:"4,keyasint"` // sorted by name
	Input      string               `cbor:"5,keyasint"`
	Output     string               `cbor:"6,keyasint"`
	Starts     []string             `cbor:"7,keyasint"`  // sorted
	Activities []canonicalActivity  `cbor:"8,keyasint"`  // sorted by name
	Control    []canonicalControl   `cbor:"9,keyasint"`  // sorted by target and source
	Data       []canonicalData      `cbor:"10,keyasint"` // by target; within a target in file order (N8)
	Schedules  []canonicalSchedule  `cbor:"11,keyasint,omitempty"`
	Deadline   *canonicalMoment     `cbor:"12,keyasint,omitempty"`
	Notify     []any                `cbor:"20,keyasint,omitempty"`
	History    int                  `cbor:"21,keyasint,omitempty"`

	Staff         string             `cbor:"22,keyasint,omitempty"`
	Administrator string             `cbor:"23,keyasint,omitempty"`
	Priority      *canonicalPriority `cbor:"24,keyasint,omitempty"`
	Search        []string           `cbor:"25,keyasint,omitempty"` // sorted
}

type canonicalStructure struct {
	_       struct{} `cbor:",toarray"`
	Name    string
	Members []canonicalMember
}

type canonicalMember struct {
	_       struct{} `cbor:",toarray"`
	Name    string
	Type    string
	Default []byte // nil: the zero of its type
}

type canonicalActivity struct {
	Name          string        `cbor:"1,keyasint"`
	Node          string        `cbor:"2,keyasint"`
	Program       string        `cbor:"3,keyasint"` // empty: routing only, or a block
	Input         string        `cbor:"4,keyasint"`
	Output        string        `cbor:"5,keyasint"`
	NoOutput      bool          `cbor:"6,keyasint"`
	StartKind     StartKind     `cbor:"7,keyasint"`
	StartN        int           `cbor:"8,keyasint"`
	StartText     string        `cbor:"9,keyasint"`
	Exit          string        `cbor:"10,keyasint"`
	MaxIterations int           `cbor:"11,keyasint"`
	AgainAfter    time.Duration `cbor:"12,keyasint"`
	AgainMax      time.Duration `cbor:"13,keyasint"`
	RetryAttempts int           `cbor:"14,keyasint"`
	RetryBackoff  time.Duration `cbor:"15,keyasint"`
	RetryMax      time.Duration `cbor:"16,keyasint"`
	RCIsData      bool          `cbor:"17,keyasint"`
	RCContinue    bool          `cbor:"18,keyasint"`

	Block *canonicalGraph `cbor:"19,keyasint,omitempty"` // nil: none, and then it is not written

	Choice []string `cbor:"20,keyasint,omitempty"` // where the first match is taken: the targets, in the order in which they are asked

	Wait      *canonicalMoment `cbor:"21,keyasint,omitempty"`
	Deadline  *canonicalMoment `cbor:"22,keyasint,omitempty"`
	Continues bool             `cbor:"23,keyasint,omitempty"`
	Cancels   []string         `cbor:"24,keyasint,omitempty"` // sorted

	Child       string `cbor:"25,keyasint,omitempty"` // name, or name@version
	Independent bool   `cbor:"26,keyasint,omitempty"`

	Bundle *canonicalBundle `cbor:"27,keyasint,omitempty"`
	Call   *canonicalCall   `cbor:"28,keyasint,omitempty"`

	Receive *canonicalReceive `cbor:"40,keyasint,omitempty"`
	Send    *canonicalSend    `cbor:"41,keyasint,omitempty"`

	Notify []any `cbor:"42,keyasint,omitempty"` // canonicalNotice, or canonicalPeopleNotice; in file order: their numbers are in what is stored

	Staff    string             `cbor:"43,keyasint,omitempty"`
	Title    string             `cbor:"44,keyasint,omitempty"` // empty: the name
	Priority *canonicalPriority `cbor:"45,keyasint,omitempty"`

	OfferedAt []string `cbor:"46,keyasint,omitempty"` // sorted
}

type canonicalBundle struct {
	_             struct{} `cbor:",toarray"`
	Member        string
	Parallel      int
	Until, Failed string // empty: none
}

type canonicalCall struct {
	_    struct{} `cbor:",toarray"`
	Node string
	Of   []string // sorted
}

type canonicalNotice struct {
	_       struct{} `cbor:",toarray"`
	Program string
	First   *canonicalMoment
	Every   *canonicalMoment
}

// canonicalPeopleNotice is one that says who is shown it.
type canonicalPeopleNotice struct {
	_      struct{} `cbor:",toarray"`
	Notice canonicalNotice
	Staff  string
}

// canonicalToldNotice is one that tells of what has happened.
type canonicalToldNotice struct {
	_       struct{} `cbor:",toarray"`
	On      uint8
	Program string
	Staff   string
}

type canonicalPriority struct {
	_     struct{} `cbor:",toarray"`
	Fixed int
	Text  string // empty: Fixed
}

type canonicalMoment struct {
	_     struct{} `cbor:",toarray"`
	At    bool
	Fixed int64
	Text  string
}

// canonicalGraph is what a block consists of, as in canonicalProcess.
type canonicalGraph struct {
	Activities []canonicalActivity `cbor:"1,keyasint"`
	Control    []canonicalControl  `cbor:"2,keyasint"`
	Data       []canonicalData     `cbor:"3,keyasint"`
}

type canonicalControl struct {
	_              struct{} `cbor:",toarray"`
	Source, Target string
	Condition      string // empty: none
	Otherwise      bool
}

type canonicalData struct {
	_              struct{} `cbor:",toarray"`
	Source, Target string
	Mappings       []any // canonicalMapping, canonicalWord (also of an expression's text, which is in parentheses) or canonicalAppend
}

type canonicalMapping struct {
	_        struct{} `cbor:",toarray"`
	RC       bool
	From, To container.Path
}

type canonicalWord struct {
	_    struct{} `cbor:",toarray"`
	Word string
	To   container.Path
}

type canonicalAppend struct {
	_  struct{} `cbor:",toarray"`
	Of any
}

// definitionHash gives the hash that name@version is bound to for ever (N3).
func definitionHash(p *Process) (processtable.DefinitionHash, error) {
	c, err := canonicalOf(p)
	if err != nil {
		return processtable.DefinitionHash{}, err
	}
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return processtable.DefinitionHash{}, fmt.Errorf("canonical form: %w", err)
	}
	b, err := mode.Marshal(c)
	if err != nil {
		return processtable.DefinitionHash{}, fmt.Errorf("canonical form: %w", err)
	}
	return sha256.Sum256(b), nil
}

func canonicalOf(p *Process) (*canonicalProcess, error) {
	structures, err := canonicalStructures(p)
	if err != nil {
		return nil, err
	}
	schedules, err := canonicalSchedules(p.Schedules)
	if err != nil {
		return nil, err
	}
	g := canonicalGraphOf(&p.Graph)
	return &canonicalProcess{
		Form: 1, Name: p.Name, Version: p.Version,
		Structures: structures,
		Input:      p.Input.String(), Output: p.Output.String(),
		Starts:     slices.Sorted(slices.Values(p.Starts)),
		Activities: g.Activities, Control: g.Control, Data: g.Data,
		Schedules: schedules, Deadline: canonicalMomentOf(p.Deadline), Notify: canonicalNoticesOf(p.Notify), History: p.History,
		Staff: p.Staff.text(), Administrator: p.Administrator.text(), Priority: canonicalPriorityOf(p.Priority), Search: slices.Sorted(slices.Values(p.Search)),
	}, nil
}

func canonicalGraphOf(g *Graph) *canonicalGraph {
	c := &canonicalGraph{}
	bundles := map[string]bool{}
	for _, a := range g.Activities {
		c.Activities = append(c.Activities, canonicalActivityOf(g, a))
		bundles[a.Name] = a.Bundle != nil
	}
	slices.SortFunc(c.Activities, func(a, b canonicalActivity) int { return cmp.Compare(a.Name, b.Name) })
	for _, k := range g.Control {
		e := canonicalControl{Source: k.Source, Target: k.Target, Otherwise: k.Otherwise}
		if k.Condition != nil {
			e.Condition = k.Condition.Checked.Text
		}
		c.Control = append(c.Control, e)
	}
	slices.SortFunc(c.Control, func(a, b canonicalControl) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Source, b.Source))
	})
	for _, d := range g.Data {
		e := canonicalData{Source: d.Source, Target: d.Target}
		for _, m := range d.Mappings {
			e.Mappings = append(e.Mappings, canonicalMappingOf(m, bundles[d.Source] && d.Source != d.Target))
		}
		c.Data = append(c.Data, e)
	}
	slices.SortStableFunc(c.Data, func(a, b canonicalData) int { return cmp.Compare(a.Target, b.Target) })
	return c
}

// canonicalMappingOf writes a mapping; out of a bundle it names a word, whatever else of the bundle is read.
func canonicalMappingOf(m Mapping, ofBundle bool) (c any) {
	switch {
	case ofBundle && m.Expr == nil:
		c = canonicalWord{Word: m.Source, To: m.To}
	case m.Expr != nil:
		c = canonicalWord{Word: m.Expr.Checked.Text, To: m.To}
	case m.Word != 0:
		c = canonicalWord{Word: m.Word.String(), To: m.To}
	default:
		c = canonicalMapping{RC: m.RC, From: m.From, To: m.To}
	}
	if m.Append {
		return canonicalAppend{Of: c}
	}
	return c
}

func canonicalActivityOf(g *Graph, a *Activity) canonicalActivity {
	c := canonicalActivity{
		Name: a.Name, Node: a.Node, Program: a.Program,
		Input: a.Input.String(), Output: a.Output.String(), NoOutput: a.NoOutput,
		StartKind:     a.Start.Kind,
		MaxIterations: a.MaxIterations,
		AgainAfter:    a.AgainAfter, AgainMax: a.AgainMax,
		RetryAttempts: a.RetryAttempts, RetryBackoff: a.RetryBackoff, RetryMax: a.RetryMax,
		RCIsData: a.RCIsData, RCContinue: a.OnRC == OnRCContinue,
		Wait: canonicalMomentOf(a.Wait), Deadline: canonicalMomentOf(a.Deadline), Notify: canonicalNoticesOf(a.Notify),
		Continues: a.Continues, Cancels: slices.Sorted(slices.Values(a.Cancels)),
		Receive: canonicalReceiveOf(a.Receive), Send: canonicalSendOf(a.Send),
		Staff: a.Staff.text(), Title: titleOf(a), Priority: canonicalPriorityOf(a.Priority),
	}
	switch a.Start.Kind {
	case StartAtLeast, StartFirst:
		c.StartN = a.Start.N
	case StartExpression:
		c.StartText = a.Start.Text
	case StartAll, StartAny:
	}
	if a.Exit != nil {
		c.Exit = a.Exit.Checked.Text
	}
	if a.Block != nil {
		c.Block = canonicalGraphOf(a.Block)
	}
	if a.Child != nil {
		c.Child, c.Independent = a.Child.String(), a.Independent
	}
	if b := a.Bundle; b != nil {
		c.Bundle = &canonicalBundle{Member: b.Member, Parallel: b.Parallel, Until: b.Until.text(), Failed: b.Failed.text()}
	}
	if a.Call != nil {
		c.Call = &canonicalCall{Node: a.Call.Node.text(), Of: slices.Sorted(slices.Values(a.Call.Of))}
	}
	c.OfferedAt = slices.Sorted(slices.Values(a.OfferedAt))
	if a.FirstMatch {
		for _, k := range g.Control {
			if k.Source == a.Name {
				c.Choice = append(c.Choice, k.Target)
			}
		}
	}
	return c
}

// text is the condition's text; empty: there is none.
func (c *Condition) text() string {
	if c == nil {
		return ""
	}
	return c.Checked.Text
}

func canonicalMomentOf(m *Moment) *canonicalMoment {
	switch {
	case m == nil:
		return nil
	case m.Expr != nil:
		return &canonicalMoment{At: m.At, Text: m.Expr.Checked.Text}
	}
	return &canonicalMoment{At: m.At, Fixed: m.Fixed}
}

// canonicalStructures gives the structures that containers use, directly or inside
// others. Within a process a name stands for one structure, so types are their names.
func canonicalStructures(p *Process) ([]canonicalStructure, error) {
	used := map[string]*container.Type{}
	var use func(t *container.Type)
	use = func(t *container.Type) {
		switch t.Kind {
		case container.List:
			use(t.Elem)
		case container.Structure:
			if used[t.Name] != nil {
				return
			}
			used[t.Name] = t
			for _, m := range t.Members {
				use(m.Type)
			}
		default:
		}
	}
	use(p.Input)
	use(p.Output)
	for _, a := range p.All() {
		use(a.Input)
		use(a.Output)
	}
	for _, e := range eventsOf(p) {
		use(e.Type)
	}
	var all []canonicalStructure
	for _, t := range used {
		s := canonicalStructure{Name: t.Name}
		for _, m := range t.Members {
			d, err := canonicalDefault(m)
			if err != nil {
				return nil, fmt.Errorf("structure %s: member %s: %w", t.Name, m.Name, err)
			}
			s.Members = append(s.Members, canonicalMember{Name: m.Name, Type: m.Type.String(), Default: d})
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b canonicalStructure) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func canonicalDefault(m container.Member) ([]byte, error) {
	if m.Default == nil || container.Equal(m.Default, container.Zero(m.Type)) {
		return nil, nil
	}
	return container.EncodeCBOR(m.Default)
}

// asWritten is p with the texts of its conditions as the file has them.
func (p *Process) asWritten() *Process {
	of := *p
	of.Graph = p.Graph.asWritten()
	return &of
}

func (g *Graph) asWritten() Graph {
	var of Graph
	written := func(c *Condition) *Condition {
		if c == nil {
			return nil
		}
		w := *c
		w.Checked.Text = c.Written
		return &w
	}
	of.Activities = make([]*Activity, len(g.Activities))
	for i, a := range g.Activities {
		w := *a
		w.Exit, w.Start.Text = written(a.Exit), a.Start.Written
		w.Wait, w.Deadline = a.Wait.asWritten(written), a.Deadline.asWritten(written)
		if a.Bundle != nil {
			b := *a.Bundle
			b.Until, b.Failed = written(b.Until), written(b.Failed)
			w.Bundle = &b
		}
		if a.Call != nil {
			call := *a.Call
			call.Node = written(call.Node)
			w.Call = &call
		}
		w.Receive, w.Send = a.Receive.asWritten(written), a.Send.asWritten(written)
		w.Notify = slices.Clone(a.Notify)
		for j, n := range w.Notify {
			w.Notify[j].First, w.Notify[j].Every = n.First.asWritten(written), n.Every.asWritten(written)
		}
		if a.Block != nil {
			block := a.Block.asWritten()
			w.Block = &block
		}
		of.Activities[i] = &w
	}
	of.Data = g.Data
	of.Control = make([]*Control, len(g.Control))
	for i, k := range g.Control {
		w := *k
		w.Condition = written(k.Condition)
		of.Control[i] = &w
	}
	return of
}

func canonicalNoticesOf(all []Notice) (out []any) {
	for _, n := range all {
		c := canonicalNotice{Program: n.Program, First: canonicalMomentOf(n.First), Every: canonicalMomentOf(n.Every)}
		switch {
		case n.On != 0:
			staff := ""
			if n.Staff != nil {
				staff = n.Staff.text()
			}
			out = append(out, canonicalToldNotice{On: uint8(n.On), Program: n.Program, Staff: staff})
		case n.Staff == nil:
			out = append(out, c)
		default:
			out = append(out, canonicalPeopleNotice{Notice: c, Staff: n.Staff.text()})
		}
	}
	return out
}

func (m *Moment) asWritten(written func(*Condition) *Condition) *Moment {
	if m == nil {
		return nil
	}
	w := *m
	w.Expr = written(m.Expr)
	return &w
}
