package people

import (
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/test/fleet"
)

// groupRights are those of a group of the machine; whoever else may open the socket has none.
const groupRights = `rights:
  - {who: "user:root", roles: [admin]}
  - {who: "group:@desk@", roles: [operator], processes: [claim]}
`

// N28: a group of the machine has the rights that the configuration gives it: its members may do so much and no more, who is in
// none or in another one whose name begins like it may nothing, and who leaves it may nothing from the next request on.
func TestN28AGroupOfTheMachine(t *testing.T) {
	u := newUsers(t, []string{"daemon", "olga", "otto", "guest"}, nil)
	desk := u.group("desk", "olga")
	u.group("desk2", "otto")
	u.daemon("daemon", usersStaffOfNobody, strings.ReplaceAll(groupRights, "@desk@", desk))
	u.Upload(processes)
	claim, _ := u.begins("claim", "K-7")
	salary, _ := u.begins("salary", "S-1")

	olga := read[api.WhoAmI](t, u.atDesk("olga", "whoami", "-o", "json"))
	if olga.Name != "user:"+u.logins["olga"] || olga.Proved != api.ProvedSocket || olga.All || len(olga.Rights) != 1 ||
		!slices.Equal(olga.Rights[0].Rights, []api.Right{api.RightOperator}) || !slices.Equal(olga.Rights[0].Processes, []string{"claim"}) {
		t.Errorf("olga is %+v", olga)
	}
	for _, who := range []string{"otto", "guest"} {
		if w := read[api.WhoAmI](t, u.atDesk(who, "whoami", "-o", "json")); w.All || len(w.Rights) != 0 {
			t.Errorf("%s, who is not in the group, is %+v", who, w)
		}
		name := "user:" + u.logins[who]
		u.refuses(u.atDesk, []refusal{
			{who, []string{"list"}, 4, []string{name + " may not do this at A: it needs the right viewer", "ask user:root, who may"}},
			{who, []string{"suspend", claim}, 4, []string{name + " may not do this at A: it needs the right operator"}},
		}, claim, salary)
	}
	u.refuses(u.atDesk, []refusal{{"olga", []string{"suspend", salary}, 3, []string{"A does not know instance " + salary}}}, claim, salary)
	for _, verb := range []string{"suspend", "resume"} {
		if a := u.atDesk("olga", verb, claim); a.code != 0 {
			t.Errorf("olga: %s: %+v", verb, a)
		}
	}
	if got := u.doneBy(claim); !slices.ContainsFunc(got, func(e string) bool { return strings.Contains(e, "suspended by user:"+u.logins["olga"]) }) {
		t.Errorf("the history names a group where it was olga: %q", got)
	}

	u.must("usermod", "--groups", "", u.logins["olga"])
	u.refuses(u.atDesk, []refusal{
		{"olga", []string{"suspend", claim}, 4, []string{"user:" + u.logins["olga"] + " may not do this at A"}},
		{"olga", []string{"list"}, 4, []string{"it needs the right viewer"}},
	}, claim, salary)
}

const usersStaffOfNobody = "roles: [assessor, boss]\npeople:\n  zoe: {roles: [assessor, boss]}\n"

const startersRights = `rights:
  - {who: "user:root", roles: [admin]}
  - {who: "user:@olga@", roles: [operator], processes: [claim]}
  - {who: "user:@vic@", roles: [viewer], processes: [claim]}
`

// started is instances, by what they are called here.
type started map[string]string

// begin starts an instance of a process at a site, as somebody at one of its sockets.
func (u *users) begin(who string, at *fleet.Site, socket, process, number string) string {
	u.t.Helper()
	a := u.as(who, at, socket, "start", process, "--input", `{"number": "`+number+`"}`, "-o", "json")
	return read[api.Status](u.t, a).Instance.String()
}

