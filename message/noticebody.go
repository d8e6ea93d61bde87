package message

import (
	"fmt"
	"math"
	"time"

	"fmqm/internal/cbor"
)

// Notice is the body of a KindNotice message: an activity went in error, or left it (N4); or its deadline has ended it.
type Notice struct {
	Error    string
	Attempts int
	Cleared  bool // it is not in error any more
	Time     time.Time
	// TimedOut: its deadline has ended it. Then it is Cleared, and the message has the number NoticeOfDeadline. Not of version 1.
	TimedOut bool
}

// NoticeOfDeadline is the number of the message by which an activity tells that its deadline has ended it: it takes the place of none
// about an error.
const NoticeOfDeadline = 1

// noticeVersion is that of a notice of a deadline; others are written in version 1.
const noticeVersion = 2

// version is the lowest that can say n.
func (n *Notice) version() uint64 {
	if n.TimedOut {
		return noticeVersion
	}
	return 1
}

// EncodeNotice gives the body of a KindNotice message.
func EncodeNotice(n Notice) []byte {
	w := beginBody(n.version(), len(n.Error))
	w.Text(0, cut(n.Error))
	w.Uint(1, uint64(n.Attempts))
	w.Bool(2, n.Cleared)
	w.Time(3, n.Time)
	w.Bool(4, n.TimedOut)
	return w.B
}

// DecodeNotice reads the body of a KindNotice message.
func DecodeNotice(data []byte) (n Notice, err error) {
	version, err := decodeBody("notice", noticeVersion, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			n.Error = f.Text(MaxText)
		case 1:
			n.Attempts = int(f.Uint(math.MaxInt64))
		case 2:
			n.Cleared = f.Bool()
		case 3:
			n.Time = f.Time()
		case 4:
			n.TimedOut = f.Bool()
		default:
			f.Unknown()
		}
	})
	if err == nil && (version != n.version() || n.TimedOut && !n.Cleared) {
		err = fmt.Errorf("%w: notice: version %d, of a deadline: %t", ErrFormat, version, n.TimedOut)
	}
	return n, err
}
