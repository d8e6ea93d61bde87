package attack

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fmqm/api"
	"fmqm/internal/cgroup/cgrouptest"
	"fmqm/test/fleet"
)

// theft is what a program of ill will tries, with the daemon's directories in its sight.
func theft(h *house) []string {
	dir, group := h.dir, h.group
	return []string{
		"cat " + dir + "/etc/node-A.key", "cat " + dir + "/etc/token", "cat " + dir + "/data/*", "cat " + dir + "/data/ledger/programs",
		"cp -r " + dir + "/data " + dir + "/room/stolen", "rm " + dir + "/data/MANIFEST", "mv " + dir + "/data " + dir + "/room/data",
		"ln " + dir + "/etc/node-A.key " + dir + "/room/key", "echo x >>" + dir + "/data/ledger/programs", "touch " + dir + "/data/new", "truncate -s 0 " + dir + "/data/ledger/programs",
		"tr 0 1 </proc/$PPID/environ", "true </proc/$PPID/mem", "cat /proc/$PPID/maps", "cat </proc/$PPID/fd/2", "ls /proc/$PPID/cwd/",
		"kill -0 $PPID", "kill -KILL $PPID",
		dir + "/bin/fmqm nodes --to unix:" + dir + "/run/sock", dir + "/bin/fmqm start theft --to unix:" + dir + "/run/sock",
		"echo $$ >" + group + "/cgroup.procs", "echo $$ >" + group + "/daemon/cgroup.procs", "echo 1 >" + group + "/daemon/cgroup.kill",
		"mkdir " + group + "/hideout",
		"env | grep -q hunter2", "env | grep -q t0ken",
		"test -e /proc/$$/fd/3",
	}
}

// harmless is what it needs to be able to do.
var harmless = []string{
	"cat /etc/passwd", "mktemp", "echo x >$WORK/new", "mv $WORK/new $WORK/newer", "ls /", "sleep 0 & wait", "true </proc/$$/mem", `grep -q "^NoNewPrivs:.1" /proc/self/status`,
	`grep -q "^CapEff:.0000000000000000" /proc/self/status`, `grep -q "^CapPrm:.0000000000000000" /proc/self/status`, `grep -q "^CapAmb:.0000000000000000" /proc/self/status`, `grep -q "^CapInh:.0000000000000000" /proc/self/status`,
}

const work = `env: {WORK: %s/room}, dir: %s/room`

// A program that runs as the daemon's own user comes at nothing of the daemon's: neither
// its files, nor its memory, nor its socket, nor itself; nor out of its control group.
func TestAProgramOfTheDaemonsUser(t *testing.T) {
	h := newHouse(t, "theft: {exec: [%s/bin/theft], "+work+"}", "other: {builtin: noop}", "bureau: {exec: [%s/bin/theft], secrets: {TOKEN: token}, "+work+"}")
	h.script("theft", attempts(append(theft(h), harmless...)...))
	h.start()
	h.define("theft", "theft")
	if out, code := h.run("theft"); code != 0 {
		t.Errorf("%d: %s\n%s", code, out, h.said("talk"))
	}
	h.told("could not", theft(h)...)
	h.told("did", harmless...)
	if talk := h.said("talk"); !strings.Contains(talk, "programs of this node may not use its socket") {
		t.Errorf("the socket refused for another reason:\n%s", talk)
	}
	if t.Failed() {
		t.Log(h.said("told"), h.said("talk"))
	}
	fleet.Must(t, "fmqm", "nodes", "--to", h.to())
	h.end(syscall.SIGTERM)
	fleet.Must(t, "fmqmd", "verify", "--data", h.file("data"))
}

