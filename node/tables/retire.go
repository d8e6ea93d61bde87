package tables

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fmqm/api"
	"fmqm/link"
	"fmqm/node/question"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// AskVersion asks a site how versions stand there, and tells it what is said of one: a VersionQuestion, answered by a
// VersionReport.
const AskVersion = "version"

// VersionQuestion names a process: NAME@VERSION, or NAME for all versions.
type VersionQuestion struct {
	Process string `json:"process"`
	Said    *Said  `json:"said,omitempty"` // of NAME@VERSION
	// Finals are the final words about NAME@VERSION that the asker knows: by node, the store that gave it, in
	// hexadecimal digits.
	Finals map[string]string `json:"finals,omitempty"`
	// Needless are sites that the asker knows to need the table for nothing of their own any more, itself among them.
	Needless []string `json:"needless,omitempty"`
}

// VersionReport answers it.
type VersionReport struct {
	Running map[string]int `json:"running,omitempty"` // instances that were started there and have not ended, by NAME@VERSION
	Said    *Said          `json:"said,omitempty"`    // what the site knows of NAME@VERSION
	Refused string         `json:"refused,omitempty"` // why it does not take what it is told

	Finals   map[string]string `json:"finals,omitempty"`   // the final words that the site knows, as those of a VersionQuestion
	Needless []string          `json:"needless,omitempty"` // as those of a VersionQuestion
	Removed  bool              `json:"removed,omitempty"`  // it has removed the table of NAME@VERSION, and said is what was so then
}

// Said is a record.Retirement on its way between sites.
type Said struct {
	Definition string `json:"definition"`
	Number     uint64 `json:"number"`
	Undo       bool   `json:"undo,omitempty"`
	Network    string `json:"network,omitempty"`
	Key        []byte `json:"key,omitempty"`
	Signature  []byte `json:"signature,omitempty"`
}

// said gives what is known of a version, for other sites; nil: nothing was said.
func (t *Tables) said(id processtable.ProcessID) *Said {
	r, was := t.Queue.Retirement(id)
	if !was {
		return nil
	}
	return &Said{r.Definition.String(), r.Number, r.Undo, r.Network, r.Key, r.Signature}
}

// mayRetire says why somebody may not retire a version here, or nothing: it has to be said by whom this site lets define
// the process, of the definition that is here (N3, invariant 11).
func (t *Tables) mayRetire(id processtable.ProcessID, s *Said) string {
	bound, found := t.Queue.Bound(id)
	switch {
	case !found || bound.String() != s.Definition:
		return fmt.Sprintf("%s has another definition of %s", t.Self, id)
	case s.Network != "" && !processtable.ValidNetwork(s.Network):
		return "the network that it is signed for cannot be read"
	case len(s.Key) > 0 && !processtable.Retired(s.Key, processtable.RetirementText(id, bound, s.Number, s.Undo, s.Network), s.Signature):
		return fmt.Sprintf("what is said of %s is not signed by whom it names: say it again", id)
	}
	signer := trust.Signer{Network: s.Network}
	if len(s.Key) > 0 {
		signer.Key = s.Key
	}
	return t.definers.Load().Untrusted(t.Self, id, signer)
}

// take notes what is said of a version, if it follows on what was said before. Only one at a time is compared and put
// on disk. Next: it has to be the very next, by its number.
func (t *Tables) take(ctx context.Context, id processtable.ProcessID, s *Said, by string, next bool) error {
	if err := t.turn.Acquire(ctx); err != nil {
		return err
	}
	defer t.turn.Release()
	before, _ := t.Queue.Retirement(id)
	bound, _ := t.Queue.Bound(id)
	r := record.Retirement{Process: id, Definition: bound, Number: s.Number, Undo: s.Undo, By: by, Network: s.Network, Key: s.Key, Signature: s.Signature, Time: t.Scheduler.Now()}
	if next && r.Number != before.Number+1 {
		return api.Errorf(api.CodeRefused, "repeat it", "somebody else has said something of %s meanwhile: nothing has changed", id)
	}
	if !r.Follows(&before) {
		return nil
	}
	if err := t.Site.Commit(ctx, &record.Tx{Retire: []record.Retirement{r}}); err != nil {
		return fmt.Errorf("note that %s is retired: %w", id, err)
	}
	t.Site.TurnedRetired(id, t.Queue.IsRetired(id))
	t.wake.Ring()
	t.retiring.Ring()
	return nil
}

