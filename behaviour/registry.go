package behaviour

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fmqm/processtable"
)

// Maker makes a row of a table ready. It fails where the row is not what the behaviour can
// carry out; the error need not name the row.
type Maker func(*processtable.Table, *processtable.Activity) (Behaviour, error)

// Registry has the behaviours that a daemon knows beside FlowMark's, by name.
type Registry map[processtable.BehaviourID]Maker

// Make makes a row of a behaviour of the registry ready.
func (r Registry) Make(t *processtable.Table, row *processtable.Activity) (Behaviour, error) {
	if reason := Unknown(row, r.Names()); reason != "" {
		return nil, fmt.Errorf("%s: upgrade %s to a version that has it", reason, t.Node)
	}
	return r[row.Behaviour](t, row)
}

// Names gives the names of the behaviours, sorted.
func (r Registry) Names() []processtable.BehaviourID { return slices.Sorted(maps.Keys(r)) }

// Unknown says that a row's behaviour is none of those of its site, or nothing.
func Unknown(row *processtable.Activity, known []processtable.BehaviourID) string {
	if row.Behaviour == "" || slices.Contains(known, row.Behaviour) {
		return ""
	}
	names := []string{"FlowMark's"}
	for _, name := range known {
		names = append(names, string(name))
	}
	return fmt.Sprintf("its behaviour %s is not known there: the site has %s", row.Behaviour, strings.Join(names, ", "))
}
