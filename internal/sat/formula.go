package sat

import "slices"

// Formula gathers clauses from what is said with and, or and not (Tseitin's
// transformation): each part gets a variable. Literals are as in DIMACS: -3 is the
// negation of variable 3.
type Formula struct {
	clauses [][]int
	vars    int
	yes     int
}

// NewFormula gives a formula that holds always.
func NewFormula() *Formula {
	f := &Formula{}
	f.yes = f.Variable()
	f.Clause(f.yes)
	return f
}

// Yes is a literal that is TRUE.
func (f *Formula) Yes() int { return f.yes }

// Variable gives a new one, which may be TRUE or FALSE.
func (f *Formula) Variable() int {
	f.vars++
	return f.vars
}

// Clause says that one of the literals is TRUE, which may come twice, or beside its
// negation.
func (f *Formula) Clause(literals ...int) {
	c := slices.Clone(literals)
	slices.Sort(c)
	c = slices.Compact(c)
	for _, l := range c {
		if _, both := slices.BinarySearch(c, -l); both {
			return
		}
	}
	f.clauses = append(f.clauses, c)
}

// And gives a literal that is TRUE if and only if all are.
func (f *Formula) And(literals ...int) int {
	all := slices.Clone(literals)
	slices.Sort(all)
	all = slices.Compact(all)
	all = slices.DeleteFunc(all, func(l int) bool { return l == f.yes })
	for _, l := range all {
		if _, never := slices.BinarySearch(all, -l); never || l == -f.yes {
			return -f.yes
		}
	}
	switch len(all) {
	case 0:
		return f.yes
	case 1:
		return all[0]
	}
	result := f.Variable()
	long := []int{result}
	for _, l := range all {
		f.Clause(-result, l)
		long = append(long, -l)
	}
	f.Clause(long...)
	return result
}

// Or gives a literal that is TRUE if and only if one is.
func (f *Formula) Or(literals ...int) int {
	negated := make([]int, len(literals))
	for i, l := range literals {
		negated[i] = -l
	}
	return -f.And(negated...)
}

// Solve looks for a model, within an effort as of the function of that name.
func (f *Formula) Solve(effort int) Result { return Solve(f.clauses, f.vars, effort) }