// VersionTo answers a peer. What it says of a version counts if it has a part in the process, and a definer has said so
// whom this site trusts.
func (t *Tables) VersionTo(ctx context.Context, peer processtable.NodeID, q VersionQuestion) (r VersionReport, err error) {
	asked, err := processtable.ParseProcessID(q.Process)
	if err != nil {
		return r, err
	}
	v, here := t.version(asked)
	if here && v.has(peer) {
		if q.Said != nil && !v.removed {
			r.Refused = t.mayRetire(asked, q.Said)
		}
		told := VersionReport{Said: q.Said, Finals: q.Finals, Needless: q.Needless, Refused: r.Refused}
		if err := t.hear(ctx, v, peer, &told); err != nil {
			return r, err
		}
		r.Said, r.Finals, r.Needless, r.Removed = t.said(asked), t.finals(asked), t.needlessAt(&v), v.removed
	}
	r.Running, err = t.running(asked, func(id processtable.ProcessID) bool { return t.concerns(peer, id.String()) })
	return r, err
}

// running counts the instances of a version, or of all of a name, that were started here and have not ended.
func (t *Tables) running(asked processtable.ProcessID, tell func(processtable.ProcessID) bool) (map[string]int, error) {
	counts := map[string]int{}
	for _, p := range t.Site.Processes() {
		id := p.Table().Process
		if !isOf(id, asked) || !p.Table().IsStart() || !tell(id) {
			continue
		}
		n, err := t.Queue.Running(id)
		if err != nil {
			return nil, err
		}
		counts[id.String()] = n
	}
	return counts, nil
}

// Retire notes here that a version begins nothing new from now on, or that it may again, and tells the other sites of
// the process: those that are heard answer at once, the others are told when they are. By is who says so.
func (t *Tables) Retire(ctx context.Context, table *processtable.Table, r api.RetireRequest, by string) (a api.RetireAnswer, err error) {
	id := table.Process
	if r.Undo && t.Closed(id) {
		return a, api.Errorf(api.CodeRefused, "upload it as a new version", "%s stays retired, nothing has changed: %s has given its final word that nothing of it begins there any more", id, t.Self)
	}
	if r.Undo && len(t.missing(table)) == 0 {
		return a, api.Errorf(api.CodeRefused, "upload it as a new version", "%s stays retired, nothing has changed: all sites that may start it have given their final word that nothing of it begins there any more", id)
	}
	s := &Said{Definition: table.Definition.String(), Number: r.Number, Undo: r.Undo, Network: r.Network, Key: r.Key, Signature: r.Signature}
	if reason := t.mayRetire(id, s); reason != "" {
		return a, api.Errorf(api.CodeRefused, "sign as somebody who may define it (--key, --network)", "%s is not retired, nothing has changed: %s", id, reason)
	}
	// What was said counts here, and not that nothing of it begins: who has given its final word may have heard since that it is taken back.
	if said, was := t.Queue.Retirement(id); (was && !said.Undo) == r.Undo {
		if err := t.take(ctx, id, s, by, true); err != nil {
			return a, err
		}
	}
	running, err := t.running(id, func(processtable.ProcessID) bool { return true })
	if err != nil {
		return a, err
	}
	done := api.ResultRetired
	if r.Undo {
		done = api.ResultKept
	}
	a.Nodes = append(a.Nodes, api.RetireNode{Node: string(t.Self), Process: id.String(), Result: done, Instances: running[id.String()]})
	told := t.tell(ctx, version{id: id, nodes: table.Nodes()})
	for _, node := range table.Nodes() {
		if node == t.Self {
			continue
		}
		line := api.RetireNode{Node: string(node), Process: id.String(), Result: api.ResultQueued, Reason: "it is told when it is heard: " + t.linkReason(node)}
		if i := slices.IndexFunc(told, func(r question.Reply[VersionReport]) bool { return r.Node == node }); i >= 0 {
			answered(&line, &told[i], done)
		}
		a.Nodes = append(a.Nodes, line)
	}
	return a, nil
}

