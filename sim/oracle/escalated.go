package oracle

import (
	"fmt"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// told is what is known of one notice of an activity that people are shown (N27).
type told struct {
	due   int  // how often its time has come, and people were not shown it since
	shown bool // they are shown it
}

// toldOf is that of a notice, by its number, from 1.
func (j *judge) toldOf(path string, number int) *told {
	key := fmt.Sprintf("%s!%d", path, number)
	if j.tolds[key] == nil {
		j.tolds[key] = &told{}
	}
	return j.tolds[key]
}

// escalated: people are shown a notice once for each time that it was due, before that has ended; what is taken off was shown. No
// connector has to do with it (N27).
func (j *judge) escalated(path string, place Place, r *record.AuditRecord) {
	notices := place.notices(j.process, r)
	of := j.toldOf(path, r.Attempt)
	switch number := r.Attempt - 1; {
	case number < 0 || number >= len(notices):
		j.add("%s has no notice %d, and it has come", path, number)
		return
	case notices[number].Staff == nil && notices[number].Program != "":
		j.add("notice %d of %s is for nobody, and has come to people", number, path)
	case r.Iteration > 1 && notices[number].Every == nil:
		j.add("notice %d of %s has come for the %d. time, and is not to come again", number, path, r.Iteration)
	}
	switch {
	case r.By != "" && !of.shown:
		j.add("%s takes a notice of %s off, and nobody is shown it", r.By, path)
	case r.By != "":
		of.shown = false
	case of.due == 0:
		j.add("a notice of %s has come to people, and none was due", path)
	default:
		of.due, of.shown = of.due-1, r.Reason == ""
	}
	if e := j.find(path, isEnd); e != nil && r.By == "" {
		j.add("a notice of %s has come to people, and that had ended", path)
	}
	if len(r.Sent) > 0 || len(r.Consumed) > 0 {
		j.add("a notice of %s sends %d messages, and has taken %d connectors", path, len(r.Sent), len(r.Consumed))
	}
}

// noticeCame: the time of a notice has come, for its program and for people.
func (j *judge) noticeCame(scope message.Scope, activity processtable.ActivityID, number int) {
	j.notices[scope.Leave().Path(activity)]++
	j.toldOf(j.placeOf(scope.Leave(), activity), number+1).due++
}
