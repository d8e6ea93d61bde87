package landlock_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fmqm/internal/landlock"
	"fmqm/internal/skip"
)

// nobody is a user without anything.
const nobody = 65534

// A child of the tests is somebody behind a fence: its arguments are a script, and what
// the fence is around.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "behind" {
		fmt.Fprintln(os.Stderr, behind(os.Args[2], os.Args[3:]))
		os.Exit(99)
	}
	os.Exit(m.Run())
}

func behind(script string, paths []string) error {
	landlock.SetMaxBeside(200)
	runtime.LockOSThread() // the rules are for a thread
	fence, err := landlock.New(paths, filepath.SplitList(os.Getenv("READ_ONLY")))
	if err != nil {
		return err
	}
	for range 3 { // again and again, also behind itself
		rules, err := fence.Rules()
		if err == nil {
			err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		}
		if err != nil {
			return err
		}
		if rules == nil {
			break
		}
		if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules.Fd(), 0, 0); errno != 0 {
			return errno
		}
	}
	return syscall.Exec("/bin/sh", []string{"sh", "-c", script}, os.Environ())
}

// area is a directory that only root can write to, as far as the root directory.
func area(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		skip.Untested(t, "what Landlock keeps from programs: directories above that only root can write to need root")
	}
	dir, err := os.MkdirTemp("/var/lib", "fmqm-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// owned makes a directory, or a file with a text, of nobody's.
func owned(t *testing.T, path, text string) string {
	t.Helper()
	var err error
	if text == "" {
		err = os.Mkdir(path, 0o700)
	} else {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err == nil {
		err = os.Chown(path, nobody, nobody)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// asNobody runs a script behind a fence, as nobody, and gives what it wrote.
func asNobody(t *testing.T, dir, script string, paths ...string) string {
	t.Helper()
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "self")
	if err := os.WriteFile(self, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"behind", script}, paths...)...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() == 99 {
		return "no fence: " + strings.TrimSpace(string(out))
	}
	return string(out)
}

// try says of each command whether it did what it says.
func try(commands ...string) string {
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "if (%s) >/dev/null 2>&1; then echo 'did: %s'; else echo 'could not: %s'; fi\n", c, c, c)
	}
	return b.String()
}

