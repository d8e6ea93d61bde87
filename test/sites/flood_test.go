package sites

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/internal/skip"
	"fmqm/test/fleet"
)

// flood fills the disk of one daemon in the middle of a storm, once: first so far that
// nothing more is taken on, then so far that the daemon stops, then to the last byte.
// Later there is room again, the daemon is started, and work goes on (S3).
type flood struct {
	storm *storm
	name  string // of the site
	stage int
	freed int // attempts of programs at the site when there was room again
}

// The stages, and after how many of a hundred kills they begin.
const (
	diskLow = 1 + iota
	diskFull
	diskFreed
)

var stages = []int{diskLow: 25, diskFull: 40, diskFreed: 60}

func (f *flood) site() *site { return f.storm.network.sites[f.name] }

// rise goes on to the next stage, if it is time.
func (f *flood) rise() {
	next := f.stage + 1
	if !f.site().disk.mounted() || next == len(stages) || f.storm.kills*100 < f.storm.killings*stages[next] {
		return
	}
	switch next {
	case diskLow:
		f.up()
		f.site().disk.fill(leaveLow)
		f.site().Says("room on the disk is low: nothing is started, run or accepted from links")
	case diskFull:
		f.up()
		f.fill()
	case diskFreed:
		f.free()
	}
	f.stage = next
}

// up brings the site back if it was killed.
func (f *flood) up() {
	if i := slices.Index(f.storm.down, f.site()); i >= 0 {
		f.storm.down = slices.Delete(f.storm.down, i, i+1)
		f.site().Start()
	}
	f.site().Answers()
}

// fill lets the daemon find its disk full, and look for room in vain when it is started.
func (f *flood) fill() {
	t, s := f.storm.t, f.site()
	s.disk.fill(leaveFull)
	if code := s.Ends(); code != 1 {
		t.Errorf("%s on a full disk ended with %d, want 1\n%s", s.Name, code, s.LastLog(15))
	}
	const why = "(limits.stop) must stay free: make room there, then start again; nothing is lost"
	if !strings.Contains(s.LastLog(15), why) {
		t.Errorf("%s does not say why it stopped\n%s", s.Name, s.LastLog(15))
	}
	s.disk.fill(0)
	_, talk, code := fleet.Run(t, "fmqmd", "run", "--config", s.File("fmqmd.yaml"))
	if code != 1 || !strings.Contains(talk, "make room there") {
		t.Errorf("%s started on a full disk ended with %d: %s", s.Name, code, talk)
	}
}

// free makes room and starts the daemon, if that is still to be done.
func (f *flood) free() {
	if f.stage == 0 || f.stage == diskFreed {
		return
	}
	f.site().disk.free()
	f.freed = f.storm.work.AttemptsAt(f.name)
	if !f.site().Up() && !slices.Contains(f.storm.down, f.site()) {
		f.site().Start()
	}
	f.stage = diskFreed
}

// refuses says whether a site refused to start an instance since its disk has no room.
func (f *flood) refuses(at *fleet.Site, err error) bool {
	return at.Name == f.name && api.CodeOf(err) == api.CodeRefused && strings.Contains(err.Error(), "the disk of "+f.name+" is low")
}

func (f *flood) String() string {
	if !f.site().disk.mounted() {
		return "no disk full"
	}
	return fmt.Sprintf("disk of %s full once", f.name)
}

// judge says that the disk was not full, or that nothing ran there when it had room again.
func (f *flood) judge() {
	t := f.storm.t
	if d := f.site().disk; !d.mounted() {
		t.Run("with a full disk", func(t *testing.T) {
			skip.Untested(t, "a full disk: no small file system could be mounted (%s): run as root", d.reason)
		})
		return
	}
	if f.stage != diskFreed {
		t.Errorf("the disk of %s was never full", f.name)
	}
	if f.storm.work.AttemptsAt(f.name) == f.freed {
		t.Errorf("no program ran at %s after its disk had room again", f.name)
	}
}
