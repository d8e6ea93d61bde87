package navigator

import (
	"fmt"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Process is a process table prepared for navigation: conditions loaded, connectors
// indexed. It is immutable.
type Process struct {
	table      *processtable.Table
	rows       processtable.Rows[behaviour.Behaviour]
	activities processtable.Rows[*Activity]          // those of rows that are FlowMark's
	notices    map[processtable.ActivityID]*notice   // of activities here (R36)
	detours    map[processtable.ActivityID]*Activity // elsewhere: only what leads out of them is known (R18)
	urgent     urgency                               // over the process's input; prepared where that is: at nodes of starts
	rank       message.Rank                          // of what has no priority of its own
}

// Activity is one prepared row of the table.
type Activity struct {
	*processtable.Activity
	process *Process

	inControl map[processtable.ActivityID]int
	inData    map[processtable.ActivityID]int
	diesAlone bool                // R18
	runsAlone bool                // N5
	dataTypes [][]*container.Type // of each InData's values
	targets   []target
	sending   []processtable.NodeID  // where those are, and what it returns to
	inside    []target               // all that is inside of a block, with its source and sink
	one       *processtable.Activity // of a bundle: the row of one execution
	until     *condition.Condition   // of a bundle; nil: all of it is done
	failed    *condition.Condition   // of one execution of a bundle; nil: nothing more counts as failed
	node      *condition.Expr        // of a call: where its work is done
	due, over moment                 // of Deadline and Wait
	signal    *signal                // of what receives or sends events
	notices   []noticeReady
	own       *processtable.Who     // of a manual activity with notices: who has it
	urgent    urgency               // the activity's own priority
	elsewhere []processtable.NodeID // of a manual activity: where it is offered beside this node, its home
	asked     []*condition.Expr     // of a manual activity: what is asked of the data to know who may do it
	exit      *condition.Condition
	outgoing  []*condition.Condition // of each OutControl; nil: unconditional, or otherwise
	out       []mappings             // of each OutData
	fed       mappings               // of Feedback
	asks      int                    // bytes of the texts of exit, outgoing, out and fed
	long      bool                   // one of them can take long
	echo      []echoed
}

// target is where one onward message goes (R9): indexes into OutControl and OutData,
// or -1.
type target struct {
	activity processtable.ActivityID
	node     processtable.NodeID
	control  int
	data     int
}

// echoed is a member that an empty activity passes on (R14).
type echoed struct{ from, to int }

// Prepare makes the rows of a table ready: FlowMark's, of which it loads the conditions, and
// those that others have. An error means that the table comes from a compiler that this node
// cannot follow; it names the activity.
func Prepare(t *processtable.Table, others behaviour.Registry) (*Process, error) {
	p := &Process{
		table:      t,
		rows:       processtable.NewRows[behaviour.Behaviour](t),
		activities: processtable.NewRows[*Activity](t),
		notices:    map[processtable.ActivityID]*notice{},
	}
	if reason := behaviour.Crossing(t); reason != "" {
		return nil, fmt.Errorf("prepare %s at %s: %s", t.Process, t.Node, reason)
	}
	var err error
	if p.urgent, err = prepareUrgency(t.Priority, t.Input); err != nil {
		return nil, fmt.Errorf("prepare %s at %s: %w", t.Process, t.Node, err)
	}
	p.rank = message.RankOf(processtable.DefaultPriority)
	if t.Priority != nil && t.Priority.Expr == nil {
		p.rank = message.RankOf(int64(t.Priority.Fixed))
	}
	loaded := map[loadKey]*condition.Condition{}
	for _, row := range t.Activities {
		if err := p.add(row, others, loaded); err != nil {
			return nil, fmt.Errorf("prepare %s at %s: activity %s: %w", t.Process, t.Node, row.Name, err)
		}
	}
	p.prepareDetours()
	return p, nil
}

func (p *Process) add(row *processtable.Activity, others behaviour.Registry, loaded map[loadKey]*condition.Condition) error {
	if row.Behaviour != "" {
		b, err := others.Make(p.table, row)
		p.rows.Put(row.Row(), b)
		return err
	}
	a, err := p.prepare(row, loaded)
	p.rows.Put(row.Row(), a)
	p.activities.Put(row.Row(), a)
	if err == nil && len(row.Notify) > 0 {
		p.notices[row.Name] = &notice{a}
	}
	return err
}

// loadKey: equal conditions over one type are loaded once.
type loadKey struct {
	checked *condition.Checked
	scope   *container.Type
	words   condition.Words
}

func (p *Process) prepare(row *processtable.Activity, loaded map[loadKey]*condition.Condition) (*Activity, error) {
	a := &Activity{
		Activity:  row,
		process:   p,
		diesAlone: row.DiesAlone(),
		runsAlone: row.RunsAlone(),
		inControl: make(map[processtable.ActivityID]int, len(row.InControl)),
		inData:    make(map[processtable.ActivityID]int, len(row.InData)),
		outgoing:  make([]*condition.Condition, len(row.OutControl)),
	}
	for i, c := range row.InControl {
		a.inControl[c.From] = i
	}
	for i, d := range row.InData {
		a.inData[d.From] = i
		a.dataTypes = append(a.dataTypes, typesOf(d.Mappings))
	}
	load := func(c *condition.Checked) (*condition.Condition, error) {
		if c == nil {
			return nil, nil
		}
		scope := a.scope()
		key := loadKey{c, row.Output, scope.Words}
		cond := loaded[key]
		if cond == nil {
			var err error
			if cond, err = condition.Load(*c, scope); err != nil {
				return nil, fmt.Errorf("condition %q: %w", c.Text, err)
			}
			loaded[key] = cond
		}
		a.asks += len(c.Text)
		a.long = a.long || cond.Long()
		return cond, nil
	}
	var err error
	if a.exit, err = load(row.Exit); err != nil {
		return nil, err
	}
	for i, c := range row.OutControl {
		if a.outgoing[i], err = load(c.Condition); err != nil {
			return nil, err
		}
	}
	a.out = make([]mappings, len(row.OutData))
	for i, d := range row.OutData {
		if a.out[i], err = a.prepareMappings(d.Mappings); err != nil {
			return nil, fmt.Errorf("data connector to %s: %w", d.To, err)
		}
	}
	if a.fed, err = a.prepareMappings(row.Feedback); err != nil {
		return nil, fmt.Errorf("feedback: %w", err)
	}
	over := a.noticeInput()
	if a.due, err = prepareMoment(row.Deadline, over); err != nil {
		return nil, err
	}
	if a.over, err = prepareMoment(row.Wait, row.Input); err != nil {
		return nil, err
	}
	if err := a.prepareBegun(p.table, load); err != nil {
		return nil, err
	}
	if row.Receive != nil || row.Send != nil {
		if a.signal, err = prepareSignal(row); err != nil {
			return nil, err
		}
	}
	if a.urgent, err = prepareUrgency(row.Priority, row.Input); err != nil {
		return nil, err
	}
	if err := a.prepareManual(); err != nil {
		return nil, err
	}
	if err := a.prepareNotices(over); err != nil {
		return nil, err
	}
	a.targets = targetsOf(row)
	a.sending = a.sendingOf()
	a.echo = echoOf(row.Input, row.Output)
	if row.Kind == processtable.KindBlock {
		a.inside = insideOf(p.table, row)
	}
	return a, nil
}

func typesOf(mappings []processtable.Mapping) []*container.Type {
	types := make([]*container.Type, len(mappings))
	for i, m := range mappings {
		types[i] = m.Type
	}
	return types
}

// insideOf are the activities of which a block consists, its source first and its sink last.
func insideOf(t *processtable.Table, block *processtable.Activity) []target {
	all := []target{{activity: processtable.Source, node: t.Node, control: -1, data: -1}}
	for _, p := range t.Roster {
		if p.Inside == block.Name {
			all = append(all, target{activity: p.Activity, node: p.Node, control: -1, data: -1})
		}
	}
	return append(all, target{activity: processtable.Sink, node: t.Node, control: -1, data: -1})
}

// targetsOf joins the connectors that lead to one activity, in the order of their
// first mention.
func targetsOf(row *processtable.Activity) []target {
	var out []target
	at := map[processtable.ActivityID]int{}
	find := func(to processtable.ActivityID, node processtable.NodeID) *target {
		i, ok := at[to]
		if !ok {
			i = len(out)
			at[to] = i
			out = append(out, target{activity: to, node: node, control: -1, data: -1})
		}
		return &out[i]
	}
	for i, c := range row.OutControl {
		find(c.To, c.Node).control = i
	}
	for i, d := range row.OutData {
		find(d.To, d.Node).data = i
	}
	return out
}

func echoOf(input, output *container.Type) []echoed {
	var out []echoed
	for to, member := range output.Members {
		for from, candidate := range input.Members {
			if candidate.Name == member.Name && container.SameType(candidate.Type, member.Type) {
				out = append(out, echoed{from, to})
			}
		}
	}
	return out
}

// Table is what it was made of.
func (p *Process) Table() *processtable.Table { return p.table }

// Activity gives the prepared activity, or nil if this node does not host it.
func (p *Process) Activity(row processtable.RowID) behaviour.Behaviour {
	if row.Inside == processtable.Noticing {
		if n := p.notices[row.Name]; n != nil {
			return n
		}
		return nil
	}
	return p.rows.Get(row)
}

// MayEnd is not so where the message makes the activity's program run (N5).
func (a *Activity) MayEnd(m *message.Message) bool {
	switch {
	case a.isBundle(): // it may have a thousand returns, and is not copied for each
		return m.Kind != message.KindReturn
	case m.Kind == message.KindBegin:
		return a.Kind == processtable.KindSource || a.Kind == processtable.KindEmpty
	}
	return !a.runsAlone || m.Kind != message.KindConnector || !m.Control.IsTrue()
}

// Follows says whether a connector leads from an activity to this one.
func (a *Activity) Follows(from processtable.ActivityID) bool {
	_, control := a.inControl[from]
	_, data := a.inData[from]
	return control || data
}

// Definition is the short hash that this process's messages carry.
func (p *Process) Definition() processtable.ShortHash { return p.table.Definition.Short() }
