package broker

import (
	"context"
	"fmt"
	"testing"

	"fmqm/internal/rabbittest"
	"fmqm/test/fleet"
)

// Sites that know nothing but where processes are defined find each other by the processes
// that they have together: B, C and D list A, from which they take tables, A lists nobody,
// and after an upload at A all four are linked.
func TestSitesMeetByTheirProcesses(t *testing.T) {
	t.Parallel()
	s := &scene{t: t, broker: rabbittest.Shared(t)}
	vhost, password := rabbittest.VHost(t, s.broker), s.password()
	f := fleet.New(t, fleet.Options{
		Links: func(_ *fleet.Fleet, site string) string {
			text := fmt.Sprintf("links:\n  amqp: {url: \"amqp://%s@%s/%s\", password: %s}\n", rabbittest.User, s.broker.Addr(), vhost, password)
			if site != "A" {
				text += "  peers: {A: {via: amqp}}\n"
			}
			return text
		},
		Programs: func(string) []string { return []string{"pass: {builtin: echo}"} },
	})
	for _, site := range f.Sites {
		site.Answers()
	}
	f.Sites["A"].Upload(`process: round
version: 1
activities:
  a: {node: A, program: pass}
  b: {node: B, program: pass}
  c: {node: C, program: pass}
  d: {node: D, program: pass}
control: [a -> b, b -> c, c -> d]
`, "--allow-new-node")
	ctx, cancel := context.WithTimeout(t.Context(), fleet.Patience)
	defer cancel()
	f.Connected(ctx)
	fleet.Must(t, "fmqm", "start", "round", "--to", f.Sites["A"].To(), "--wait")
}
