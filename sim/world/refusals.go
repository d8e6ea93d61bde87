package world

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/definition"
	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/generate"
)

// What is refused changes nothing (invariant 12). In the weather that is seen by what no store may
// have: what nobody started or uploaded; and a command that is refused excuses nothing (client.commanded).
// At the end, when nothing happens by itself any more, all that is on any disk must stay as it is.

// wrong is something that must be refused.
type wrong struct {
	what string
	ask  func(context.Context, *node.Node) error
}

// wrongs is how many ways there are to ask for what is refused in whatever weather; strangers know
// some more.
const (
	wrongs   = 11
	knocking = 3
)

// wrong asks for what is refused: it must be, and change nothing.
func (w *World) wrong(e Event) {
	if e.Number >= wrongs {
		w.knock(e.Site, e.Number-wrongs)
		return
	}
	x := w.wrongs(w.clients[e.Instance], e.Site)[e.Number]
	if w.ask(e.Site, x.what, x.ask) == nil {
		w.breaks("12", "%s does what is wrong: %s", e.Site, x.what)
	}
}

// never is a process that nobody uploads but in an upload that is refused.
const never = "never"

// unknown is an instance that nobody starts, beside one that somebody does.
func unknown(id uuid.UUID) uuid.UUID {
	id[15] ^= 0xff
	return id
}

// wrongs are the ways, of which each names something that nobody has.
func (w *World) wrongs(c *client, at name) []wrong {
	id := unknown(c.instance.ID)
	one := w.tables(never, at, at)
	return []wrong{
		{"start of an unknown process", func(ctx context.Context, n *node.Node) error {
			return n.Begin(ctx, api.StartRequest{Instance: id, Process: "unknown@1"})
		}},
		{"start with an input that is none", func(ctx context.Context, n *node.Node) error {
			return n.Begin(ctx, api.StartRequest{Instance: id, Process: c.of.id, Input: json.RawMessage(`{"no such member": 1}`)})
		}},
		{"terminate of an unknown instance", func(ctx context.Context, n *node.Node) error { return n.Terminate(ctx, id, "") }},
		{"drop of no message", func(ctx context.Context, n *node.Node) error {
			_, err := n.DropRefused(ctx, 1<<40, api.DropRequest{})
			return err
		}},
		{"retry of no message", func(ctx context.Context, n *node.Node) error {
			_, err := n.RetryRefused(ctx, 1<<40)
			return err
		}},
		{"retry in an unknown instance", func(ctx context.Context, n *node.Node) error {
			_, err := n.Retry(ctx, id, api.RetryRequest{Activity: c.of.process.Activities[0].Name})
			return err
		}},
		{"links retry of no peer", func(ctx context.Context, n *node.Node) error {
			_, err := n.RetryLink(ctx, string(stranger))
			return err
		}},
		{"rebuild of no peer", func(ctx context.Context, n *node.Node) error {
			_, err := n.Rebuild(ctx, api.RebuildRequest{Peer: string(stranger), Do: true})
			return err
		}},
		{"upload of what is no table", uploading(api.Table{Node: string(at), Process: never + "@1", Table: []byte("no table")})},
		{"upload of a table and one for no site", uploading(append(w.tables(never, at, stranger), one...)...)},
		{"upload of two definitions of one process", uploading(append(w.tables(never, at, w.other(at)), one...)...)},
	}
}

// other is a site beside this one.
func (w *World) other(than name) name {
	return w.plan.Sites[(slices.Index(w.plan.Sites, than)+1)%len(w.plan.Sites)]
}

// tables are of a process that is started at a site, and done there and at another one.
func (w *World) tables(process string, at, there name) []api.Table {
	text := generate.Given(fmt.Sprintf("starts: [%s]\nactivities:\n  a: {node: %s, program: many}\n  b: {node: %s, program: many}\n", at, at, there)).Text(process)
	loaded, problems := definition.Load(process+".yaml", []byte(text))
	if len(loaded) != 1 {
		w.breaks("plan", "process %s: %v", process, problems)
		return nil
	}
	all, err := apitest.Tables(loaded[0])
	if err != nil {
		w.breaks("plan", "process %s: %v", process, err)
	}
	return all
}

