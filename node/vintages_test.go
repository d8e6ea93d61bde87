package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/node/retention"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/program"
)

// vintages are sites of different versions with real links between them, on one event heap.
type vintages struct {
	*testing.T
	tasks   *task.World
	control *task.Site
	sites   map[string]*vintage
	asked   message.WordID // last
}

// vintage is one site: its disk outlives its daemon.
type vintage struct {
	name  string
	peers map[string]*vintage
	disk  *memory.Disk
	old   bool // of the version before

	retired *time.Duration   // how long a version is retired before its final word; nil: as ever
	audit   retention.Policy // of its history
	by      *task.Site       // of the daemon; nil: it is down
	node    *Node
	calls   []*wire
}

// N17: what a site of the version before cannot read waits apart for it, holds up nothing else,
// is told by the site where it waits, and goes when the old one is upgraded.
func TestSitesOfTwoVersions(t *testing.T) {
	datadriven.Walk(t, "testdata/vintages", func(t *testing.T, path string) {
		v := &vintages{T: t, tasks: task.NewWorld(1, dawn), sites: map[string]*vintage{}}
		v.control = v.tasks.NewSite(0)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			told := strings.Join(v.do(d), "\n") + "\n"
			return strings.ReplaceAll(told, strings.TrimSuffix(instanceOf(1).String(), "1"), "")
		})
		for _, s := range v.sites {
			s.down()
		}
		v.control.Kill()
	})
}

func (v *vintages) do(d *datadriven.TestData) (told []string) {
	words, named := wordsOf(d)
	switch d.Cmd {
	case "define": // SITE...: all are today's. The process is uploaded at the first, if there is one
		for _, name := range words {
			v.sites[name] = &vintage{name: name, peers: v.sites, disk: memory.NewDisk(name)}
		}
		for _, name := range words {
			v.up(v.sites[name])
		}
		v.pass(time.Second)
		if d.Input != "" {
			return v.upload(words[0], apitest.Upload(v, "process: p\nversion: 1\n"+d.Input))
		}
	case "upload": // counter=ACTIVITY: of another behaviour, which only today's sites know
		return v.upload(named["at"], v.counting(d.Input, named["counter"]))
	case "down":
		v.sites[words[0]].down()
	case "up": // SITE [before]: as it was, or of the version before
		s := v.sites[words[0]]
		s.old = slices.Contains(words, "before")
		s.down()
		v.up(s)
		v.pass(time.Minute)
	case "pass":
		wait, err := time.ParseDuration(words[0])
		if err != nil {
			v.Fatal(err)
		}
		v.pass(wait)
	default:
		return v.command(d.Cmd, words, named)
	}
	return []string{"ok"}
}

// command is what an operator asks at a site.
func (v *vintages) command(command string, words []string, named map[string]string) (told []string) {
	s := v.sites[named["at"]]
	v.does(s, func(ctx context.Context) {
		switch command {
		case "start":
			_, err := s.node.Start(ctx, api.StartRequest{Instance: v.instance(words[0]), Process: "p"})
			told = answered(err)
		case "retry":
			told = v.retry(api.WithOperator(ctx, "alice"), s.node, words, named)
		case "terminate":
			told = answered(s.node.Terminate(ctx, v.instance(words[0]), ""))
		case "status":
			told = statusOf(ctx, s.node, v.instance(words[0]))
		case "links":
			told = linksOf(ctx, s.node)
		default:
			told = []string{"the story has no word " + command}
		}
	})
	return told
}

func (v *vintages) retry(ctx context.Context, n *Node, words []string, named map[string]string) []string {
	r := api.RetryRequest{Activity: words[0]}
	if slices.Contains(words, "by-hand") {
		r.Output = []byte(`{}`)
	}
	if named["word"] == "last" {
		r.Word = v.asked
	}
	w, err := n.Retry(ctx, v.instance(words[1]), r)
	if err != nil || w.Result == api.WordDone {
		return answered(err)
	}
	v.asked = w.ID
	return []string{string(w.Result) + ": " + w.Reason}
}

func linksOf(ctx context.Context, n *Node) (told []string) {
	a, err := n.Links(ctx)
	if err != nil {
		return answered(err)
	}
	for _, l := range a.Links {
		told = append(told, strings.TrimSuffix(fmt.Sprintf("%s %s, %d wait, %d of them apart: %s", l.Peer, l.State, l.Waiting, l.Apart, l.Reason), ": "))
	}
	return told
}

// counting are the tables of a process, all of format 4, in which one activity is a counter.
func (v *vintages) counting(text, counter string) (r api.UploadRequest) {
	for _, t := range definitiontest.Compile(v, "process: p\nversion: 1\n"+text, definition.CompileOptions{}).Tables {
		if t.Format = 4; t.Activity(processtable.RowID{Name: processtable.ActivityID(counter)}) != nil {
			asCounter(t, processtable.ActivityID(counter), counterSpec(0, 100))
		}
		encoded, err := processtable.Encode(t)
		if err != nil {
			v.Fatal(err)
		}
		sum := sha256.Sum256(encoded)
		r.Tables = append(r.Tables, api.Table{
			Node: string(t.Node), Process: t.Process.String(), Definition: t.Definition.String(), Table: encoded, SHA256: hex.EncodeToString(sum[:]),
		})
	}
	return r
}

