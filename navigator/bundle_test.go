package navigator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

var (
	visit   = container.NewStructure("Visit", []container.Member{{Name: "shop", Type: container.Scalar(container.String)}, {Name: "n", Type: container.Scalar(container.Int)}})
	counted = container.NewStructure("Counted", []container.Member{{Name: "n", Type: container.Scalar(container.Int), Default: int64(-7)}})
	visits  = container.NewStructure("", []container.Member{{Name: "shop", Type: container.Scalar(container.String)}, {Name: "n", Type: container.NewList(container.Scalar(container.Int))}})
	results = container.NewStructure("", []container.Member{
		{Name: processtable.MemberResults, Type: container.NewList(counted)},
		{Name: processtable.MemberErrors, Type: container.NewList(container.Scalar(container.String))},
		{Name: processtable.MemberRCs, Type: container.NewList(container.Scalar(container.Int))},
		{Name: processtable.MemberCount, Type: container.Scalar(container.Int)},
		{Name: processtable.MemberDone, Type: container.Scalar(container.Int)},
		{Name: processtable.MemberFailed, Type: container.Scalar(container.Int)},
	})
)

// plan says what a bundle is.
type plan struct {
	until, failed string
	parallel      int
	called        bool // its executions are calls
	goesOn        bool // after errors
}

func checkOver(t testing.TB, text string, scope condition.Scope) *condition.Checked {
	t.Helper()
	if text == "" {
		return nil
	}
	c, problems := condition.Check(text, scope)
	if len(problems) > 0 {
		t.Fatalf("%s: %+v", text, problems)
	}
	return &c
}

