package navigator

import (
	"strings"
	"testing"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// R24: source evaluates the conditions out of it over the process's input. What it begins in any case
// is not beside its otherwise.
func TestR24SourceChooses(t *testing.T) {
	p := newModel(t, "a", "b", "c").control("source -> c", "source -> a: n > 4", "source -> b: otherwise").
		data("source -> a: n = n", "source -> b: n = n").prepare()
	source := p.activities.Get(processtable.RowID{Name: processtable.Source})
	for _, tc := range []struct {
		input string
		want  []string
	}{
		{`{"n": 5}`, []string{"to c at H: TRUE", "to a at H: TRUE data 5", "to b at H: FALSE data 5"}},
		{`{"n": 4}`, []string{"to c at H: TRUE", "to a at H: FALSE data 4", "to b at H: TRUE data 4"}},
	} {
		start := behaviour.Start{Instance: instance, Input: value(t, tc.input), Now: noon}
		e, err := p.Start(start)
		if err != nil {
			t.Fatal(err)
		}
		want := append(append([]string{"terminated, ends"}, tc.want...), "to sink at H: record")
		expect(t, source, e, want...)
		start.Judged = source.Judge(&behaviour.Result{Output: start.Input})
		if e, err = p.Start(start); err != nil {
			t.Fatal(err)
		}
		expect(t, source, e, want...)
		start.Judged = &judged{done: true, truths: []message.Truth{F, F, F}, data: source.judge(&behaviour.Result{Output: start.Input}).data} // it is not made once more
		if e, err = p.Start(start); err != nil || !strings.Contains(show(p, e), "to c at H: FALSE") {
			t.Errorf("with another judgement: %s, %v", show(p, e), err)
		}
	}
	// What source makes FALSE is skipped, whether it was to wait for others or not (R3).
	a := rowIn(p, "a", "")
	expect(t, a, a.Decide(folded(t, a, from(t, a, processtable.Source, F, `{"n": 4}`)), noon), "skipped, ends")
}

// R24: a condition that fails refuses the start, and nothing is put.
func TestR24AFailedConditionRefusesTheStart(t *testing.T) {
	p := newModel(t, "a", "b").control("source -> a: 10 / n > 1", "source -> b: otherwise").prepare()
	e, err := p.Start(behaviour.Start{Instance: instance, Input: value(t, `{"n": 0}`), Now: noon})
	contains(t, err, `start p@1: transition condition "10 / n > 1" to a: evaluate condition "10 / n > 1": division by zero`)
	if len(e.Put) > 0 || e.Ends {
		t.Errorf("it puts %s", show(p, e))
	}
	source := p.activities.Get(processtable.RowID{Name: processtable.Source})
	judged := source.Judge(&behaviour.Result{Output: value(t, `{"n": 0}`)})
	_, err = p.Start(behaviour.Start{Instance: instance, Input: value(t, `{"n": 0}`), Judged: judged, Now: noon})
	contains(t, err, "division by zero")
}

// R24: a table whose source reads _RC is refused: an input has none.
func TestR24SourceHasNoReturnCode(t *testing.T) {
	m := newModel(t, "a", "b").control("source -> a: _RC == 0", "source -> b: otherwise")
	m.rows["a"].Start, m.rows["b"].Start = condition.Logic{Op: condition.LogicAnd}, condition.Logic{Op: condition.LogicAnd}
	_, err := Prepare(m.table, nil)
	contains(t, err, `activity source: condition "_RC == 0": `)
	contains(t, err, "it reads _RC, which Data does not have")
}

// deciding is a process of a block whose source chooses between two.
func deciding(t testing.TB, condition string) *Process {
	return newModel(t, "b", "i", "j", "x").block("b", "i", "j").
		control("source -> b", "b -> x", "b/source -> i: "+condition, "b/source -> j: otherwise", "i -> b/sink", "j -> b/sink").
		data("source -> b: n = n", "b/source -> i: n = n", "i -> b/sink: n = n").prepare()
}

// R20, R24: the source of a block chooses by the iteration's input.
func TestR24TheSourceOfABlockChooses(t *testing.T) {
	p := deciding(t, "n > 4")
	b, source := rowIn(p, "b", ""), rowIn(p, processtable.Source, "b")
	for input, want := range map[string][]string{
		`{"n": 5}`: {"to i at H: TRUE data 5", "to j at H: FALSE"},
		`{"n": 4}`: {"to i at H: FALSE data 4", "to j at H: TRUE"},
	} {
		begun := b.Decide(folded(t, b, from(t, b, processtable.Source, T, input)), noon)
		inside := comes(t, source, begun, message.KindBegin)
		expect(t, source, source.Decide(inside, noon), append([]string{"terminated, ends"}, want...)...)
	}
}

// R24: where its condition fails the iteration is given up: all inside is skipped, and the block is
// in error, whichever of the two returns is folded first. A retry begins anew.
func TestR24AFailedConditionIsTheBlocksError(t *testing.T) {
	p := deciding(t, "10 / n > 1")
	b, source := rowIn(p, "b", ""), rowIn(p, processtable.Source, "b")
	connector := from(t, b, processtable.Source, T, `{"n": 0}`)
	begun := b.Decide(folded(t, b, connector), noon)
	inside := comes(t, source, begun, message.KindBegin)
	const why = `source of b#1: transition condition "10 / n > 1" to i: evaluate condition "10 / n > 1": division by zero: check first that the divisor is not 0, as in d != 0 && n / d > 2`
	e := source.Decide(inside, noon)
	given := e.Put[len(e.Put)-1]
	if r, err := message.DecodeReturn(given.Body); given.Kind != message.KindReturn || err != nil || r.Error != why {
		t.Errorf("it returns %+v, %v", r, err)
	}
	e.Put = e.Put[:len(e.Put)-1]
	expect(t, source, e, "terminated, ends", "to i at H: FALSE no data", "to j at H: FALSE")
	output, err := container.EncodeCBOR(value(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	ended := given // of sink, at the end of the dead path
	ended.Source, ended.Body = processtable.Sink, message.EncodeReturn(message.Return{Output: output})
	for _, order := range [][]message.Message{{given, ended}, {ended, given}, {given}, {ended, given, ended}} {
		s := folded(t, b, connector)
		kept(t, b, s, begun)
		fold(t, b, s, order...)
		failed := b.Decide(s, noon)
		expect(t, b, failed, "in-error", "to b at H: snapshot", "to sink at O: notice cleared=false attempts=0 "+why)
		kept(t, b, s, failed)
		retried, err := b.Resume(s, behaviour.Retry{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		kept(t, b, s, retried)
		if again := show(p, b.Decide(s, noon)); !strings.Contains(again, "begins b~1#1 at H: ") {
			t.Errorf("a retry comes to %s", again)
		}
	}
}

// R24: conditions over a long input are evaluated beside the process thread.
func TestR24ALongInputIsJudgedApart(t *testing.T) {
	p := deciding(t, "text.contains('x')")
	source := rowIn(p, processtable.Source, "b")
	input := value(t, "")
	input.Fields[1] = strings.Repeat("y", quickData+1)
	encoded, err := container.EncodeCBOR(input)
	if err != nil {
		t.Fatal(err)
	}
	begin := own(source, message.KindBegin, message.EncodeBegin(message.Begin{Input: encoded}))
	begin.Scope = "b#1"
	s := folded(t, source, begin)
	call := source.Decide(s, noon).Invoke
	if call == nil || call.Program != "" {
		t.Fatalf("it is decided where it lies: %s", show(p, source.Decide(s, noon)))
	}
	r := source.Compute(*call, noon)
	r.Judged = source.Judge(&r)
	expect(t, source, source.Conclude(s, r, noon), "terminated, ends", "to i at H: FALSE data 0", "to j at H: TRUE")
}

// R25: of the connectors out of it the first that is TRUE is, in the order of the table; those behind
// it are not asked. Otherwise is TRUE where none is.
func TestR25TheFirstMatch(t *testing.T) {
	m := newModel(t, "x", "a", "b", "c", "d").control("x -> d: otherwise", "x -> a: n > 10", "x -> b: n > 5", "x -> c: 10 / n > 1")
	x := m.set("x", func(row *processtable.Activity) { row.FirstMatch = true }).activity("x")
	for output, want := range map[string]string{
		`{"n": 11}`: "d:FALSE a:TRUE b:FALSE c:FALSE",
		`{"n": 6}`:  "d:FALSE a:FALSE b:TRUE c:FALSE",
		`{"n": 4}`:  "d:FALSE a:FALSE b:FALSE c:TRUE",
		`{"n": -1}`: "d:TRUE a:FALSE b:FALSE c:FALSE",
	} {
		var got []string
		for _, put := range x.Conclude(folded(t, x), ran(t, 0, output), noon).Put {
			got = append(got, string(put.Activity)+":"+map[message.Truth]string{T: "TRUE", F: "FALSE"}[put.Control])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", output, got, want)
		}
	}
	// A condition fails only where it is asked (R12).
	if e := x.Conclude(folded(t, x), ran(t, 0, `{"n": 0}`), noon); e.Outcome.What != behaviour.InError || !strings.Contains(e.Outcome.Reason, "division by zero") {
		t.Errorf("it comes to %s", show(x.process, e))
	}
}

// R25: what has no condition is TRUE where nothing before it is.
func TestR25WithoutACondition(t *testing.T) {
	m := newModel(t, "x", "a", "b", "c").control("x -> a: n > 10", "x -> b", "x -> c: 1 / n > 0")
	x := m.set("x", func(row *processtable.Activity) { row.FirstMatch = true }).activity("x")
	expect(t, x, x.Conclude(folded(t, x), ran(t, 0, `{"n": 11}`), noon), "terminated, ends", "to a at H: TRUE", "to b at H: FALSE", "to c at H: FALSE")
	expect(t, x, x.Conclude(folded(t, x), ran(t, 0, `{"n": 0}`), noon), "terminated, ends", "to a at H: FALSE", "to b at H: TRUE", "to c at H: FALSE")
}