func (v *vintages) upload(at string, r api.UploadRequest) (told []string) {
	v.does(v.sites[at], func(ctx context.Context) {
		a, err := v.sites[at].node.Upload(ctx, r)
		if err != nil {
			told = answered(err)
		}
		for _, n := range a.Nodes {
			told = append(told, strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", n.Node, n.Result, n.Reason), ": "))
		}
		for _, w := range a.Warnings {
			if !strings.Contains(w, "is not registered") {
				told = append(told, "warning: "+w)
			}
		}
	})
	return told
}

func (v *vintages) instance(text string) message.InstanceID {
	return (&errands{T: v.T}).instance(text)
}

// up starts a site's daemon.
func (v *vintages) up(s *vintage) {
	s.by = v.tasks.NewSite(0)
	v.does(s, func(context.Context) {
		engine, err := s.disk.Open(memory.Options{By: s.by})
		if err != nil {
			v.Error(err)
			return
		}
		registry, err := program.NewRegistry(nil, program.Options{})
		if err != nil {
			v.Error(err)
			return
		}
		o := Options{
			Name: processtable.NodeID(s.name), Engine: engine, Registry: registry, Scheduler: s.by, Log: zerolog.Nop(),
			Random: rand.NewChaCha8([32]byte{s.name[0], byte(v.tasks.Elapsed() / time.Second)}), Remote: trust.Operators{{Site: "*"}},
			Peers: map[processtable.NodeID]Peer{}, Behaviours: counters, Limits: Limits{Retired: s.retired, Audit: s.audit},
		}
		if s.old {
			o.Formats, o.Behaviours = frame.Before(), nil
		}
		for name, other := range s.peers {
			var p Peer
			if s.name < name { // the other one is called
				p.Routes = []link.Route{{Name: link.RouteDirect, Address: name, Dialer: line{s, other}}}
			}
			if name != s.name {
				o.Peers[processtable.NodeID(name)] = p
			}
		}
		if s.node, err = Open(o); err != nil {
			v.Error(err)
			return
		}
		s.node.Launch()
	})
}

// down kills it.
func (s *vintage) down() {
	if s.by == nil {
		return
	}
	s.by.Kill()
	s.disk.Crash(false)
	for _, w := range s.calls {
		w.end()
		w.other.end()
	}
	s.by, s.node, s.calls = nil, nil, nil
}

// does has a site do something, while the world goes on.
func (v *vintages) does(s *vintage, f func(context.Context)) {
	v.Helper()
	over := false
	s.by.Go(func() {
		f(context.Background())
		over = true
	})
	v.until(&over)
}

func (v *vintages) pass(d time.Duration) {
	v.Helper()
	over := false
	v.control.AfterFunc(d, func() { over = true })
	v.until(&over)
}

func (v *vintages) until(over *bool) {
	v.Helper()
	for !*over && v.tasks.Step() {
	}
	if err := v.tasks.Failure(); err != nil || !*over {
		v.Fatal("the world stands still", err)
	}
}

// line is the way from one site to another. It is a link.Dialer.
type line struct{ from, to *vintage }

func (l line) Dial(context.Context) (link.Conn, error) {
	if l.to.node == nil {
		return nil, errors.New("no route to host")
	}
	here, there := newWire(l.from), newWire(l.to)
	here.other, there.other = there, here
	acceptor, by := l.to.node.Acceptor(), l.to.by
	by.Go(func() {
		ctx, cancel := by.WithCancel(context.Background())
		defer cancel()
		acceptor.Accept(ctx, there)
	})
	return here, nil
}

// wire is one end of a connection, which carries frames at once. It is a link.Conn.
type wire struct {
	by    task.Scheduler
	in    *task.Queue[[]byte]
	gone  *task.Gate
	other *wire
}

func newWire(s *vintage) *wire {
	w := &wire{by: s.by, in: task.NewQueue[[]byte](s.by, 0), gone: s.by.Gate()}
	s.calls = append(s.calls, w)
	return w
}

func (w *wire) Send(frame []byte) error {
	if w.gone.IsOpen() {
		return net.ErrClosed
	}
	w.other.in.TryPut(slices.Clone(frame))
	return nil
}

func (w *wire) Recv() ([]byte, error) {
	for {
		if frame, ok := w.in.TryTake(); ok {
			return frame, nil
		}
		if w.gone.IsOpen() {
			return nil, io.EOF
		}
		if _, err := w.by.Wait(context.Background(), w.in.Filled(), w.gone); err != nil {
			return nil, err
		}
	}
}

func (w *wire) Close() error {
	w.end()
	w.other.end()
	return nil
}

func (w *wire) end() {
	if !w.gone.IsOpen() {
		w.gone.Open()
	}
}
