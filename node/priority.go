package node

import (
	"strings"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// rankOf is the priority that an instance is given by who starts it. A site that cannot read it yet would be sent nothing
// of the instance until it is upgraded: then it is refused, and nothing has been started.
func (n *Node) rankOf(t *processtable.Table, priority *int) (message.Rank, error) {
	if priority == nil {
		return 0, nil
	}
	rank := message.RankOf(int64(*priority))
	header := message.Header{Rank: rank, Kind: message.KindConnector}
	needs := message.Needs{Format: uint8(header.Format()), Kind: header.Kind}
	var old []string
	for _, node := range t.Nodes() {
		if node == "" || node == n.name {
			continue
		}
		if _, met := n.queue.KnownIncarnation(node); met && n.queue.Transmission(node).Lacks(needs) != "" {
			old = append(old, string(node))
		}
	}
	if len(old) > 0 {
		return 0, api.Errorf(api.CodeRefused, "upgrade "+strings.Join(old, ", ")+", or start it without a priority", "start %s: the version of %s knows no priorities", t.Process, strings.Join(old, ", "))
	}
	return rank, nil
}
