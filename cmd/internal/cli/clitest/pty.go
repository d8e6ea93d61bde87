// Package clitest has a terminal for tests of what commands show to people.
package clitest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"fmqm/internal/skip"
)

// last ends what is read from a terminal: no command writes it.
const last = 0

// Terminal opens a pseudo terminal so many characters wide: what is written to the file
// is what shown gives, without the carriage returns that terminals add. shown closes it.
// Where there are no pseudo terminals the test is skipped.
func Terminal(t *testing.T, width int) (terminal *os.File, shown func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		skip.Untested(t, "what terminals are shown: there are no pseudo terminals here: %v", err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		skip.Untested(t, "what terminals are shown: there are no pseudo terminals here: %v", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		skip.Untested(t, "what terminals are shown: there are no pseudo terminals here: %v", err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		skip.Untested(t, "what terminals are shown: there are no pseudo terminals here: %v", err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: uint16(width)}); err != nil {
		t.Fatal(err)
	}
	text := make(chan []byte, 1)
	go func() {
		all, _ := bufio.NewReader(master).ReadBytes(last)
		text <- bytes.TrimSuffix(all, []byte{last})
	}()
	return terminal, func() string {
		// A terminal that is closed may take with it what was not read yet, so it is read
		// up to a last byte first.
		if _, err := terminal.Write([]byte{last}); err != nil {
			t.Error(err)
		}
		all := <-text
		_ = terminal.Close()
		_ = master.Close()
		return string(bytes.ReplaceAll(all, []byte("\r\n"), []byte("\n")))
	}
}
