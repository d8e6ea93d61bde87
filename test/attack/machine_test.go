package attack

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"fmqm/test/fleet"
)

// A user of the site's machine comes at nothing of the daemon's, and cannot ask it either.
// One in the daemon's group may ask as an operator does, and write a backup, which the log has
// with the user's name; and that is all that the group gives.
func TestAUserOfTheMachine(t *testing.T) {
	h := newHouse(t, "other: {builtin: noop}")
	const user = 64002
	h.start()
	h.define("other", "other")
	daemon, dir := fmt.Sprint(h.cmd.Process.Pid), h.dir
	never := []string{
		"cat " + dir + "/etc/node-A.key", "cat " + dir + "/etc/token", "ls " + dir + "/data", "cat " + dir + "/data/COMMITTED", "touch " + dir + "/data/new",
		"mv " + dir + "/data " + dir + "/room/data", "rm " + dir + "/run/sock", "ln " + dir + "/etc/node-A.key " + dir + "/room/key",
		"tr 0 1 </proc/" + daemon + "/environ", "true </proc/" + daemon + "/mem", "cat /proc/" + daemon + "/maps", "ls /proc/" + daemon + "/cwd/", "ls /proc/" + daemon + "/fd/",
		"kill -0 " + daemon, "kill -KILL " + daemon,
		dir + "/bin/fmqmd dump --data " + dir + "/data",
	}
	ask := []string{
		dir + "/bin/fmqm nodes --to unix:" + dir + "/run/sock",
		dir + "/bin/fmqm start other --wait --to unix:" + dir + "/run/sock",
		dir + "/bin/fmqmd backup " + dir + "/room --to unix:" + dir + "/run/sock",
	}
	always := []string{"cat " + dir + "/etc/ca.crt", "grep -q fmqmd /proc/" + daemon + "/cmdline", "echo x >" + dir + "/room/new"}
	h.script("user", "export WORK="+dir+"/room\nrm -f $WORK/told $WORK/talk\n"+attempts(append(append(never, ask...), always...)...))
	for _, member := range []bool{false, true} {
		c := exec.Command(h.file("bin", "user"))
		c.Env = []string{"PATH=/usr/bin:/bin"}
		who := &syscall.Credential{Uid: user, Gid: user}
		if member {
			who.Groups = []uint32{daemonUser}
		}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: who}
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("member %t: %v: %s", member, err, out)
		}
		h.told("could not", never...)
		h.told("did", always...)
		if member {
			h.told("did", ask...)
		} else {
			h.told("could not", ask...)
			if talk := h.said("talk"); strings.Count(talk, "permission denied on unix:"+dir+"/run/sock") != len(ask) {
				t.Errorf("the socket refused for another reason:\n%s", talk)
			}
		}
		if t.Failed() {
			t.Fatalf("member %t:\n%s\n%s", member, h.said("told"), h.said("talk"))
		}
	}
	h.until("told who has written the backup", func() bool {
		return strings.Contains(h.logged(), fmt.Sprintf(`"by":"uid %d","from":"the socket","command":"backup","status":200`, user))
	})
	h.end(syscall.SIGTERM)
	fleet.Must(t, "fmqmd", "verify", "--data", h.file("data"))
}
