package program

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"

	"fmqm/internal/cgroup"
	"fmqm/internal/launch"
)

// start starts a child as the program's registration says: in its group, as its user, and
// kept from what is the daemon's.
func (p *command) start(cmd *exec.Cmd, group *cgroup.Group, who *account) error {
	what := launch.Program{Path: cmd.Path, Argv: p.argv, Dir: p.directory(who), Free: p.free}
	fence := p.fence
	if who.other() { // the daemon's files are another one's
		what.User = &launch.User{UID: who.uid, GID: who.gid, Groups: who.groups}
		fence = p.apart
	}
	if p.free {
		fence = nil
	}
	rules, err := fence.Rules()
	if err != nil {
		return fmt.Errorf("keep it away from the daemon's files: %w", err)
	}
	if rules != nil {
		defer rules.Close()
	}
	return launch.Start(cmd, what, group, p.tasks, rules)
}

// account is a user of this machine, as login(1) would have it.
type account struct {
	name     string
	uid, gid uint32
	groups   []uint32
	home     string
}

// other says whether it is not the daemon's own.
func (a *account) other() bool { return a != nil && os.Geteuid() != int(a.uid) }

// CheckUser says what is wrong with a user that programs are to run as.
func CheckUser(name string) error {
	_, err := lookUp(name)
	return err
}

// lookUp finds a user by name or number.
func lookUp(name string) (*account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.LookupId(name)
	}
	if err != nil {
		return nil, fmt.Errorf("there is no user %s on this machine: make it (useradd --system %s), or correct `user`", name, name)
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("the groups of user %s: %w", name, err)
	}
	a := &account{name: name, home: u.HomeDir}
	for _, id := range slices.Concat([]string{u.Uid, u.Gid}, ids) {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s has the number %q: %w", name, id, err)
		}
		a.groups = append(a.groups, uint32(n))
	}
	a.uid, a.gid, a.groups = a.groups[0], a.groups[1], a.groups[2:]
	if a.uid == 0 {
		return nil, fmt.Errorf("%s is root: let a service of its own start a program that needs root", name)
	}
	return a, nil
}

// account gives the user that the program runs as; nil: the daemon's.
func (p *command) account() (*account, error) {
	if p.user == "" {
		return nil, nil
	}
	who, err := lookUp(p.user)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot be started: %w", err)
	case who.other() && os.Geteuid() != 0 && p.groups == nil:
		return nil, fmt.Errorf("cannot be started: as user %s it could leave processes behind that the daemon cannot end: delegate a control group to the daemon (Delegate=yes)", p.user)
	}
	return who, nil
}