func told(t *testing.T, out, verb string, commands ...string) {
	t.Helper()
	for _, c := range commands {
		if !strings.Contains(out, verb+": "+c+"\n") {
			t.Errorf("not %q: %s", verb, c)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// Behind a fence, a user cannot come at files of his own that it is around, and at all
// else as before.
func TestWhatAFenceKeepsFromPrograms(t *testing.T) {
	dir := area(t)
	store := owned(t, filepath.Join(dir, "store"), "")
	owned(t, filepath.Join(store, "log"), "records")
	key := owned(t, filepath.Join(dir, "node.key"), "key")
	work := owned(t, filepath.Join(dir, "work"), "")
	owned(t, filepath.Join(work, "own"), "own")
	if err := os.Symlink(key, filepath.Join(work, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(store, filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("READ_ONLY", owned(t, filepath.Join(dir, "public"), ""))
	owned(t, filepath.Join(dir, "public", "page"), "page")
	gone := filepath.Join(dir, "absent", "key")

	cannot := []string{
		"cat node.key", "cat store/log", "cat data/log", "cat work/link", "echo x >node.key", "echo x >>store/log", "echo x >store/new",
		"mkdir store/new", "rm store/log", "mv store/log work/log", "mv work/own store/own", "ln store/log work/log", "ln node.key work/key",
		"ln -s /etc/passwd store/passwd", "mv store work/store", "rm node.key", "truncate -s 0 store/log", "mkfifo store/fifo",
		"(exec 3<node.key)", "cat /proc/self/cwd/node.key", "cat /proc/self/root" + key,
		"echo x >>public/page", "rm public/page", "echo x >public/new",
	}
	can := []string{
		"cat work/own", "cat public/page", "echo x >work/new", "mkdir work/dir", "mv work/own work/dir/own", "ln work/new work/hard", "rm work/new", "mkfifo work/fifo",
		"ls store", "ls " + dir, "ls /", "cat /etc/passwd", "mktemp", "echo x >/dev/null", "echo x >/dev/stdout", "cat /proc/self/stat", "cat </dev/null",
		"mv work/hard /tmp/fmqm.$$ && rm /tmp/fmqm.$$", "test ! -e absent",
	}
	out := asNobody(t, dir, try(append(cannot, can...)...), filepath.Join(dir, "data"), key, gone)
	told(t, out, "could not", cannot...)
	told(t, out, "did", can...)
}

// Behind a fence, nobody outside can be traced, read or ended, also of the same user.
func TestWhoIsOutsideTheFence(t *testing.T) {
	dir := area(t)
	key := owned(t, filepath.Join(dir, "node.key"), "key")
	pid := fmt.Sprint(bystander(t))
	cannot := []string{"cat /proc/" + pid + "/environ", "head -c 1 /proc/" + pid + "/mem", "cat </proc/" + pid + "/fd/0", "ls /proc/" + pid + "/cwd/", "cat /proc/" + pid + "/maps"}
	can := []string{"sleep 60 & kill $!", "cat /proc/$$/environ"}
	fence, err := fenceOfNobody(t, dir, key)
	if err != "" {
		t.Fatal(err)
	}
	if strings.Contains(fence, "signals") {
		can = append(can, "kill -0 "+pid)
	} else {
		cannot = append(cannot, "kill -0 "+pid, "kill -STOP "+pid)
	}
	out := asNobody(t, dir, try(append(cannot, can...)...), key)
	told(t, out, "could not", cannot...)
	told(t, out, "did", can...)
}

// A fence around nothing takes nothing, but for who is outside.
func TestAFenceAroundNothing(t *testing.T) {
	dir := area(t)
	own := owned(t, filepath.Join(dir, "own"), "")
	outside := fmt.Sprint(bystander(t))
	out := asNobody(t, dir, try("echo x >"+own+"/new", "mv "+own+"/new "+own+"/newer", "mkfifo "+own+"/fifo", "cat "+own+"/newer", "cat /proc/"+outside+"/environ"))
	told(t, out, "did", "echo x >"+own+"/new", "mv "+own+"/new "+own+"/newer", "mkfifo "+own+"/fifo", "cat "+own+"/newer")
	told(t, out, "could not", "cat /proc/"+outside+"/environ")
	fence, err := landlock.New(nil, nil) // root's programs, too, are kept from each other
	if err != nil {
		t.Fatal(err)
	}
	fence.Close()
}

// bystander is a process of nobody's that is behind no fence.
func bystander(t *testing.T) (pid int) {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "3600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Env = []string{"SECRET=1"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// fenceOfNobody gives the gaps that this kernel's fences have.
func fenceOfNobody(t *testing.T, dir, key string) (gaps, problem string) {
	t.Helper()
	if out := asNobody(t, dir, "true", key); out != "" {
		return "", out
	}
	return landlock.GapsHere(), ""
}

// Where a fence would take more than what it is around, there is none, and it says why.
func TestWhereThereCanBeNoFence(t *testing.T) {
	dir := area(t)
	home := owned(t, filepath.Join(dir, "home"), "")
	key := owned(t, filepath.Join(home, "node.key"), "key")
	if out, want := asNobody(t, dir, "true", key), "no fence: the rules would keep this user from making files in "+home+", which it can now: put "+key+" below a directory that only root can write to"; out != want {
		t.Errorf("%s\nwant %s", out, want)
	}
	if out := asNobody(t, dir, "true", "/"); out != "no fence: programs cannot be kept away from the root directory" {
		t.Error(out)
	}
	if _, err := landlock.New([]string{key}, nil); err == nil || err.Error() != "root can read and change every file" {
		t.Error(err)
	}
	full := filepath.Join(dir, "full")
	if err := os.Mkdir(full, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 201 {
		if err := os.WriteFile(filepath.Join(full, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, want := asNobody(t, dir, "true", filepath.Join(full, "7")), "no fence: "+full+" has 201 entries, and at most 200 can be allowed one by one"; out != want {
		t.Errorf("%s\nwant %s", out, want)
	}
	var none *landlock.Fence
	if rules, err := none.Rules(); rules != nil || err != nil || none.Gaps() != nil {
		t.Error("no fence keeps somebody from something")
	}
	none.Close()
}

// What an older kernel lacks is said.
func TestGaps(t *testing.T) {
	const short, signals = "cut its files short (Linux 6.2 or later prevents it)", "send signals to the daemon (Linux 6.12 or later prevents it)"
	for abi, want := range map[int][]string{2: {short, signals}, 3: {signals}, 5: {signals}, 6: nil} {
		if got := landlock.GapsOf(abi); !slices.Equal(got, want) {
			t.Errorf("version %d: %q, want %q", abi, got, want)
		}
	}
}
