package tables

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"slices"

	"fmqm/api"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/node/trust"
	"fmqm/processtable"
)

// The questions about tables that sites ask one another.
const (
	AskTable = "table" // a Question, answered by a Report
	AskNode  = "node"  // a NodeQuestion, answered by a NodeReport
)

// Question asks whether a site has a process's table, and whether it would take one.
type Question struct {
	Process string `json:"process"`
	Table   string `json:"table,omitempty"`   // SHA-256 of the table that is to be taken; empty: of an older node, or none is
	Definer string `json:"definer,omitempty"` // who signed it: the key, in base64
	Network string `json:"network,omitempty"` // which network it is signed for; empty: the signature names none
	// Definition is that of the table that is to be taken, or that the asker has; empty: of an older node, or none is.
	Definition string `json:"definition,omitempty"`
	// Has are the sites that the asker knows to have stored its version, itself among them, and All says that it knows
	// it of all (see current.go). Neither: of an older node, or it does not say.
	Has []string `json:"has,omitempty"`
	All bool     `json:"all,omitempty"`
}

// Report answers a Question.
type Report struct {
	Found      bool   `json:"found"`
	Definition string `json:"definition,omitempty"`
	Format     int    `json:"format,omitempty"`     // of the table; 0, of an older node: 1
	Reads      int    `json:"reads,omitempty"`      // the newest format that the node reads; 0: 1
	Refused    string `json:"refused,omitempty"`    // why one was refused, since the daemon was started
	Signed     bool   `json:"signed,omitempty"`     // the node reads tables that are signed
	Signatures int    `json:"signatures,omitempty"` // the newest version of signatures that it reads; 0, if Signed: 1
	Untrusted  string `json:"untrusted,omitempty"`  // why it does not take one of that definer

	Behaviours []processtable.BehaviourID `json:"behaviours,omitempty"` // that the node knows beside FlowMark's

	State api.VersionState `json:"state,omitempty"` // of what is found; empty, of an older node: current
	Has   []string         `json:"has,omitempty"`   // the sites that the node knows to have stored it
	All   bool             `json:"all,omitempty"`   // it knows that of all
	Said  *Said            `json:"said,omitempty"`  // what it knows of retiring the version
}

// NodeReport is what an upload needs to know of a site.
type NodeReport struct {
	Programs []string `json:"programs"`
	Peers    []string `json:"peers"`
	Broker   bool     `json:"broker,omitempty"` // it reaches sites that it does not list, as they do
	Staff    bool     `json:"staff,omitempty"`  // it has people to whom work can be offered

	// Children has, of the processes that were asked for, those of which no instance may be started
	// there, each with what may be.
	Children map[string]string `json:"children,omitempty"`
}

// about asks a site about a table that is to go to it.
func about(t *processtable.Table, encoded []byte) Question {
	return Question{
		Process: t.Process.String(), Table: sumOf(encoded), Definition: t.Definition.String(),
		Definer: base64.StdEncoding.EncodeToString(t.Definer), Network: t.Terms.Network,
	}
}

// Report says what there is of a process here. It reads the store.
func (t *Tables) Report(q Question) (Report, error) {
	id, err := processtable.ParseProcessID(q.Process)
	if err != nil {
		return Report{}, err
	}
	encoded, definition, found, err := t.Queue.Table(id)
	if err != nil {
		return Report{}, err
	}
	found = found && t.Site.Process(id) != nil // stored, and taken up: what is asked next is answered by it
	r := Report{Found: found, Reads: cmp.Or(int(t.Reads), processtable.NodeFormat), Signed: true, Signatures: processtable.SignatureVersion, Behaviours: t.Behaviours.Names()}
	if refused := t.refusal(id); q.Table == "" || q.Table == refused.sum {
		r.Refused = refused.reason
	}
	if q.Table != "" && !found {
		r.Untrusted = t.judgeDefiner(id, q)
	}
	if stone, gone := t.Queue.Tombstone(id); gone {
		r.Definition, r.Said = stone.Definition.String(), t.said(id)
		if q.Table != "" {
			r.Untrusted = t.errGone(&stone, stone.Definition).Error()
			if q.Definition != r.Definition {
				r.Untrusted = errBound(id, t.Self).Error()
			}
		}
	}
	if found {
		r.Definition, r.Format = definition.String(), processtable.FormatOf(encoded)
		r.State = t.state(id)
		r.Said = t.said(id)
		r.All, r.Has = t.known(t.Site.Process(id).Table())
	}
	return r, nil
}

