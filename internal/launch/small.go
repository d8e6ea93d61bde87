package launch

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fmqm/internal/launch/stage"
)

// self is this process's own file: it is a stage too, where there is no small one.
const self = "/proc/self/exe"

// Small is the name of the small stage, which is looked for beside the executable.
const Small = "fmqm-launch"

// executable gives what stages are started from, for as long as this process lives. The
// small one is kept open, and asked once what it speaks: another one that is put in its place
// later, with the next version, is not started.
var executable = sync.OnceValue(func() string {
	own, err := os.Executable()
	if err != nil {
		return self
	}
	if small, ok := openSmall(own, filepath.Join(filepath.Dir(own), Small)); ok {
		return small
	}
	return self
})

// above is where the file of the small stage is kept: below are files that a stage is given.
const above = 64

// openSmall opens the small stage. It is left alone where somebody else could have put it
// there than who has put the executable: all programs would be his.
func openSmall(own, path string) (small string, ok bool) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", false
	}
	kept, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, above)
	_ = unix.Close(fd)
	if err != nil {
		return "", false
	}
	small = "/proc/self/fd/" + strconv.Itoa(kept)
	if !trusted(own, kept) || !speaks(small) {
		_ = unix.Close(kept)
		return "", false
	}
	return small, true
}

// trusted says whether a file is of root or of who has the executable, and nobody else's to write.
func trusted(own string, fd int) bool {
	var mine, its unix.Stat_t
	if unix.Stat(own, &mine) != nil || unix.Fstat(fd, &its) != nil {
		return false
	}
	return its.Mode&unix.S_IFMT == unix.S_IFREG && its.Mode&0o022 == 0 && (its.Uid == 0 || its.Uid == mine.Uid)
}

// speaks says whether a stage takes what this process asks.
func speaks(small string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	says, err := exec.CommandContext(ctx, small, stage.Ask).Output()
	return err == nil && string(says) == stage.Speaks
}