// A file that is read again does not move the fence away from the store and the key that the
// daemon has: `data` and `identity` need a restart.
func TestAProgramAfterAChangeThatNeedsARestart(t *testing.T) {
	h := newHouse(t, "theft: {exec: [%s/bin/theft], "+work+"}")
	theft := []string{"cat " + h.file("data", "MANIFEST"), "cat " + h.file("data", "ledger", "programs"), "touch " + h.file("data", "new"), "cat " + h.file("etc", "node-A.key")}
	h.script("theft", attempts(append(theft, harmless...)...))
	h.start()
	h.define("theft", "theft")
	conf, err := os.ReadFile(h.file("etc", "fmqmd.yaml"))
	h.must(err)
	text := strings.NewReplacer("data: "+h.file("data"), "data: "+h.file("elsewhere"),
		"identity: {certificate: node-A.crt, key: node-A.key, ca: ca.crt}", "insecure: true").Replace(string(conf))
	h.must(os.WriteFile(h.file("etc", "fmqmd.yaml"), []byte(text), 0o644))
	fleet.Must(t, "fmqmd", "reload", "--to", h.to())
	for _, key := range []string{"data", "identity"} {
		h.until(key+" is said to need a restart", func() bool { return strings.Contains(h.logged(), `"key":"`+key+`"`) })
	}
	if out, code := h.run("theft"); code != 0 {
		t.Errorf("%d: %s\n%s", code, out, h.said("talk"))
	}
	h.told("could not", theft...)
	h.told("did", harmless...)
}

// A program with a user of its own is kept from all that by that alone. The daemon may
// become other users to start programs; that is nothing that a program gets.
func TestAProgramWithAUserOfItsOwn(t *testing.T) {
	h := newHouse(t, "theft: {exec: [%s/bin/theft], user: "+worker+", "+work+"}", "own: {exec: [%s/bin/own], user: "+worker+"}")
	become := []string{"setpriv --reuid " + fmt.Sprint(daemonUser) + " true", "setpriv --reuid 0 true"}
	self := []string{"test $(id -u) = " + fmt.Sprint(workerID), "test $(id -g) = " + fmt.Sprint(workerID)}
	h.script("theft", attempts(append(append(append(theft(h), become...), harmless...), self...)...))
	h.script("own", `echo "$HOME $(pwd)" >`+h.file("room", "own"))
	h.caps = []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL}
	h.start()
	for _, program := range []string{"theft", "own"} {
		h.define(program, program)
		if out, code := h.run(program); code != 0 {
			t.Errorf("%d: %s\n%s", code, out, h.said("talk"))
		}
	}
	h.told("could not", append(theft(h), become...)...)
	h.told("did", append(harmless, self...)...)
	if t.Failed() {
		t.Log(h.said("told"), h.said("talk"))
	}
	if got := h.said("own"); got != "/nonexistent /\n" { // nobody's home
		t.Errorf("HOME and directory %q", got)
	}
}

// Programs are kept from each other, also those of one user: none reads another one's
// secrets, or ends it.
func TestAProgramAndAnother(t *testing.T) {
	for _, user := range []string{"", ", user: " + worker} {
		h := newHouse(t, "victim: {exec: [%s/bin/victim], secrets: {TOKEN: token}, "+work+user+"}", "thief: {exec: [%s/bin/thief], "+work+user+"}")
		over := fleet.NewGate(t, h.file("room", "over"))
		h.script("victim", `echo $$ >$WORK/victim; : <$WORK/over`)
		cannot := []string{"grep -a t0ken /proc/$(cat $WORK/victim)/environ", "true </proc/$(cat $WORK/victim)/mem", "kill $(cat $WORK/victim)"}
		can := []string{"grep -q sh /proc/$(cat $WORK/victim)/comm || grep -q victim /proc/$(cat $WORK/victim)/comm"}
		h.script("thief", attempts(append(cannot, can...)...))
		if user != "" {
			h.caps = []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL}
		}
		h.start()
		h.define("victim", "victim")
		h.define("thief", "thief")
		id := h.begin("victim")
		h.until("there", func() bool { return h.said("victim") != "" })
		if out, code := h.run("thief"); code != 0 {
			t.Errorf("%d: %s", code, out)
		}
		h.told("could not", cannot...)
		h.told("did", can...)
		over.Open()
		h.over(id, api.InstanceFinished)
	}
}

