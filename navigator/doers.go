package navigator

import (
	"maps"

	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// tells says whether the last value of a data connector is who did its source.
func tells(d *processtable.InData) bool {
	return len(d.Mappings) > 0 && d.Mappings[len(d.Mappings)-1].Did
}

// checkDoer says why what a hidden connector brings cannot be who did its source (R42).
func (a *Activity) checkDoer(connector int, values []container.Value) error {
	if !tells(&a.InData[connector]) || len(values) == 0 {
		return nil
	}
	text, _ := values[len(values)-1].(string) // carried with all values, and with those of words
	_, err := message.ParseDoer(text)
	return err
}

// Doers are who did the activities that this one asks for, as hidden connectors, or the begin of an element, have brought it
// (R42): without those that were skipped, or that nobody did. Its map is not shared.
func (a *Activity) Doers(s *State) message.Doers {
	if a.Begun() {
		if s.inner == nil {
			return nil
		}
		return maps.Clone(s.inner.did)
	}
	var first verdict
	if a.First > 0 {
		first = a.verdict(s)
	}
	var all message.Doers
	for i := range a.InData {
		d := &a.InData[i]
		if !tells(d) || s.data == nil || len(s.values[i]) == 0 || !a.joined(&first, d.From) {
			continue
		}
		text, _ := s.values[i][len(s.values[i])-1].(string)
		doer, err := message.ParseDoer(text)
		if err != nil || doer == (message.Doer{}) { // it was read when it was folded
			continue
		}
		if all == nil {
			all = message.Doers{}
		}
		all[d.From] = doer
	}
	return all
}
