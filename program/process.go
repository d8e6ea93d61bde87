package program

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// goneTimeout is how long a killed process may take to be gone, and goneLooks how often
// it is looked for at least: on a machine that stalls the time alone says nothing. One that
// hangs in the kernel, on a dead network mount for example, can take for ever.
const (
	goneTimeout = 5 * time.Second
	goneLooks   = 5
)

// process is one process of this machine, as /proc shows it.
type process struct {
	pid, group, session int
	start               uint64 // in the kernel's ticks since boot: with pid, which process it is
	dead                bool   // a zombie: killed, and not yet waited for by its parent
	bare                bool   // it has no environment, and is not about to be given one
}

// readProcess fails if there is none with this number.
func readProcess(pid int) (process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	// PID (NAME) STATE PPID PGRP SESSION ... STARTTIME is the 22nd; NAME may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return process{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields)+2)
	}
	p := process{pid: pid, dead: fields[0] == "Z" || fields[0] == "X"}
	p.group, _ = strconv.Atoi(fields[2])
	p.session, _ = strconv.Atoi(fields[3])
	p.bare = isBare(fields)
	p.start, err = strconv.ParseUint(fields[19], 10, 64)
	return p, err
}

// isBare says whether a process has no environment, of its stat from the third field on.
// The kernel notes where a program's code ends (27th) once it has laid out the environment
// (from the 50th to the 51st): before, a process is replaced by this program (execve).
func isBare(stat []string) bool {
	const exiting, kernel = 0x00000004, 0x00200000 // PF_EXITING, PF_KTHREAD
	if flags, _ := strconv.ParseUint(stat[6], 10, 64); flags&(exiting|kernel) != 0 {
		return true
	}
	return len(stat) < 49 || stat[24] != "0" && stat[47] == stat[48]
}

// environ reads the environment of a process. One that is just replaced by another
// program shows an empty one for a moment, and is looked at until it has one or shows that
// it is to have none. Looks count and not time, which goes on on a machine that stalls.
func environ(pid int) []byte {
	const looks, longest = 200, 50 * time.Millisecond
	pause := 100 * time.Microsecond
	for range looks {
		env, err := readAtOnce("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil || len(env) > 0 {
			return env // or gone, or somebody else's
		}
		if p, err := readProcess(pid); err != nil || p.dead || p.bare {
			return nil
		}
		time.Sleep(pause) //nolint:forbidigo // the kernel tells nobody when it is done
		pause = min(2*pause, longest)
	}
	return nil
}

// readAtOnce reads a file of /proc in one call: of one that is read in pieces the later
// ones are missing, without an error, if the process is replaced between them.
func readAtOnce(path string) ([]byte, error) {
	for size := 8 << 10; ; size *= 8 {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		text := make([]byte, size)
		n, err := f.Read(text)
		_ = f.Close()
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if n < size {
			return text[:n], err
		}
	}
}

// carried gives what a process's environment says of the invocation that it belongs
// to; empty for a process of no invocation.
func carried(pid int) (node, key string) {
	env := environ(pid)
	if !bytes.Contains(env, []byte("FMQM_IDEMPOTENCY_KEY=")) {
		return "", "" // gone, somebody else's, or of the kernel
	}
	for _, v := range strings.Split(string(env), "\x00") {
		if s, ok := strings.CutPrefix(v, "FMQM_NODE="); ok {
			node = s
		} else if s, ok := strings.CutPrefix(v, "FMQM_IDEMPOTENCY_KEY="); ok {
			key = s
		}
	}
	return node, key
}

// sieve picks the processes of invocations out of all that run on this machine. The
// daemon itself is never among them.
type sieve struct {
	node  string
	key   func(string) bool   // of which keys
	group func(*process) bool // nil, or picks by process group who carries no key any more
}

// ofKey picks what belongs to one key at one node.
func ofKey(node, key string) sieve {
	return sieve{node: node, key: func(k string) bool { return k == key }}
}

// alive gives what the sieve picks and what runs: zombies count as gone.
func (s sieve) alive() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	var found []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self {
			continue
		}
		node, key := carried(pid)
		ours := key != "" && node == s.node && s.key(key)
		if !ours && s.group == nil {
			continue
		}
		p, err := readProcess(pid)
		if err == nil && !p.dead && (ours || s.group(&p)) {
			found = append(found, p)
		}
	}
	return found, nil
}

// end kills what the sieve picks, until nothing of it is left, and says how many there
// were. Children that appear meanwhile are killed as well.
func (s sieve) end() (killed int, err error) {
	for deadline, look := time.Now().Add(goneTimeout), 0; ; look++ {
		left, err := s.alive()
		switch {
		case err != nil:
			return killed, fmt.Errorf("look for processes of an older attempt: %w", err)
		case len(left) == 0:
			return killed, nil
		case look >= goneLooks && time.Now().After(deadline):
			return killed, fmt.Errorf("process %d of an older attempt was killed, but is still there after %v: see what it waits for (ps, dmesg); no new attempt runs beside it", left[0].pid, goneTimeout)
		}
		killed += len(left)
		kill(left, time.Now().Add(goneTimeout/goneLooks))
	}
}

// kill kills processes, with the groups that they lead, and waits until they are gone,
// not longer than until the deadline.
func kill(processes []process, deadline time.Time) {
	own := unix.Getpgrp()
	handles := make([]int, 0, len(processes))
	for _, p := range processes {
		// The handle names this process even when its number is given to another one.
		handle, err := unix.PidfdOpen(p.pid, 0)
		if err != nil {
			continue // gone
		}
		handles = append(handles, handle)
		if now, err := readProcess(p.pid); err != nil || now.start != p.start {
			continue
		}
		if p.group == p.pid && p.group != own {
			_ = signalGroup(p.group, unix.SIGKILL)
		}
		_ = unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0)
	}
	for _, handle := range handles {
		awaitGone(handle, deadline)
		_ = unix.Close(handle)
	}
}

// awaitGone returns when the process of a handle has ended, waited for or not.
func awaitGone(handle int, deadline time.Time) {
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, int(left/time.Millisecond)+1)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
