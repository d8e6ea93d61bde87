package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"fmqm/api"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/rebuild"
	"fmqm/node/trust"
	"fmqm/processtable"
)

// errands are sites whose operators ask one another, and what each of them logs. Their
// links are the story's: questions are answered at once, by the site that they go to, as from
// the site that asks; messages travel when the story says so.
type errands struct {
	*testing.T
	sites map[string]*keeper
	logs  map[string]*happenings
	lost  string // the kind of question whose next answer is lost
	late  string // or comes too late
	away  map[string]bool
	old   map[string]bool // of the version before, which reads no words
	asked message.WordID  // last
	read  map[string]int  // lines of each log that the story has told
}

// Invariant 11: what an operator asks at one site of another is that site's to allow, and who
// it was stands in its log and in the history.
func TestOperatorsAskAtOtherSites(t *testing.T) {
	datadriven.Walk(t, "testdata/remote", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			e := &errands{T: t, sites: map[string]*keeper{}, logs: map[string]*happenings{}, away: map[string]bool{}, old: map[string]bool{}, read: map[string]int{}}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				told := e.do(d)
				for _, k := range e.all() {
					k.settled()
				}
				text := strings.Join(append(told, e.logged()...), "\n") + "\n"
				return strings.ReplaceAll(text, strings.TrimSuffix(instanceOf(1).String(), "1"), "")
			})
		})
	})
}

func (e *errands) do(d *datadriven.TestData) []string {
	words, named := wordsOf(d)
	switch d.Cmd {
	case "define":
		for _, name := range words {
			e.open(name, words, "process: p\nversion: 1\n"+d.Input)
		}
	case "takes": // SITE [from=SITE [operators=(NAME, ...)]]
		e.takes(words[0], named)
	case "start":
		_, err := e.sites[named["at"]].Start(e.Context(), api.StartRequest{Instance: e.instance(words[0]), Process: "p"})
		return answered(err)
	case "carry":
		return e.carry()
	case "lose":
		e.lost = words[0]
	case "late":
		e.late = words[0]
	case "away":
		e.away[words[0]] = true
	case "restart":
		for _, name := range words {
			e.sites[name].restart()
			e.hook(e.sites[name])
		}
	case "version-before":
		e.old[words[0]] = true
	case "upgraded":
		delete(e.old, words[0])
	case "back":
		delete(e.away, words[0])
	case "guess": // a marker of an instance, from another site than its origin
		e.sends(named["from"], named["to"], markerFor(named["to"], e.instance(words[0]), named["origin"]))
	case "claim":
		return e.claim(words, named)
	case "status":
		return statusOf(e.Context(), e.sites[named["at"]].Node, e.instance(words[0]))
	default:
		return e.command(d.Cmd, words, named)
	}
	return []string{"ok"}
}

// wordsOf gives what stands alone behind a story's command, and what has a name.
func wordsOf(d *datadriven.TestData) (words []string, named map[string]string) {
	named = map[string]string{}
	for _, a := range d.CmdArgs {
		if len(a.Vals) == 0 {
			words = append(words, a.Key)
		} else {
			named[a.Key] = strings.Join(a.Vals, ", ")
		}
	}
	return words, named
}

func (e *errands) all() (all []*keeper) {
	for _, name := range e.names() {
		all = append(all, e.sites[name])
	}
	return all
}

