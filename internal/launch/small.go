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

// small is the small stage; nil: there is none, and this process's own file is one too. It is
// kept open, and asked once what it speaks: another one that is put in its place later, with
// the next version, is not started.
var small = sync.OnceValue(func() *os.File {
	own, err := os.Executable()
	if err != nil {
		return nil
	}
	return openSmall(own, filepath.Join(filepath.Dir(own), Small))
})

// openSmall opens the small stage. It is left alone where somebody else could have put it
// there than who has put the executable: all programs would be his. And where the executable
// has capabilities of its own (setcap), which another file has not: then only it can become
// other users.
func openSmall(own, path string) *os.File {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), path)
	if capable(own) || !trusted(own, fd) || !speaks(f) {
		_ = f.Close()
		return nil
	}
	return f
}

// through has a command start as a stage, with files from firstFD on.
func through(cmd *exec.Cmd, f *os.File, files ...*os.File) {
	cmd.Path, cmd.ExtraFiles = self, files
	if f != nil { // the file goes with the others: its number in this process may be another file's by then
		cmd.Path, cmd.ExtraFiles = "/proc/self/fd/"+strconv.Itoa(firstFD+len(files)), append(files, f)
	}
}

// firstFD is the number of a command's first file beside its three.
const firstFD = 3

// capable says whether a file gives capabilities to who executes it.
func capable(own string) bool {
	size, err := unix.Getxattr(own, "security.capability", nil)
	return err == nil && size > 0
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
func speaks(f *os.File) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, stage.Ask)
	through(cmd, f)
	says, err := cmd.Output()
	return err == nil && string(says) == stage.Speaks
}
