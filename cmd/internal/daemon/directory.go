package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/identity"
	"fmqm/internal/secret"
	"fmqm/internal/text"
	"fmqm/node/config"
	"fmqm/staff"
	"fmqm/staff/file"
	"fmqm/staff/ldap"
)

// directory keeps a node's staff as a directory has it: it asks again and again, and where there
// is no good answer the last one goes on, also over a restart: it is kept in a file.
type directory struct {
	settings ldap.Settings
	site     staff.Site
	path     string // where the last good answer is kept
	takeUp   func(*staff.Staff)
	log      zerolog.Logger
	told     *told

	again  chan struct{} // to read at once
	first  chan struct{} // closed after the first reading
	cancel context.CancelFunc
	ended  chan struct{}

	kept []byte // the last good answer, as it is in the file, without its heading; of the task that reads

	mu      sync.Mutex
	heard   time.Time // when a good answer came last; zero: never
	trouble string    // why there is none now; empty: there is

	others bool // until it first answers the staff of before a reload goes on
}

// againAfter is how long after a reading that failed there is another, where Every is longer.
const againAfter = time.Minute

// Kept gives the staff that a directory said last, as the daemon has kept it, with what the
// configuration's file adds, and when that was. The error is fs.ErrNotExist where nothing was kept.
func Kept(c *config.Config) (*staff.Staff, time.Time, error) {
	k, err := readKept(c.StaffKept())
	if err != nil {
		return nil, time.Time{}, err
	}
	s, _, err := c.Staff.LDAP.Extra.With(k.draft, site(c))
	return s, k.heard, err
}

// kept is what a directory said last.
type kept struct {
	content []byte // the file, without its heading
	draft   staff.Draft
	heard   time.Time
}

func readKept(path string) (kept, error) {
	info, err := os.Stat(path)
	if err != nil {
		return kept{}, err
	}
	content, err := secret.ReadFile(path, file.MaxSize)
	if err != nil {
		return kept{}, err
	}
	for bytes.HasPrefix(content, []byte("#")) {
		_, content, _ = bytes.Cut(content, []byte("\n"))
	}
	d, err := file.ParseDraft(path, content)
	return kept{content, d, info.ModTime()}, err
}

func site(c *config.Config) staff.Site { return staff.Site{Node: c.Node, Zone: time.Local} }

// openDirectory prepares the directory of a configuration, and gives the staff that is in force
// until it answers: what it said last, or nobody. The directory is nil where the configuration has none.
// An error is that the file beside it does not fit with what it said last.
func (d *Daemon) openDirectory(c *config.Config) (*directory, *staff.Staff, error) {
	if c.Staff == nil || c.Staff.LDAP == nil {
		_ = os.Remove(c.StaffKept()) // somebody else says who works here: what is old is not to come back
		return nil, people(c), nil
	}
	out := &directory{
		settings: *c.Staff.LDAP, site: site(c), path: c.StaffKept(), takeUp: d.takeUpStaff, log: d.log, told: newTold(),
		again: make(chan struct{}, 1), first: make(chan struct{}), ended: make(chan struct{}),
	}
	k, err := readKept(out.path)
	var s *staff.Staff
	if err == nil {
		s, _, err = out.settings.Extra.With(k.draft, out.site)
	}
	switch {
	case err == nil:
		out.kept, out.heard = k.content, k.heard
		return out, s, nil
	case errors.As(err, new(ldap.Problems)):
		return nil, nil, fmt.Errorf("staff: %w", err)
	case !errors.Is(err, fs.ErrNotExist):
		out.log.Warn().Err(err).Msg("the staff that the directory said last cannot be taken up: nobody works here until it answers")
	}
	nobody, _ := staff.Draft{}.Check(out.site)
	return out, nobody, nil
}

// takeUpStaff lets a staff that was read again say who works here.
func (d *Daemon) takeUpStaff(s *staff.Staff) {
	d.Node.SetStaff(s)
	c := d.config.Load()
	d.askers.keep(func(name identity.Name) bool { return d.mayAsk(c, name) })
}

// begin begins to ask, and waits for the first answer where nobody works here without it.
func (o *directory) begin() {
	nobody := o.kept == nil // the task that reads has it from the start on
	if o.start(); nobody {
		o.await()
	}
}

// start begins to ask.
func (o *directory) start() {
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	go o.run(ctx)
}

// await waits for the first answer, no longer than one answer may take: all else of the node does
// not need it.
func (o *directory) await() {
	limit := time.NewTimer(o.settings.Timeout)
	defer limit.Stop()
	select {
	case <-o.first:
	case <-limit.C:
	}
}

// stop ends it; afterwards it takes up nothing. A nil one has ended.
func (o *directory) stop() {
	if o != nil {
		o.cancel()
		<-o.ended
	}
}

// wake has it ask at once. Whoever asked for that is told what comes of it, also if it is nothing new.
func (o *directory) wake() {
	o.told.forget("directory")
	o.told.forget("left out")
	select {
	case o.again <- struct{}{}:
	default: // it will already
	}
}

func (o *directory) run(ctx context.Context) {
	defer close(o.ended)
	for first := true; ; first = false {
		wait := o.settings.Every
		if !o.read(ctx) {
			wait = min(wait, againAfter)
		}
		if first {
			close(o.first)
		}
		next := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-o.again:
			next.Stop()
		case <-next.C:
		}
	}
}

