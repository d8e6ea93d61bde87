package schedules

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// TestScenarios tells the stories in testdata: a node whose store, clock and life the story has in its
// hands. What is started is shown as it is started.
//
//	begin TIME                the node's first start
//	upload                    the definition below is stored at the node
//	pass DURATION             time passes
//	clock DURATION            the clock is set, ahead by so much; -2h: behind
//	kill [for=DURATION]       the daemon dies, and is started again after that
//	dies at=start|record      the next start, or record, is the last thing that happens: then pass, and kill
//	held | free               the node takes on no work, or does again
//	refuse TEXT               each start is refused; without TEXT not any more
//	end                       what was started last ends
//	off | on                  the node's configuration says so
//	say WORD PROCESS          an operator speaks
//	list                      what is due when
//	store                     what is on disk
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &stage{t: t, tables: map[processtable.ProcessID]*processtable.Table{}, stored: map[string]record.Schedule{}, standing: map[message.InstanceID]bool{}}
		datadriven.RunTest(t, path, s.run)
	})
}

// stage is where a story happens: the site of a node, and its store.
type stage struct {
	t      *testing.T
	world  *task.World
	site   *task.Site
	offset time.Duration
	runs   *Schedules
	out    strings.Builder

	tables   map[processtable.ProcessID]*processtable.Table
	stored   map[string]record.Schedule
	standing map[message.InstanceID]bool // true: it has ended
	last     message.InstanceID
	held     bool
	refusal  string
	dies     string
	keys     string // of all that was started, a line each
}

func (s *stage) run(t *testing.T, d *datadriven.TestData) string {
	s.t = t
	s.out.Reset()
	s.command(d)
	if s.out.Len() == 0 {
		return "ok"
	}
	return s.out.String()
}

func (s *stage) command(d *datadriven.TestData) {
	arg := func() string {
		if len(d.CmdArgs) == 0 {
			return ""
		}
		return d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "begin":
		begun, err := time.Parse(time.RFC3339, arg())
		if err != nil {
			d.Fatalf(s.t, "%v", err)
		}
		s.begin(begun)
	case "upload":
		s.upload(d.Input)
	case "pass":
		s.pass(s.duration(d, arg()))
	case "clock":
		s.offset = s.duration(d, arg())
		s.site.SetClock(s.offset)
	case "kill":
		s.site.Kill()
		if len(d.CmdArgs) > 0 {
			s.pass(s.duration(d, d.CmdArgs[0].Vals[0]))
		}
		s.dies = ""
		s.start()
	case "dies":
		s.dies = d.CmdArgs[0].Vals[0]
	case "held", "free":
		s.held = d.Cmd == "held"
	case "refuse":
		s.refusal = strings.Join(words(d), " ")
	case "end":
		s.standing[s.last] = true
	case "off", "on":
		s.runs.Set(d.Cmd == "off")
		s.settle()
	case "say":
		s.say(api.ScheduleWord(arg()), d.CmdArgs[1].Key)
	case "list":
		s.list()
	case "store":
		for _, name := range slices.Sorted(maps.Keys(s.stored)) {
			e := s.stored[name]
			fmt.Fprintf(&s.out, "%s until %s, last %s, missed %d %s\n", name, clock(e.Until), clock(e.Due), e.Missed, e.Reason)
		}
	default:
		d.Fatalf(s.t, "unknown command")
	}
}

func words(d *datadriven.TestData) (all []string) {
	for _, a := range d.CmdArgs {
		all = append(all, a.Key)
	}
	return all
}

func (s *stage) duration(d *datadriven.TestData, text string) time.Duration {
	v, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	return v
}

func (s *stage) begin(at time.Time) {
	s.world = task.NewWorld(1, at)
	s.start()
}

