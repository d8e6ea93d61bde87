package node

import (
	"context"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/erase"
)

// What erases data of instances (package erase), and what that uses of the node.

var (
	_ erase.Site = site{}
	_ api.Eraser = (*Node)(nil)
)

// Erase overwrites data of an instance that has ended, at all nodes of its process.
func (n *Node) Erase(ctx context.Context, id api.InstanceID, r api.EraseRequest) (api.EraseAnswer, error) {
	a, err := n.eraser.Erase(ctx, id, r)
	return told(a, n.unlessStopping(err))
}

// Order says whether a command of a peer's operator is carried out here.
func (s site) Order(o *command.Order) *api.Error { return s.commands.Allow(o) }

// HoldAudit keeps retention from removing audit records.
func (s site) HoldAudit(ctx context.Context) (release func(), err error) { return s.retain.Hold(ctx) }

// ForgetLogs takes out what programs of an instance have written.
func (s site) ForgetLogs(i message.InstanceID) error { return s.logs.Remove(i) }

// By says who commands at this node, for the history.
func (s site) By(ctx context.Context) string { return s.commands.By(ctx) }
