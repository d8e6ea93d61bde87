package program_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"fmqm/container"
	"fmqm/program"
)

// openLedger opens a ledger and says how many processes of what it held were killed.
func openLedger(t *testing.T, dir string) (*program.Ledger, program.Found) {
	t.Helper()
	l, err := program.OpenLedger(dir, "B", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	})
	return l, l.Found()
}

// crash gives a copy of a ledger as a daemon that is killed now would leave it.
func crash(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "programs"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := os.WriteFile(filepath.Join(to, "programs"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// during runs a script with a key of its own and calls f while it runs, once it has
// said what it has to say and then "ready". It is ended afterwards.
func during(t *testing.T, l *program.Ledger, key, script string, f func(lines []string)) program.Result {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var lines []string
	c := call(t)
	c.Key, c.Attempt = key, 1
	c.Log = func(line string) {
		if line == "ready" {
			f(lines)
			cancel()
			return
		}
		lines = append(lines, line)
	}
	return register(t, shell(script), program.Options{Ledger: l, Grace: 10 * time.Millisecond}).Run(ctx, c)
}

// readUntil reads a file, and again whenever somebody has written to it, until it is as
// it should be, or nobody has for half a minute. It is called by a goroutine of the test.
func readUntil(t *testing.T, path string, good func([]byte) bool) []byte {
	t.Helper()
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, path, unix.IN_MODIFY); err != nil {
		t.Error(err)
		return nil
	}
	events := make([]byte, 4096)
	for limit := time.Now().Add(time.Minute); ; {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		if err != nil || good(text) {
			return text
		}
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(watch), Events: unix.POLLIN}}, int(max(0, time.Until(limit).Milliseconds())))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || ready == 0:
			return text
		default:
			_, _ = unix.Read(watch, events)
		}
	}
}

// P2: what runs is in the ledger, what has ended is not, and a clean stop empties it.
func TestTheLedgerHoldsWhatRuns(t *testing.T) {
	dir, key := t.TempDir(), uuid.NewString()
	l, found := openLedger(t, dir)
	if (found != program.Found{}) {
		t.Errorf("a new ledger: %+v", found)
	}
	during(t, l, key, `echo ready >&2; sleep 3600`, func([]string) {
		want := regexp.MustCompile(`"event":"begin","key":"` + key + `","program":"/bin/sh","process":"purchase-order@1","instance":"0197c0de-0000-7000-8000-000000000001","activity":"credit","attempt":1}\n` +
			`[0-9a-f]{8} {"event":"runs","where":"[^"]+","key":"` + key + `","pid":\d+,("session":\d+,)?"start":\d+}\n$`)
		// The program may be ready before the daemon has noted its process.
		if text := readUntil(t, filepath.Join(dir, "programs"), want.Match); !want.Match(text) {
			t.Errorf("ledger:\n%s", text)
		}
	})
	if _, found := openLedger(t, crash(t, dir)); found.Running != 0 || found.Unclean != 1 {
		t.Errorf("after the end: %+v", found)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("after a clean stop: %v %v", entries, err)
	}
	if _, found := openLedger(t, dir); (found != program.Found{}) {
		t.Errorf("opened after a clean stop: %+v", found)
	}
}

// outlives starts a script as a program of an earlier daemon that nobody waits for but
// the test, and gives what it said before "ready".
func outlives(t *testing.T, key, script string) []string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=" + program.CleanPath, "FMQM_NODE=B", "FMQM_IDEMPOTENCY_KEY=" + key}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	var text []byte
	for !bytes.HasSuffix(text, []byte("ready\n")) {
		b := make([]byte, 1)
		if _, err := out.Read(b); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		text = append(text, b...)
	}
	return strings.Fields(strings.TrimSuffix(string(text), "ready\n"))
}

// P2: what outlived the daemon is gone when the ledger is open: the group, what left it
// with setsid, and what has cleared its environment but is still in the group.
func TestWhatOutlivedTheDaemonIsKilledAtOpen(t *testing.T) {
	dir, key := t.TempDir(), uuid.NewString()
	l, _ := openLedger(t, dir)
	script := `echo $$ >&2
		sleep 3600 & echo $! >&2
		setsid sleep 3600 & echo $! >&2
		env -i sleep 3600 & echo $! >&2
		trap '' TERM; echo ready >&2; wait; wait`
	r := during(t, l, key, script, func(pids []string) {
		_, found := openLedger(t, crash(t, dir))
		if found.Unclean != 1 || found.Running != 1 || found.Killed < 3 || found.Suspect != 0 {
			t.Errorf("found %+v", found)
		}
		if len(pids) != 4 {
			t.Fatalf("processes %v", pids)
		}
		for _, pid := range pids {
			if running(pid) {
				t.Errorf("process %s is still there", pid)
			}
		}
	})
	wantError(t, r.Err, "killed by SIGKILL")
}