// start starts the node's daemon.
func (s *stage) start() {
	s.site = s.world.NewSite(s.offset)
	var err error
	s.runs, err = New(Options{Self: "office", Site: s, Queue: s, Scheduler: s.site, Log: zerolog.Nop()})
	if err != nil {
		s.t.Fatal(err)
	}
	runs := s.runs
	s.site.Go(func() {
		if err := runs.Run(context.Background()); err != nil {
			s.t.Error(err)
		}
	})
	s.settle()
}

// settle lets what can happen now happen.
func (s *stage) settle() { s.pass(0) }

// pass lets time pass.
func (s *stage) pass(d time.Duration) {
	over := false
	s.world.NewSite(0).AfterFunc(d, func() { over = true })
	for !over && s.world.Step() {
	}
	if err := s.world.Failure(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) upload(text string) {
	processes, diagnostics := definition.Load("story.yaml", []byte(text))
	if len(processes) != 1 || definition.HasErrors(diagnostics) {
		s.t.Fatal(diagnostics)
	}
	compiled, err := definition.Compile(processes[0])
	if err != nil {
		s.t.Fatal(err)
	}
	for _, t := range compiled.Tables {
		if t.Node == "office" {
			s.tables[t.Process] = t
		}
	}
	s.runs.Changed()
	s.settle()
}

func (s *stage) say(w api.ScheduleWord, process string) {
	s.site.Go(func() {
		_, err := s.runs.Say(context.Background(), process, w, "ann at office")
		if err != nil {
			fmt.Fprintln(&s.out, err)
		}
	})
	s.settle()
}

func (s *stage) list() {
	s.site.Go(func() {
		a, err := s.runs.List(context.Background())
		if err != nil {
			s.t.Error(err)
		}
		for _, e := range a.Schedules {
			fmt.Fprintf(&s.out, "%s %s%s %s: %s %s, next %s, last %s, missed %d %s\n",
				e.Process, e.Cron, e.Every, e.Zone, e.State, e.By, clock(e.Next), clock(e.Last), e.Missed, e.Reason)
		}
	})
	s.settle()
}

func clock(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Format("Mon 02 15:04:05")
}

// What follows is the node, as its schedules see it.

func (s *stage) Schedules() (map[string]record.Schedule, error) { return maps.Clone(s.stored), nil }

func (s *stage) Tables() []*processtable.Table {
	return slices.SortedFunc(maps.Values(s.tables), func(a, b *processtable.Table) int { return a.Process.Compare(b.Process) })
}

func (s *stage) Held(*processtable.Table) error {
	if s.held {
		return api.Errorf(api.CodeRefused, "make room", "the disk is low")
	}
	return nil
}

func (s *stage) Standing(i message.InstanceID) (started, ended bool, err error) {
	ended, started = s.standing[i]
	return started, ended, nil
}

// Begin refuses what was started before with another input, as a node does (N2).
func (s *stage) Begin(_ context.Context, r api.StartRequest) error {
	switch {
	case s.refusal != "":
		return api.Errorf(api.CodeRefused, "start it otherwise", "%s", s.refusal)
	case s.dies == "dead":
		return queue.ErrStopped
	}
	if _, started := s.standing[r.Instance]; started {
		s.t.Errorf("%s is started twice", r.Key)
	}
	s.standing[r.Instance], s.last = false, r.Instance
	s.keys += r.Key + "\n"
	fmt.Fprintf(&s.out, "%s starts %s: %s %s\n", clock(s.site.Now()), r.Process, r.Key, r.Input)
	if s.dies == "start" {
		s.dies = "dead"
		return queue.ErrStopped
	}
	return nil
}

func (s *stage) Commit(_ context.Context, tx *record.Tx) error {
	if s.dies == "dead" {
		return queue.ErrStopped
	}
	key, value := record.ScheduleRecord(tx.Schedule)
	read, err := record.ReadSchedule(key, value)
	if err != nil {
		return err
	}
	s.stored[read.Process] = read
	if s.dies == "record" {
		s.dies = "dead"
		return queue.ErrStopped
	}
	return nil
}
