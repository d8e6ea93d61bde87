package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"fmqm/link/frame"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// TestScenarios tells the stories in testdata/scenarios line by line. Two cores, A and B,
// have a store each, which does what it is asked when the story says so, and gives its
// answer then, later, or twice. What each core wants is shown as it wants it.
//
// The commands (`go test ./link/core -run TestScenarios -rewrite` writes what follows them anew):
//
//	sites [items=N] [ways]    both sites start; each has sent the other N items, if any
//	                          with ways it is shown how transports stand
//	restart A                 a site's daemon starts again, on its store
//	loses A store=N           and its store is a new, empty one
//	connect [via=N] [shared]  A dials B; or both a broker; with only=B B alone does
//	cut [via=N]               that connection is lost
//	put A n=N [lane=N]        items for the peer are stored
//	deliver [to=B] [over=N]   frames arrive, and what follows from them; with n=N so many do
//	overtake [to=B] [over=N]  the last frame passes data that waits to leave
//	lose [to=B] [over=N]      frames under way are lost
//	hear A node=C             A hears from another site than it called
//	version A before|current  what A's program reads, from its next start on
//	hold A read|load|trim...  reads and loads wait as well, and what is let go is not gone yet
//	trims A                   what was let go is gone
//	do A N [fail=text] [mute] the store does what token N asks; with mute it does not answer yet
//	answer A N                and gives the answer that it has not given
//	again A N                 gives an answer that it has given before
//	pause A N [why=text]      what token N brought waits for room
//	stray A kind              an answer to nothing that was ever asked
//	reload A                  the peer is dialed otherwise from now on
//	decide A id=N [store=N]   an operator speaks
//	leave A via=N             a connection is not wanted any more
//	hinder A via=N [why=text] what is sent on it goes nowhere
//	query A N kind            A's node asks; reply B N answers it
//	tick [n=N]                time passes
//	rest                      everything is done and delivered until nothing is left, in silence
//	show                      how both stand
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := &stage{t: t}
		datadriven.RunTest(t, path, s.run)
	})
}

// stage is where a story happens.
type stage struct {
	t      *testing.T
	sites  [2]*actor
	wire   []onWire
	lives  uint64 // of daemons
	silent bool
	out    strings.Builder
}

type onWire struct {
	to    *actor
	via   Via
	frame *frame.Frame
}