// read asks once, and says whether there was a good answer.
func (o *directory) read(ctx context.Context) bool {
	a, err := ldap.Read(ctx, o.settings, o.site)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		o.failed(err)
		return false
	}
	o.answered(a)
	return true
}

func (o *directory) failed(err error) {
	o.mu.Lock()
	heard := o.heard
	o.trouble = text.Line(firstOf(err))
	reason := o.trouble
	o.mu.Unlock()
	if !o.told.news("directory", reason) {
		return
	}
	line := o.log.Warn().Str("error", firstOf(err))
	if !heard.IsZero() {
		line = line.Time("since", heard)
	}
	line.Msg("the directory gives no staff: " + o.meanwhile(heard))
}

// meanwhile says who works here while it does not answer, given when it last has.
func (o *directory) meanwhile(heard time.Time) string {
	switch {
	case !heard.IsZero():
		return "what it said last goes on"
	case o.others:
		return "the staff of before goes on until it answers"
	}
	return "nobody works here until it answers"
}

// firstOf is an error, of which only the first few lines are for a log.
func firstOf(err error) string {
	const most = 5
	lines := strings.Split(err.Error(), "\n")
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("… and %d more: fmqmd staff check shows them", len(lines)-most))
	}
	return strings.Join(lines, "; ")
}

func (o *directory) answered(a *ldap.Answer) {
	if a.LeftOut > 0 && o.told.news("left out", fmt.Sprint(a.LeftOut, a.Left[0])) {
		o.log.Warn().Int("left_out", a.LeftOut).Str("first", a.Left[0].String()).Msg("not all that the directory says can be taken up: fmqmd staff check shows what is left out")
	}
	now := time.Now()
	content := file.Format(a.Draft)
	if !bytes.Equal(content, o.kept) {
		o.takeUp(a.Staff)
	}
	if err := o.keep(content, now); err != nil {
		if o.told.news("kept", err.Error()) {
			o.log.Warn().Err(err).Msg("what the directory says cannot be kept for a restart")
		}
	}
	o.kept = content
	o.mu.Lock()
	back, again := o.trouble != "", ""
	if !o.heard.IsZero() {
		again = " again"
	}
	o.heard, o.trouble = now, ""
	o.mu.Unlock()
	if back {
		o.told.forget("directory")
		o.log.Info().Msg("the directory gives a staff" + again)
	}
}

// keep keeps an answer: after a crash the file is there whole, or as it was. Its time is when the
// answer came.
func (o *directory) keep(content []byte, now time.Time) error {
	if bytes.Equal(content, o.kept) && os.Chtimes(o.path, now, now) == nil {
		return nil
	}
	dir := filepath.Dir(o.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".ldap.yaml.*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	heading := fmt.Sprintf("# What %s said at %s. fmqmd writes this file, and reads it while the directory does not answer.\n", text.Line(o.settings.URL), now.UTC().Format(time.RFC3339))
	_, err = f.Write(append([]byte(heading), content...))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), o.path)
}

// state says when a good answer came last, and why there is none now.
func (o *directory) state() (heard time.Time, trouble string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.heard, o.trouble
}

// health adds what is to be known of it; a nil one is none.
func (o *directory) health(h *api.Health) {
	if o == nil {
		return
	}
	heard, trouble := o.state()
	switch {
	case trouble == "":
		h.Add("staff", api.HealthOK, "")
	case heard.IsZero():
		h.Add("staff", api.HealthDegraded, trouble+"; "+o.meanwhile(heard))
	default:
		h.Add("staff", api.HealthDegraded, trouble+"; the staff is as it was at "+heard.UTC().Format(time.RFC3339))
	}
}

// checkExtra says what is wrong with what a file adds to the directory's people, as they were
// last: then a reload changes nothing.
func (d *Daemon) checkExtra(c *config.Config) error {
	if d.directory.Load() == nil || c.Staff == nil || c.Staff.LDAP == nil {
		return nil
	}
	if _, _, err := Kept(c); errors.As(err, new(ldap.Problems)) {
		return err
	}
	return nil
}

// reloadStaff takes up where the staff is from, of a configuration that was read again. A
// directory is asked in the background: until it answers what there is goes on, but for what
// the file beside it says now.
func (d *Daemon) reloadStaff(c *config.Config) {
	now := d.directory.Load()
	has := c.Staff != nil && c.Staff.LDAP != nil
	if has && now != nil && reflect.DeepEqual(*c.Staff.LDAP, now.settings) {
		now.wake()
		return
	}
	same := false // but for the file
	if has && now != nil {
		before := now.settings
		before.Extra = c.Staff.LDAP.Extra
		same = reflect.DeepEqual(*c.Staff.LDAP, before)
	}
	fresh, s, err := d.openDirectory(c)
	if err != nil { // checkExtra has seen that there is none: the directory has answered since
		now.wake()
		return
	}
	now.stop()
	d.directory.Store(fresh)
	if fresh == nil || same && fresh.kept != nil {
		d.Node.SetStaff(s)
	} else {
		fresh.kept, fresh.others = nil, true // it is of another directory, perhaps: whatever this one says is taken up
	}
	if fresh != nil {
		fresh.start()
	}
}