// counting is the process of a bundle count between source and sink: each execution has one number.
func counting(t testing.TB, w plan) *Process {
	t.Helper()
	always := condition.Logic{Op: condition.LogicAnd}
	elements := []processtable.Composite{{Activity: "count", Elements: true}}
	toCount := []processtable.Mapping{
		{From: container.Path{0}, To: container.Path{0}, Type: container.Scalar(container.String), Source: "shop", Target: "shop"},
		{From: container.Path{1}, To: container.Path{1}, Type: visits.Members[1].Type, Source: "n", Target: "n"},
	}
	var toSink []processtable.Mapping
	for i, m := range results.Members {
		toSink = append(toSink, processtable.Mapping{From: container.Path{i}, To: container.Path{i}, Type: m.Type, Source: m.Name, Target: m.Name})
	}
	source := &processtable.Activity{
		Name: processtable.Source, Kind: processtable.KindSource, Input: container.Empty, Output: visits, Start: always,
		OutControl: []processtable.OutControl{{To: "count", Node: here}}, OutData: []processtable.OutData{{To: "count", Node: here, Mappings: toCount}},
	}
	bundle := &processtable.Activity{
		Name: "count", Kind: processtable.KindBundle, Input: visits, Output: results, Start: condition.Logic{Op: condition.LogicVar},
		InControl: []processtable.InControl{{From: processtable.Source}}, InData: []processtable.InData{{From: processtable.Source, Mappings: toCount}},
		OutControl: []processtable.OutControl{{To: processtable.Sink, Node: processtable.Origin}},
		OutData:    []processtable.OutData{{To: processtable.Sink, Node: processtable.Origin, Mappings: toSink}},
		Bundle: &processtable.Bundle{
			Member: "n", Parallel: w.parallel, Until: checkOver(t, w.until, condition.Scope{Members: processtable.Counts}),
			Failed: checkOver(t, w.failed, condition.Scope{Members: counted, RC: true}),
		},
	}
	one := &processtable.Activity{
		Name: "count", Kind: processtable.KindProgram, Program: "count", Path: elements, Input: visit, Output: counted, Start: always,
		MaxIterations: 1, Retry: processtable.Retry{Attempts: 1}, Continues: w.goesOn, RCIsData: true,
	}
	rows := []*processtable.Activity{source, bundle, one}
	var workers []processtable.Worker
	if w.called {
		call := &processtable.Activity{
			Name: "count", Kind: processtable.KindCall, Path: elements, Input: visit, Output: counted, Start: always, Continues: w.goesOn,
		}
		where, problems := condition.CheckExpr("shop", condition.Scope{Members: visit, Words: condition.WordInstance}, container.Scalar(container.String))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		call.Call = &processtable.Call{Node: &where, Of: []processtable.NodeID{"B", here}}
		one.Path = append(slices.Clone(elements), processtable.Composite{Activity: "count", Iterations: 1})
		rows = []*processtable.Activity{source, bundle, call, one}
		workers = []processtable.Worker{{Activity: "count", Each: true, Nodes: call.Call.Of}}
	}
	rows = append(rows, &processtable.Activity{
		Name: processtable.Sink, Kind: processtable.KindSink, Input: results, Output: container.Empty, Start: always,
		InControl: []processtable.InControl{{From: "count"}}, InData: []processtable.InData{{From: "count", Mappings: toSink}},
	})
	_, table, err := processtable.EncodeAsRead(&processtable.Table{
		Format: processtable.BundleFormat, Process: processtable.ProcessID{Name: "stock", Version: 1}, Node: here, Definition: processtable.DefinitionHash{9},
		Roster: []processtable.Place{{Activity: "count", Node: here}}, Starts: []processtable.NodeID{here}, Input: visits, Output: results,
		Activities: rows, Workers: workers,
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prepare(table, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// place is a node without threads: what lies in its queue, and what has ended. Each decision is made of
// messages that are folded anew, in any order.
type place struct {
	t       *rapid.T
	p       *Process
	queue   map[message.Entry]map[message.Key]message.Message
	ended   map[message.Entry]behaviour.Effects
	commits uint64
	largest int // so many messages lay in one entry
	notices []message.Notice
	program func(n int64) behaviour.Result
	full    bool // nothing may begin
	begun   int  // elements, and work of calls
}

func newPlace(t *rapid.T, p *Process, input string, program func(n int64) behaviour.Result) *place {
	w := &place{t: t, p: p, queue: map[message.Entry]map[message.Key]message.Message{}, ended: map[message.Entry]behaviour.Effects{}, program: program}
	v, err := container.DecodeJSON(p.table.Input, []byte(input))
	if err != nil {
		t.Fatal(err)
	}
	e, err := p.Start(behaviour.Start{Instance: instance, Input: v, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	w.put(e.Put)
	return w
}

func (w *place) put(all []message.Message) {
	w.commits++
	for i, m := range all {
		encoded, err := message.Encode(m)
		if err != nil {
			w.t.Fatalf("%+v: %v", m.Header, err)
		}
		m, _ = message.Decode(encoded)
		m.Arrival = message.Arrival{Commit: w.commits, Index: uint32(i)}
		if m.Kind == message.KindBegin {
			w.begun++
		}
		if m.Kind == message.KindNotice && m.Activity == processtable.Sink {
			n, _ := message.DecodeNotice(m.Body)
			w.notices = append(w.notices, n)
		}
		if _, over := w.ended[m.Entry()]; over {
			continue
		}
		if w.queue[m.Entry()] == nil {
			w.queue[m.Entry()] = map[message.Key]message.Message{}
		}
		w.queue[m.Entry()][m.Key()] = m
		w.largest = max(w.largest, len(w.queue[m.Entry()]))
	}
}

func (w *place) state(e message.Entry) (*Activity, *State) {
	a := w.p.activities.Get(e.Row())
	if a == nil {
		w.t.Fatalf("there is no row of %+v", e)
	}
	s := a.Empty(e).(*State)
	all := slices.SortedFunc(maps.Values(w.queue[e]), func(x, y message.Message) int { return x.Arrival.Compare(y.Arrival) })
	if len(all) > 1 {
		all = rapid.Permutation(all).Draw(w.t, "order")
	}
	for _, m := range all {
		if err := a.Fold(s, m); err != nil {
			w.t.Fatalf("%s in %q: %v", e.Activity, e.Scope, err)
		}
	}
	return a, s
}

// decide makes so what an entry decides; false: it waits.
func (w *place) decide(e message.Entry) bool {
	a, s := w.state(e)
	effects := a.Decide(s, noon)
	if call := effects.Invoke; call != nil {
		var result behaviour.Result
		switch {
		case call.Program == behaviour.Begin && w.full:
			return false
		case call.Program == behaviour.Begin:
			result = behaviour.Result{Begins: true}
		case call.Program != "":
			result = w.program(call.Input.Fields[1].(int64))
		default:
			result = a.Compute(*call, noon)
		}
		effects = a.Conclude(s, result, noon)
	}
	if effects.Waits() {
		return false
	}
	for _, k := range effects.Takes {
		delete(w.queue[e], k)
	}
	if effects.Ends {
		for _, k := range s.Keys {
			delete(w.queue[e], k)
		}
		if len(w.queue[e]) > 0 {
			w.t.Fatalf("%s in %q has ended, and leaves %v", e.Activity, e.Scope, w.queue[e])
		}
		delete(w.queue, e)
		w.ended[e] = effects
	}
	w.put(effects.Put)
	return true
}

// run lets any entry decide, one after the other, until all wait.
func (w *place) run() {
	for {
		entries := slices.SortedFunc(maps.Keys(w.queue), func(x, y message.Entry) int {
			return strings.Compare(string(x.Scope)+"/"+string(x.Activity), string(y.Scope)+"/"+string(y.Activity))
		})
		at, moved := 0, false
		if len(entries) > 1 {
			at = rapid.IntRange(0, len(entries)-1).Draw(w.t, "entry")
		}
		for i := range entries {
			if moved = w.decide(entries[(at+i)%len(entries)]); moved {
				break
			}
		}
		if !moved {
			return
		}
	}
}

func (w *place) output() string {
	e, over := w.ended[message.Entry{Instance: instance, Activity: processtable.Sink}]
	if !over {
		w.t.Fatalf("it has not ended: %v", slices.Collect(maps.Keys(w.queue)))
	}
	return jsonIn(w.t, w.p.table.Output, e.Outcome.Output)
}

func jsonIn(t interface{ Fatal(...any) }, of *container.Type, encoded []byte) string {
	v, err := container.DecodeCBOR(of, encoded)
	if err != nil {
		t.Fatal(err)
	}
	out, err := container.EncodeJSON(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// numbers are 0 to n-1, for shops that are all here.
func numbers(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	return fmt.Sprintf(`{"shop": %q, "n": [%s]}`, here, strings.Join(all, ","))
}

// doubled gives twice the number; of a number in bad, an error, and return code 3 of those that can be divided by 10.
func doubled(bad ...int64) func(n int64) behaviour.Result {
	return func(n int64) behaviour.Result {
		if slices.Contains(bad, n) {
			return behaviour.Result{Err: fmt.Sprintf("no %d", n), Started: noon, Ended: noon}
		}
		out := container.New(counted)
		out.Fields[0] = 2 * n
		r := behaviour.Result{Output: out, Started: noon, Ended: noon}
		if n%10 == 0 {
			r.RC = 3
		}
		return r
	}
}

// R31, R33: whatever the order in which things happen, and however often all is forgotten and read again, a
// bundle comes to the same, with its results in the list's order; never are more under way than it allows.
func TestR31ABundleComesToTheSameInAnyOrder(tb *testing.T) {
	rapid.Check(tb, func(t *rapid.T) {
		w := plan{
			parallel: rapid.IntRange(1, 9).Draw(t, "parallel"), called: rapid.Bool().Draw(t, "called"), goesOn: true,
			failed: rapid.SampledFrom([]string{"", "n > 10", "_RC != 0"}).Draw(t, "failed"),
		}
		count := rapid.IntRange(0, 20).Draw(t, "elements")
		bad := rapid.SliceOfN(rapid.Int64Range(0, 20), 0, 4).Draw(t, "bad")
		p := newPlace(t, counting(tb, w), numbers(count), doubled(bad...))
		p.run()
		var outs, errs, rcs []string
		failed := 0
		for n := range int64(count) {
			rc, out, reason := int64(0), 2*n, ""
			if n%10 == 0 {
				rc = 3
			}
			if slices.Contains(bad, n) {
				rc, out, reason = -1, -7, fmt.Sprintf("no %d", n)
			}
			if reason != "" || w.failed == "n > 10" && out > 10 || w.failed == "_RC != 0" && rc != 0 {
				failed++
			}
			outs, errs, rcs = append(outs, fmt.Sprintf(`{"n":%d}`, out)), append(errs, fmt.Sprintf("%q", reason)), append(rcs, fmt.Sprint(rc))
		}
		want := fmt.Sprintf(`{"_RESULTS":[%s],"_ERRORS":[%s],"_RCS":[%s],"_COUNT":%d,"_DONE":%d,"_FAILED":%d}`,
			strings.Join(outs, ","), strings.Join(errs, ","), strings.Join(rcs, ","), count, count, failed)
		if got := p.output(); got != want {
			t.Errorf("it comes to\n%s, want\n%s", got, want)
		}
		if len(p.queue) > 0 {
			t.Errorf("what is left: %v", p.queue)
		}
	})
}

// plainly runs a bundle without a choice of orders.
func plainly(t *testing.T, w plan, n int, program func(n int64) behaviour.Result, check func(*rapid.T, *place)) {
	t.Helper()
	process := counting(t, w)
	rapid.Check(t, func(rt *rapid.T) {
		p := newPlace(rt, process, numbers(n), program)
		p.run()
		check(rt, p)
	})
}

// R31: once until is TRUE no other return counts; what is left has defaults, is cancelled, and is neither done
// nor failed.
func TestR31UntilLeavesTheRest(t *testing.T) {
	plainly(t, plan{until: "_DONE == 3", parallel: 4}, 12, doubled(), func(t *rapid.T, p *place) {
		got := p.output()
		if !strings.Contains(got, `"_COUNT":12,"_DONE":3,"_FAILED":0`) || strings.Count(got, `"cancelled"`) != 9 || strings.Count(got, `{"n":-7}`) != 9 {
			t.Errorf("it comes to %s", got)
		}
		for e, effects := range p.ended {
			if e.Scope != "" && effects.Outcome.What != behaviour.Terminated && effects.Outcome.What != behaviour.Cancelled {
				t.Errorf("%q has ended as %v", e.Scope, effects.Outcome.What)
			}
		}
		if len(p.queue) > 0 {
			t.Errorf("what is left: %v", p.queue)
		}
	})
}

// R31, R33, S3: without room no element begins, and no work of a call; what has begun returns, and until is asked of it.
func TestR31NothingBeginsWithoutRoom(tb *testing.T) {
	for _, w := range []plan{{parallel: 3}, {parallel: 3, until: "_DONE == 3"}, {parallel: 3, called: true}} {
		process := counting(tb, w)
		rapid.Check(tb, func(t *rapid.T) {
			var p *place
			p = newPlace(t, process, numbers(9), func(n int64) behaviour.Result {
				p.full = true // there is none any more, from when the first program runs
				return doubled()(n)
			})
			p.full = true
			if p.run(); p.begun > 0 {
				t.Fatalf("%d have begun without room", p.begun)
			}
			p.full = false
			p.run()
			_, ended := p.ended[message.Entry{Instance: instance, Activity: "count"}]
			if w.called || w.until != "" {
				if ended != (w.until != "") || !ended && p.begun > 6 {
					t.Fatalf("%d have begun; it has ended: %t", p.begun, ended)
				}
				return
			}
			bundle, s := p.state(message.Entry{Instance: instance, Activity: "count"})
			if v := bundle.View(s, noon); p.begun != 3 || ended || !v.Begins || v.Elements.Done != 3 {
				t.Fatalf("%d have begun; it has ended: %t; it is shown with %+v, begins: %t", p.begun, ended, v.Elements, v.Begins)
			}
			p.program, p.full = doubled(), false
			p.run()
			if got := p.output(); !strings.Contains(got, `"_COUNT":9,"_DONE":9`) {
				t.Errorf("it comes to %s", got)
			}
		})
	}
}

// R32: an element in error waits for an operator, and the others go on. The origin is told of all together, and
// when none is in error any more.
func TestR32OneNoticeForAllElements(t *testing.T) {
	plainly(t, plan{parallel: 3}, 8, doubled(1, 4), func(t *rapid.T, p *place) {
		bundle, s := p.state(message.Entry{Instance: instance, Activity: "count"})
		v := bundle.View(s, noon)
		if want := (behaviour.Elements{Count: 8, Done: 6, InError: 2, UnderWay: 2}); *v.Elements != want {
			t.Fatalf("elements are %+v, want %+v", v.Elements, want)
		}
		if last := p.notices[len(p.notices)-1]; last.Cleared || !strings.HasPrefix(last.Error, "2 elements are in error, the first of them count[1]: no 1") {
			t.Fatalf("the origin is told %+v", last)
		}
		for _, scope := range []message.Scope{"count[4]", "count[1]"} {
			e := message.Entry{Instance: instance, Scope: scope, Activity: "count"}
			one, s := p.state(e)
			out := container.New(counted)
			effects, err := one.Resume(s, behaviour.Retry{Output: out}, noon)
			if err != nil || !effects.Ends {
				t.Fatalf("retry of %s: %v", scope, err)
			}
			delete(p.queue, e)
			p.ended[e] = effects
			p.put(effects.Put)
			p.run()
		}
		if last := p.notices[len(p.notices)-1]; !last.Cleared {
			t.Errorf("the origin is told %+v at last", last)
		}
		if got := p.output(); !strings.Contains(got, `"_DONE":8,"_FAILED":0`) || len(p.queue) > 0 {
			t.Errorf("it comes to %s, and leaves %v", got, p.queue)
		}
	})
}

// R31: what lies in the bundle's entry is bounded, however many elements there are: returns are put together, and
// what they were put into.
func TestR31ReturnsArePutTogether(t *testing.T) {
	const elements = 9_000
	p := counting(t, plan{parallel: 1000})
	bundle := rowIn(p, "count", "")
	input, err := container.DecodeJSON(visits, []byte(numbers(elements)))
	if err != nil {
		t.Fatal(err)
	}
	started, err := p.Start(behaviour.Start{Instance: instance, Input: input, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	s := folded(t, bundle, started.Put[0])
	one := p.activities.Get(processtable.RowID{Name: "count", Inside: "count", Begun: 1})
	written := 0
	var end behaviour.Effects
	for step := 0; !end.Ends; step++ {
		if step > 3*elements {
			t.Fatal("it does not end")
		}
		end = bundle.Decide(s, noon)
		if end.Invoke != nil && end.Invoke.Program == behaviour.Begin {
			end = bundle.Conclude(s, behaviour.Result{Begins: true}, noon)
		}
		if end.Ends {
			break
		}
		s.Forget(end.Takes)
		var begun []message.Message
		for _, m := range end.Put {
			switch {
			case m.Kind == message.KindBegin:
				begun = append(begun, m)
			case m.Kind == message.KindChunk, m.Kind == message.KindSnapshot:
				written += len(m.Body)
				fold(t, bundle, s, m)
			}
		}
		for _, m := range begun {
			inside := folded(t, one, m)
			e := one.Conclude(inside, doubled()(int64(s.Snapshot.Gathered.Next)), noon)
			fold(t, bundle, s, e.Put[0])
		}
		if len(s.Keys) > 1400 {
			t.Fatalf("%d messages lie in the entry", len(s.Keys))
		}
	}
	if end.Outcome.What != behaviour.Terminated || !strings.Contains(jsonIn(t, results, end.Outcome.Output), `"_DONE":9000,"_FAILED":0`) {
		t.Errorf("it has ended as %v", end.Outcome.What)
	}
	if written > 400*elements {
		t.Errorf("%d bytes were written for %d elements", written, elements)
	}
}

// R33: a value outside of the list is an error at home, which says so; nothing is begun.
func TestR33ANodeThatIsNotOfTheList(t *testing.T) {
	process := counting(t, plan{parallel: 3, called: true})
	call := process.activities.Get(processtable.RowID{Name: "count", Inside: "count", Begun: 1})
	begin := message.Message{Header: message.Header{
		Queue: message.Queue{Process: process.table.Process, Node: here}, Definition: process.Definition(), Instance: instance, Origin: origin,
		Scope: "count[0]", Activity: "count", Source: "count", Kind: message.KindBegin, Clock: 2,
	}}
	input := container.New(visit)
	input.Fields[0] = "elsewhere"
	encoded, err := container.EncodeCBOR(input)
	if err != nil {
		t.Fatal(err)
	}
	begin.Body = message.EncodeBegin(message.Begin{Input: encoded})
	e := call.Decide(folded(t, call, begin), noon)
	if e.Outcome.What != behaviour.InError || !strings.Contains(e.Outcome.Reason, `gives "elsewhere", and the nodes are [B H]`) {
		t.Errorf("it is %+v", e.Outcome)
	}
	for _, m := range e.Put {
		if m.Kind == message.KindBegin {
			t.Error("its work is begun")
		}
	}
}

// A bundle's list is the one that came: of a hundred thousand structures a copy would be as much again, for as long as
// the bundle lasts. What a program is given stays its own (R5).
func TestABundleSharesItsList(t *testing.T) {
	p := counting(t, plan{parallel: 2})
	rapid.Check(t, func(t *rapid.T) {
		w := newPlace(t, p, `{"shop":"north","n":[1,2,3]}`, nil)
		a, s := w.state(message.Entry{Instance: instance, Activity: "count"})
		list, err := a.elements(s)
		if err != nil {
			t.Fatal(err)
		}
		came := s.values[0][1].([]container.Value)
		if len(list.all) != 3 || &list.all[0] != &came[0] {
			t.Fatalf("the elements are %v, a copy of %v", list.all, came)
		}
		input, err := a.InputOf(s)
		if err != nil {
			t.Fatal(err)
		}
		if own := input.Fields[1].([]container.Value); &own[0] == &came[0] {
			t.Fatal("an input shares the list that came")
		}
	})
}