// P2: a process of this node whose key is not in the ledger is left alone until its key
// runs again; one of another node, or of another key, is left alone then too.
func TestWhatIsNotInTheLedgerIsKilledBeforeItsKeyRunsAgain(t *testing.T) {
	key := uuid.NewString()
	mine := outlives(t, key, `echo $$; echo ready; exec sleep 3600`)[0]
	others := []string{
		outlives(t, uuid.NewString(), `echo $$; echo ready; exec sleep 3600`)[0],
		outlives(t, key, `export FMQM_NODE=C; exec sh -c 'echo $$; echo ready; exec sleep 3600'`)[0],
	}
	l, found := openLedger(t, t.TempDir())
	if found.Killed != 0 || !running(mine) {
		t.Errorf("killed at open: %+v", found)
	}
	c := call(t)
	c.Key, c.Attempt = key, 1
	p := register(t, shell(`kill -0 `+mine+` && ps -o stat= -p `+mine+` | grep -v Z && exit 1; exit 0`), program.Options{Ledger: l})
	if r := p.Run(context.Background(), c); r.Err != nil || r.RC != 0 {
		t.Errorf("it ran beside an older attempt: rc %d, error %v", r.RC, r.Err)
	}
	for _, pid := range others {
		if !running(pid) {
			t.Errorf("process %s of somebody else was killed", pid)
		}
	}
}

// P2: what stood in the ledger at three unclean stops in a row is not started again,
// and no attempt follows; under another key (a new run) it is.
func TestThreeUncleanStopsInARow(t *testing.T) {
	dir, key := t.TempDir(), uuid.NewString()
	for stop := 1; stop <= 3; stop++ {
		l, _ := openLedger(t, dir)
		r := during(t, l, key, `echo ready >&2; sleep 3600`, func([]string) { dir = crash(t, dir) })
		wantError(t, r.Err, "stopped by the node")
	}
	for range 2 { // the daemon may fall before the error is durable
		l, found := openLedger(t, dir)
		if found.Suspect != 1 {
			t.Errorf("found %+v", found)
		}
		file := filepath.Join(t.TempDir(), "ran")
		c := call(t)
		c.Key, c.Attempt = key, 1
		p := register(t, shell("touch "+file), program.Options{Ledger: l})
		r := p.Run(context.Background(), c)
		wantError(t, r.Err, "running at the last 3 unclean stops of this node", "may have brought this machine down", "retry")
		if _, err := os.Stat(file); err == nil || !r.Final || !errors.Is(r.Err, program.ErrSuspect) {
			t.Errorf("it ran, or is not final (%v)", r.Final)
		}
		c.Key = uuid.NewString()
		if r := p.Run(context.Background(), c); r.Err != nil {
			t.Error(r.Err)
		}
		dir = crash(t, dir)
	}
}

// P2: in a row. Once it has ended, or was not running at an unclean stop, or the node
// has stopped cleanly, counting begins again; a daemon that started nothing is no stop.
func TestOnlyUncleanStopsInARowCount(t *testing.T) {
	for _, tc := range []struct {
		name    string
		between func(t *testing.T, dir, key string) string
		suspect int
	}{
		{"it ended", func(t *testing.T, dir, key string) string {
			l, _ := openLedger(t, dir)
			c := call(t)
			c.Key = key
			if r := register(t, shell(`:`), program.Options{Ledger: l}).Run(context.Background(), c); r.Err != nil {
				t.Fatal(r.Err)
			}
			return crash(t, dir)
		}, 0},
		{"something else was running", func(t *testing.T, dir, _ string) string {
			l, _ := openLedger(t, dir)
			during(t, l, uuid.NewString(), `echo ready >&2; sleep 3600`, func([]string) { dir = crash(t, dir) })
			return dir
		}, 0},
		{"a clean stop", func(t *testing.T, dir, _ string) string {
			l, _ := openLedger(t, dir)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return dir
		}, 0},
		{"a daemon that started nothing", func(t *testing.T, dir, _ string) string {
			openLedger(t, dir)
			return crash(t, dir)
		}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, key := t.TempDir(), uuid.NewString()
			for stop := range 3 {
				if stop == 2 {
					dir = tc.between(t, dir, key)
				}
				l, _ := openLedger(t, dir)
				during(t, l, key, `echo ready >&2; sleep 3600`, func([]string) { dir = crash(t, dir) })
			}
			if _, found := openLedger(t, dir); found.Suspect != tc.suspect {
				t.Errorf("found %+v, want %d suspect", found, tc.suspect)
			}
		})
	}
}