// actor is a site: a store, and a core that asks it.
type actor struct {
	site
	asked  map[Token]Effect
	given  map[Token]Event
	held   map[Token]Event // what the store did without an answer
	holds  map[string]bool
	trims  []Trim            // that are not on disk yet
	askers map[uint64]uint64 // of queries that it was asked: the sessions
	reads  bool              // the story tells what the peer reads
	ways   bool              // the story tells how transports stand
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

func (s *stage) say(format string, args ...any) {
	if !s.silent {
		fmt.Fprintf(&s.out, format+"\n", args...)
	}
}

func (s *stage) at(d *datadriven.TestData) *actor {
	for _, a := range s.sites {
		if len(d.CmdArgs) > 0 && d.CmdArgs[0].Key == string(a.name) {
			return a
		}
	}
	d.Fatalf(s.t, "which site?")
	return nil
}

func (s *stage) token(d *datadriven.TestData) Token {
	var n uint64
	if len(d.CmdArgs) < 2 {
		d.Fatalf(s.t, "which token?")
	}
	if _, err := fmt.Sscan(d.CmdArgs[1].Key, &n); err != nil {
		d.Fatalf(s.t, "token: %v", err)
	}
	return Token(n)
}

func number(t *testing.T, d *datadriven.TestData, name string, otherwise int) int {
	d.MaybeScanArgs(t, name, &otherwise)
	return otherwise
}

func (s *stage) command(d *datadriven.TestData) {
	via := Via(number(s.t, d, "via", 1))
	switch d.Cmd {
	case "sites":
		s.begin(number(s.t, d, "items", 0))
		s.sites[0].ways, s.sites[1].ways = d.HasArg("ways"), d.HasArg("ways")
	case "restart":
		s.start(s.at(d))
	case "loses":
		a := s.at(d)
		a.loses(byte(number(s.t, d, "store", 0)))
		s.start(a)
	case "connect":
		if d.HasArg("shared") {
			for _, a := range []*actor{s.sites[1], s.sites[0]} {
				only := string(a.name)
				if d.MaybeScanArgs(s.t, "only", &only); only == string(a.name) {
					s.step(a, Connected{Via: via, Dialed: true, Rank: 1, Shared: true})
				}
			}
			return
		}
		s.step(s.sites[1], Connected{Via: via})
		s.step(s.sites[0], Connected{Via: via, Dialed: true})
	case "cut":
		s.wire = slices.DeleteFunc(s.wire, func(f onWire) bool { return f.via == via })
		for _, a := range s.sites {
			s.step(a, Disconnected{Via: via})
		}
	case "put":
		a := s.at(d)
		for range number(s.t, d, "n", 1) {
			lane := number(s.t, d, "lane", 0)
			a.put(lane, fmt.Sprintf("%s %d", a.name, len(a.items[lane])+1))
		}
		s.step(a, Woken{Last: a.lasts()})
	case "deliver":
		s.deliver(d)
	case "overtake":
		s.overtake(d)
	case "lose":
		s.wire = slices.DeleteFunc(s.wire, func(f onWire) bool { return s.wanted(d, f) })
	case "hear":
		s.hear(d)
	case "version":
		s.sites[0].reads, s.sites[1].reads = true, true
		if a := s.at(d); d.HasArg("before") {
			a.formats = frame.Before()
		} else {
			a.formats = frame.Current()
		}
	case "tick":
		for range number(s.t, d, "n", 1) {
			for _, a := range s.sites {
				s.step(a, Tick{})
			}
		}
	case "rest":
		s.rest()
	case "show":
		s.show()
	default:
		s.storeCommand(d)
	}
}

// storeCommand is one about what a site's store or operator does.
func (s *stage) storeCommand(d *datadriven.TestData) {
	a := s.at(d)
	switch d.Cmd {
	case "hold":
		for _, kind := range d.CmdArgs[1:] {
			a.holds[kind.Key] = true
		}
	case "trims":
		for _, t := range a.trims {
			a.trim[t.Lane] = t.Number
		}
		a.trims = nil
	case "do":
		var fail string
		d.MaybeScanArgs(s.t, "fail", &fail)
		token := s.token(d)
		answer := s.do(a, token, fail)
		if d.HasArg("mute") {
			a.held[token] = answer
			return
		}
		s.give(a, token, answer)
	case "answer":
		token := s.token(d)
		s.give(a, token, a.held[token])
		delete(a.held, token)
	case "again":
		token := s.token(d)
		s.give(a, token, a.given[token])
	case "pause":
		var why string
		d.MaybeScanArgs(s.t, "why", &why)
		s.step(a, Paused{Token: s.token(d), Reason: strings.ReplaceAll(why, "_", " ")})
	case "leave":
		s.step(a, Leaving{Via: Via(number(s.t, d, "via", 1))})
	case "hinder":
		var why string
		d.MaybeScanArgs(s.t, "why", &why)
		s.step(a, Hindered{Via: Via(number(s.t, d, "via", 1)), Reason: strings.ReplaceAll(why, "_", " ")})
	case "query":
		s.step(a, Carry{Frame: &frame.Frame{Type: frame.TypeQuery, Query: &frame.Query{ID: uint64(s.token(d)), Kind: d.CmdArgs[2].Key}}})
	case "reply":
		id := uint64(s.token(d))
		s.step(a, Carry{To: a.askers[id], Frame: &frame.Frame{Type: frame.TypeReply, Reply: &frame.Reply{ID: id}}})
	case "stray":
		s.stray(a, d)
	case "reload":
		s.step(a, Rerouted{})
	case "decide":
		e := Decide{ID: DecisionID(number(s.t, d, "id", 1))}
		e.NewStore[0] = byte(number(s.t, d, "store", 0))
		s.step(a, e)
	default:
		d.Fatalf(s.t, "unknown command")
	}
}

// begin makes the two sites; with items they have met.
func (s *stage) begin(items int) {
	for i, name := range []processtable.NodeID{"A", "B"} {
		s.sites[i] = &actor{site: site{index: i, name: name, incarnation: record.Incarnation{byte(i + 1)}}, holds: map[string]bool{}, askers: map[uint64]uint64{}}
		s.start(s.sites[i])
	}
	if items == 0 {
		return
	}
	s.silent = true
	defer func() { s.silent = false }()
	s.step(s.sites[1], Connected{Via: 1})
	s.step(s.sites[0], Connected{Via: 1, Dialed: true})
	for _, a := range s.sites {
		for n := range items {
			a.put(0, fmt.Sprintf("%s %d", a.name, n+1))
		}
		s.step(a, Woken{Last: a.lasts()})
	}
	s.rest()
	for _, a := range s.sites {
		a.low = a.trim
	}
}

func (s *stage) start(a *actor) {
	s.lives++
	a.core = New(Config{Self: a.name, Peer: s.other(a).name, Incarnation: a.incarnation, Session: s.lives, Stored: a.stored(), Formats: a.formats})
	a.asked, a.given, a.held, a.trim = map[Token]Effect{}, map[Token]Event{}, map[Token]Event{}, a.low
}

func (s *stage) other(a *actor) *actor {
	if s.sites[0].name == a.name && s.sites[1] != nil {
		return s.sites[1]
	}
	if a.name == "A" {
		return &actor{site: site{name: "B"}}
	}
	return s.sites[0]
}

// hear has a site hear a hello of another one than it called.
func (s *stage) hear(d *datadriven.TestData) {
	a, node := s.at(d), ""
	d.ScanArgs(s.t, "node", &node)
	via := Via(number(s.t, d, "via", 1))
	s.step(a, Received{Via: via, Frame: &frame.Frame{
		Version: 1, Type: frame.TypeHello, From: 4711, To: a.core.cfg.Session, Seq: 1, Challenge: 1,
		Hello: &frame.Hello{Node: processtable.NodeID(node), Expected: a.name, MinVersion: 1, MaxVersion: 2},
	}})
}

func (s *stage) wanted(d *datadriven.TestData, f onWire) bool {
	to, over := string(f.to.name), int(f.via)
	d.MaybeScanArgs(s.t, "to", &to)
	d.MaybeScanArgs(s.t, "over", &over)
	return to == string(f.to.name) && Via(over) == f.via
}

// deliver carries frames to one site, or to both, and what is sent because of them.
func (s *stage) deliver(d *datadriven.TestData) {
	few := number(s.t, d, "n", 1000)
	for n := range 1000 {
		if n == few {
			return
		}
		i := slices.IndexFunc(s.wire, func(f onWire) bool { return s.wanted(d, f) })
		if i < 0 {
			return
		}
		s.carry(i)
	}
	s.t.Fatal("the sites talk without end")
}

// overtake puts the last frame before the others of its way, as a pipe does with what is no bulk.
func (s *stage) overtake(d *datadriven.TestData) {
	first := slices.IndexFunc(s.wire, func(f onWire) bool { return s.wanted(d, f) })
	last := len(s.wire) - 1
	if first < 0 || !s.wanted(d, s.wire[last]) {
		d.Fatalf(s.t, "nothing is overtaken")
	}
	f, passed := s.wire[last], s.wire[first].frame.Data
	s.wire = slices.Insert(s.wire[:last], first, f)
	s.step(s.other(f.to), Overtook{Question: f.frame.Challenge, Lane: passed.Lane, From: passed.First})
}

func (s *stage) carry(i int) {
	f := s.wire[i]
	s.wire = slices.Delete(s.wire, i, i+1)
	data, err := frame.Encode(f.frame)
	if err != nil {
		s.t.Fatal(err)
	}
	got, err := frame.Decode(data)
	if err != nil {
		s.t.Fatal(err)
	}
	s.say("%s hears over %d: %s", f.to.name, f.via, describe(&got))
	s.step(f.to, Received{Via: f.via, Frame: &got})
}

// rest does everything that is asked and carries everything that is sent.
func (s *stage) rest() {
	was := s.silent
	s.silent = true
	defer func() { s.silent = was }()
	for range 20 {
		for n := 0; ; n++ {
			if n > 10_000 {
				s.t.Fatal("the sites talk without end")
			}
			moved := len(s.wire) > 0
			if moved {
				s.carry(0)
			}
			for _, a := range s.sites {
				if tokens := a.tokens(); len(tokens) > 0 {
					s.give(a, tokens[0], s.do(a, tokens[0], ""))
					moved = true
				}
			}
			if !moved {
				break
			}
		}
		for _, a := range s.sites {
			s.step(a, Tick{})
		}
	}
}

func (a *actor) tokens() (all []Token) {
	for t := range a.asked {
		all = append(all, t)
	}
	slices.Sort(all)
	return all
}

// do has a store do what it was asked under a token, and gives its answer.
func (s *stage) do(a *actor, token Token, fail string) Event {
	asked, ok := a.asked[token]
	if !ok {
		return nil
	}
	delete(a.asked, token)
	var err error
	if fail != "" {
		err = errors.New(strings.ReplaceAll(fail, "_", " "))
	}
	switch e := asked.(type) {
	case Read:
		items := a.read(e)
		if err != nil {
			items.Items, items.Err = nil, err
		}
		return items
	case Accept:
		if err == nil {
			a.store(s.t, e)
		}
		return Accepted{Token: token, Lane: e.Lane, At: a.accepted[e.Lane], Err: err}
	case Bind:
		if err == nil {
			a.known = e.Incarnation
		}
		return Bound{Token: token, Err: err}
	case Begin:
		if err == nil {
			a.begin(e)
		}
		return Begun{Token: token, Err: err}
	case Rebind:
		if err == nil {
			a.rebind(e)
		}
		return Rebound{Token: token, Err: err}
	case Load:
		return Loaded{Token: token, Now: a.stored(), Err: err}
	}
	s.t.Fatalf("site %s asked #%d: %T", a.name, token, asked)
	return nil
}

func (s *stage) give(a *actor, token Token, answer Event) {
	if answer == nil {
		s.say("%s has no answer to #%d; under way are %v", a.name, token, a.tokens())
		return
	}
	a.given[token] = answer
	s.step(a, answer)
}

// stray gives an answer to a question that was never asked.
func (s *stage) stray(a *actor, d *datadriven.TestData) {
	const never Token = 4711
	answers := map[string]Event{
		"items":    Items{Token: never, From: 1, Err: errors.New("stray")},
		"accepted": Accepted{Token: never, At: record.Position{Number: 99}},
		"bound":    Bound{Token: never},
		"begun":    Begun{Token: never},
		"rebound":  Rebound{Token: never},
		"loaded":   Loaded{Token: never},
	}
	answer := answers[d.CmdArgs[1].Key]
	if answer == nil {
		d.Fatalf(s.t, "unknown answer")
	}
	s.step(a, answer)
}

// step gives a core an event, and shows what it wants.
func (s *stage) step(a *actor, e Event) {
	for backlog := []Event{e}; len(backlog) > 0; backlog = backlog[1:] {
		for _, effect := range a.core.Step(backlog[0]) {
			if text := a.describe(effect); text != "" {
				s.say("  %s %s", a.name, text)
			}
			if next := s.perform(a, effect); next != nil {
				backlog = append(backlog, next)
			}
		}
	}
}

// perform does what needs no store, and notes what does.
func (s *stage) perform(a *actor, effect Effect) Event {
	switch e := effect.(type) {
	case Send:
		s.wire = append(s.wire, onWire{to: s.other(a), via: e.Via, frame: e.Frame})
	case Close:
		return Disconnected{Via: e.Via}
	case Read:
		return s.ask(a, e.Token, e, "read")
	case Load:
		return s.ask(a, e.Token, e, "load")
	case Accept:
		a.asked[e.Token] = e
	case Bind:
		a.asked[e.Token] = e
	case Begin:
		a.asked[e.Token] = e
	case Rebind:
		a.asked[e.Token] = e
	case Trim:
		if a.holds["trim"] {
			a.trims = append(a.trims, e)
			return nil
		}
		a.trim[e.Lane] = e.Number
	case Stopped:
		a.stopped = &e.Stop
	case Resumed:
		a.stopped = nil
	case Deliver:
		if e.Frame.Query != nil {
			a.askers[e.Frame.Query.ID] = e.Frame.From
		}
	case Withdraw, Uncarried, Way, Up, Down, Decided:
	}
	return nil
}

func (s *stage) ask(a *actor, token Token, e Effect, kind string) Event {
	a.asked[token] = e
	if a.holds[kind] {
		return nil
	}
	answer := s.do(a, token, "")
	a.given[token] = answer
	return answer
}
