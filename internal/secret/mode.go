package secret

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Check says who else than its owner can read or change the file of a secret, or of a
// private key, and what to do about it. Others may not at all; a group may read it if
// root owns the file, who then chose that group: packages and systemd credentials do so.
// A file that is not there is nobody's: what needs it says so. The error is an *Exposed.
func Check(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // whoever reads the file has the error
	}
	return check(path, info)
}

func check(path string, info fs.FileInfo) error {
	mode := info.Mode().Perm()
	who := ""
	switch {
	case mode&0o007 != 0:
		who = "every user of this machine"
	case mode&0o030 != 0, mode&0o040 != 0 && !ownedByRoot(info):
		who = "a group"
	default:
		return nil
	}
	return &Exposed{fmt.Sprintf("%s can be read or changed by %s (mode %04o)", path, who, mode)}
}

// Exposed is the error of a file that others than its owner can read.
type Exposed struct{ What string }

// Remedy says what to do.
func (*Exposed) Remedy() string {
	return "chmod 600 it, and use a new secret if somebody else may have seen this one"
}

func (e *Exposed) Error() string { return e.What + ": " + e.Remedy() }

func ownedByRoot(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Uid == 0
}
