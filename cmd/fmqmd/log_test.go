package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// Each line has the priority of its level, in one write.
func TestTheJournalHasPriorities(t *testing.T) {
	var b bytes.Buffer
	log := zerolog.New(journal{&b})
	log.Debug().Msg("a")
	log.Info().Msg("b")
	log.Warn().Msg("c")
	log.Error().Msg("d")
	log.Log().Msg("e")
	want := "<7>{\"level\":\"debug\",\"message\":\"a\"}\n<6>{\"level\":\"info\",\"message\":\"b\"}\n<4>{\"level\":\"warn\",\"message\":\"c\"}\n<3>{\"level\":\"error\",\"message\":\"d\"}\n<6>{\"message\":\"e\"}\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

// Where standard error is the journal's stream, and only there, a daemon's lines have
// priorities; also the last, which says why it ends.
func TestADaemonUnderSystemdLogsPriorities(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "fmqmd.yaml")
	if err := os.WriteFile(conf, []byte("node: A\ndata: /dev/null/data\nsocket: s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, journal := range []bool{true, false} {
		out, err := os.Create(filepath.Join(dir, fmt.Sprint("log", journal)))
		if err != nil {
			t.Fatal(err)
		}
		var s unix.Stat_t
		if err := unix.Fstat(int(out.Fd()), &s); err != nil {
			t.Fatal(err)
		}
		stream := fmt.Sprintf("%d:%d", s.Dev, s.Ino)
		if !journal {
			stream = "1:1"
		}
		cmd := exec.Command(os.Args[0], "run", "--config", conf)
		cmd.Env = []string{"FMQMD_TEST_RUN=1", "JOURNAL_STREAM=" + stream}
		cmd.Stderr = out
		err = cmd.Run()
		text, readErr := os.ReadFile(out.Name())
		if readErr != nil {
			t.Fatal(readErr)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		last := lines[len(lines)-1]
		if cmd.ProcessState.ExitCode() != 1 || !regexp.MustCompile(`^(<3>)?\{"level":"error","error":".*/dev/null/data.*","message":"the daemon ends"\}$`).MatchString(last) {
			t.Errorf("%v: the last line is %s", err, last)
		}
		for _, line := range lines {
			if regexp.MustCompile(`^<[3-7]>\{`).MatchString(line) != journal {
				t.Errorf("journal %v: %s", journal, line)
			}
		}
	}
}
