package answer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/logs"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/processtable"
)

// AskLogs is the kind of question that LogsTo answers.
const AskLogs = "logs"

const (
	// logsInReply bounds what one node tells in one answer, as JSON: with what is around it, it fits into a frame.
	logsInReply = 2 << 20
	// logsInAnswer bounds what people are told in one answer.
	logsInAnswer = 8 << 20
)

// LogsQuestion asks a node for what programs have written there.
type LogsQuestion struct {
	Instance message.InstanceID `json:"instance"`
	Process  string             `json:"process"`            // NAME@VERSION
	Activity string             `json:"activity,omitempty"` // PATH; empty: of all
	Attempt  int                `json:"attempt,omitempty"`  // 0: all
	Limit    int                `json:"limit"`
}

// LogsReport is what the node tells, the oldest first. More: there are older ones.
type LogsReport struct {
	Attempts []logs.Attempt `json:"attempts"`
	More     bool           `json:"more,omitempty"`
}

// logsHere gives what is kept here.
func (a *Answers) logsHere(q LogsQuestion) (r LogsReport) {
	r.Attempts, r.More = a.Options.Logs(logs.Query{
		Instance: q.Instance, Limit: min(q.Limit, api.MaxPage), Bytes: logsInReply,
		Match: func(l *logs.Attempt) bool {
			return l.Process == q.Process && (q.Attempt == 0 || l.Attempt == q.Attempt) && report.LogPath(q.Activity, l.Scope, l.Activity)
		},
	})
	return r
}

// LogsTo is logsHere for a peer that has a part in the process; to others it tells nothing.
func (a *Answers) LogsTo(peer processtable.NodeID, q LogsQuestion) LogsReport {
	if id, err := processtable.ParseProcessID(q.Process); err != nil || !a.concerns(peer, id) {
		return LogsReport{}
	}
	return a.logsHere(q)
}

// Logs gathers what the programs of an instance have written last, from the nodes where they may have run.
func (a *Answers) Logs(ctx context.Context, id message.InstanceID, r api.LogsRequest) (api.LogsAnswer, error) {
	g, err := a.Gather(ctx, id, "")
	if err == nil && r.Activity != "" {
		err = named(g, r.Activity)
	}
	if err != nil {
		return api.LogsAnswer{}, err
	}
	out := api.LogsAnswer{Process: g.Process}
	q := LogsQuestion{Instance: id, Process: g.Process, Activity: r.Activity, Attempt: r.Attempt, Limit: r.Limit}
	var peers []processtable.NodeID
	for _, node := range g.LogHosts(r.Activity) {
		at := slices.IndexFunc(g.Unreachable, func(u api.Unreachable) bool { return u.Node == string(node) })
		switch {
		case node == a.Self:
			here := a.logsHere(q)
			out.Logs, out.More = shownLogs(node, here.Attempts), here.More
		case at >= 0:
			out.Unreachable = append(out.Unreachable, g.Unreachable[at])
		default:
			peers = append(peers, node)
		}
	}
	for _, reply := range question.All[LogsReport](ctx, a.Scheduler, a.Site, peers, AskLogs, q) {
		if reply.Err != nil {
			out.Unreachable = append(out.Unreachable, a.withoutLogs(reply.Node, reply.Err))
			continue
		}
		out.Logs = append(out.Logs, shownLogs(reply.Node, a.believedLogs(g, q, reply))...)
		out.More = out.More || reply.Answer.More
	}
	slices.SortStableFunc(out.Unreachable, func(x, y api.Unreachable) int { return strings.Compare(x.Node, y.Node) })
	fitLogs(&out, r.Limit)
	return out, nil
}

// withoutLogs says why a node does not tell.
func (a *Answers) withoutLogs(node processtable.NodeID, err error) api.Unreachable {
	u := a.unheard(node, err)
	if strings.Contains(u.Reason, "unknown kind of question") {
		u.Reason = "it is too old to tell what programs have written: upgrade it"
	}
	if errors.Is(err, link.ErrNotConnected) {
		u.Reason = ""
	}
	return u
}

// believedLogs are what a node may tell of what was asked.
func (a *Answers) believedLogs(g *report.Gathered, q LogsQuestion, r question.Reply[LogsReport]) []logs.Attempt {
	may := g.LogsOf(r.Node)
	return slices.DeleteFunc(r.Answer.Attempts, func(l logs.Attempt) bool {
		return l.Instance != q.Instance || l.Process != q.Process || !may(l.Scope, l.Activity) || !report.LogPath(q.Activity, l.Scope, l.Activity)
	})
}

// shownLogs are attempts at a node as people are shown them.
func shownLogs(node processtable.NodeID, all []logs.Attempt) []api.AttemptLog {
	out := make([]api.AttemptLog, len(all))
	for i := range all {
		l := &all[i]
		out[i] = api.AttemptLog{
			Node: string(node), Scope: report.ShownScope(l.Scope, string(l.Activity)), Activity: string(l.Activity), Program: string(l.Program),
			Iteration: l.Iteration, Run: report.ShownRun(l.Run), Attempt: l.Attempt, Started: l.Started, Ended: l.Ended, Error: l.Error, Skipped: l.Skipped, Text: l.Text,
		}
		if !l.Ended.IsZero() && l.Error == "" {
			out[i].RC = &l.RC
		}
	}
	return out
}

// fitLogs puts attempts in the order in which they ended, those that run last, and keeps the newest that
// are asked for and have room.
func fitLogs(out *api.LogsAnswer, limit int) {
	slices.SortStableFunc(out.Logs, func(x, y api.AttemptLog) int {
		if x.Ended.IsZero() != y.Ended.IsZero() {
			if x.Ended.IsZero() {
				return 1
			}
			return -1
		}
		return cmp.Or(x.Ended.Compare(y.Ended), x.Started.Compare(y.Started), strings.Compare(x.Node, y.Node))
	})
	first, bytes := len(out.Logs), 0
	for first > 0 && len(out.Logs)-first < limit {
		if bytes += len(out.Logs[first-1].Text); bytes > logsInAnswer && first < len(out.Logs) {
			break
		}
		first--
	}
	out.More = out.More || first > 0
	out.Logs = out.Logs[first:]
}
