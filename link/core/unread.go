package core

import (
	"fmt"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// What the peer cannot read gets no number in a lane: the store keeps it apart, by what Reads has
// told it (N17). An item with a number is one that the peer did read when it got that. Where the
// peer has gone back to an older version since, the item waits, with all that is behind it in its
// lane, and the link says what to do.

// unread says that an item waits because the peer does not read its format any more.
type unread struct {
	number uint64
	needs  message.Needs
}

// unread gives why the peer cannot read an item, or nil. A later part of a large
// message waits behind the first; what is no message is the peer's to refuse (L5).
func (c *Core) unread(i *record.Item) *unread {
	if c.peer.reads == message.Current() {
		return nil // it reads all that this program can have stored, and nothing has to be looked into
	}
	piece, err := record.Unpack(i.Payload)
	if err != nil || piece.Index != 0 {
		return nil
	}
	if needs := message.NeedsOfEncoded(piece.Data); !c.peer.reads.Has(needs) {
		return &unread{i.Number, needs}
	}
	return nil
}

// peerReads takes what the peer says that it reads, and tells the store where that is news.
func (c *Core) peerReads(now message.Reads) {
	c.peer.reads = now
	if c.told != now {
		c.told = now
		c.emit(Reads{Reads: now})
	}
}

func reasonUnread(peer processtable.NodeID, u *unread, reads *message.Reads) string {
	what, format, reader := "message", u.needs.Format, reads.Message
	if format == 0 || reader.Has(uint32(format)) {
		what, format, reader = "table", u.needs.Table, reads.Table
	}
	switch {
	case format == 0 || reader.Has(uint32(format)):
		return fmt.Sprintf("site %s cannot read what waits since item %d: it needs %s: upgrade %s", peer, u.number, reads.Lacks(u.needs), peer)
	case format < reader.Min:
		return fmt.Sprintf("site %s reads %s formats %s; what waits since item %d is in format %d, of an older version of this program: upload the process again, or run the older version at %s",
			peer, what, reader, u.number, format, peer)
	}
	return fmt.Sprintf("site %s reads %s formats %s; what waits since item %d is in format %d: upgrade %s", peer, what, reader, u.number, format, peer)
}
