package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"fmqm/internal/text"
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

// What a peer says steers no terminal and turns no text round, in any form of the log.
func TestLogLinesSteerNothing(t *testing.T) {
	const hostile = "down\x1b]0;owned\a\u202etxt.exe\u2066 \u009b31m\u200b\ufe0f\n12:00:00 INF all is well"
	for name, w := range map[string]func(io.Writer) io.Writer{
		"json":    func(w io.Writer) io.Writer { return escaped{w} },
		"journal": func(w io.Writer) io.Writer { return escaped{journal{w}} },
		"console": func(w io.Writer) io.Writer { return console(w, false) },
		"colours": func(w io.Writer) io.Writer { return console(w, true) },
	} {
		var b bytes.Buffer
		log := zerolog.New(w(&b))
		log.Warn().Str("reason", hostile).Strs("peers", []string{hostile}).AnErr("why", errors.New(hostile)).Err(errors.New(hostile)).Msg("peer says " + hostile)
		line, ended := strings.CutSuffix(b.String(), "\n")
		if !ended || strings.Contains(line, "\n") {
			t.Errorf("%s: not one line: %q", name, line)
		}
		own := regexp.MustCompile("\x1b\\[[0-9;]*m") // the colours of the writer
		if name == "colours" {
			line = own.ReplaceAllString(line, "")
		}
		if at := strings.IndexFunc(line, text.Steers); at >= 0 {
			t.Errorf("%s: %q", name, line[at:])
		}
		if name == "json" {
			var said struct{ Reason, Message string }
			if err := json.Unmarshal([]byte(line), &said); err != nil || said.Reason != hostile || said.Message != "peer says "+hostile {
				t.Errorf("it does not mean the same: %v %q", err, said)
			}
		}
		if name == "journal" && !strings.HasPrefix(line, "<4>{") {
			t.Errorf("without its priority: %s", line)
		}
	}
}
