// Package stage is what a program was before: see package launch. Importing it lets this
// process be a stage.
//
// The stage runs in the init of this package. Packages are initialised in the order of
// their names once those that they import are, so this one imports next to nothing and
// comes before nearly all others: some of them take longer than all that a stage does.
// Package strings is not among what it imports: it wants the tables of unicode, and
// everything whose name is before that one's would come first.
package stage

import (
	"math"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// Name is what a stage is called. Only package launch starts something under it.
const Name = "fmqm-launch"

// Speaks is what requests and reports of this version are: it changes with them. A small stage
// is asked for it with the argument Ask.
const (
	Speaks = "fmqm-launch 1\n"
	Ask    = "speaks"
)

// Files of a stage, beside the program's own three.
const (
	requestFD = 3 // what to become
	reportFD  = 4 // what came of it
	rulesFD   = 5 // of Landlock, if there are any
	lastFD    = 6 // the stage's own file, one before if there are no rules
)

// Started is in the report before the program is executed: a report without it is of a
// stage that died.
const Started = '>'

// Program is what a stage becomes.
type Program struct {
	Path string
	Argv []string // the whole vector
	Dir  string   // empty: the daemon's
	User *User    // nil: the daemon's
	// Free lets the program gain privileges, by setuid files for example. It is not behind
	// rules then.
	Free  bool
	Rules bool // of Landlock, in rulesFD
}

// User is a user of the machine.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

// Steps of a stage.
const (
	StepRequest    = "read the request"
	StepPrivileges = "give up privileges"
	StepRules      = "keep it from the daemon's files"
	StepUser       = "become its user"
	StepDir        = "go to"
	StepExec       = "execute"
)

func init() {
	if len(os.Args) == 0 || os.Args[0] != Name {
		return
	}
	runtime.LockOSThread() // what is done to this thread is the program's
	report := os.NewFile(reportFD, "report")
	step, errno := become(report)
	_, _ = report.WriteString(step + "\x00" + strconv.Itoa(int(errno)))
	os.Exit(1)
}

// become does not return, unless it fails.
func become(report *os.File) (step string, errno syscall.Errno) {
	for fd := requestFD; fd <= lastFD; fd++ {
		syscall.CloseOnExec(fd)
	}
	// What the daemon opens never comes here; what it has inherited itself could. Kernels
	// before 5.11 cannot keep that.
	_, _, _ = syscall.RawSyscall(closeRange, requestFD, math.MaxUint32, closeRangeCloexec)
	p, ok := readRequest(os.NewFile(requestFD, "request"))
	if !ok {
		return StepRequest, syscall.EINVAL // the daemon is gone
	}
	if errno := p.giveUp(); errno != 0 {
		return StepPrivileges, errno
	}
	if p.Rules {
		if _, _, errno := syscall.RawSyscall(landlockRestrictSelf, rulesFD, 0, 0); errno != 0 {
			return StepRules, errno
		}
	}
	if p.User != nil {
		if errno := p.User.become(); errno != 0 {
			return StepUser, errno
		}
	}
	if p.Dir != "" {
		if err := syscall.Chdir(p.Dir); err != nil {
			return StepDir, errnoOf(err)
		}
	}
	if _, err := report.Write([]byte{Started}); err != nil {
		return StepRequest, errnoOf(err)
	}
	return StepExec, errnoOf(syscall.Exec(p.Path, p.Argv, os.Environ()))
}

// Numbers that package syscall does not have: they are those of all architectures.
const (
	capVersion           = 0x20080522
	closeRange           = 436
	closeRangeCloexec    = 4
	landlockRestrictSelf = 446
	prSetNoNewPrivs      = 38
	prCapAmbient         = 47
	prCapAmbientClearAll = 4
)

// giveUp takes the capabilities that the daemon may have for starting programs as other
// users, and the way to new ones.
func (p *Program) giveUp() syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClearAll, 0, 0, 0, 0)
	if errno != 0 && errno != syscall.EINVAL { // a kernel without them
		return errno
	}
	// They are inherited through files that ask for it; where it is not permitted to say
	// so, the program has none of such either, but for one that is free.
	header := [2]uint32{capVersion, 0}
	var sets [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0); errno == 0 {
		sets[0].inheritable, sets[1].inheritable = 0, 0
		_, _, _ = syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	}
	if p.Free {
		return 0
	}
	_, _, errno = syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0)
	return errno
}

// become makes this thread the user's. What capabilities it has left, the program does not
// get.
func (u *User) become() syscall.Errno {
	var first unsafe.Pointer
	if len(u.Groups) > 0 {
		first = unsafe.Pointer(&u.Groups[0])
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(u.Groups)), uintptr(first), 0); errno != 0 {
		return errno
	}
	gid, uid := uintptr(u.GID), uintptr(u.UID)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESGID, gid, gid, gid); errno != 0 {
		return errno
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uid, uid, uid)
	return errno
}

func errnoOf(err error) syscall.Errno {
	if errno, ok := err.(syscall.Errno); ok { //nolint:errorlint // package syscall gives it as it is
		return errno
	}
	return syscall.EINVAL
}