// N28: of `fmqm list --starter` are the instances that somebody has started, at whichever site, in whatever order they came; of
// those only which who asks may see, in lists, in counts and in what is done to many.
func TestN28WhoStartedWhat(t *testing.T) {
	u := newUsers(t, []string{"daemon", "olga", "vic"}, []string{"ann", "bob", "dora"})
	f := u.daemons("daemon", usersStaff, startersRights, "A", "B")
	f.Connected(t.Context())
	u.Upload(strings.ReplaceAll(processes, "starts: [A]", "starts: [A, B]"))
	a, b := f.Sites["A"], f.Sites["B"]
	s := started{
		"olga at A": u.begin("olga", a, "sock", "claim", "K-1"),
		"olga at B": u.begin("olga", b, "sock", "claim", "K-2"),
		"ann@A":     u.begin("ann", a, "work.sock", "claim", "K-3"),
		"bob@B":     u.begin("bob", b, "work.sock", "claim", "K-4"),
	}
	s["claim of root"], _ = u.begins("claim", "K-5")
	s["salary of root"], _ = u.begins("salary", "S-1")
	olga, root := "user:"+u.logins["olga"], "user:root at A"

	for _, asked := range []*fleet.Site{a, b} {
		for _, tc := range []struct {
			who, starter string
			more, want   []string
		}{
			{"olga", olga + " at A", nil, []string{"olga at A"}},
			{"olga", olga + " at B", nil, []string{"olga at B"}},
			{"vic", "ann@A", nil, []string{"ann@A"}},
			{"vic", "bob@B", nil, []string{"bob@B"}},
			{"vic", "ann@B", nil, nil}, // a namesake, who has started nothing
			{"vic", olga, nil, nil},    // is not how status shows anybody
			{"vic", root, nil, []string{"claim of root"}},
			{"vic", root, []string{"--process", "salary"}, nil},
			{"vic", root, []string{"--limit", "1"}, []string{"claim of root"}}, // the salary, which is newer, takes no place
		} {
			got := u.listed(tc.who, asked, append([]string{"--starter", tc.starter}, tc.more...)...)
			if want := s.of(tc.want); !slices.Equal(got, want) {
				t.Errorf("%s asks %s for what %s has started %v: %q, want %q", tc.who, asked.Name, tc.starter, tc.more, got, want)
			}
		}
		counted := read[api.ListCount](t, u.as("vic", asked, "sock", "list", "--count", "--process", "claim", "--starter", root, "-o", "json"))
		if counted.Count != 1 || counted.States[api.InstanceRunning] != 1 {
			t.Errorf("%s counts what root has started: %+v", asked.Name, counted)
		}
	}
	if got := read[api.ListCount](t, u.atDesk("vic", "list", "--count", "--here", "--starter", root, "-o", "json")); got.Count != 1 {
		t.Errorf("what vic may not see is counted: %+v", got)
	}
	u.wrongStarters(root)
	u.manyOfAStarter(root, s)

	b.Stop()
	gone := u.atDesk("vic", "list", "--everywhere", "--starter", "bob@B", "-o", "json")
	if gone.code != 5 || strings.Contains(gone.out, s["bob@B"]) || !strings.Contains(gone.talk, "unreachable: B") {
		t.Errorf("while B is down: %+v", gone)
	}
}

// of gives instances by what they are, in order.
func (s started) of(names []string) (all []string) {
	for _, name := range names {
		all = append(all, s[name])
	}
	slices.Sort(all)
	return all
}

// listed is the instances that somebody is shown by a site, in order.
func (u *users) listed(who string, at *fleet.Site, filters ...string) (all []string) {
	u.t.Helper()
	for _, i := range read[[]api.Instance](u.t, u.as(who, at, "sock", append([]string{"list", "-o", "json"}, filters...)...)) {
		all = append(all, i.Instance.String())
	}
	slices.Sort(all)
	return all
}

// wrongStarters: what is no question is refused, and whom nobody knows has started nothing.
func (u *users) wrongStarters(root string) {
	u.t.Helper()
	u.refuses(u.atDesk, []refusal{
		{"vic", []string{"list", "--starter", ""}, 2, []string{"--starter is empty"}},
		{"vic", []string{"terminate", "--starter", "", "--yes"}, 2, []string{"--starter is empty"}},
		{"vic", []string{"list", "--state", "unknown", "--starter", root}, 2, []string{"--state unknown"}},
		{"vic", []string{"list", "--count", "--starter", root}, 4, []string{"may count over all sites only what is of a process that he may see", "--process"}},
	})
	if a := u.atDesk("vic", "list", "--starter", "nobody at A"); a.code != 0 || !strings.Contains(a.talk, "no instance fits --starter nobody at A") {
		u.t.Errorf("whom nobody knows: %+v", a)
	}
}

// manyOfAStarter: what is done to all that somebody has started is done to what one may act on, and to no other.
func (u *users) manyOfAStarter(root string, s started) {
	u.t.Helper()
	if a := u.atDesk("olga", "terminate", "--starter", root, "--yes"); a.code != 0 {
		u.t.Errorf("olga terminates what root has started: %+v", a)
	}
	if got, want := u.listed("vic", u.Site), s.of([]string{"olga at A", "olga at B", "ann@A", "bob@B"}); !slices.Equal(got, want) {
		u.t.Errorf("of the claims %q are left, want %q", got, want)
	}
	if a, err := u.Client.List(u.t.Context(), api.ListRequest{StartedBy: root, Everywhere: true}); err != nil || len(a.Instances) != 1 || a.Instances[0].Instance.String() != s["salary of root"] {
		u.t.Errorf("of what root has started is left: %+v, %v", a.Instances, err)
	}
}
