package message

import (
	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// maxCounted bounds how many connectors lead into one activity.
const maxCounted = 100_000

// activities writes a field with names of activities; nothing if there are none.
func activities(w *cbor.Map, key byte, all []processtable.ActivityID) {
	w.Array(key, len(all))
	for _, a := range all {
		w.B = cbor.AppendText(w.B, string(a))
	}
}

func readActivities(f *cbor.Fields) (all []processtable.ActivityID) {
	for range f.Items(maxCounted) {
		all = append(all, processtable.ActivityID(f.Text(processtable.MaxName)))
	}
	return all
}