// ReportTo is Report for a peer. Who has no part in the process, and brings a table of
// it, is told only what he could find out by sending that: whether it would be taken.
func (t *Tables) ReportTo(peer processtable.NodeID, q Question) (Report, error) {
	t.heard(peer, q)
	r, err := t.Report(q)
	if err == nil && !r.Found { // what was removed is nobody's but those who have a part
		if id, _ := processtable.ParseProcessID(q.Process); !t.hadPart(peer, id) {
			r.Definition, r.Said = "", nil
		}
	}
	if err != nil || !r.Found || t.concerns(peer, q.Process) {
		return r, err
	}
	switch {
	case q.Table == "":
		r.Found, r.Definition, r.Format, r.Refused, r.State, r.Has, r.All, r.Said = false, "", 0, "", "", nil, false, nil
	case q.Definition != r.Definition:
		r.Definition, r.Format, r.State, r.Has, r.All, r.Said = "", 0, "", nil, false, nil // another one
	default:
		r.Has, r.Said = nil, nil // which other sites there are
	}
	return r, nil
}

// concerns says whether a peer has a part in a process of which the table is here.
func (t *Tables) concerns(peer processtable.NodeID, process string) bool {
	id, err := processtable.ParseProcessID(process)
	if err != nil {
		return false
	}
	p := t.Site.Process(id)
	return p != nil && p.Table().HasPart(peer)
}

// judgeDefiner answers an asker who wants to know before it sends a table.
func (t *Tables) judgeDefiner(id processtable.ProcessID, q Question) string {
	key, err := base64.StdEncoding.DecodeString(q.Definer)
	if err != nil || len(key) != 0 && len(key) != ed25519.PublicKeySize {
		return "the key of its definer cannot be read"
	}
	if q.Network != "" && !processtable.ValidNetwork(q.Network) {
		return "the network that it is signed for cannot be read"
	}
	if len(key) == 0 {
		return t.definers.Load().Untrusted(t.Self, id, trust.Signer{})
	}
	return t.definers.Load().Untrusted(t.Self, id, trust.Signer{Key: key, Network: q.Network})
}

// ReportSelf says what uploads at other sites need to know of this one.
func (t *Tables) ReportSelf() NodeReport {
	r := NodeReport{Programs: []string{}, Peers: []string{}, Broker: t.Site.ReachesAll(), Staff: t.Site.Staffed()}
	for _, p := range t.Site.Programs() {
		r.Programs = append(r.Programs, string(p))
	}
	for _, p := range t.Site.Peers() {
		r.Peers = append(r.Peers, string(p))
	}
	return r
}

// Elsewhere asks all peers, and names those that have a table of a process.
func (t *Tables) Elsewhere(ctx context.Context, id processtable.ProcessID) []processtable.NodeID {
	var have []processtable.NodeID
	for _, r := range question.All[Report](ctx, t.Scheduler, t.Site, t.Site.Peers(), AskTable, Question{Process: id.String()}) {
		if r.Err == nil && r.Answer.Found {
			have = append(have, r.Node)
		}
	}
	return have
}

// Definitions tells people which processes have a table here.
func (t *Tables) Definitions() (api.DefinitionsAnswer, error) {
	a := api.DefinitionsAnswer{Definitions: []api.Definition{}}
	for _, p := range t.Site.Processes() {
		table := p.Table()
		d := api.Definition{
			Process: table.Process.Name, Version: table.Process.Version, Definition: table.Definition.String(),
			Node: string(t.Self), Starts: []string{}, Activities: report.RosterOf(table, processtable.OriginWord),
		}
		for _, s := range table.Starts {
			d.Starts = append(d.Starts, string(s))
		}
		d.State, d.Lacking = t.state(table.Process), t.Lacking(table.Process)
		said, _ := t.Queue.Retirement(table.Process)
		if d.Said = said.Number; d.State == api.VersionRetired {
			d.RetiredBy, d.Awaited, d.WrittenOff = said.By, t.awaited(table), t.writtenOff(table.Process)
		}
		var err error
		if d.Instances, err = t.Queue.Running(table.Process); err != nil {
			return a, err
		}
		if table.Definer != nil {
			d.Definer = processtable.DefinerText(table.Definer)
			d.Network, d.Expires = table.Terms.Network, table.Terms.NotAfter
		}
		a.Definitions = append(a.Definitions, d)
	}
	for _, stone := range t.Queue.Tombstones() {
		said, _ := t.Queue.Retirement(stone.Process)
		a.Definitions = append(a.Definitions, api.Definition{
			Process: stone.Process.Name, Version: stone.Process.Version, Definition: stone.Definition.String(), Node: string(t.Self),
			Starts: []string{}, Activities: []api.Place{}, State: api.VersionRemoved, Removed: stone.Time, Said: said.Number, RetiredBy: said.By,
			WrittenOff: t.writtenOff(stone.Process),
		})
	}
	slices.SortStableFunc(a.Definitions, func(x, y api.Definition) int {
		return processtable.ProcessID{Name: x.Process, Version: x.Version}.Compare(processtable.ProcessID{Name: y.Process, Version: y.Version})
	})
	return a, nil
}
