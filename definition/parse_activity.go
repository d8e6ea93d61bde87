package definition

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/container"
)

// Limits of the language.
const (
	maxActivities = 10_000
	maxConnectors = 100_000 // of one process, control and data together
	maxStarts     = 10_000  // nodes where it may be started
	maxFan        = 2_000   // into or out of one activity, control and data together
	maxIterations = 1_000_000_000
	maxAttempts   = 1_000_000
)

// activity reads one activity; also with errors it is known by its name from then on.
func (d *draft) activity(e entry) {
	name, named := d.name(e.key, activityName)
	s := &step{
		index: len(d.steps),
		Activity: &Activity{
			Pos: d.pos(e.key), Name: name, Input: container.Empty, Output: container.Empty, NoOutput: true,
			Start:         Start{Kind: StartAll, Pos: d.pos(e.key)},
			MaxIterations: DefaultMaxIterations,
			AgainAfter:    DefaultAgainAfter, AgainMax: DefaultAgainMax,
			RetryAttempts: 1, RetryBackoff: DefaultRetryBackoff, RetryMax: DefaultRetryMax,
		},
	}
	s.input = dataEnd{step: s, owner: name, key: "input", members: container.Empty}
	s.output = dataEnd{step: s, owner: name, key: "output", members: container.Empty}
	d.steps = append(d.steps, s)
	d.byName[name] = s
	d.stepNames = append(d.stepNames, name)
	d.Activities = append(d.Activities, s.Activity)
	if named {
		d.oneHome(s)
	}
	if !d.is(e.value, yaml.MappingNode, "the keys of an activity", "write {node: A, program: P}") {
		s.input.at, s.output.at = s.Pos, s.Pos // unknown
		return
	}
	f := d.fields(e.value, "an activity", activityKeys)
	s.keys = f
	d.containers(s, f)
	d.bundle(s, f)
	d.whatItIs(s, f)
	s.startNode, s.exitNode = f["start"], f["exit"]
	if n := f["description"]; n != nil {
		s.Description, _ = d.scalar(n, "a text")
	}
	if n := f["max_iterations"]; n != nil {
		if v, ok := d.integer(n, "max_iterations", 1, maxIterations); ok {
			s.MaxIterations = v
		}
	}
	d.again(s, f["again"])
	d.retry(s, f["retry"])
	d.onRC(s, f["on_rc"])
	d.onError(s, f["on_error"])
	d.autonomy(s, f["autonomy"])
	d.call(s, f["at"])
	d.frames(s)
	s.Deadline = d.moment(s, f["deadline"], deadlineForm)
	s.Notify = d.notify(s, f["notify"])
	d.noticesLate(s.Notify, s.Deadline)
	d.choice(s, f["choice"])
	if s.Staff != nil {
		s.Title = d.title(s, f["title"])
	}
	d.offeredAt(s, f["offered_at"])
	s.Priority = d.priority(s, f["priority"])
}

// isCommand says whether what runs is written where its name belongs.
func isCommand(n *yaml.Node) bool {
	return n.Kind == yaml.SequenceNode || n.Kind == yaml.ScalarNode && strings.ContainsAny(strings.TrimSpace(n.Value), " /")
}

// oneHome notes in which graph an activity is. Its name is its own in the whole process.
func (d *draft) oneHome(s *step) {
	if first := d.home[s.Name]; first != nil {
		d.fail(s.Pos, codeDuplicateName, fmt.Sprintf("%s is already an activity of %s (line %d)", s.Name, first.owner, first.byName[s.Name].Pos.Line),
			"rename one of the two")
		return
	}
	d.home[s.Name] = d
	d.names = append(d.names, s.Name)
}

// whatKeys are the keys of which exactly one says what an activity is.
var whatKeys = []string{"program", "empty", "activities", "process", "wait", "receive", "send", "staff"}

// whatItIs reads where the activity is at home, and what it is.
func (d *draft) whatItIs(s *step, f map[string]*yaml.Node) {
	if n := f["node"]; n != nil {
		s.Node, _ = d.name(n, nodeName)
		d.oneNode(s, n)
	} else {
		d.fail(s.Pos, codeNoNode, fmt.Sprintf("activity %s has no node", s.Name), "write `node: NAME`: the site where it runs")
	}
	var is []string
	for _, key := range whatKeys {
		if f[key] != nil {
			is = append(is, key)
		}
	}
	if n := f["program"]; n != nil {
		d.program(s, n)
	}
	if n := f["empty"]; n != nil {
		s.Empty = true
		if text, ok := d.scalar(n, "true"); ok && text != "true" {
			d.fail(d.pos(n), codeValue, fmt.Sprintf("empty cannot be %s", text), "write `empty: true`, or name a program")
		}
	}
	if f["activities"] != nil {
		d.block(s, f)
	}
	if n := f["process"]; n != nil {
		d.child(s, n)
	}
	s.Wait = d.moment(s, f["wait"], waitForm)
	s.Receive = d.receive(s, f["receive"])
	s.Send = d.send(s, f["send"])
	s.Staff = d.staff(s, f["staff"])
	switch len(is) {
	case 0:
		d.fail(s.Pos, codeWhatItIs, fmt.Sprintf("activity %s has none of `program`, `empty`, `activities`, `process`, `wait`, `receive`, `send` and `staff`", s.Name),
			"write `program: NAME`, or `empty: true` for an activity that only routes, or `activities:` for a block, or `process: NAME` for a subprocess, or `wait: {for: 2h}`, or `receive: {event: NAME}`, or `send: {event: NAME}`, or `staff: role(\"NAME\")` for who does it by hand")
	case 1:
		d.keysHere(s, f)
	default:
		d.fail(d.pos(f[is[1]]), codeWhatItIs, fmt.Sprintf("activity %s has `%s`", s.Name, strings.Join(is, "` and `")), "keep one of them")
	}
}

