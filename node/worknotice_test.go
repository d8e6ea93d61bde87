package node_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/container"
	"fmqm/internal/store/badger"
	"fmqm/message"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/staff"
)

const escalated = `
process: claim
version: 1
structures: {D: {n: int}}
input: D
output: D
administrator: role("head")
activities:
  approve:
    node: A
    staff: role("clerk")
    title: Approve {n}
    input: D
    output: D
    notify:
      - {after: 1ms, staff: manages(approve)}
      - {after: 1ms}
      - {after: 1ms, every: 20ms, program: mail, staff: person("otto") || manages(approve)}
data: [source -> approve, approve -> sink]
`

// office is a node with people, which can be stopped and opened again.
type office struct {
	t   *testing.T
	dir string
	n   *node.Node

	mu     sync.Mutex
	mailed map[string]bool // People of each run of mail
	visits chan struct{}   // the program runs in visit until it is closed
}

func (o *office) Run(ctx context.Context, c *program.Call) program.Result {
	if c.Activity == "visit" && o.visits != nil && !strings.Contains(c.Scope, "source[") {
		select {
		case <-o.visits:
		case <-ctx.Done():
			return program.Result{Err: ctx.Err()}
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mailed[c.People] = true
	return program.Result{Output: container.New(c.OutputType)}
}

func (o *office) open() {
	o.t.Helper()
	engine, err := badger.Open(badger.Options{Dir: o.dir})
	if err != nil {
		o.t.Fatal(err)
	}
	if o.n, err = node.Open(node.Options{
		Name: "A", Engine: engine, Registry: program.RegistryOf(map[processtable.ProgramID]program.Entry{"mail": {Program: o, Kind: program.KindBuiltin, Concurrency: 2}}),
		Log: zerolog.New(zerolog.NewTestWriter(o.t)).Level(zerolog.WarnLevel),
	}); err != nil {
		o.t.Fatal(err)
	}
	o.n.SetStaff(o.people("clerk"))
	o.n.Launch()
}

func (o *office) restart() {
	o.t.Helper()
	if err := o.n.Stop(context.Background()); err != nil {
		o.t.Fatal(err)
	}
	o.open()
}

// people are the staff: mia manages the clerks, dora is the head; eve has a role of her own.
func (o *office) people(evesRole string) *staff.Staff {
	word := func(s string) staff.Word { return staff.Word{Text: s} }
	clerk := func(name, role string) staff.DraftPerson {
		return staff.DraftPerson{Name: word(name), Roles: []staff.Word{word(role)}, Organisation: word("claims")}
	}
	s, problems := staff.Draft{
		Roles:         []staff.Word{word("clerk"), word("head"), word("pilot")},
		Organisations: []staff.DraftOrganisation{{Name: word("claims"), Manager: word("mia")}},
		People: []staff.DraftPerson{
			clerk("ann", "clerk"), clerk("bob", "clerk"), clerk("eve", evesRole), {Name: word("mia")}, {Name: word("dora"), Roles: []staff.Word{word("head")}},
		},
	}.Check(staff.Site{Node: "A"})
	if len(problems) > 0 {
		o.t.Fatal(problems)
	}
	return s
}

// sees is what somebody's worklist has, as "work Approve 1".
func (o *office) sees(who string) (all []string) {
	o.t.Helper()
	for _, i := range o.list(who) {
		all = append(all, string(i.Kind)+" "+i.Title)
	}
	slices.Sort(all)
	return all
}

func (o *office) list(who string) []api.WorkItem {
	o.t.Helper()
	a, err := o.n.Work(o.t.Context(), api.WorkRequest{As: who, Limit: 10})
	if err != nil {
		o.t.Fatal(err)
	}
	return a.Items
}

// are waits until worklists are as they are wanted.
func (o *office) are(when string, want map[string][]string) {
	o.t.Helper()
	for who, all := range want {
		var got []string
		waitFor(o.t, func() bool { got = o.sees(who); return slices.Equal(got, all) }, func() string { return when + ", " + who + " sees " + strings.Join(got, ", ") })
	}
}

func (o *office) say(who, item string, verb api.WorkVerb, w api.WorkWord) error {
	ctx := api.WithCaller(o.t.Context(), api.Caller{Name: who + "@A", Person: who})
	_, err := o.n.SayWork(ctx, item, verb, w)
	return err
}

func (o *office) refused(want string, err error) {
	o.t.Helper()
	if api.CodeOf(err) != api.CodeRefused || !strings.Contains(err.Error(), want) {
		o.t.Errorf("error %v\nwant %s", err, want)
	}
}

func newOffice(t *testing.T, definition, process string) (o *office, id uuid.UUID) {
	t.Helper()
	o = &office{t: t, dir: t.TempDir(), mailed: map[string]bool{}}
	o.open()
	t.Cleanup(func() {
		if err := o.n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	upload(t, o.n, definition)
	id = uuid.Must(uuid.NewV7())
	if _, err := o.n.Start(t.Context(), api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(`{"n": 1}`)}); err != nil {
		t.Fatal(err)
	}
	return o, id
}

// N27: what nobody deals with escalates: its notices are shown to who they are for as things are, also after a restart; who manages
// has it done by somebody else, and takes his notice off. Nobody else does, and nothing waits for it.
func TestN27Escalation(t *testing.T) {
	const work, notice = "work Approve 1", "notice Approve 1"
	o, id := newOffice(t, escalated, "claim")
	// While nobody has it, nobody manages who has: who administers the process sees those notices. The one for whom it may concern is the clerks'.
	o.are("offered", map[string][]string{"ann": {notice, work}, "mia": nil, "dora": {notice, notice}})
	item := ""
	for _, i := range o.list("ann") {
		if i.Kind == api.ItemWork {
			item = i.Item
		} else if i.State != api.ItemOffered || i.Activity != "approve" || i.Scope != "" || i.Claim != 0 {
			t.Errorf("a notice is shown as %+v", i)
		}
	}
	if err := o.say("ann", item, api.WorkClaim, api.WorkWord{}); err != nil {
		t.Fatal(err)
	}
	claimed := map[string][]string{"ann": {notice, work}, "bob": nil, "mia": {notice, notice}, "dora": nil}
	o.are("claimed", claimed)
	waitFor(t, func() bool { o.mu.Lock(); defer o.mu.Unlock(); return o.mailed["mia"] }, func() string { return "the program was never told of mia" })
	o.restart()
	o.are("claimed, after a restart", claimed)

	mias := message.ItemID(&message.Entry{Instance: id, Scope: message.Scope("").Notice(0), Activity: "approve"}, message.NoticeExecution)
	for _, i := range o.list("mia") {
		shown, err := o.n.WorkItem(t.Context(), i.Item, "mia")
		if err != nil || i.Of != item || shown.Eligible != 1 || !slices.Equal(shown.People, []string{"mia@A"}) || string(shown.Input) != `{"n":1}` || string(shown.Draft) != "{}" || len(shown.OutputType) != 0 {
			t.Errorf("mia is shown %+v, %v", shown, err)
		}
		if shown.History[0].Event != api.EventOffered {
			t.Errorf("its history is %+v", shown.History)
		}
	}
	if shown, err := o.n.WorkItem(t.Context(), item, "mia"); err != nil || shown.ClaimedBy != "ann@A" {
		t.Errorf("of the work mia is shown %+v, %v", shown, err)
	}
	for _, verb := range []api.WorkVerb{api.WorkClaim, api.WorkRelease, api.WorkSave} {
		o.refused("is a notice, which nobody has: there is nothing to "+string(verb)+": take it off the worklists with fmqm work complete "+mias+"; to pass the work on: fmqm work transfer "+item+" PERSON", o.say("mia", mias, verb, api.WorkWord{}))
	}
	o.refused("has no output", o.say("mia", mias, api.WorkComplete, api.WorkWord{Output: json.RawMessage(`{"n": 2}`)}))
	o.refused("bob@A may not have it; mia may", o.say("bob", mias, api.WorkComplete, api.WorkWord{}))
	o.refused("ann@A has claimed it", o.say("bob", item, api.WorkTransfer, api.WorkWord{To: "bob"}))
	if err := o.say("mia", item, api.WorkTransfer, api.WorkWord{To: "bob"}); err != nil {
		t.Fatal(err)
	}
	o.restart()
	o.are("transferred", map[string][]string{"ann": nil, "bob": {notice, work}, "mia": {notice, notice}, "dora": nil})
	word := uuid.Must(uuid.NewV7())
	for range 2 { // twice is done once
		if err := o.say("mia", mias, api.WorkComplete, api.WorkWord{Reason: "seen", Word: word}); err != nil {
			t.Fatal(err)
		}
	}
	o.refused("it is on no worklist any more", o.say("mia", mias, api.WorkComplete, api.WorkWord{}))
	o.restart()
	o.are("seen", map[string][]string{"bob": {notice, work}, "mia": {notice}, "dora": nil})
	if err := o.say("bob", item, api.WorkComplete, api.WorkWord{Output: json.RawMessage(`{"n": 3}`)}); err != nil {
		t.Fatal(err)
	}
	if s, err := o.n.Wait(t.Context(), id); err != nil || string(s.Output) != `{"n":3}` {
		t.Errorf("it ends as %s with %s, %v", s.State, s.Output, err)
	}
	o.are("done", map[string][]string{"ann": nil, "bob": nil, "mia": nil, "dora": nil})
	o.told(id, mias)
}

// told holds the history to what was said of a notice: it came once, and mia has taken it off.
func (o *office) told(id uuid.UUID, notice string) {
	o.t.Helper()
	h, err := o.n.History(o.t.Context(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	var got []string
	for _, e := range h.Events {
		if e.Event == api.EventEscalated && e.About == notice {
			got = append(got, strings.Join([]string{e.Activity, e.Scope, e.By, e.Operator, e.Reason}, "/"))
		}
	}
	if want := []string{"approve////", "approve//mia@A//seen"}; !slices.Equal(got, want) {
		o.t.Errorf("history tells of the notice %q, want %q", got, want)
	}
}

// waitFor is until, with what is said where it does not come to that.
func waitFor(t *testing.T, holds func() bool, otherwise func() string) {
	t.Helper()
	come := false
	defer func() {
		if !come {
			t.Log(otherwise())
		}
	}()
	until(t, holds)
	come = true
}

const unmanned = `
process: flight
version: 1
structures: {D: {n: int}}
input: D
administrator: role("head")
activities:
  fly: {node: A, staff: role("pilot"), input: D}
data: [source -> fly]
`

// N27: what nobody here may have is shown to who administers the process, who is told so; he may not have it either. Once somebody
// may, it is that one's.
func TestN27WhatNobodyMayHave(t *testing.T) {
	o, id := newOffice(t, unmanned, "flight")
	nobody := map[string][]string{"ann": nil, "eve": nil, "mia": nil, "dora": {"work fly"}}
	o.are("offered", nobody)
	o.restart()
	o.are("offered, after a restart", nobody)
	item := o.list("dora")[0].Item
	if shown, err := o.n.WorkItem(t.Context(), item, "dora"); err != nil || shown.Eligible != 0 {
		t.Errorf("dora is shown %+v, %v", shown, err)
	}
	const why = "nobody of the staff of A may have it, so it is shown to who administers flight, dora: change the staff there, or fmqm finish it by hand"
	if got, err := o.n.Why(t.Context(), id, ""); err != nil || !strings.Contains(got.Waits[0].For, why) {
		t.Errorf("it waits for %+v, %v\nwant %s", got, err, why)
	}
	o.refused("dora@A may not have it; nobody may", o.say("dora", item, api.WorkClaim, api.WorkWord{}))
	o.refused("bob@A may not have it; nobody may", o.say("dora", item, api.WorkTransfer, api.WorkWord{To: "bob"}))
	o.n.SetStaff(o.people("pilot"))
	o.are("with a pilot", map[string][]string{"ann": nil, "eve": {"work fly"}, "dora": nil})
	if err := o.say("eve", item, api.WorkComplete, api.WorkWord{}); err != nil {
		t.Fatal(err)
	}
	if s, err := o.n.Wait(t.Context(), id); err != nil || s.State != api.InstanceFinished {
		t.Errorf("it ends as %s, %v", s.State, err)
	}
}

const noticedAll = `
process: claim
version: 1
structures:
  D: {n: int}
  Part: {part: string}
  All: {n: int, part: [string], where: string}
  Trip: {n: int, where: string}
input: All
output: D
notify: [{after: 1ms, staff: manages(source)}]
activities:
  assess: {node: A, staff: role("clerk"), title: Assess, input: D, output: D}
  round:
    node: A
    input: D
    notify: [{after: 1ms, staff: did(assess)}]
    activities:
      look: {node: A, staff: role("head"), title: Look, input: D, notify: [{after: 1ms, staff: "person(\"eve\") && n == 5"}, {after: 1ms, staff: "person(\"eve\") && n == 1"}]}
    data: [source -> look]
  inform: {node: A, staff: role("head"), title: "Inform {part}", for_each: part, input: Part, notify: [{after: 1ms, staff: manages(assess)}]}
  visit: {node: A, program: mail, at: {node: where, of: [A]}, input: Trip, notify: [{after: 1ms, staff: "did(assess) && n == 5"}]}
control:
  - assess -> round
  - assess -> inform
  - assess -> visit
data:
  - source -> assess: {n: n}
  - source -> inform: {part: part}
  - assess -> round
  - source -> visit: {where: where}
  - assess -> visit: {n: n}
  - assess -> sink
`

// N27: notices are of processes, blocks, what is inside of one, and elements too; each knows who did what came before, over its own
// input, also after a restart, and goes with what it is of.
func TestN27NoticesOfWhatEncloses(t *testing.T) {
	o := &office{t: t, dir: t.TempDir(), mailed: map[string]bool{}, visits: make(chan struct{})}
	o.open()
	t.Cleanup(func() {
		if err := o.n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	upload(t, o.n, noticedAll)
	id := uuid.Must(uuid.NewV7())
	ctx := api.WithCaller(t.Context(), api.Caller{Name: "bob@A", Person: "bob"})
	if _, err := o.n.Start(ctx, api.StartRequest{Instance: id, Process: "claim", Input: json.RawMessage(`{"n": 1, "part": ["x", "y"], "where": "A"}`)}); err != nil {
		t.Fatal(err)
	}
	o.are("begun", map[string][]string{"mia": {"notice claim"}, "ann": {"work Assess"}, "dora": nil, "eve": {"work Assess"}})
	if err := o.say("ann", o.list("ann")[0].Item, api.WorkComplete, api.WorkWord{Output: json.RawMessage(`{"n": 5}`)}); err != nil {
		t.Fatal(err)
	}
	assessed := map[string][]string{
		"mia": {"notice Inform x", "notice Inform y", "notice claim"}, "ann": {"notice round", "notice visit"}, "bob": nil, "eve": {"notice Look"},
		"dora": {"work Inform x", "work Inform y", "work Look"},
	}
	o.are("assessed", assessed)
	o.restart()
	o.are("assessed, after a restart", assessed)
	close(o.visits)
	for _, i := range o.list("dora") {
		if err := o.say("dora", i.Item, api.WorkComplete, api.WorkWord{}); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := o.n.Wait(t.Context(), id); err != nil || string(s.Output) != `{"n":5}` {
		t.Errorf("it ends as %s with %s, %v", s.State, s.Output, err)
	}
	o.are("done", map[string][]string{"mia": nil, "ann": nil, "eve": nil, "dora": nil})
}
