package world

import (
	"fmt"
	"testing"
	"time"

	"fmqm/queue/record"
)

// N20, R40, S4: where an instance was started activities are of it, and that site loses its disk while one of them waits
// for another site. When the start was repeated its peers send again what they had sent, and it ends as ever; another
// site that may start the process has had nothing of it.
func TestR40TheOriginLosesItsDisk(t *testing.T) {
	p := given(3, `
structures:
  S: {n: int}
output: S
starts: [B, C]
activities:
  note:  {node: _ORIGIN, program: many}
  far:   {node: A, program: many, output: S}
  slow:  {node: A, wait: {for: 2m}}
  round:
    node: _ORIGIN
    activities:
      there: {node: D, program: many}
      here:  {node: _ORIGIN, program: many}
    control: [there -> here]
  last:  {node: _ORIGIN, program: many, output: S}
control: [note -> far, far -> slow, slow -> last, far -> round]
data: [last -> sink]
`)
	p.Events = []Event{{At: 30 * time.Second, Do: Lose, Site: "B", For: time.Second}}
	r := Run(p, Options{Lines: true})
	if r.Broken != nil {
		t.Fatal(Story(r))
	}
	if !says(r, `"peer":"B"`) || !says(r, "operator ordered a rebuild of the peer") {
		t.Errorf("B was not rebuilt\n%s", Story(r))
	}
	for _, activity := range []string{"note", "here", "round", "last"} {
		ends := func(at name) bool {
			return says(r, fmt.Sprintf("%s records event %d of %s", at, record.EventTerminated, activity))
		}
		if !ends("B") || ends("C") {
			t.Errorf("%s ends at B: %t, and at C: %t\n%s", activity, ends("B"), ends("C"), Story(r))
		}
	}
}
