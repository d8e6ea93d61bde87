package sat

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// holes says that so many pigeons sit in one hole less, each alone: that cannot be, and
// solvers of this kind need exponentially long to see it.
func holes(pigeons int) (clauses [][]int, vars int) {
	in := func(p, h int) int { return p*(pigeons-1) + h + 1 }
	for p := range pigeons {
		var somewhere []int
		for h := range pigeons - 1 {
			somewhere = append(somewhere, in(p, h))
			for other := range p {
				clauses = append(clauses, []int{-in(p, h), -in(other, h)})
			}
		}
		clauses = append(clauses, somewhere)
	}
	return clauses, pigeons * (pigeons - 1)
}

// What is easy is decided, what is too hard is given up, each time at the same point.
func TestEffort(t *testing.T) {
	few, n := holes(4)
	if r := Solve(few, n, 1000); r.Answer != Never {
		t.Errorf("4 pigeons: %+v", r)
	}
	many, n := holes(11)
	for range 3 {
		if r := Solve(many, n, 500); r.Answer != Undecided || r.Learned != 501 || r.Model != nil {
			t.Errorf("11 pigeons: %+v", r)
		}
	}
	if r := Solve([][]int{{1}, {-1, 2}}, 2, 0); r.Answer != Satisfiable || !slices.Equal(r.Model, []bool{true, true}) {
		t.Errorf("two facts: %+v", r)
	}
}

// Within any effort an answer is right: a model holds, and where there is said to be none
// there is none.
func TestAnswersAreRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vars := rapid.IntRange(1, 8).Draw(t, "vars")
		var clauses [][]int
		for range rapid.IntRange(1, 40).Draw(t, "clauses") {
			var c []int
			for v := 1; v <= vars; v++ {
				if sign := rapid.IntRange(-2, 2).Draw(t, "sign"); sign == 1 || sign == -1 {
					c = append(c, sign*v)
				}
			}
			if len(c) > 0 {
				clauses = append(clauses, c)
			}
		}
		if len(clauses) == 0 {
			return
		}
		holds := func(model func(v int) bool) bool {
			return !slices.ContainsFunc(clauses, func(c []int) bool {
				return !slices.ContainsFunc(c, func(l int) bool { return model(max(l, -l)) == (l > 0) })
			})
		}
		possible := false
		for m := range 1 << vars {
			possible = possible || holds(func(v int) bool { return m>>(v-1)&1 == 1 })
		}
		r := Solve(clauses, vars, rapid.IntRange(0, 20).Draw(t, "effort"))
		switch {
		case r.Answer == Satisfiable && !holds(func(v int) bool { return r.Model[v-1] }):
			t.Fatalf("%v is no model", r.Model)
		case r.Answer == Satisfiable && !possible, r.Answer == Never && possible:
			t.Fatalf("answer %d, and possible is %v", r.Answer, possible)
		}
	})
}

// The usual yardstick: random 3-SAT near the threshold, where half have a model.
func BenchmarkRandom(b *testing.B) {
	seed := uint64(1)
	next := func(n int) int {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int(seed>>33) % n
	}
	const vars = 150
	for b.Loop() {
		var clauses [][]int
		for range vars * 426 / 100 {
			c := map[int]bool{}
			var literals []int
			for len(literals) < 3 {
				if v := next(vars) + 1; !c[v] {
					c[v] = true
					literals = append(literals, v*(1-2*next(2)))
				}
			}
			clauses = append(clauses, literals)
		}
		Solve(clauses, vars, 1<<30)
	}
}

func BenchmarkHoles(b *testing.B) {
	clauses, vars := holes(8)
	for b.Loop() {
		Solve(clauses, vars, 1<<30)
	}
}
