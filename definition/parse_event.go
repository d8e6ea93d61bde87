package definition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
)

// Events (N24): what a process declares, and the activities that receive and send one.

var (
	receiveKeys = []string{"event", "one_of", "key"}
	sendKeys    = []string{"event", "key", "to", "keep"}
	toKeys      = []string{"node", "of"}
)

// eventsDraft is what a process knows of events while it is read.
type eventsDraft struct {
	byEvent       map[string]*Event
	eventNames    []string
	eventsUnknown bool // they could not be read
	usedEvents    map[string]bool
}

// events reads what the process receives and sends: names, each with the structure of its data.
func (p *processDraft) events(n *yaml.Node) {
	p.byEvent, p.usedEvents = map[string]*Event{}, map[string]bool{}
	if n == nil {
		return
	}
	if !p.is(n, yaml.MappingNode, "events by name", "write each as NAME: STRUCTURE, or NAME: {} where it has no data") {
		p.eventsUnknown = true
		return
	}
	for _, e := range p.entries(n, codeDuplicateName, "event") {
		name, ok := p.name(e.key, eventName)
		event := &Event{Pos: p.pos(e.key), Name: name, Type: p.eventType(e.value)}
		p.byEvent[name] = event
		if ok {
			p.eventNames = append(p.eventNames, name)
			p.result.Events = append(p.result.Events, event)
		}
	}
}

// eventType reads the structure of an event's data; {}: it has none.
func (p *processDraft) eventType(n *yaml.Node) *container.Type {
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) == 0:
		return container.Empty
	case isNull(n):
		p.fail(p.pos(n), codeForm, "expected the name of a structure, found nothing", "write {} for an event without data")
		return container.Empty
	case n.Kind == yaml.MappingNode:
		p.fail(p.pos(n), codeForm, "expected the name of a structure, found a mapping", "declare it as a structure under `structures` and write its name here, or {} for no data")
		return container.Empty
	}
	return p.containerType(n)
}

// receive reads what an activity waits for; nil: it is no receive.
func (d *draft) receive(s *step, n *yaml.Node) *Receive {
	if n == nil {
		return nil
	}
	r := &Receive{Pos: d.pos(n)}
	if !d.is(n, yaml.MappingNode, "the keys of receive", wholeReceive(n)) {
		return r
	}
	f := d.fields(n, "receive", receiveKeys)
	switch one, several := f["event"], f["one_of"]; {
	case one != nil && several != nil:
		d.fail(d.pos(several), codeValue, "receive has `event` and `one_of`", "keep one of them")
	case one != nil:
		d.oneEvent(r, one)
	case several != nil:
		d.oneOfEvents(r, several)
	default:
		d.fail(r.Pos, codeMissingKey, "receive needs the key event, or one_of", "write `receive: {event: NAME}`, or `receive: {one_of: [NAME, NAME]}`")
	}
	r.Key = d.eventKey(s, f["key"])
	return r
}

// wholeReceive is what the whole value has to be, where another is written.
func wholeReceive(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.ScalarNode && n.Value != "":
		return fmt.Sprintf("write `receive: {event: %s}`", n.Value)
	case n.Kind == yaml.SequenceNode:
		return fmt.Sprintf("write `receive: {one_of: [%s]}`", strings.Join(valuesOf(n), ", "))
	}
	return "write `receive: {event: NAME}`"
}

func valuesOf(n *yaml.Node) []string {
	all := make([]string, len(n.Content))
	for i, c := range n.Content {
		all[i] = c.Value
	}
	return all
}

func (d *draft) oneEvent(r *Receive, n *yaml.Node) {
	if n.Kind == yaml.SequenceNode {
		d.fail(d.pos(n), codeForm, "event names one event", fmt.Sprintf("write `one_of: [%s]` to take the first of several", strings.Join(valuesOf(n), ", ")))
		return
	}
	if e := d.event(n); e != nil {
		r.Events = append(r.Events, e)
	}
}

