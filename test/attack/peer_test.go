package attack

import (
	"testing"

	"fmqm/api"
	"fmqm/link"
)

// A hostile peer sends what is no message: it is set aside where an operator sees it, and
// the link goes on (L5).
func TestNoMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{guests: []string{"M"}})
	line := w.party("M", w.pki).call("A")
	line.until(link.StateConnected)
	line.put(1, []byte("this is no message"))
	line.taken(1)
	dead, err := w.Sites["A"].Client.Refused(w.ctx, api.RefusedRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(dead.Messages) != 1 || dead.Messages[0].From != "M" {
		t.Errorf("A has set aside %+v", dead.Messages)
	}
}