func (e *errands) names() (names []string) {
	for name := range e.sites {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (e *errands) open(name string, among []string, text string) {
	e.logs[name] = &happenings{more: make(chan struct{})}
	k := &keeper{T: e.T, log: e.logs[name], peers: map[processtable.NodeID]Peer{}}
	for _, peer := range among {
		if peer != name {
			k.peers[processtable.NodeID(peer)] = Peer{} // it would call
		}
	}
	k.begin(name, text)
	e.hook(k)
	e.sites[name] = k
}

// hook makes the story's links those of a site.
func (e *errands) hook(k *keeper) {
	for peer := range k.peers {
		k.queue.Transmission(peer).PeerReads(message.Current())
	}
	k.commands.ReadsWords = func(peer processtable.NodeID) bool { return !e.old[string(peer)] }
	k.query = func(ctx context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
		if e.away[string(peer)] {
			return nil, link.ErrNotConnected
		}
		reply, err := e.sites[string(peer)].respond(ctx, k.name, kind, body)
		switch kind { // what there is then is as a link says it
		case e.lost:
			e.lost, err = "", fmt.Errorf("%w: reset by peer", link.ErrNotConnected)
		case e.late:
			e.late, err = "", context.DeadlineExceeded
		default:
			return reply, err
		}
		return nil, fmt.Errorf("query %s of site %s: %w", kind, peer, err)
	}
}

func (e *errands) takes(name string, named map[string]string) {
	var who trust.Operators
	if site := named["from"]; site != "" {
		who = trust.Operators{{Site: site}}
		if operators := named["operators"]; operators != "" {
			who[0].Operators = strings.Split(operators, ", ")
		}
	}
	e.sites[name].SetRemoteOperators(who)
}

// command is what an operator asks at a site, as its API has proved who that is.
func (e *errands) command(command string, words []string, named map[string]string) []string {
	n := e.sites[named["at"]].Node
	ctx := api.WithOperator(e.Context(), named["by"])
	switch command {
	case "terminate":
		return answered(n.Terminate(ctx, e.instance(words[0]), ""))
	case "retry":
		r := api.RetryRequest{Activity: words[0], Reason: named["reason"]}
		if named["word"] == "last" {
			r.Word = e.asked
		}
		if len(words) > 2 { // by hand
			r.Output = json.RawMessage(`{}`)
		}
		return e.retry(ctx, n, e.instance(words[1]), r)
	case "rebuild":
		a, err := n.Rebuild(ctx, api.RebuildRequest{Peer: words[0], Do: true, All: true})
		told := answered(err)
		for _, b := range a.Rebuilds {
			told = append(told, b.Node+": "+b.Reason)
		}
		return told
	}
	e.Fatalf("the story has no word %s", command)
	return nil
}

// claim is a question that a site has made up: who asks there is what it says.
func (e *errands) claim(words []string, named map[string]string) []string {
	var q any
	var kind string
	switch words[0] {
	case "terminate":
		kind, q = command.AskTerminate, command.TerminateQuestion{Instance: e.instance(words[1]), Process: "p@1", By: named["by"]}
	case "retry":
		kind, q = command.AskRetry, command.RetryQuestion{Instance: e.instance(words[2]), Process: "p@1", Activity: words[1], By: named["by"]}
	case "rebuild":
		kind, q = rebuild.AskRebuild, rebuild.Word{Peer: words[1], Do: true, By: named["by"]}
	}
	body, err := json.Marshal(q)
	if err != nil {
		e.Fatal(err)
	}
	reply, err := e.sites[named["to"]].respond(e.Context(), processtable.NodeID(named["from"]), kind, body)
	if err != nil {
		return answered(err)
	}
	var r struct {
		Error   *api.Error
		Nothing bool
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		e.Fatal(err)
	}
	if r.Error == nil {
		return []string{"done"}
	}
	told := answered(r.Error)
	if r.Nothing {
		told = append(told, "so it has nothing to send again")
	}
	return told
}

// retry tells what came of one. Words and their answers travel meanwhile, but to and from who
// is away; then time goes by, which is the bubble's.
func (e *errands) retry(ctx context.Context, n *Node, id message.InstanceID, r api.RetryRequest) []string {
	var w api.Word
	done := make(chan error, 1)
	go func() {
		var err error
		w, err = n.Retry(ctx, id, r)
		done <- err
	}()
	for {
		synctest.Wait()
		e.carryAll()
		select {
		case err := <-done:
			if w.ID != (message.WordID{}) {
				e.asked = w.ID
			}
			if err != nil || w.Result == api.WordDone {
				return answered(err)
			}
			return []string{string(w.Result) + ": " + w.Reason}
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func answered(err error) []string {
	var told *api.Error
	switch {
	case err == nil:
		return []string{"done"}
	case errors.As(err, &told):
		return []string{string(told.Code) + ": " + told.Message, "remedy: " + cmp.Or(told.Remedy, "none")}
	}
	return []string{err.Error()}
}

// statusOf is what a site says of an instance, and of what was done by hand.
func statusOf(ctx context.Context, n *Node, id message.InstanceID) (told []string) {
	s, err := n.Status(ctx, id)
	if err != nil {
		return answered(err)
	}
	told = append(told, strings.TrimSuffix(string(s.State)+": "+s.Reason, ": "))
	for _, a := range s.Activities {
		told = append(told, fmt.Sprintf("  %s at %s %s", a.Activity, a.Node, a.State))
	}
	h, err := n.History(ctx, id)
	if err != nil {
		return append(told, answered(err)...)
	}
	var byHand []string
	for _, event := range h.Events {
		if event.By != "" {
			line := fmt.Sprintf("  %s %s by %s", event.Activity, event.Event, event.By)
			if event.Event == api.EventAsked || event.Event == api.EventAnswered || event.Event == api.EventRetried {
				line = strings.TrimSuffix(fmt.Sprintf("%s, at %s: %s", line, event.Node, event.Reason), ": ")
			}
			byHand = append(byHand, line)
		}
	}
	slices.Sort(byHand) // the clock of a word depends on what its site had heard of
	return append(told, byHand...)
}

// carry moves messages until none is left, and says what was refused.
func (e *errands) carry() []string {
	e.carryAll()
	told := []string{"carried"}
	for _, k := range e.all() {
		found, err := k.queue.RefusedList(100)
		k.must(err)
		for _, a := range found {
			told = append(told, fmt.Sprintf("%s has refused from %s: %s", k.name, a.Peer, a.Reason))
		}
	}
	return told
}

func (e *errands) carryAll() {
	for moved := true; moved; {
		moved = false
		for _, k := range e.all() {
			k.settled()
			for _, to := range e.all() {
				if e.away[string(k.name)] || e.away[string(to.name)] {
					continue
				}
				if messages := k.sent(to.name); len(messages) > 0 {
					e.sends(string(k.name), string(to.name), messages...)
					moved = true
				}
			}
		}
	}
}

// sends brings messages to a site as its link does.
func (e *errands) sends(from, to string, messages ...message.Message) {
	k := e.sites[to]
	peer := processtable.NodeID(from)
	w := &inboxWorld{t: e.T, a: k.Node}
	for _, m := range messages {
		f := w.from(peer)
		f.lane = m.Lane
		f.at = f.Accepted(m.Lane)
		f.sends(m)
	}
}

func markerFor(to string, i message.InstanceID, origin string) message.Message {
	m := markerOf(processtable.ProcessID{Name: "p", Version: 1}, i, processtable.NodeID(origin))
	m.Queue.Node = processtable.NodeID(to)
	return m
}

func (e *errands) instance(text string) message.InstanceID {
	n, err := strconv.Atoi(text)
	if err != nil {
		e.Fatal(err)
	}
	return instanceOf(n)
}

// logged is what the sites have said of operators since the last time.
func (e *errands) logged() (told []string) {
	for _, name := range e.names() {
		l := e.logs[name]
		l.mu.Lock()
		lines := l.all[e.read[name]:]
		e.read[name] = len(l.all)
		l.mu.Unlock()
		for _, text := range lines {
			var line struct{ Level, Message, By, Peer, Command, Of string }
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				e.Fatal(err)
			}
			if line.Command != "" {
				told = append(told, fmt.Sprintf("%s logs (%s): %s: %s: %s of %s", name, line.Level, line.Message, line.By, line.Command, line.Of))
			}
		}
	}
	return told
}