func (d *draft) oneOfEvents(r *Receive, n *yaml.Node) {
	remedy := "write `one_of: [NAME, NAME]`"
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		remedy = fmt.Sprintf("write `event: %s`, or `one_of: [%[1]s, NAME]`", n.Value)
	}
	if !d.is(n, yaml.SequenceNode, "a list of events", remedy) {
		return
	}
	switch {
	case len(n.Content) == 0:
		d.fail(d.pos(n), codeValue, "one_of names no event", "name the events of which the first is taken")
	case len(n.Content) > processtable.MaxEvents:
		d.fail(d.pos(n.Content[processtable.MaxEvents]), codeLimit, fmt.Sprintf("one_of names %d events", len(n.Content)),
			fmt.Sprintf("use at most %d: let events that mean the same have one name, and say the rest in their data", processtable.MaxEvents))
		return
	}
	named := map[string]bool{}
	for _, c := range n.Content {
		switch e := d.event(c); {
		case e == nil:
		case named[e.Name]:
			d.fail(d.pos(c), codeDuplicateName, fmt.Sprintf("event %s is named twice", e.Name), "remove one of the two")
		default:
			named[e.Name] = true
			r.Events = append(r.Events, e)
		}
	}
}

// event reads the name of an event that the process declares.
func (d *draft) event(n *yaml.Node) *Event {
	name, ok := d.scalar(n, "the name of an event")
	if !ok {
		return nil
	}
	e := d.byEvent[name]
	switch {
	case e != nil:
		d.usedEvents[name] = true
	case !d.eventsUnknown:
		remedy := fmt.Sprintf("add it under `events` of the process, as %s: STRUCTURE, or %[1]s: {}", name)
		if near, ok := d.nearest(name, d.eventNames); ok {
			remedy = fmt.Sprintf("did you mean %s? Or add it under `events`", near)
		}
		d.fail(d.pos(n), codeUnknownName, fmt.Sprintf("event %s is not declared", name), remedy)
	}
	return e
}

// eventKey reads the key of an event; nil: it is written without one.
func (d *draft) eventKey(s *step, n *yaml.Node) *Condition {
	if n == nil {
		return nil
	}
	text, ok := d.scalar(n, "an expression over the input, a text")
	if !ok {
		return nil
	}
	if _, problems := condition.CheckExpr(text, s.input.scope(), container.Scalar(container.String)); len(problems) > 0 && isQuoted(n) && !strings.ContainsAny(text, "\"'") {
		d.fail(d.pos(n), codeCondition, fmt.Sprintf("a key is an expression, and %s is none: the quotes are YAML's", strconv.Quote(text)),
			fmt.Sprintf("write `key: '\"%s\"'` for a text that is always the same", text))
		return &Condition{Written: text, Pos: d.pos(n)}
	}
	key := d.textExpression(s, n, text, "a key is a string")
	d.constantKey(s, key)
	return key
}

func isQuoted(n *yaml.Node) bool {
	return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0
}

// textExpression is expression for a text; what says of another type that it is none.
func (d *draft) textExpression(s *step, n *yaml.Node, text, what string) *Condition {
	scope, want := s.input.scope(), container.Scalar(container.String)
	if _, problems := condition.CheckExpr(text, scope, want); len(problems) == 1 && problems[0].Want != nil && !s.input.unknown() {
		remedy, _, _ := strings.Cut(problems[0].Remedy, ", or make it")
		d.fail(d.within(n, problems[0].Offset), codeMismatch, fmt.Sprintf("%s, and %s", what, problems[0].Message), remedy)
		return &Condition{Written: text, Pos: d.pos(n)}
	}
	return d.expression(s, n, text, want)
}

// constantKey reports a key that is always the same, and none.
func (d *draft) constantKey(s *step, key *Condition) {
	scope := s.input.scope()
	if s.input.unknown() || len(key.Checked.Expr) == 0 || key.Checked.Reads != 0 || len(condition.ReadsOf(key.Written, scope)) > 0 {
		return
	}
	loaded, err := condition.LoadExpr(key.Checked, scope, container.Scalar(container.String))
	if err != nil {
		return
	}
	value, err := loaded.Eval(&condition.Spent{}, container.New(s.input.members), &condition.Values{})
	if text, ok := value.(string); err == nil && ok && (text == "" || len(text) > MaxEventKey) {
		d.fail(key.Pos, codeValue, fmt.Sprintf("a key of %d bytes is none", len(text)),
			fmt.Sprintf("write a key of 1 to %d bytes, or leave `key` out for events without a key", MaxEventKey))
	}
}