// answered says what a site has answered that was told of a version.
func answered(line *api.RetireNode, r *question.Reply[VersionReport], done api.Result) {
	switch {
	case r.Err != nil:
		line.Reason = "it has not answered, and is told again: " + r.Err.Error()
	case r.Answer.Removed:
		line.Result, line.Reason = api.ResultRemoved, ""
		if done == api.ResultKept {
			line.Reason = "its table is gone: upload it as a new version"
		}
	case r.Answer.Refused != "":
		line.Reason = "it does not take it yet: " + r.Answer.Refused
	case r.Answer.Said == nil:
		line.Reason = "it has no table of it yet, and is told again"
	default:
		line.Result, line.Reason = done, ""
		if r.Answer.Finals[string(r.Node)] != "" && done == api.ResultKept {
			line.Result, line.Reason = api.ResultRetired, "it has given its final word: nothing of it begins there any more"
		}
	}
	line.Instances = r.Answer.Running[line.Process]
}

// version is one of which the table is here, or was.
type version struct {
	id      processtable.ProcessID
	nodes   []processtable.NodeID // that have a part in it
	removed bool
}

func (v *version) has(node processtable.NodeID) bool { return slices.Contains(v.nodes, node) }

// version finds one by its name and version; false: there is no table of it, and none was removed.
func (t *Tables) version(id processtable.ProcessID) (version, bool) {
	if p := t.Site.Process(id); p != nil {
		return version{id: id, nodes: p.Table().Nodes()}, true
	}
	stone, gone := t.Queue.Tombstone(id)
	return version{id: id, nodes: stone.Nodes, removed: true}, gone
}

// tell tells the sites of a process that are connected what is known of a version, and gives what they know.
func (t *Tables) tell(ctx context.Context, v version) []question.Reply[VersionReport] {
	var heard []processtable.NodeID
	for _, node := range v.nodes {
		if l, linked := t.Site.LinkTo(node); linked && l.State == link.StateConnected {
			heard = append(heard, node)
		}
	}
	q := VersionQuestion{Process: v.id.String(), Said: t.said(v.id), Finals: t.finals(v.id), Needless: t.needlessAt(&v)}
	replies := question.All[VersionReport](ctx, t.Scheduler, t.Site, heard, AskVersion, q)
	for i := range replies {
		switch r := &replies[i]; {
		case r.Err != nil:
		case r.Answer.Removed: // it knows all that there is to know
			t.toldNow(v.id, r.Node, math.MaxUint64)
		case r.Answer.Said != nil:
			t.toldNow(v.id, r.Node, r.Answer.Said.Number)
		}
	}
	return replies
}

// telling is what a site knows of a version: up to which number what was said, in which store. With another store it may
// know nothing.
type telling struct {
	number uint64
	store  record.Incarnation
}

// toldNow notes up to which number a site knows what is said of a version.
func (t *Tables) toldNow(id processtable.ProcessID, node processtable.NodeID, number uint64) {
	now := telling{number: number}
	now.store, _ = t.Queue.KnownIncarnation(node)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told[id] == nil {
		t.told[id] = map[processtable.NodeID]telling{}
	}
	if before := t.told[id][node]; before.store == now.store {
		now.number = max(before.number, number)
	}
	t.told[id][node] = now
}

// untold are the versions of which not all sites are known to have heard what was said last.
func (t *Tables) untold() (all []version) {
	for _, id := range t.Queue.Retirements() {
		v, here := t.version(id)
		if !here {
			continue
		}
		said, _ := t.Queue.Retirement(id)
		t.mu.Lock()
		told := t.told[id]
		lacks := slices.ContainsFunc(v.nodes, func(node processtable.NodeID) bool {
			store, _ := t.Queue.KnownIncarnation(node)
			return node != t.Self && (told[node].number < said.Number || told[node].store != store)
		})
		t.mu.Unlock()
		if lacks {
			all = append(all, v)
		}
	}
	return all
}

// hear takes what another site knows of a version: that it is retired, if a definer has said so whom this site trusts,
// and the final words about it.
func (t *Tables) hear(ctx context.Context, v version, from processtable.NodeID, r *VersionReport) error {
	if r.Said != nil && r.Refused == "" && !v.removed && t.mayRetire(v.id, r.Said) == "" {
		if err := t.take(ctx, v.id, r.Said, "told by "+string(from), false); err != nil {
			return err
		}
	}
	if err := t.isBack(ctx, v.id, from); err != nil {
		return err
	}
	t.hearNeedless(&v, from, r.Needless)
	return t.hearFinals(ctx, v, from, r)
}
