package behaviour

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/message"
	"fmqm/processtable"
)

// Misplaced says that a scope is none that an activity of the table can be in, or nothing
// (N10): a message with such a one would make an entry that nothing belongs to.
func Misplaced(t *processtable.Table, activity processtable.ActivityID, scope message.Scope) string {
	if number, is := scope.OfNotice(); is {
		return misplacedNotice(t, activity, scope, number)
	}
	row := t.Activity(scope.Row(activity))
	if of, known := t.Of(activity); row == nil && known {
		row = t.Activity(of)
	}
	if scope == "" && (row == nil || len(row.Path) == 0) {
		return ""
	}
	var path []processtable.Composite
	if row != nil {
		path = row.Path
	}
	if err := scope.Fits(path); err != nil {
		return fmt.Sprintf("activity %s of %s: %v", activity, t.Process, err)
	}
	return ""
}

// misplacedNotice is Misplaced of a notice of an activity (N23).
func misplacedNotice(t *processtable.Table, activity processtable.ActivityID, scope message.Scope, number int) string {
	path, has := t.NoticePath(activity, number)
	if !has {
		return fmt.Sprintf("activity %s of %s has no notice %d here", activity, t.Process, number)
	}
	if err := scope.Fits(path); err != nil {
		return fmt.Sprintf("activity %s of %s: %v", activity, t.Process, err)
	}
	return ""
}

// Crossing names a connector of a table that leads across the border of a composite, or nothing
// (N10): it would carry its source's scope, in which its target cannot be. Of a connector from or to
// another site only that one knows both paths, or the site that gets the message (Misplaced).
func Crossing(t *processtable.Table) string {
	for _, row := range t.Activities {
		for _, c := range row.OutControl {
			if reason := crosses(t, "control", row, c.To); reason != "" {
				return reason
			}
		}
		for _, c := range row.OutData {
			if reason := crosses(t, "data", row, c.To); reason != "" {
				return reason
			}
		}
	}
	return ""
}

func crosses(t *processtable.Table, kind string, from *processtable.Activity, name processtable.ActivityID) string {
	to := t.Activity(processtable.RowID{Name: name, Inside: from.Inside()})
	if to == nil || slices.Equal(from.Path, to.Path) {
		return ""
	}
	return fmt.Sprintf("the %s connector from %s to %s leads across the border of a composite: %s is %s, and %s is %s: connect the composite",
		kind, from.Name, to.Name, from.Name, within(from.Path), to.Name, within(to.Path))
}

// within says where a path is, for people.
func within(path []processtable.Composite) string {
	if len(path) == 0 {
		return "inside of nothing"
	}
	names := make([]string, len(path))
	for i, c := range path {
		names[i] = string(c.Activity)
	}
	return "inside of " + strings.Join(names, "/")
}
