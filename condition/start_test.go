package condition

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestStartConditionsAsTrees(t *testing.T) {
	names := []string{"credit", "stock", "override"}
	for text, want := range map[string]string{
		"credit":                          "0",
		"!credit":                         "!0",
		"!!credit":                        "0",
		"(credit && stock) || override":   "(| (& 0 1) 2)",
		"credit && stock && override":     "(& 0 1 2)",
		"credit || stock || override":     "(| 0 1 2)",
		"true":                            "(&)",
		"false || credit":                 "(| (|) 0)",
		"credit == stock":                 "(| (& 0 1) (& !0 !1))",
		"credit != stock":                 "(| (& 0 !1) (& !0 1))",
		"credit ? stock : override":       "(| (& 0 1) (& !0 2))",
		"stock\n  // the second\n&& true": "(& 1 (&))",
	} {
		l, problems := CheckStart(text, names)
		if len(problems) > 0 {
			t.Errorf("%s: %s", text, written(problems))
		} else if got := drawn(l); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func drawn(l Logic) string {
	if l.Op == LogicVar {
		return fmt.Sprint(l.Var)
	}
	if l.Op == LogicNot {
		return "!" + drawn(l.Args[0])
	}
	parts := []string{map[LogicOp]string{LogicAnd: "(&", LogicOr: "(|"}[l.Op]}
	for _, a := range l.Args {
		parts = append(parts, drawn(a))
	}
	return strings.Join(parts, " ") + ")"
}

func TestStartProblems(t *testing.T) {
	const only = "a start condition only joins predecessors: use their names with && || ! and parentheses; test data in the transition conditions"
	names := []string{"credit", "stock"}
	for text, want := range map[string]string{
		"":                    "0 the condition is empty: write one, or leave it out if it always holds",
		"credit & stock":      "7 a single & is not an operator: write &&",
		"credit and stock":    "7 not understood: the condition is already complete before this: write && for and",
		"credti":              "0 credti is not a predecessor; predecessors are credit, stock: did you mean credit, or add a control connector from it",
		"ship || stock":       "0 ship is not a predecessor; predecessors are credit, stock: use one of them, or add a control connector from it",
		"_RC == 0":            "0 _RC is not a predecessor; predecessors are credit, stock: use one of them, or add a control connector from it",
		"credit && 1 == 1":    "10 " + only,
		"credit in [stock]":   "7 " + only,
		"size('a') == 1":      "4 " + only,
		"credit > stock":      "7 " + only,
		"[credit][0]":         "8 " + only,
		"[credit].all(c, c)":  "12 " + only,
		"credit && 1":         "10 this must be TRUE or FALSE, not int: compare it with something, as in 1 > 0",
		"1":                   "0 the start condition must be TRUE or FALSE, not int: name predecessors, as in credit && stock",
		"credit.amount > 100": "6 credit (bool) has no members: remove .amount",
		"credit" + strings.Repeat(" == (stock != credit", 20) + strings.Repeat(")", 20): "0 the start condition nests == and ?: too deep: write it with && and ||",
	} {
		_, problems := CheckStart(text, names)
		if got := written(problems); got != want {
			t.Errorf("%.60s\ngot  %s\nwant %s", text, got, want)
		}
	}
	_, problems := CheckStart("credit", nil)
	if got, want := written(problems), "0 credit is not a predecessor; there are none: add a control connector from it"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The tree gives what the text says, for every state of the connectors.
func TestStartConditionsMeanWhatTheySay(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	var draw func(t *rapid.T, depth int) (string, func([]bool) bool)
	draw = func(t *rapid.T, depth int) (string, func([]bool) bool) {
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		if depth == 0 {
			kind = 0
		}
		if kind == 0 {
			i := rapid.IntRange(0, len(names)).Draw(t, "name")
			if i == len(names) {
				return "true", func([]bool) bool { return true }
			}
			return names[i], func(s []bool) bool { return s[i] }
		}
		x, fx := draw(t, depth-1)
		y, fy := draw(t, depth-1)
		z, fz := draw(t, depth-1)
		switch kind {
		case 1:
			return "!(" + x + ")", func(s []bool) bool { return !fx(s) }
		case 2:
			return "(" + x + " && " + y + ")", func(s []bool) bool { return fx(s) && fy(s) }
		case 3:
			return "(" + x + " || " + y + ")", func(s []bool) bool { return fx(s) || fy(s) }
		case 4:
			return "(" + x + " == " + y + ")", func(s []bool) bool { return fx(s) == fy(s) }
		case 5:
			return "(" + x + " != " + y + ")", func(s []bool) bool { return fx(s) != fy(s) }
		default:
			return "(" + x + " ? " + y + " : " + z + ")", func(s []bool) bool {
				if fx(s) {
					return fy(s)
				}
				return fz(s)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, says := draw(t, 3)
		l, problems := CheckStart(text, names)
		if len(problems) > 0 {
			t.Fatalf("%s: %s", text, written(problems))
		}
		for bits := range 1 << len(names) {
			state := make([]bool, len(names))
			for i := range state {
				state[i] = bits>>i&1 == 1
			}
			if l.Eval(state) != says(state) {
				t.Fatalf("%s with %v: got %v", text, state, l.Eval(state))
			}
		}
	})
}

func TestLogicAtLeast(t *testing.T) {
	l := Logic{Op: LogicAtLeast, N: 2, Args: []Logic{{Op: LogicVar, Var: 0}, {Op: LogicVar, Var: 1}, {Op: LogicVar, Var: 2}}}
	for bits := range 8 {
		state := []bool{bits&1 > 0, bits&2 > 0, bits&4 > 0}
		n := bits&1 + bits>>1&1 + bits>>2
		if l.Eval(state) != (n >= 2) {
			t.Errorf("%v: got %v", state, l.Eval(state))
		}
	}
}

func TestStartConditionsMayAskHowPredecessorsEnded(t *testing.T) {
	names := []string{"a", "b"}
	connectors := []Connector{ConnectorFalse, ConnectorTrue, ConnectorSkipped, ConnectorFailed, ConnectorCaught}
	for text, want := range map[string]string{ // for a, with b FALSE and skipped
		"a": "TRUE caught", "!a": "FALSE skipped failed", "ran(a)": "FALSE TRUE", "skipped(a)": "skipped", "failed(a)": "failed caught",
		"failed(a) && !a": "failed", "ran(a) && !a": "FALSE", "ran(a) == ran(b)": "skipped failed caught", "skipped(b) && a": "TRUE caught",
		"ran(a) ? a : failed(b) || skipped(a)": "TRUE skipped", "!(ran(a) || skipped(a) || failed(a))": "", "ran(b)": "",
	} {
		l, problems := CheckStart(text, names)
		if len(problems) > 0 {
			t.Errorf("%s: %s", text, written(problems))
			continue
		}
		var holds []string
		for i, c := range connectors {
			if l.EvalEnds([]Connector{c, ConnectorSkipped}) {
				holds = append(holds, []string{"FALSE", "TRUE", "skipped", "failed", "caught"}[i])
			}
		}
		if got := strings.Join(holds, " "); got != want {
			t.Errorf("%s holds for %q, want %q", text, got, want)
		}
		if asks := strings.Contains(text, "("); l.AsksEnds() != asks {
			t.Errorf("%s: asks how they ended: %v", text, !asks)
		}
	}
	const one = " takes the name of one predecessor: write "
	for text, want := range map[string]string{
		"ran(c)":           "4 c is not a predecessor; predecessors are a, b: did you mean a, or add a control connector from it",
		"ran(a && b)":      "3 ran" + one + "ran(a)",
		"failed(ran(a))":   "6 failed" + one + "failed(a)",
		"skipped()":        "7 skipped" + one + "skipped(a)",
		"a.ran()":          "5 ran" + one + "ran(a)",
		"ran(1) || a":      "3 ran" + one + "ran(a)",
		"ran(a, b)":        "3 ran" + one + "ran(a)",
		"ran(true)":        "3 ran" + one + "ran(a)",
		"ran == skipped":   "0 ran is not a predecessor; predecessors are a, b: use one of them, or add a control connector from it; 7 skipped is not a predecessor; predecessors are a, b: use one of them, or add a control connector from it",
		"finished(a) && b": "8 there is no function finished: a start condition names predecessors, and asks ran(X), skipped(X), failed(X)",
	} {
		if _, problems := CheckStart(text, names); written(problems) != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, written(problems), want)
		}
	}
	if _, problems := CheckStart("ran(true)", nil); written(problems) != "3 ran"+one+"ran(X)" {
		t.Errorf("without predecessors: %s", written(problems))
	}
}

// Where nothing asks for more, a connector is TRUE or FALSE.
func TestEndsMakeNoDifferenceToConnectors(t *testing.T) {
	l, problems := CheckStart("a && !b || a == b", []string{"a", "b"})
	if len(problems) > 0 {
		t.Fatal(written(problems))
	}
	for a := ConnectorFalse; a <= ConnectorCaught; a++ {
		for b := ConnectorFalse; b <= ConnectorCaught; b++ {
			if got, want := l.EvalEnds([]Connector{a, b}), l.Eval([]bool{a.is(LogicVar), b.is(LogicVar)}); got != want {
				t.Errorf("%d, %d: %v", a, b, got)
			}
		}
	}
}

func BenchmarkLogicEval(b *testing.B) {
	l, _ := CheckStart("(a && b && c) || (d && !e)", []string{"a", "b", "c", "d", "e"})
	connectors := []bool{true, true, false, true, false}
	b.ReportAllocs()
	for b.Loop() {
		if !l.Eval(connectors) {
			b.Fatal("FALSE")
		}
	}
}
