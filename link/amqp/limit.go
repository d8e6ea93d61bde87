package amqp

import (
	"encoding/binary"
	"fmt"
)

// maxMessage is how large a message may be that the broker begins to deliver, in bytes. The client
// collects as much of one as its head says, and the head is the broker's. Anybody who may write to
// the queue can leave there what the broker takes, which by default is 16 MiB (RabbitMQ 4) or 128 MiB
// (before). A smaller bound would end the connection for it, again and again, since the broker
// delivers it again: such a message is taken, and dropped.
const maxMessage = 128 << 20

const (
	frameHead     = 7              // type, channel, size of what follows
	contentHead   = frameHead + 12 // and class, weight, size of the body
	contentHeader = 2              // the type of the frame that begins a body
)

// follower follows the frames of what a broker sends, and finds bodies that are too large.
type follower struct {
	head [contentHead]byte
	n    int    // of head
	skip uint64 // bytes up to the next frame
}

// see takes what was read next.
func (f *follower) see(data []byte) error {
	for len(data) > 0 {
		if f.skip > 0 {
			n := min(f.skip, uint64(len(data)))
			f.skip -= n
			data = data[n:]
			continue
		}
		n := copy(f.head[f.n:f.want()], data)
		f.n += n
		data = data[n:]
		if f.n < f.want() {
			continue
		}
		if f.n == contentHead {
			if size := binary.BigEndian.Uint64(f.head[contentHead-8:]); size > maxMessage {
				return fmt.Errorf("the broker begins to deliver a message of %d bytes, and this side takes at most %d: set max_message_size there, and purge this site's queue, since it comes again", size, maxMessage)
			}
		}
		f.skip = frameHead + f.size() + 1 - uint64(f.n) // the frame ends with a byte of its own
		f.n = 0
	}
	return nil
}

// want is how much of the present frame is looked at.
func (f *follower) want() int {
	if f.n >= frameHead && f.head[0] == contentHeader && f.size() >= contentHead-frameHead {
		return contentHead
	}
	return frameHead
}

// size is that of the present frame, without its head and its last byte.
func (f *follower) size() uint64 { return uint64(binary.BigEndian.Uint32(f.head[3:frameHead])) }
