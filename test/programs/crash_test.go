package programs

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"fmqm/api"
)

// lonely is a program that notices when it runs beside another attempt of itself: the
// lock is held until the last of its processes is gone. Its first attempts hang, with a
// child in the group and one that left it; once the file `enough` is there it ends.
const lonely = `cat >/dev/null
exec 9>lock.$FMQM_IDEMPOTENCY_KEY
flock -n 9 || echo "$$ $FMQM_IDEMPOTENCY_KEY" >>overlaps
[ -e enough ] && { echo $$ $FMQM_IDEMPOTENCY_KEY $FMQM_ATTEMPT >told; exit 0; }
trap '' TERM
sleep 3600 & child=$!
[ -e left ] || mkfifo left
setsid sh -c 'echo $$ >left; exec sleep 3600' & read runaway <left
echo $$ $FMQM_IDEMPOTENCY_KEY $FMQM_ATTEMPT $child $runaway >told
wait; wait`

// outliving gives a site whose program hangs, and the first thing that it said.
func outliving(t *testing.T) (s *site, id api.InstanceID, said []string) {
	t.Helper()
	s = newSite(t, "work: {exec: [./work]}")
	s.script("work", lonely)
	s.start()
	s.Upload(process("one", "program: work"))
	id = s.begin("one", `{}`)
	return s, id, s.tells()
}

func (s *site) alone() {
	s.t.Helper()
	if overlaps, err := os.ReadFile(s.File("overlaps")); err == nil {
		s.t.Errorf("ran beside an older attempt:\n%s", overlaps)
	}
}

// P2: a program that outlives a killed daemon, with all its children, is gone before
// it runs again, under the same key.
func TestAProgramThatOutlivesAKilledDaemon(t *testing.T) {
	t.Parallel()
	s, id, first := outliving(t)
	s.Kill()
	for _, pid := range []string{first[0], first[3], first[4]} {
		if !running(pid) {
			t.Errorf("process %s is gone before the daemon is back", pid)
		}
	}
	s.write("enough", 0o600, "")
	s.start()
	second := s.tells()
	for _, pid := range []string{first[0], first[3], first[4]} {
		if running(pid) {
			t.Errorf("process %s of the first attempt still runs", pid)
		}
	}
	status, _ := s.await(id)
	if status.State != api.InstanceFinished || second[1] != first[1] || second[2] != "1" {
		t.Errorf("%s; keys %s and %s, attempt %s", status.State, first[1], second[1], second[2])
	}
	s.alone()
	if found := s.Logged("the last stop was unclean"); len(found) != 1 || !strings.Contains(found[0], `"running":1`) {
		t.Errorf("log %q", found)
	}
	if !s.silent() {
		t.Error("it ran once more")
	}
}

// The second signal stops the daemon at once. What it leaves is as after a crash.
func TestAProgramThatOutlivesADaemonStoppedAtOnce(t *testing.T) {
	t.Parallel()
	s, id, first := outliving(t)
	s.Signal(syscall.SIGTERM)
	s.Signal(syscall.SIGINT)
	s.Ends()
	s.write("enough", 0o600, "")
	s.start()
	second := s.tells()
	if status, _ := s.await(id); status.State != api.InstanceFinished || second[1] != first[1] || running(first[4]) {
		t.Errorf("%s; keys %s and %s", status.State, first[1], second[1])
	}
	s.alone()
}

// A stop lets programs finish, and what they gave is kept; the ledger is empty afterwards.
func TestACleanStopEmptiesTheLedger(t *testing.T) {
	t.Parallel()
	s := newSite(t, "work: {exec: [./work]}")
	s.script("work", `mkfifo go; echo $$ >told; read line <go; echo '{"text": "finished"}'`)
	s.start()
	s.Upload(process("one", "program: work"))
	id := s.begin("one", `{}`)
	s.tells()
	s.Signal(syscall.SIGTERM)
	s.Says("stopping: programs that run may finish")
	s.write("go", 0o600, "go\n")
	s.Ends()
	if left, err := os.ReadDir(s.File("data/ledger")); err != nil || len(left) != 0 {
		t.Errorf("left in the ledger: %v %v", left, err)
	}
	s.start()
	status, _ := s.await(id)
	if string(status.Output) != `{"n":0,"text":"finished","rc":0}` || len(s.Logged("unclean")) != 0 || !s.silent() {
		t.Errorf("%s %s; log %q", status.State, status.Output, s.Logged("unclean"))
	}
}

// P2: what was running at three unclean stops in a row goes in error, durably; an
// operator's retry runs it, under a new key.
func TestAProgramThatTakesTheNodeDown(t *testing.T) {
	t.Parallel()
	s, id, first := outliving(t)
	for stop := 1; stop <= 3; stop++ {
		s.Kill()
		s.start()
		if stop < 3 {
			if said := s.tells(); said[1] != first[1] {
				t.Fatalf("after %d stops another key: %v", stop, said)
			}
		}
	}
	inError := func() {
		t.Helper()
		status, work := s.await(id)
		if status.State != api.InstanceInError || !strings.Contains(work.Reason, "running at the last 3 unclean stops of this node and may have brought this machine down") {
			t.Fatalf("%s: %s", status.State, work.Reason)
		}
	}
	inError()
	s.Kill() // N4
	s.start()
	inError()
	if !s.silent() {
		t.Error("it was started again")
	}
	s.write("enough", 0o600, "")
	if _, err := s.Client.Retry(context.Background(), id, api.RetryRequest{Activity: "work"}); err != nil {
		t.Fatal(err)
	}
	if status, _ := s.await(id); status.State != api.InstanceFinished {
		t.Errorf("after the retry: %s %s", status.State, status.Reason)
	}
	if said := s.tells(); said[1] == first[1] {
		t.Error("the retry has the old key")
	}
	s.alone()
}

// Failed attempts are messages: they count on over a killed daemon.
func TestAttemptsCountOverACrash(t *testing.T) {
	t.Parallel()
	s := newSite(t, "work: {exec: [./work]}")
	s.script("work", `cat >/dev/null
echo $$ $FMQM_IDEMPOTENCY_KEY $FMQM_ATTEMPT >told
[ $FMQM_ATTEMPT = 2 ] && [ ! -e enough ] && sleep 3600
exit 7`)
	s.start()
	s.Upload(process("one", "program: work, retry: {attempts: 3, backoff: 10ms}"))
	id := s.begin("one", `{}`)
	said := [][]string{s.tells(), s.tells()}
	s.Kill()
	s.write("enough", 0o600, "")
	s.start()
	said = append(said, s.tells(), s.tells())
	for i, attempt := range []string{"1", "2", "2", "3"} {
		if said[i][1] != said[0][1] || said[i][2] != attempt {
			t.Errorf("%d: %v, want attempt %s and the same key", i, said[i], attempt)
		}
	}
	status, work := s.await(id)
	if status.State != api.InstanceInError || work.Attempts != 3 || !strings.Contains(work.Reason, "return code 7") || !s.silent() {
		t.Errorf("%s after %d attempts: %s", status.State, work.Attempts, work.Reason)
	}
}