// Where the daemon cannot become another user, or could not end what a program leaves
// behind, such a program does not run, and says what is missing.
func TestAUserThatTheDaemonCannotBecome(t *testing.T) {
	h := newHouse(t, "own: {exec: [/bin/true], user: "+worker+"}", "gone: {exec: [/bin/true], user: nobody-at-all}")
	h.start()
	h.define("own", "own")
	h.define("gone", "gone")
	if out, code := h.run("own"); code != 1 || !strings.Contains(out, "operation not permitted: let the daemon start programs as other users: AmbientCapabilities=CAP_SETUID CAP_SETGID CAP_KILL in its unit") {
		t.Errorf("%d: %s", code, out)
	}
	if out, code := h.run("gone"); code != 1 || !strings.Contains(out, "there is no user nobody-at-all on this machine: make it (useradd --system nobody-at-all), or correct `user`") {
		t.Errorf("%d: %s", code, out)
	}
	h.end(syscall.SIGTERM)
	h.caps, h.group = []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL}, ""
	h.start()
	if out, code := h.run("own"); code != 1 || !strings.Contains(out, "as user nobody it could leave processes behind that the daemon cannot end: delegate a control group to the daemon (Delegate=yes)") {
		t.Errorf("%d: %s", code, out)
	}
}

// What `confine: false` leaves to a program: all that the daemon's user may.
func TestAProgramThatIsNotConfined(t *testing.T) {
	h := newHouse(t, "free: {exec: [%s/bin/free], confine: false, "+work+"}")
	may := []string{"cat " + h.file("etc/node-A.key"), "ls " + h.file("data"), h.file("bin/fmqm") + " nodes --to " + h.to(), "kill -0 $PPID", `grep -q "^NoNewPrivs:.0" /proc/self/status`}
	never := []string{"true </proc/$PPID/mem", "cat /proc/$PPID/environ"} // the daemon is not to be looked into
	h.script("free", attempts(append(may, never...)...))
	h.start()
	h.define("free", "free")
	if out, code := h.run("free"); code != 0 {
		t.Errorf("%d: %s\n%s", code, out, h.said("talk"))
	}
	h.told("did", may...)
	h.told("could not", never...)
}

// fugitive leaves its session, its parent and its environment, and says its number.
const fugitive = `told=$WORK/told.$$
mkfifo $told
setsid env -i WORK=$WORK TOLD=$told /bin/sh -c '/bin/sh -c "echo \$\$ >>$WORK/fled; echo >$TOLD; exec env -i /bin/sleep 3600" & exit' </dev/null >/dev/null 2>&1 &
read line <$told
`

// Whatever a program does to get away: when its attempt fails, is ended, or is made again
// after the daemon was killed, nothing of it runs any more. The daemon's own user or
// another one's.
func TestAProgramThatRunsAway(t *testing.T) {
	for _, user := range []string{"", ", user: " + worker} {
		h := newHouse(t,
			"failing: {exec: [%s/bin/failing], "+work+user+"}",
			"hanging: {exec: [%s/bin/hanging], timeout: 2s, "+work+user+"}",
			"waiting: {exec: [%s/bin/hanging], "+work+user+"}",
			"again: {exec: [%s/bin/again], "+work+user+"}")
		h.script("failing", fugitive+"exit 3")
		h.script("hanging", fugitive+"sleep 3600")
		h.script("again", "[ -e $WORK/fled ] && exit 0\n"+fugitive+"sleep 3600")
		if user != "" {
			h.caps = []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL}
		}
		h.start()
		fled := func(kind string) {
			t.Helper()
			pid := h.said("fled")
			if pid == "" || running(pid) {
				t.Errorf("%s%s: process %q still runs", kind, user, pid)
			}
			_ = os.Remove(h.file("room", "fled"))
		}
		for _, kind := range []string{"failing", "hanging"} {
			h.define(kind, kind)
			if out, code := h.run(kind); code != 1 {
				t.Errorf("%s: %d %s", kind, code, out)
			}
			fled(kind)
		}

		h.define("waiting", "waiting")
		id := h.begin("waiting")
		h.until("on its way", func() bool { return h.said("fled") != "" })
		pid := h.said("fled")
		fleet.Must(t, "fmqm", "terminate", id, "--to", h.to())
		h.until("ended", func() bool { return !running(pid) })
		fled("terminated")

		h.define("again", "again")
		id = h.begin("again")
		h.until("on its way", func() bool { return h.said("fled") != "" })
		pid = h.said("fled")
		h.end(syscall.SIGKILL)
		if !running(pid) {
			t.Errorf("it did not outlive the daemon, so nothing is shown")
		}
		h.start()
		if running(pid) {
			t.Errorf("again%s: process %s still runs", user, pid)
		}
		h.over(id, api.InstanceFinished)
		h.end(syscall.SIGTERM)
		if left, err := filepath.Glob(h.group + "/programs/run.*"); err != nil || len(left) > 0 {
			t.Errorf("control groups are left: %v %v", left, err)
		}
	}
}

