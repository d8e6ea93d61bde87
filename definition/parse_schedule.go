package definition

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"fmqm/container"
	"fmqm/processtable"
	"fmqm/schedule"
)

var scheduleKeys = []string{"node", "cron", "every", "zone", "input", "due", "missed", "overlap"}

const remedySchedule = "write `schedule: {node: A, cron: 30 22 * * 1-5}`, or `{node: A, every: 6h}`"

// schedules reads when instances are started by themselves (N23): one mapping, or a list of them.
func (p *processDraft) schedules(n *yaml.Node) {
	if n == nil || n.Kind == 0 {
		return
	}
	all := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		all = n.Content
		if len(all) > processtable.MaxSchedules {
			p.fail(p.pos(all[processtable.MaxSchedules]), codeLimit, fmt.Sprintf("the process has %d schedules", len(all)),
				fmt.Sprintf("use at most %d: one cron expression may have several times, such as `0 6,12,18 * * *`", processtable.MaxSchedules))
			return
		}
	}
	for _, n := range all {
		if p.is(n, yaml.MappingNode, "a schedule", remedySchedule) && !p.brokenCron(n) {
			p.schedule(n)
		}
	}
}

// restOfCron is what YAML takes for the next key where a comma of a cron expression ends the value
// inside of braces.
var restOfCron = regexp.MustCompile(`^[0-9*][-0-9*/,a-zA-Z \t]*$`)

func (p *processDraft) brokenCron(n *yaml.Node) bool {
	for i := 2; i+1 < len(n.Content); i += 2 {
		key, before := n.Content[i], n.Content[i-1]
		if n.Content[i-2].Value == "cron" && restOfCron.MatchString(key.Value) && isNull(n.Content[i+1]) {
			p.fail(p.pos(before), codeQuote, "a comma inside of braces ends the cron expression",
				fmt.Sprintf("quote it: cron: %s", quoteYAML(before.Value+","+key.Value)))
			return true
		}
	}
	return false
}

func (p *processDraft) schedule(n *yaml.Node) {
	errorsBefore := p.errors
	f := p.fields(n, "a schedule", scheduleKeys)
	s := &Schedule{Pos: p.pos(n), Missed: processtable.MissedOnce}
	if p.required(n, f, "node", "a schedule", "name the node that starts it, `node: "+p.anyStart()+"`") {
		p.scheduleNode(s, f["node"])
	}
	p.rule(s, n, f)
	if f["input"] != nil {
		s.Input = p.scheduleInput(f["input"])
	}
	if f["due"] != nil {
		p.due(s, f["due"], f["input"])
	}
	if f["missed"] != nil {
		s.Missed = missedWords[p.oneWord(f["missed"], "missed", "once", "all", "skip")]
	}
	if f["overlap"] != nil {
		s.SkipOverlap = p.oneWord(f["overlap"], "overlap", "allow", "skip") == "skip"
	}
	if p.errors == errorsBefore {
		p.result.Schedules = append(p.result.Schedules, s)
	}
}

var missedWords = map[string]processtable.Missed{
	"once": processtable.MissedOnce, "all": processtable.MissedAll, "skip": processtable.MissedSkip,
}

func (p *processDraft) anyStart() string {
	if len(p.result.Starts) > 0 {
		return p.result.Starts[0]
	}
	return "A"
}

// oneWord reads a value that is one of a few words; empty: it is none, which was reported.
func (l *loader) oneWord(n *yaml.Node, key string, words ...string) string {
	text, ok := l.scalar(n, oneOfThese(words)[len("use "):])
	if ok && !slices.Contains(words, text) {
		l.fail(l.pos(n), codeValue, fmt.Sprintf("%s cannot be %q", key, text), l.oneOf(text, words))
		return ""
	}
	return text
}

// scheduleNode reads the one node that starts the process by itself.
func (p *processDraft) scheduleNode(s *Schedule, n *yaml.Node) {
	if n.Kind == yaml.SequenceNode {
		p.fail(p.pos(n), codeForm, "a schedule has one node: several would start several instances", "name one, or write a schedule for each")
		return
	}
	name, ok := p.name(n, nodeName)
	ok = ok && p.isNodeName(n, name)
	if ok && len(p.result.Starts) > 0 && !slices.Contains(p.result.Starts, name) {
		p.fail(p.pos(n), codeSchedule, fmt.Sprintf("the process cannot be started at %s", name),
			fmt.Sprintf("add it to starts, or name one of: %s", strings.Join(p.result.Starts, ", ")))
	}
	s.Node = name
}