func (d *draft) program(s *step, n *yaml.Node) {
	if !isCommand(n) {
		s.Program, _ = d.name(n, programName)
		return
	}
	code := codeForm
	if n.Kind == yaml.ScalarNode {
		code = codeBadName
	}
	d.fail(d.pos(n), code, fmt.Sprintf("expected the name of a program, found a command (%s)", formOf(n)), remedyCommand)
}

func (d *draft) containers(s *step, f map[string]*yaml.Node) {
	d.container(f, &s.input)
	d.container(f, &s.output)
	s.Input, s.Output = s.input.members, s.output.members
	s.NoOutput = f["output"] == nil
}

// again reads the wait between iterations.
func (d *draft) again(s *step, n *yaml.Node) {
	remedy := "write {after: 1s, max: 1m}"
	if n != nil && n.Tag == "!!int" && isWait(n.Value+"s") {
		remedy = fmt.Sprintf("write {after: %ss}", n.Value)
	}
	if n != nil && n.Kind == yaml.ScalarNode && isWait(n.Value) {
		remedy = fmt.Sprintf("write {after: %s}", n.Value)
	}
	if n == nil || !d.is(n, yaml.MappingNode, "the keys of again", remedy) {
		return
	}
	f := d.fields(n, "again", againKeys)
	s.AgainAfter = d.wait(f["after"], "after", s.AgainAfter)
	preset := max(s.AgainMax, s.AgainAfter)
	s.AgainMax = d.wait(f["max"], "max", preset)
	if s.AgainMax < s.AgainAfter {
		d.fail(d.pos(f["max"]), codeValue, fmt.Sprintf("max (%v) is less than after (%v)", s.AgainMax, s.AgainAfter), "raise max or lower after")
	}
}

// retry reads how failed attempts are repeated.
func (d *draft) retry(s *step, n *yaml.Node) {
	remedy := "write {attempts: 5, backoff: 1s, max_backoff: 1m}"
	if n != nil && n.Kind == yaml.ScalarNode && n.Tag == "!!int" {
		remedy = fmt.Sprintf("write {attempts: %s}: the number of all tries", n.Value)
	}
	if n == nil || !d.is(n, yaml.MappingNode, "the keys of retry", remedy) {
		return
	}
	f := d.fields(n, "retry", retryKeys)
	if d.required(n, f, "attempts", "retry", "write {attempts: 5}: the number of all tries") {
		if v, ok := d.integer(f["attempts"], "attempts", 1, maxAttempts); ok {
			s.RetryAttempts = v
		}
	}
	s.RetryBackoff = d.wait(f["backoff"], "backoff", s.RetryBackoff)
	preset := max(s.RetryMax, s.RetryBackoff)
	s.RetryMax = d.wait(f["max_backoff"], "max_backoff", preset)
	if s.RetryMax < s.RetryBackoff {
		d.fail(d.pos(f["max_backoff"]), codeValue,
			fmt.Sprintf("max_backoff (%v) is less than backoff (%v)", s.RetryMax, s.RetryBackoff), "raise max_backoff or lower backoff")
	}
}

func (d *draft) onRC(s *step, n *yaml.Node) {
	if n == nil {
		return
	}
	s.onRCAt = d.pos(n)
	switch d.either(n, "on_rc", "continue", "error") {
	case "continue":
		s.OnRC = OnRCContinue
	case "error":
		s.OnRC = OnRCError
	}
}

// onError reads what follows when no attempt is left (N22).
func (d *draft) onError(s *step, n *yaml.Node) {
	if n == nil {
		return
	}
	s.onErrorAt = d.pos(n)
	s.Continues = d.either(n, "on_error", "wait", "continue") == "continue"
}

// either reads which of two words is written; empty: none of them.
func (d *draft) either(n *yaml.Node, key, one, other string) string {
	if n.Kind == yaml.MappingNode {
		d.is(n, yaml.ScalarNode, one+" or "+other, fmt.Sprintf("write `%s: %s` or `%[1]s: %[3]s`", key, one, other))
		return ""
	}
	text, ok := d.scalar(n, one+" or "+other)
	if ok && text != one && text != other {
		d.fail(d.pos(n), codeValue, fmt.Sprintf("%s cannot be %s", key, text), fmt.Sprintf("write `%s: %s` or `%[1]s: %[3]s`", key, one, other))
		return ""
	}
	return text
}

// choice reads which of the control connectors out of an activity count.
func (d *draft) choice(s *step, n *yaml.Node) {
	if n == nil {
		return
	}
	text, ok := d.scalar(n, "first_match")
	s.FirstMatch = ok && text == "first_match"
	s.outUnsure = s.outUnsure || !s.FirstMatch
	if ok && !s.FirstMatch {
		d.fail(d.pos(n), codeValue, fmt.Sprintf("choice cannot be %s", text), remedyChoice)
	}
}