// A fork bomb takes what all programs may have together, and no more: the daemon lives,
// other work goes on, and with the bomb's timeout all is as before.
func TestAForkBomb(t *testing.T) {
	h := newHouse(t, "bomb: {exec: [%s/bin/bomb], timeout: 2s, tasks: 1000000, confine: false, "+work+"}", "calm: {exec: [/bin/true], user: "+worker+"}")
	join := cgrouptest.LimitTasks(t, h.group, daemonUser, 300)
	if join != "" {
		join = "echo $$ >" + join + " || exit 1\n"
	}
	h.script("bomb", join+`bomb() { bomb | bomb & }
bomb
echo >$WORK/lit
sleep 3600`)
	h.caps = []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL}
	h.start()
	h.define("bomb", "bomb")
	id := h.begin("bomb")
	h.until("lit", func() bool { _, err := os.Stat(h.file("room", "lit")); return err == nil })
	fleet.Must(t, "fmqm", "nodes", "--to", h.to())
	if out := h.over(id, api.InstanceInError); !strings.Contains(out, "overran its timeout of 2s") {
		t.Errorf("bomb: %s", out)
	}
	if left, err := filepath.Glob(h.group + "/programs/run.*"); err != nil || len(left) > 0 {
		t.Errorf("control groups are left: %v %v", left, err)
	}
	h.define("calm", "calm")
	if out, code := h.run("calm"); code != 0 {
		t.Errorf("calm: %d %s", code, out)
	}
}

// A program that cannot be started, since its user has all the processes that he may have,
// waits until there is one, and that is no attempt.
func TestAMachineThatIsShortOfProcesses(t *testing.T) {
	h := newHouse(t, "calm: {exec: [/bin/true], user: "+worker+"}")
	h.caps = []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL}
	const most = 200
	h.under = []string{"/usr/bin/prlimit", "--nproc=" + fmt.Sprint(most)}
	h.start()
	h.define("calm", "calm")
	crowd := exec.Command("/bin/sh", "-c", "i=0; while [ $i -le "+fmt.Sprint(most)+" ]; do sleep 3600 >&2 & i=$((i+1)); done; exec >&2; wait")
	crowd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: workerID, Gid: workerID}, Setpgid: true}
	crowded, err := crowd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := crowd.Start(); err != nil {
		t.Fatal(err)
	}
	disperse := func() {
		_ = syscall.Kill(-crowd.Process.Pid, syscall.SIGKILL)
		_ = crowd.Wait()
	}
	defer disperse()
	if _, err := io.ReadAll(crowded); err != nil { // it ends when all are there
		t.Fatal(err)
	}
	id := h.begin("calm")
	h.until("waiting", func() bool {
		return strings.Contains(fleet.Must(t, "fmqm", "why", id, "--to", h.to(), "-o", "json"), "resource temporarily unavailable: raise TasksMax")
	})
	disperse()
	if out := h.over(id, api.InstanceFinished); strings.Contains(out, `"attempts"`) {
		t.Errorf("calm was tried more than once: %s", out)
	}
}