// uploading is an upload that must be refused, here or in its answer.
func uploading(tables ...api.Table) func(context.Context, *node.Node) error {
	return func(ctx context.Context, n *node.Node) error {
		a, err := n.Upload(ctx, api.UploadRequest{Tables: tables})
		for _, l := range a.Nodes {
			if l.Result == api.ResultRefused {
				return api.Errorf(api.CodeRefused, "", "table of %s for %s: %s", l.Process, l.Node, l.Reason)
			}
		}
		return err
	}
}

// belated are the ways to ask for what is refused because all has ended.
func (w *World) belated(c *client, at name) []wrong {
	retries := func(what string, scope message.Scope, a *definition.Activity) wrong {
		return wrong{"retry of " + what, func(ctx context.Context, n *node.Node) error {
			word, err := n.Retry(ctx, c.instance.ID, api.RetryRequest{Scope: string(scope), Activity: a.Name})
			if word.Result == api.WordQueued { // its link has stopped just now
				err = errDown
			}
			return err
		}}
	}
	first, last := c.of.process.Activities[0], c.of.process.Activities[len(c.of.process.Activities)-1]
	all := []wrong{
		{"terminate of what has ended", func(ctx context.Context, n *node.Node) error { return n.Terminate(ctx, c.instance.ID, "") }},
		retries("what has ended", "", first),
		retries("what has ended", "", last),
		retries("what is not there", "nowhere#1", first),
		{"upload of another definition", uploading(append(w.tables(never, c.of.origin, c.of.origin), w.tables(strings.TrimSuffix(c.of.id, "@1"), c.of.origin, w.other(c.of.origin))...)...)},
	}
	if last.Block != nil {
		inside := c.of.places[last.Block.Activities[0].Name]
		all = append(all, retries("what has ended in a block", inside.Scope(1), inside.Activity))
	}
	for _, p := range w.cases {
		if p != c.of && at == c.of.origin { // another site does not know the instance as one that was started
			all = append(all, wrong{"start of a known instance in another process", func(ctx context.Context, n *node.Node) error {
				return n.Begin(ctx, api.StartRequest{Instance: c.instance.ID, Process: p.id, Input: json.RawMessage(p.drawn.Input)})
			}})
		}
	}
	return all
}

// refuses asks a site, when all has ended, for all that is refused: no disk may change, but for
// the lines of history that tell of an operator's word, and the numbers of the links that carry it.
func (w *World) refuses() {
	c, s := w.clients[w.random.IntN(len(w.clients))], w.sites[w.random.IntN(len(w.sites))]
	if c.void { // it is not known, so little that is asked of it is wrong
		c = w.clients[slices.IndexFunc(w.clients, func(c *client) bool { return !c.void })]
	}
	all := w.wrongs(c, s.name)
	if len(w.watch.lost) == 0 { // else a link may stop at any time until a peer has rebuilt who has lost its store
		all = append(all, w.belated(c, s.name)...)
		if !w.await("not all links are connected", w.unlinked) {
			return
		}
	}
	if !w.await("something is still put on disk", w.watch.rests(time.Minute)) {
		return
	}
	for _, x := range all {
		if !w.await("something is still put on disk", w.watch.rests(rest)) {
			return
		}
		w.watch.changes = changes{}
		err := w.ask(s.name, x.what, x.ask)
		w.sleep(rest)
		switch left := w.watch.changes.left(); {
		case err == nil:
			w.breaks("12", "%s does what is wrong: %s", s.name, x.what)
		case !isRefusal(err): // somebody was not heard
		case left != "":
			w.breaks("12", "%s has refused %s, and there is %s", s.name, x.what, left)
		default:
			w.journal.met("refused")
		}
		w.watch.changes = nil
	}
}

