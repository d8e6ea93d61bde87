package condition

import (
	"strings"
	"testing"

	"fmqm/container"
)

var everyWord = Words(1<<len(words) - 1)

// bundleScope has every word of the engine, and a member for each kind that they have.
func bundleScope() Scope {
	visit := container.NewStructure("Visit", []container.Member{{Name: "counted", Type: container.Scalar(container.Int)}})
	return Scope{RC: true, Words: everyWord, Results: visit, Members: container.NewStructure("S", []container.Member{
		{Name: "approved", Type: container.Scalar(container.Bool)},
		{Name: "name", Type: container.Scalar(container.String), Default: "ann@ward"},
	})}
}

func TestConditionsReadTheWordsOfTheEngine(t *testing.T) {
	visit := func(counted int64) container.Value {
		return &container.Struct{Type: bundleScope().Results, Fields: []container.Value{counted}}
	}
	values := &Values{
		RC: 7, Timeout: true, Error: "no answer", Event: "part_arrived", By: "ann@ward", Instance: "0197",
		Results: []container.Value{visit(3), visit(8)}, Errors: []container.Value{"", "deadline"}, RCs: []container.Value{int64(0), int64(-1)},
		Count: 40, Done: 38, Failed: 2,
	}
	for text, reads := range map[string]Words{
		`_RC == 7`: 0, `_TIMEOUT && !approved`: WordTimeout, `_ERROR == "no answer"`: WordError, `_EVENT in ["part_arrived", "repaired"]`: WordEvent,
		`_BY == name && !(_INSTANCE == "")`: WordBy | WordInstance, `_RESULTS.exists(r, r.counted > 5) && size(_RESULTS) == 2`: WordResults,
		`_RESULTS[0].counted == 3 && _ERRORS[1] == "deadline"`: WordResults | WordErrors, `_RCS == [0, -1]`: WordRCs,
		`_FAILED * 20 == _COUNT`: WordFailed | WordCount, `_DONE < 40.5`: WordDone,
		`[1].exists(_COUNT, _COUNT == 1)`: 0, // the macro's own
	} {
		c, problems := Check(text, bundleScope())
		if len(problems) > 0 || c.Reads != reads {
			t.Errorf("%s: reads %s, %s; want %s", text, c.Reads, written(problems), reads)
			continue
		}
		there := bundleScope()
		loaded, err := Load(c, there)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := loaded.EvalWithin(&Spent{}, container.New(there.Members), values); err != nil || !got {
			t.Errorf("%s: got %v (%v)", text, got, err)
		}
	}
	for _, word := range everyWord.each() {
		if err := container.CheckValue(bundleScope().TypeOf(word), values.Of(word)); err != nil {
			t.Errorf("%s: %v", word, err)
		}
		if again, ok := WordNamed(word.String()); again != word || !ok {
			t.Errorf("%s is the name of %s", word, again)
		}
	}
}

// A condition that was written before there was such a word means what it did.
func TestAMemberHidesAWord(t *testing.T) {
	s := bundleScope()
	s.Members = container.NewStructure("Old", []container.Member{{Name: "_TIMEOUT", Type: container.Scalar(container.Int), Default: int64(30)}})
	c, problems := Check("_TIMEOUT == 30 && _FAILED == 0", s)
	if len(problems) > 0 || c.Reads != WordFailed {
		t.Fatalf("reads %s, %s", c.Reads, written(problems))
	}
	loaded, err := Load(c, s)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := loaded.EvalWithin(&Spent{}, container.New(s.Members), &Values{Timeout: true}); err != nil || !got {
		t.Errorf("got %v (%v)", got, err)
	}
}

func TestAWordIsKnownOnlyWhereItIs(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"_TIMEOUT", "0 _TIMEOUT is of an activity with a deadline: write `deadline: {after: …}` at it"},
		{`_ERROR == ""`, "0 _ERROR is of an activity that goes on after errors: write `on_error: continue` at it"},
		{"_FAILED > 0", "0 _FAILED is of an activity with for_each: use it where all its elements have ended, or in its until"},
		{"_EVNT == name", "0 S has no member _EVNT; it has approved, name, _RC, _EVENT: did you mean _EVENT"},
		{"_EVENT.key == name", "6 _EVENT (string) has no members: remove .key"},
		{"_RC && approved", "0 this must be TRUE or FALSE, not int: compare it with something, as in _RC > 0"},
	} {
		s := bundleScope()
		s.Words = WordEvent
		_, problems := Check(test.text, s)
		if got := written(problems); got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.text, got, test.want)
		}
	}
	_, problems := Check("counted > 5", Scope{Members: container.Empty, Words: WordErrors | WordFailed})
	if got, want := written(problems), "0 there is no member counted; the container has _ERRORS, _FAILED: use one of them"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c, _ := Check("_TIMEOUT || _BY == name", bundleScope())
	fewer, quiet := bundleScope(), c
	fewer.Words, quiet.Reads = WordBy, WordBy
	if _, err := Load(c, fewer); err == nil || !strings.Contains(err.Error(), "it reads _TIMEOUT, which S does not have") {
		t.Errorf("without the word: %v", err)
	}
	if _, err := Load(quiet, bundleScope()); err == nil || !strings.Contains(err.Error(), "its note of the words that it reads is wrong") {
		t.Errorf("with a wrong note: %v", err)
	}
}

// What words say counts for as much as what members say.
func TestLongWordsCount(t *testing.T) {
	s := bundleScope()
	out := container.New(s.Members)
	out.Fields[1] = strings.Repeat("a", 1_000_000)
	long := &Values{Error: strings.Repeat("a", 1_000_000), Errors: make([]container.Value, 100_000)}
	for i := range long.Errors {
		long.Errors[i] = ""
	}
	for _, text := range []string{strings.Repeat("_ERROR == name && ", 130) + "true", "_ERRORS.all(x, _ERRORS.all(y, x == y))"} {
		c := mustLoad(t, text, s)
		if holds, err := c.EvalWithin(&Spent{}, out, long); err == nil || !strings.Contains(err.Error(), "it took more than 2000000 steps") {
			t.Errorf("%.40s: %v, %v", text, holds, err)
		}
		if _, err := c.EvalWithin(&Spent{}, out, &Values{}); err != nil {
			t.Errorf("%.40s, over short ones: %v", text, err)
		}
	}
}

func BenchmarkEvalWords(b *testing.B) {
	s := bundleScope()
	out, values := container.New(s.Members), &Values{Event: "part_arrived"}
	c := mustLoad(b, `!_TIMEOUT && _EVENT == "part_arrived"`, s)
	b.ReportAllocs()
	for b.Loop() {
		if holds, err := c.EvalWithin(&Spent{}, out, values); !holds || err != nil {
			b.Fatal(holds, err)
		}
	}
}