// rule reads when it is due.
func (p *processDraft) rule(s *Schedule, n *yaml.Node, f map[string]*yaml.Node) {
	cron, every, zone := f["cron"], f["every"], f["zone"]
	switch {
	case cron != nil && every != nil:
		p.fail(p.pos(every), codeValue, "a schedule has `cron` and `every`", "keep one of them, or write two schedules")
		return
	case cron == nil && every == nil:
		p.fail(s.Pos, codeMissingKey, "a schedule needs the key cron, or every", remedySchedule)
		return
	case zone != nil && every != nil:
		p.fail(p.pos(zone), codeKeyNotHere, "zone is of cron: an interval is counted from 1970-01-01T00:00Z", "leave zone out, or write cron")
		return
	}
	if zone != nil {
		text, ok := p.scalar(zone, "the name of a time zone")
		if !ok {
			return
		}
		s.Rule.Zone = text
	}
	at := every
	if every != nil {
		if s.Rule.Every = p.wait(every, "every", 0); s.Rule.Every == 0 {
			return
		}
	} else {
		at = cron
		text, ok := p.scalar(cron, "a cron expression")
		if !ok {
			return
		}
		s.Rule.Cron = strings.Join(strings.Fields(text), " ")
	}
	if _, err := schedule.Parse(s.Rule); err != nil {
		p.failRule(s.Rule, err, at, zone)
	}
}

func (p *processDraft) failRule(r schedule.Rule, err error, at, zone *yaml.Node) {
	problem := schedule.AsProblem(err)
	if !problem.Zone || zone == nil {
		p.fail(p.pos(at), codeSchedule, problem.What, problem.Remedy)
		return
	}
	p.fail(p.pos(zone), codeSchedule, problem.What, problem.Remedy)
	if _, err := schedule.Parse(schedule.Rule{Cron: r.Cron}); err != nil { // all at once
		p.failRule(r, err, at, nil)
	}
}

// scheduleInput reads the container with which instances are started.
func (p *processDraft) scheduleInput(n *yaml.Node) *container.Struct {
	t := p.result.Input
	switch {
	case t == container.Empty && p.top.input.unknown():
		return nil
	case t == container.Empty:
		p.fail(p.pos(n), codeValue, "the process has no input", "leave input out, or name the process's `input` structure")
		return nil
	case !p.is(n, yaml.MappingNode, "the members of the input", "write {member: value}"):
		return nil
	}
	r := structureReader{processDraft: p, what: "input"}
	v, _ := r.preset(n, t)
	input, _ := v.(*container.Struct)
	return input
}

// due reads which member takes the time for which an instance is started.
func (p *processDraft) due(s *Schedule, n, input *yaml.Node) {
	name, ok := p.scalar(n, "the name of a member of the input")
	t := p.result.Input
	if !ok || t == container.Empty && p.top.input.unknown() {
		return
	}
	i, known := t.MemberIndex(name)
	switch {
	case !known && t == container.Empty:
		p.fail(p.pos(n), codeUnknownName, "the process has no input", "leave due out, or give the process an input with a member of type timestamp")
	case !known:
		p.fail(p.pos(n), codeUnknownName, fmt.Sprintf("%s has no member %s", t, name), p.oneOfMembers(name, t))
	case t.Members[i].Type.Kind != container.Timestamp:
		p.fail(p.pos(n), codeMismatch, fmt.Sprintf("%s is %s, and due takes the time for which an instance is started", name, article(t.Members[i].Type)),
			"make it a timestamp, or leave due out")
	case input != nil && hasKey(input, name):
		p.fail(p.pos(n), codeValue, fmt.Sprintf("the input of the schedule sets %s as well", name), "remove one of the two")
	}
	s.Due = name
}

func hasKey(n *yaml.Node, key string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

// inTable is the schedule as the table of its node has it.
func (s *Schedule) inTable() processtable.Schedule {
	return processtable.Schedule{
		Rule: s.Rule, Input: s.Input, Due: s.Due, Missed: s.Missed, SkipOverlap: s.SkipOverlap,
	}
}

// canonicalSchedule is one in the canonical form of a definition.
type canonicalSchedule struct {
	_       struct{} `cbor:",toarray"`
	Node    string
	Cron    string
	Zone    string
	Every   time.Duration
	Input   []byte // nil: the defaults
	Due     string
	Missed  processtable.Missed
	Overlap bool // skip
}

func canonicalSchedules(all []*Schedule) ([]canonicalSchedule, error) {
	var c []canonicalSchedule
	for _, s := range all {
		e := canonicalSchedule{
			Node: s.Node, Cron: s.Rule.Cron, Zone: s.Rule.Zone, Every: s.Rule.Every, Due: s.Due, Missed: s.Missed, Overlap: s.SkipOverlap,
		}
		if s.Input != nil {
			var err error
			if e.Input, err = container.EncodeCBOR(s.Input); err != nil {
				return nil, fmt.Errorf("input of a schedule: %w", err)
			}
		}
		c = append(c, e)
	}
	return c, nil
}