// send reads what an activity sends; nil: it sends nothing.
func (d *draft) send(s *step, n *yaml.Node) *Send {
	if n == nil {
		return nil
	}
	sent := &Send{Pos: d.pos(n), Event: &Event{Type: container.Empty}, To: s.Node}
	remedy := "write `send: {event: NAME}`"
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		remedy = fmt.Sprintf("write `send: {event: %s}`", n.Value)
	}
	if !d.is(n, yaml.MappingNode, "the keys of send", remedy) {
		return sent
	}
	f := d.fields(n, "send", sendKeys)
	if d.required(n, f, "event", "send", "write `send: {event: NAME}`") {
		if e := d.event(f["event"]); e != nil {
			sent.Event = e
		}
	}
	sent.Key = d.eventKey(s, f["key"])
	if to := f["to"]; to != nil {
		d.sentTo(s, sent, to)
	}
	if keep := f["keep"]; keep != nil {
		sent.Keep = d.keep(s, keep)
	}
	return sent
}

// keep reads how long an event is kept where it is sent to.
func (d *draft) keep(s *step, n *yaml.Node) *Moment {
	m := &Moment{Pos: d.pos(n), Fixed: 1}
	if n.Kind == yaml.ScalarNode && isTime(strings.TrimSpace(n.Value)) {
		d.fail(m.Pos, codeValue, "keep takes a duration", "write how long it is kept, such as `keep: 60d`, or an expression of type duration")
		return m
	}
	d.momentValue(s, n, m, "keep", "keep")
	if m.Expr == nil && m.Fixed > int64(MaxKeep) {
		d.fail(m.Pos, codeLimit, fmt.Sprintf("keep is %s", durationText(time.Duration(m.Fixed))), fmt.Sprintf("use at most %s", durationText(MaxKeep)))
	}
	return m
}

// sentTo reads where an event is sent to: a node, or one of several that an expression gives.
func (d *draft) sentTo(s *step, sent *Send, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		sent.To, _ = d.name(n, nodeName)
		return
	}
	remedy := "write `to: NODE`, or `to: {node: EXPRESSION, of: [B, C]}` for a site from the data"
	if n.Kind == yaml.SequenceNode {
		remedy = fmt.Sprintf("an event goes to one node: write `to: NODE`, or `to: {node: EXPRESSION, of: [%s]}` for a site from the data", strings.Join(valuesOf(n), ", "))
	}
	sent.To = ""
	if !d.is(n, yaml.MappingNode, "a node, or {node: EXPRESSION, of: [B, C]}", remedy) {
		return
	}
	f := d.fields(n, "to", toKeys)
	if d.required(n, f, "of", "to", "write the nodes that may come up, `of: [B, C]`; a site that is always the same is `to: NODE`") {
		sent.Of = d.nodesMeant(f["of"], nodeList{maxSet, "this names no node", "name the nodes that may come up", "this names %d nodes", "use at most %d"})
	}
	if d.required(n, f, "node", "to", "write `node: EXPRESSION`, over the input, such as a member") {
		if text, ok := d.scalar(f["node"], "an expression over the input, a text"); ok {
			d.targetExpression(s, sent, f["node"], text)
		}
	}
}

// targetExpression reads the expression that gives the node; one that is a node's name is meant as that.
func (d *draft) targetExpression(s *step, sent *Send, n *yaml.Node, text string) {
	name := strings.TrimSpace(text)
	if _, isMember := s.input.members.MemberIndex(name); !isMember && !s.input.unknown() && processtable.ValidNode(name) && condition.ValidName(strings.ReplaceAll(name, "-", "_")) {
		if _, isWord := condition.WordNamed(name); !isWord {
			d.fail(d.pos(n), codeUnknownName, fmt.Sprintf("%s is no member of %s", name, s.input.members), fmt.Sprintf("a site that is always the same is `to: %s`", name))
			return
		}
	}
	sent.ToExpr = d.textExpression(s, n, text, "a node is a string")
}

// memberAsNode reports a send to what is the name of a member, and of no node of the process.
func (d *draft) memberAsNode() {
	for _, s := range d.steps {
		if s.Send == nil || s.Send.To == "" || s.Send.To == s.Node || s.Send.To == OriginNode || d.hasNode(s.Send.To) {
			continue
		}
		if _, ok := s.input.members.MemberIndex(s.Send.To); ok {
			d.fail(s.Send.Pos, codeUnknownName, fmt.Sprintf("no activity and no set has the node %s, and %s has a member %[1]s", s.Send.To, s.input.members),
				fmt.Sprintf("for a site from the data write `to: {node: %s, of: [B, C]}`", s.Send.To))
		}
	}
}

// hasNode says whether a node is one of the process.
func (p *processDraft) hasNode(name string) bool {
	for _, a := range p.result.All() {
		if a.Node == name {
			return true
		}
	}
	return slices.Contains(p.result.Starts, name)
}