// The ledger stays small, and what runs survives its being written anew.
func TestTheLedgerCompactsItself(t *testing.T) {
	dir, key := t.TempDir(), uuid.NewString()
	l, _ := openLedger(t, dir)
	during(t, l, key, `echo ready >&2; sleep 3600`, func([]string) {
		c := call(t)
		c.Attempt = 1
		c.Process = strings.Repeat("p", 60_000) + "@1"
		p := register(t, shell(`:`), program.Options{Ledger: l})
		for range 20 {
			if r := p.Run(context.Background(), c); r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		info, err := os.Stat(filepath.Join(dir, "programs"))
		if err != nil || info.Size() > 500_000 {
			t.Errorf("%v, %d bytes", err, info.Size())
		}
		if _, found := openLedger(t, crash(t, dir)); found.Running != 1 || found.Killed == 0 {
			t.Errorf("found %+v", found)
		}
	})
}

// A power cut leaves torn lines, zeros, or lines of nothing: they are passed over.
func TestDamagedLinesArePassedOver(t *testing.T) {
	dir, key := t.TempDir(), uuid.NewString()
	l, _ := openLedger(t, dir)
	during(t, l, key, `echo ready >&2; sleep 3600`, func([]string) { dir = crash(t, dir) })
	file := filepath.Join(dir, "programs")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	damaged := lines[0] + "00000000 {\"event\":\"end\",\"key\":\"" + key + "\"}\nnonsense\n" + strings.Join(lines[1:], "") + strings.Repeat("\x00", 100_000) + "0badc0de {"
	if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, found := openLedger(t, dir); found.Running != 1 || found.Damaged < 3 {
		t.Errorf("found %+v", found)
	}
}

// P2: whatever one line is lost, also the first, what outlived the daemon is gone when the
// ledger is open.
func TestNoOneLineIsNeeded(t *testing.T) {
	for damaged, what := range []string{"the first line", "that an attempt began", "its process"} {
		t.Run(what, func(t *testing.T) {
			dir, key := t.TempDir(), uuid.NewString()
			l, _ := openLedger(t, dir)
			script := `echo $$ >&2; env -i sleep 3600 & echo $! >&2; trap '' TERM; echo ready >&2; wait; wait`
			during(t, l, key, script, func(pids []string) {
				file := filepath.Join(dir, "programs")
				text := readUntil(t, file, func(text []byte) bool { return bytes.Contains(text, []byte(`"event":"runs"`)) })
				lines := strings.SplitAfter(string(text), "\n")
				lines[damaged] = "noise\x00" + lines[damaged][20:]
				dir = t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "programs"), []byte(strings.Join(lines, "")), 0o600); err != nil {
					t.Fatal(err)
				}
				_, found := openLedger(t, dir)
				if found.Unclean != 1 || found.Running != 1 || found.Killed == 0 || found.Damaged != 1 {
					t.Errorf("found %+v", found)
				}
				if len(pids) != 2 || running(pids[0]) {
					t.Errorf("processes %v: the first is still there", pids)
				}
				if noted := damaged != 2; running(pids[1]) && noted {
					t.Errorf("process %s, which cleared its environment, is still there", pids[1])
				}
			})
		})
	}
}

func TestALedgerOfANewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	text := []byte(`{"event":"ledger","version":2,"node":"B"}`)
	line := fmt.Sprintf("%08x %s\n", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)), text)
	if err := os.WriteFile(filepath.Join(dir, "programs"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := program.OpenLedger(dir, "B", nil)
	wantError(t, err, dir, "newer version", "use that version")
	if text, err := os.ReadFile(filepath.Join(dir, "programs")); err != nil || string(text) != line {
		t.Errorf("it was changed: %q, %v", text, err)
	}
}

// Nothing is started that could not be noted: it would not be found after a crash.
func TestWhatCannotBeNotedIsNotStarted(t *testing.T) {
	l, _ := openLedger(t, t.TempDir())
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ran")
	c := call(t)
	c.Attempt = 1
	r := register(t, shell("touch "+file), program.Options{Ledger: l}).Run(context.Background(), c)
	if _, err := os.Stat(file); err == nil || !errors.Is(r.Err, program.ErrLedger) {
		t.Errorf("it ran, or error %v", r.Err)
	}
	_, err := program.OpenLedger("/dev/null/ledger", "B", nil)
	wantError(t, err, "open the ledger of programs", "/dev/null")
}

// Children that left the group are ended with a program that failed, since another
// attempt may follow; those of one that succeeded are its own business.
func TestRunawaysOfAFailedAttemptAreEnded(t *testing.T) {
	// It says its number once it has left the group.
	const leave = `mkfifo left; setsid sh -c 'echo $$ >left; exec sleep 3600' %s & read pid <left; echo $pid >&2; `
	runaway, holding := fmt.Sprintf(leave, `>/dev/null 2>&1 </dev/null`), fmt.Sprintf(leave, ``)
	for _, tc := range []struct {
		name, script string
		data         bool
		timeout      time.Duration
		ended        bool
	}{
		{name: "over its timeout", script: runaway + `sleep 3600`, timeout: 300 * time.Millisecond, ended: true},
		{name: "over its timeout, and they hold its output", script: holding + `sleep 3600`, timeout: 300 * time.Millisecond, ended: true},
		{name: "garbage", script: runaway + `echo oops`, ended: true},
		{name: "a signal", script: runaway + `kill -9 $$`, ended: true},
		{name: "a return code that nothing reads", script: runaway + `exit 3`, ended: true},
		{name: "a return code that is data", script: runaway + `exit 3`, data: true},
		{name: "success", script: runaway},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var pid string
			c := call(t)
			c.RCIsData, c.Log = tc.data, func(l string) { pid = l }
			spec := shell(tc.script)
			// On a machine that stalls the first timeout ends it before it has said its number.
			for spec.Timeout = tc.timeout; pid == "" && spec.Timeout < 10*time.Minute; spec.Timeout = max(8*spec.Timeout, time.Minute) {
				c.Key, spec.Dir = uuid.NewString(), t.TempDir()
				begun := time.Now()
				register(t, spec, program.Options{Grace: 5 * time.Minute}).Run(context.Background(), c)
				if time.Since(begun) > spec.Timeout+2*time.Minute {
					t.Error("it waited for what it had to end")
				}
			}
			if running(pid) == tc.ended {
				t.Errorf("process %s runs: %v", pid, tc.ended)
			}
			if n, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		})
	}
}

// An attempt after the first finds itself alone, also when the one before succeeded
// and only the node found fault with it.
func TestALaterAttemptFindsItselfAlone(t *testing.T) {
	key := uuid.NewString()
	older := outlives(t, key, `echo $$; echo ready; exec sleep 3600`)[0]
	c := call(t)
	c.Key, c.Attempt = key, 2
	if r := register(t, shell(`:`), program.Options{}).Run(context.Background(), c); r.Err != nil || running(older) {
		t.Errorf("error %v, the older attempt runs: %v", r.Err, running(older))
	}
}

// A process shows no environment while it is replaced by another program, and is ended
// nevertheless.
func TestAProcessThatKeepsReplacingItselfIsEnded(t *testing.T) {
	key := uuid.NewString()
	older := outlives(t, key, `echo $$; echo ready; exec `+restless(t))[0]
	c := call(t)
	c.Key, c.Attempt = key, 2
	if r := register(t, shell(`:`), program.Options{}).Run(context.Background(), c); r.Err != nil || running(older) {
		t.Errorf("error %v, the older attempt runs: %v", r.Err, running(older))
	}
}

// restless makes a program that replaces itself for ever.
func restless(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "restless")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// running says whether a process exists now and is no zombie.
func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, ok := strings.Cut(string(stat), ") ")
	return ok && rest[0] != 'Z' && rest[0] != 'X'
}

// What a note costs an exec program, beside the process itself.
func BenchmarkExec(b *testing.B) {
	for _, noted := range []bool{false, true} {
		b.Run(fmt.Sprintf("noted=%v", noted), func(b *testing.B) {
			var o program.Options
			if noted {
				l, err := program.OpenLedger(b.TempDir(), "B", nil)
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = l.Close() }()
				o.Ledger = l
			}
			p := register(b, shell(`:`), o)
			c := &program.Call{Key: uuid.NewString(), Node: "B", Attempt: 1, Input: container.New(order), OutputType: order}
			for b.Loop() {
				if r := p.Run(context.Background(), c); r.Err != nil {
					b.Fatal(r.Err)
				}
			}
		})
	}
}
