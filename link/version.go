package link

import (
	"fmt"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// Frame format versions that this code writes and reads (L6). Version 2 says in its
// hello which formats of messages and tables the speaker reads, and where the
// conversation began; all else is as in version 1.
const (
	MinVersion = 1
	MaxVersion = 2
)

// Range is a range of format versions, both ends included.
type Range struct{ Min, Max uint8 }

func (r Range) String() string { return fmt.Sprintf("%d to %d", r.Min, r.Max) }

func (r Range) has(v uint32) bool { return uint32(r.Min) <= v && v <= uint32(r.Max) }

// orFirst: who says nothing of a format reads its first version.
func (r Range) orFirst() Range {
	if r == (Range{}) {
		return Range{1, 1}
	}
	return r
}

// Formats are the formats that a node reads.
type Formats struct{ Frame, Message, Table Range }

// reads is what this program reads.
var reads = Formats{
	Frame:   Range{MinVersion, MaxVersion},
	Message: Range{1, message.FormatVersion},
	Table:   Range{1, processtable.EnvelopeFormat},
}

// unread says that an item waits because the peer does not read its format.
type unread struct {
	number uint64
	what   string // "message" or "table"
	format uint32
	peer   Range // what the peer reads of it
}

// unread gives why the peer cannot read an item, or nil. A later part of a large
// message waits behind the first; what is no message is the peer's to refuse (L5).
func (c *Core) unread(i *Item) *unread {
	piece, err := queue.Unpack(i.Payload)
	if err != nil || piece.Index != 0 {
		return nil
	}
	format, table := message.Formats(piece.Data)
	switch {
	case format != 0 && !c.peer.reads.Message.has(format):
		return &unread{i.Number, "message", format, c.peer.reads.Message}
	case table != 0 && !c.peer.reads.Table.has(table):
		return &unread{i.Number, "table", table, c.peer.reads.Table}
	}
	return nil
}

func reasonUnread(peer processtable.NodeID, u *unread) string {
	whom := string(peer)
	if u.format < uint32(u.peer.Min) {
		return fmt.Sprintf("site %s reads %s formats %s; what waits since item %d is in format %d, of an older version of this program: upload the process again, or run the older version at %s",
			peer, u.what, u.peer, u.number, u.format, whom)
	}
	return fmt.Sprintf("site %s reads %s formats %s; what waits since item %d is in format %d: upgrade %s", peer, u.what, u.peer, u.number, u.format, whom)
}
