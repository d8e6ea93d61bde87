package node

import (
	"context"
	"fmt"

	"fmqm/link"
	"fmqm/node/answer"
	"fmqm/node/command"
	"fmqm/node/erase"
	"fmqm/node/question"
	"fmqm/node/rebuild"
	"fmqm/node/report"
	"fmqm/node/tables"
	"fmqm/node/work"
	"fmqm/processtable"
)

// respond answers a peer's question; it is the links' Responder. Questions ride on the links beside
// the messages and are never persistent (paper §4).
func (n *Node) respond(ctx context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
	switch kind {
	case answer.AskInstance:
		return question.Answer(body, func(q report.Question) (report.Report, error) { return n.answers.ReportTo(peer, q) })
	case tables.AskTable:
		return question.Answer(body, func(q tables.Question) (tables.Report, error) { return n.tables.ReportTo(peer, q) })
	case tables.AskDefinition:
		return question.Answer(body, func(q tables.TextQuestion) (tables.TextReport, error) { return n.tables.TextTo(peer, q) })
	case tables.AskVersion:
		return question.Answer(body, func(q tables.VersionQuestion) (tables.VersionReport, error) { return n.tables.VersionTo(ctx, peer, q) })
	case tables.AskNode:
		return question.Answer(body, func(q tables.NodeQuestion) (tables.NodeReport, error) { return n.tables.ReportNode(q), nil })
	case answer.AskList, answer.AskFind, answer.AskSearch, answer.AskResting:
		return question.Answer(body, func(q answer.ListQuestion) (answer.ListReport, error) { return n.answers.ListTo(ctx, peer, q) })
	case answer.AskActive:
		return question.Answer(body, func(q answer.ActiveQuestion) (answer.ActiveReport, error) { return n.answers.ActiveTo(peer, q) })
	case answer.AskHeld:
		return question.Answer(body, func(q answer.HeldQuestion) (answer.HeldReport, error) { return n.answers.HeldTo(peer, q) })
	case answer.AskLogs:
		return question.Answer(body, func(q answer.LogsQuestion) (answer.LogsReport, error) { return n.answers.LogsTo(peer, q), nil })
	case answer.AskChildren:
		return question.Answer(body, func(q report.ChildrenQuestion) (report.ChildrenReport, error) {
			return n.answers.ChildrenTo(ctx, peer, q)
		})
	case command.AskRetry:
		return question.Answer(body, func(q command.RetryQuestion) (command.RetryReport, error) {
			return command.RetryReport{Error: asAPI(n.commands.RetryFor(ctx, peer, q))}, nil
		})
	case command.AskWork:
		return question.Answer(body, func(q command.WorkQuestion) (command.WorkReport, error) {
			return command.WorkReport{Error: asAPI(n.commands.WorkFor(ctx, peer, q))}, nil
		})
	case work.AskItem:
		return question.Answer(body, func(q work.ItemQuestion) (work.ItemReport, error) { return n.desk.ItemTo(peer, q) })
	case rebuild.AskLost:
		return question.Answer(body, func(q rebuild.LostQuestion) (rebuild.LostReport, error) { return n.rebuilds.Lost(peer, q) })
	case rebuild.AskRebuild:
		return question.Answer(body, func(q rebuild.Word) (rebuild.Report, error) {
			b, err := n.rebuilds.For(ctx, peer, q)
			return rebuild.Reported(b, err, asAPI(err)), nil
		})
	case command.AskEnd:
		return question.Answer(body, func(q command.EndQuestion) (command.EndReport, error) {
			return command.EndReport{Error: asAPI(n.commands.EndFor(ctx, peer, q))}, nil
		})
	case command.AskSuspend:
		return question.Answer(body, func(q command.SuspendQuestion) (command.SuspendReport, error) {
			w, err := n.commands.SuspendFor(ctx, peer, q)
			return command.SuspendReport{Word: w, Error: asAPI(err)}, nil
		})
	case erase.AskErase:
		return question.Answer(body, func(q erase.Question) (erase.Report, error) {
			r, err := n.eraser.For(ctx, peer, q)
			if err != nil {
				return erase.Report{Error: asAPI(err)}, nil
			}
			return r, nil
		})
	case command.AskTerminate:
		return question.Answer(body, func(q command.TerminateQuestion) (command.TerminateReport, error) {
			return command.TerminateReport{Error: asAPI(n.commands.TerminateFor(ctx, peer, q))}, nil
		})
	}
	return nil, fmt.Errorf("unknown kind of question %q: upgrade this node", kind)
}

// queryPeer carries a question over the link to a peer, if there is one.
func (n *Node) queryPeer(ctx context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
	l := n.Link(peer)
	if l == nil {
		return nil, fmt.Errorf("%s has no link to %s: %w", n.name, peer, link.ErrNotConnected)
	}
	return l.Query(ctx, kind, body)
}
