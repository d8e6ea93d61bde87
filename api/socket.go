package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

// ErrAnswered is in the error where somebody answers on the socket.
var ErrAnswered = errors.New("another daemon answers")

// ListenSocket listens on the Unix socket path, which its owner and group may open. A
// socket that a daemon left behind is replaced; one that still answers is an error, and
// so is a file that is no socket.
func ListenSocket(path string) (net.Listener, error) { return ListenSocketMode(path, 0o660) }

// ListenSocketMode is ListenSocket on a socket that others may open.
func ListenSocketMode(path string, mode fs.FileMode) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("socket: %s is there and no socket: move it away, or set `socket` to another path", path)
	default:
		if c, err := net.DialTimeout("unix", path, 5*time.Second); err == nil {
			_ = c.Close()
			return nil, fmt.Errorf("socket: %w on %s: stop it, or set `socket` to another path", ErrAnswered, path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("socket: a socket that was left behind cannot be removed: %w", err)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("socket: there is no directory %s: make it, or set `socket` to another path", filepath.Dir(path))
		}
		return nil, fmt.Errorf("socket: %w: let the daemon's user write in %s, or set `socket` to another path", err, filepath.Dir(path))
	}
	if err := os.Chmod(path, mode); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("socket: %w", err)
	}
	return l, nil
}