// unlinked says which site is not linked to which.
func (w *World) unlinked() string {
	for _, s := range w.sites {
		for _, l := range w.links(s.name) {
			if l.State != "connected" {
				return fmt.Sprintf("%s to %s: %s", s.name, l.Peer, l.State)
			}
		}
	}
	return ""
}

// rest is a time in which all that follows from a word is done, where nothing else is.
const rest = 5 * time.Second

// changes is what has become of keys since something was asked for.
type changes map[spot]*changed

type spot struct {
	site name
	key  string
}

type changed struct {
	isNew bool // it was not there before
	now   []byte
}

// note notes what a commit changes.
func (c changes) note(s *site, ops []store.Op) {
	for i := range ops {
		at := spot{s.name, string(ops[i].Key)}
		if c[at] == nil {
			c[at] = &changed{isNew: ops[i].Value != nil}
		}
		c[at].now = slices.Clone(ops[i].Value) // the disk needs it again
	}
}

// left says what of it has stayed that a refusal may not leave.
func (c changes) left() string {
	var left []string
	for at, x := range c {
		if key := []byte(at.key); (x.now != nil || !x.isNew) && !mayStay(key, x.now) {
			left = append(left, fmt.Sprintf("a change at %s of %s", at.site, record.Readable(key)))
		}
	}
	slices.Sort(left)
	return strings.Join(left, ", ")
}

// mayStay: an operator's word and its answer are told by history, and carried by links; and who was
// upgraded says what it reads now, once it is called again; tables of what is retired go when they may (N31). What an event queue has is kept for its time, and then
// set aside, whatever is asked meanwhile (N24).
func mayStay(key, value []byte) bool {
	if bytes.Contains(key, []byte(processtable.EventQueue.Name)) {
		return true
	}
	switch key[0] {
	case record.ClassLow, record.ClassAccepted:
		return true
	case record.ClassMeta:
		k := record.KeyReader{Rest: key[1:]}
		of := k.Name()
		return of == record.ReadsName || of == "final" || of == "tombstone" || value == nil && (of == "definition" || of == "pending")
	case record.ClassTable:
		return value == nil
	case record.ClassHistory:
		r, _, err := record.ReadAuditHead(key, value)
		return err == nil && (r.Event == record.EventAsked || r.Event == record.EventAnswered)
	}
	return false
}

// rests says what was put on disk within a time.
func (x *watch) rests(quiet time.Duration) func() string {
	return func() string {
		if ago := x.world.tasks.Elapsed() - x.last; ago < quiet {
			return fmt.Sprintf("the last commit was %v ago", ago)
		}
		return ""
	}
}

// wanted: what a record is of was started by somebody, or uploaded.
func (x *watch) wanted(s *site, op *store.Op) {
	k := record.KeyReader{Rest: op.Key[1:]}
	switch op.Key[0] {
	case record.ClassTable:
		x.isUploaded(s, k.Process())
	case record.ClassMessage, record.ClassRecord, record.ClassMarker:
		if p := k.Process(); p != processtable.EventQueue { // it is of no instance (N24)
			x.isUploaded(s, p)
			x.isStarted(s, k.Entry().Instance)
		}
	case record.ClassInstance, record.ClassEnd, record.ClassHistory, record.ClassRemoved:
		x.isStarted(s, uuid.UUID(k.Bytes(len(uuid.UUID{}))))
	}
}

func (x *watch) isUploaded(s *site, p processtable.ProcessID) {
	if !x.uploads[p] {
		x.world.breaks("12", "%s has something of %s on disk, which nobody has uploaded", s.name, p)
	}
}

func (x *watch) isStarted(s *site, id uuid.UUID) {
	if !x.starts[id] {
		x.world.breaks("12", "%s has something of %s on disk, which nobody starts", s.name, id)
	}
}
