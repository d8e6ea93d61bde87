package people

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"fmqm/api"
	"fmqm/internal/skip"
	"fmqm/test/fleet"
)

// users are those of this machine that a test has made, by what it calls them.
type users struct {
	*house
	logins map[string]string
	fmqm   string // the file of the command, which all may run
}

// newUsers makes users, and a group that has some of them, and takes all of it away at the end.
func newUsers(t *testing.T, grouped, others []string) *users {
	t.Helper()
	if os.Getuid() != 0 {
		skip.Untested(t, "real users on one socket: it takes root to make them")
	}
	for _, tool := range []string{"useradd", "usermod", "groupadd", "su", "setpriv"} {
		if _, err := exec.LookPath(tool); err != nil {
			skip.Untested(t, "real users on one socket: install %s", tool)
		}
	}
	u := &users{house: &house{t: t}, logins: map[string]string{}}
	group := u.group("group")
	for _, name := range slices.Concat(grouped, others) {
		login, in := u.login(name), "nogroup"
		if slices.Contains(grouped, name) {
			in = group
		}
		u.must("useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent", "--gid", in, login)
		t.Cleanup(func() { _ = exec.Command("userdel", login).Run() })
		u.logins[name] = login
	}
	return u
}

// group makes a group of this machine, which has some of the users beside theirs.
func (u *users) group(name string, members ...string) string {
	u.t.Helper()
	group := u.login(name)
	u.must("groupadd", "--system", group)
	u.t.Cleanup(func() { _ = exec.Command("groupdel", group).Run() })
	for _, who := range members {
		u.must("usermod", "--append", "--groups", group, u.logins[who])
	}
	return group
}

// login is the name on this machine of somebody: another one in each run.
func (u *users) login(name string) string { return fmt.Sprintf("fq%d%s", os.Getpid(), name) }

