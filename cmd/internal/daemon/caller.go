package daemon

import (
	"errors"
	"net/http"

	"golang.org/x/sys/unix"

	"fmqm/api"
	"fmqm/program"
)

// A program of this node has no business at its socket, where who asks may do all. Its
// user may open the socket; but it is in the control group of its run, whatever it does.

// notForPrograms refuses what comes from a program that is kept from the daemon's things.
func notForPrograms(next http.Handler) http.Handler {
	return api.Authenticated(next, func(r *http.Request) (int, *api.Error) {
		if l, _ := r.Context().Value(callerKey{}).(local); l.program {
			return http.StatusForbidden, api.Errorf(api.CodeRefused,
				"ask another way, with a certificate (--to https://HOST:PORT), or write `confine: false` for the program into the configuration",
				"programs of this node may not use its socket")
		}
		return 0, nil
	})
}

// mayBeProgram says whether a confined program has connected to the socket fd, or somebody
// who is gone and may have been one: the connection can have been handed on.
func mayBeProgram(groups *program.Groups, fd, pid int) bool {
	switch {
	case groups == nil: // nothing shows it
		return false
	case pid == 0: // of a space of process numbers that is not below this one: no child
		return false
	}
	return groups.Confined(pid) || gone(fd, pid)
}

// soPeerPidfd gives a handle of who has connected (Linux 6.5).
const soPeerPidfd = 77

// gone says whether who has connected has ended. Older kernels only know whether anybody
// has his number.
func gone(fd, pid int) bool {
	handle, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, soPeerPidfd)
	if err != nil {
		return errors.Is(unix.Kill(pid, 0), unix.ESRCH)
	}
	defer unix.Close(handle)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, 0)
	return n != 0 || err != nil
}
