package node

import (
	"fmt"

	"fmqm/message"
	"fmqm/processtable"
)

// onBehalf says why peer may not send m, which another node's activity is the source of:
// it may where the table lets it resolve that one's connectors on its host's behalf, and
// then it can only say that the activity is dead (N6).
func onBehalf(peer, host processtable.NodeID, t *processtable.Table, m message.Message) string {
	switch {
	case m.Kind != message.KindConnector || !t.MayResolve(peer, m.Source):
		return fmt.Sprintf("activity %s of %s is hosted at %s, and the message came from %s", m.Source, t.Process, host, peer)
	case m.Control == message.True || m.Data == message.DataPresent:
		return fmt.Sprintf("activity %s of %s is hosted at %s: on its behalf %s may say that it was skipped, and nothing else", m.Source, t.Process, host, peer)
	}
	return ""
}