func (u *users) must(name string, args ...string) {
	u.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		u.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// daemon starts a site whose daemon has a user of its own, with the group; more is of its configuration. In it and
// in the staff @NAME@ is somebody's login.
func (u *users) daemon(user, staff, more string) { u.daemons(user, staff, more, "A") }

// daemons starts sites as daemon does, linked with each other. The first is the one that is asked.
func (u *users) daemons(user, staff, more string, sites ...string) *fleet.Fleet {
	u.t.Helper()
	dir, err := os.MkdirTemp("/var/lib", "fmqm-test-")
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin := filepath.Join(dir, "bin")
	u.must("mkdir", bin)
	for _, name := range []string{"fmqmd", "fmqm", "fmqm-launch"} {
		u.must("install", "-m", "755", filepath.Join(fleet.Bin, name), bin)
	}
	u.fmqm = filepath.Join(bin, "fmqm")
	if err := os.WriteFile(filepath.Join(dir, "staff.yaml"), []byte(u.named(staff)), 0o644); err != nil {
		u.t.Fatal(err)
	}
	f := fleet.New(u.t, fleet.Options{
		Sites: sites, Down: true,
		Prepare: func(s *fleet.Site) { s.Dir, s.Release = filepath.Join(dir, s.Name), bin },
		Links: func(f *fleet.Fleet, site string) string {
			return fmt.Sprintf("staff: {file: %s, socket: work.sock}\n", filepath.Join(dir, "staff.yaml")) + u.named(more) + fleet.DialAll(f, site)
		},
		Within: func(string) []string {
			return []string{"setpriv", "--reuid=" + u.logins[user], "--regid=" + u.login("group"), "--clear-groups", "--"}
		},
	})
	u.Site = f.Sites[sites[0]]
	u.must("chmod", "755", dir)
	for _, s := range f.Sites {
		u.must("chown", "-R", u.logins[user]+":"+u.login("group"), s.Dir)
		u.must("chmod", "755", s.Dir)
		s.Start()
		s.Answers()
	}
	return f
}

// named puts logins into a text.
func (u *users) named(text string) string {
	for name, login := range u.logins {
		text = strings.ReplaceAll(text, "@"+name+"@", login)
	}
	return text
}

// as runs fmqm as somebody, at one of the sockets of a site.
func (u *users) as(who string, at *fleet.Site, socket string, args ...string) answer {
	u.t.Helper()
	args = append([]string{"-s", "/bin/sh", "-c", `exec "$@"`, "--", u.logins[who], "sh", u.fmqm}, args...)
	su, err := exec.LookPath("su")
	if err != nil {
		u.t.Fatal(err)
	}
	out, talk, code := fleet.Run(u.t, su, append(args, "--to", "unix:"+at.File(socket))...)
	return answer{out, talk, code}
}

// atWork asks at the socket of the staff, atDesk at that of operators.
func (u *users) atWork(who string, args ...string) answer {
	return u.as(who, u.Site, "work.sock", args...)
}

func (u *users) atDesk(who string, args ...string) answer { return u.as(who, u.Site, "sock", args...) }

// titles is what somebody's worklist shows.
func (u *users) titles(who string) (all []string) {
	u.t.Helper()
	for _, i := range read[[]api.WorkItem](u.t, u.atWork(who, "work", "list", "-o", "json")) {
		all = append(all, i.Title)
	}
	return all
}

const usersStaff = `roles: [assessor, boss]
people:
  ann:  {roles: [assessor], logins: ["@ann@"]}
  bob:  {roles: [assessor], logins: ["@bob@"]}
  dora: {roles: [boss], logins: ["@dora@"]}
`

const usersRights = `rights:
  - {who: "user:root", roles: [admin]}
  - {who: "user:@olga@", roles: [operator], processes: [claim]}
  - {who: "user:@vic@", roles: [viewer], processes: [claim]}
`

// N28: users of one machine are each who the kernel says they are, at the socket of the staff and at that of
// operators: each sees what is his, of two who claim one has it, and whoever may not is told who may.
func TestN28UsersOfOneMachine(t *testing.T) {
	u := newUsers(t, []string{"daemon", "olga", "vic", "guest"}, []string{"ann", "bob", "dora", "eve"})
	u.daemon("daemon", usersStaff, usersRights)
	u.Upload(processes)
	claim, item := u.begins("claim", "K-7")
	salary, raise := u.begins("salary", "S-1")

	u.knowsThem()
	for who, want := range map[string][]string{"ann": {"Assess claim K-7"}, "bob": {"Assess claim K-7"}, "dora": {"Raise S-1"}} {
		if got := u.titles(who); !slices.Equal(got, want) {
			t.Errorf("the worklist of %s has %q, want %q", who, got, want)
		}
	}
	u.strangers(claim, item)
	u.operators(claim, salary, raise)
	first, second := u.together(item)
	u.refuses(u.atWork, []refusal{
		{second, []string{"work", "complete", item, "--output", `{"approved": true}`}, 4, []string{first + "@A has claimed it"}},
		{second, []string{"work", "release", item}, 4, []string{first + "@A has claimed it"}},
		{second, []string{"work", "complete", item, "--as", first}, 4, []string{second + "@A may not do this at A: it needs the right operator", "ask "}},
		{"dora", []string{"work", "claim", item}, 4, []string{"dora@A may not have it"}},
		{first, []string{"work", "complete", item, "--output", `{"approved": 5}`}, 4, []string{"approved: expected bool"}},
		{first, []string{"list"}, 4, []string{"the socket of the staff is for people's work"}},
		{"dora", []string{"start", "claim", "--input", `{"number": "K-8"}`}, 4, []string{"dora@A"}},
	}, claim, salary)
	if got := u.titles(second); len(got) != 0 {
		t.Errorf("%s sees what %s has: %q", second, first, got)
	}
	read[any](t, u.atWork(first, "work", "complete", item, "--output", `{"approved": true}`, "-o", "json"))
	next := u.offered(claim)
	if got := u.titles(first); len(got) != 0 {
		t.Errorf("%s, who has assessed it, sees %q", first, got)
	}
	u.refuses(u.atWork, []refusal{{first, []string{"work", "claim", next}, 4, []string{first + "@A may not have it; " + second + " may"}}}, claim)
	read[any](t, u.atWork(second, "work", "complete", next, "-o", "json"))
	if got := u.doneBy(claim); !slices.Contains(got, "assess completed by "+first+"@A") || !slices.Contains(got, "approve completed by "+second+"@A") {
		t.Errorf("the history of the claim has %q", got)
	}
	if a := u.atDesk("vic", "status", claim); a.code != 0 || !strings.Contains(a.out, "finished") {
		t.Errorf("the claim is %+v", a)
	}
}

// knowsThem: everybody is told who he is.
func (u *users) knowsThem() {
	u.t.Helper()
	for _, who := range []string{"ann", "bob"} {
		w := read[api.WhoAmI](u.t, u.atWork(who, "whoami", "-o", "json"))
		if w.Name != who+"@A" || w.Person != who+"@A" || w.Proved != api.ProvedWorkSocket || w.All || len(w.Rights) != 0 || !slices.Equal(w.Roles, []string{"assessor"}) {
			u.t.Errorf("%s is %+v", who, w)
		}
	}
	for who, right := range map[string]api.Right{"olga": api.RightOperator, "vic": api.RightViewer} {
		w := read[api.WhoAmI](u.t, u.atDesk(who, "whoami", "-o", "json"))
		if w.Name != "user:"+u.logins[who] || w.Person != "" || w.Proved != api.ProvedSocket || w.All ||
			len(w.Rights) != 1 || !slices.Equal(w.Rights[0].Rights, []api.Right{right}) || !slices.Equal(w.Rights[0].Processes, []string{"claim"}) {
			u.t.Errorf("%s is %+v", who, w)
		}
	}
}

// strangers: who is nobody here is refused at either socket.
func (u *users) strangers(claim, item string) {
	u.t.Helper()
	eve, guest := "user:"+u.logins["eve"], "user:"+u.logins["guest"]
	u.refuses(u.atWork, []refusal{
		{"eve", []string{"whoami"}, 4, []string{eve + " is not in the staff of this node", "have that login written into the file of `staff`"}},
		{"eve", []string{"work", "list"}, 4, []string{eve + " is not in the staff of this node"}},
		{"eve", []string{"work", "claim", item}, 4, []string{eve + " is not in the staff of this node"}},
		{"eve", []string{"start", "claim", "--input", `{"number": "K-8"}`}, 4, []string{eve + " is not in the staff of this node"}},
		{"olga", []string{"work", "claim", item}, 4, []string{"user:" + u.logins["olga"] + " is not in the staff of this node", "operators use the other socket"}},
	}, claim)
	u.refuses(u.atDesk, []refusal{
		{"eve", []string{"list"}, 5, []string{"permission denied on unix:" + u.File("sock"), "become a user who may open it"}},
		{"ann", []string{"list"}, 5, []string{"permission denied on unix:" + u.File("sock")}},
		{"guest", []string{"list"}, 4, []string{guest + " may not do this at A: it needs the right viewer", "ask user:root, who may"}},
		{"guest", []string{"status", claim}, 4, []string{guest + " may not do this at A: it needs the right viewer", "user:root"}},
		{"guest", []string{"terminate", claim}, 4, []string{guest + " may not do this at A"}},
	}, claim)
}

// operators: one who may see, one who may act, both of one process: the other is not there for them.
func (u *users) operators(claim, salary, raise string) {
	u.t.Helper()
	vic, olga := "user:"+u.logins["vic"], "user:"+u.logins["olga"]
	u.refuses(u.atDesk, []refusal{
		{"vic", []string{"terminate", claim}, 4, []string{vic + " may not do this at A: it needs the right operator over claim", "ask " + olga + ", user:root, who may"}},
		{"vic", []string{"start", "claim", "--input", `{"number": "K-8"}`}, 4, []string{vic + " may not do this at A: it needs the right clerk over claim", "ask " + olga + ", user:root, who may"}},
		{"vic", []string{"suspend", claim}, 4, []string{"it needs the right operator over claim"}},
		{"vic", []string{"status", salary}, 3, []string{"A does not know instance " + salary}},
		{"olga", []string{"terminate", salary}, 3, []string{"A does not know instance " + salary}},
		{"olga", []string{"history", salary}, 3, []string{"A does not know instance " + salary}},
		{"olga", []string{"work", "show", raise}, 3, []string{"no item " + raise + " is offered to " + olga}},
		{"olga", []string{"work", "claim", raise, "--as", "dora"}, 3, []string{"no item " + raise}},
		{"vic", []string{"list", "--count"}, 4, []string{vic + " may count over all sites only what is of a process that he may see", "--process", "--here"}},
		{"olga", []string{"start", "salary", "--input", `{"number": "S-2"}`}, 4, []string{olga + " may not do this at A", "ask user:root, who may"}},
	}, claim, salary)
	for _, who := range []string{"vic", "olga"} {
		for _, args := range [][]string{{"list", "-o", "json"}, {"work", "list", "--all", "-o", "json"}} {
			if who == "vic" && args[0] == "work" {
				continue // it is for operators
			}
			a := u.atDesk(who, args...)
			if a.code != 0 || !strings.Contains(a.out, claim) || strings.Contains(a.out, salary) || strings.Contains(a.out, "salary") {
				u.t.Errorf("%s: fmqm %v: %+v", who, args, a)
			}
		}
		for _, of := range []string{"--here", "--process=claim"} {
			if c := read[api.ListCount](u.t, u.atDesk(who, "list", "--count", of, "-o", "json")); c.Count != 1 {
				u.t.Errorf("what %s may not see is counted: %+v", who, c)
			}
		}
	}
	if a := u.atDesk("olga", "suspend", claim); a.code != 0 {
		u.t.Errorf("olga suspends: %+v", a)
	}
	if a := u.atDesk("olga", "resume", claim); a.code != 0 {
		u.t.Errorf("olga resumes: %+v", a)
	}
	got := u.doneBy(claim)
	for _, event := range []string{"suspended", "resumed"} {
		if !slices.ContainsFunc(got, func(e string) bool { return strings.Contains(e, event+" by "+olga) }) {
			u.t.Errorf("the history has no %s by %s: %q", event, olga, got)
		}
	}
}

// together has ann and bob claim an item at once: one has it, and the other is told who.
func (u *users) together(item string) (first, second string) {
	u.t.Helper()
	names := []string{"ann", "bob"}
	answers := make([]answer, len(names))
	var both sync.WaitGroup
	for i, who := range names {
		both.Go(func() { answers[i] = u.atWork(who, "work", "claim", item, "-o", "json") })
	}
	both.Wait()
	if answers[1].code == 0 {
		slices.Reverse(names)
		slices.Reverse(answers)
	}
	if answers[0].code != 0 || answers[1].code != 4 || !strings.Contains(answers[1].talk, names[0]+"@A has claimed it") {
		u.t.Fatalf("%s and %s claim at once: %+v", names[0], names[1], answers)
	}
	return names[0], names[1]
}
