package processtable

import (
	"errors"

	"fmqm/condition"
)

// checkFirst checks an activity that is decided with the first connectors (N14): what its start condition
// says of them all is the same.
func checkFirst(a *Activity) error {
	switch {
	case a.First == 0:
		return nil
	case a.Added() || a.First < 0 || len(a.InControl) < 2 || a.First > len(a.InControl):
		return errors.New("first: want a number from 1 to that of the control connectors into an activity, of which there are several")
	case a.Start.Op != condition.LogicAtLeast || a.Start.N != a.First || len(a.Start.Args) != len(a.InControl):
		return errors.New("first: its start condition does not say the same of all connectors")
	}
	for i, arg := range a.Start.Args {
		if arg.Op != condition.LogicVar || arg.Var != i {
			return errors.New("first: its start condition does not say the same of all connectors")
		}
	}
	return nil
}

// mayNotWait says whether a connector inside of a composite leads to what may be decided without it, as far as the
// table knows: then sink waits for its source, so that nothing goes on when the instance has ended (N14).
func (v *validator) mayNotWait(inside, to ActivityID) bool {
	if v.t.Format < BundleFormat {
		return false
	}
	target := v.t.Activity(RowID{Name: to, Inside: inside})
	return target == nil || target.First > 0
}
