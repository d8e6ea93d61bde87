package message

import (
	"fmt"
	"time"

	"fmqm/container"
	"fmqm/internal/cbor"
)

// What a composite and what it has begun say to each other (N12, N25).

// Cancel is the body of a KindCancel message.
type Cancel struct {
	Reason string // for people
}

// Begin is the body of a KindBegin message.
type Begin struct {
	Input []byte // CBOR container
	// Did says, of an element of a bundle of manual activities, who did those that it asks for, as hidden connectors have
	// brought it to the bundle (processtable.Manual). Not of version 1.
	Did Doers
	// Due is, of what offers a manual activity beside its home, when that ends whatever people do; zero: never, or it offers
	// nothing. From version 3 on.
	Due time.Time
}

// Versions of a begin: one that says who did others, one with a time as well. Each is written in the lowest that can say it.
const (
	beginDid     = 2
	beginVersion = 3
)

func (b *Begin) version() uint64 {
	switch {
	case !b.Due.IsZero():
		return beginVersion
	case len(b.Did) > 0:
		return beginDid
	}
	return 1
}

// Return is the body of a KindReturn message. With Error there is no output. The rest is of what a bundle or
// a call has begun.
type Return struct {
	Output []byte // CBOR container
	Error  string
	RC     int64
	Ending
	Failed bool // it counts as failed (N21)
}

// returnVersion is that of a return of what a bundle or a call has begun; others are written in version 1.
const returnVersion = 2

// version is the lowest that can say r.
func (r *Return) version() uint64 {
	if r.RC != 0 || r.Failed || r.Ending != (Ending{}) {
		return returnVersion
	}
	return 1
}

// EncodeBegin gives the body of a KindBegin message.
func EncodeBegin(b Begin) []byte {
	w := beginBody(b.version(), len(b.Input))
	w.Bytes(0, b.Input)
	writeDoers(&w, 1, b.Did)
	w.Time(2, b.Due)
	return w.B
}

// DecodeBegin reads the body of a KindBegin message. Input is a part of data.
func DecodeBegin(data []byte) (b Begin, err error) {
	version, err := decodeBody("begin", beginVersion, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			b.Input = f.Bytes(container.MaxEncoded)
		case 1:
			b.Did = readDoers(f)
		case 2:
			b.Due = f.Time()
		default:
			f.Unknown()
		}
	})
	if err == nil && version != b.version() {
		err = fmt.Errorf("%w: begin: it would be written in version %d, and not %d", ErrFormat, b.version(), version)
	}
	return b, err
}

// EncodeReturn gives the body of a KindReturn message.
func EncodeReturn(r Return) []byte {
	w := beginBody(r.version(), len(r.Output)+len(r.Error)+len(r.Failure))
	w.Bytes(0, r.Output)
	w.Text(1, cut(r.Error))
	w.Int(2, r.RC)
	w.Bool(3, r.TimedOut)
	w.Text(4, cut(r.Failure))
	w.Bool(5, r.Failed)
	return w.B
}

// DecodeReturn reads the body of a KindReturn message. Output is a part of data.
func DecodeReturn(data []byte) (r Return, err error) {
	version, err := decodeBody("return", returnVersion, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			r.Output = f.Bytes(container.MaxEncoded)
		case 1:
			r.Error = f.Text(MaxText)
		case 2:
			r.RC = f.Int()
		case 3:
			r.TimedOut = f.Bool()
		case 4:
			r.Failure = f.Text(MaxText)
		case 5:
			r.Failed = f.Bool()
		default:
			f.Unknown()
		}
	})
	switch {
	case err != nil:
	case version != r.version():
		err = fmt.Errorf("%w: return: it would be written in version %d, and not %d", ErrFormat, r.version(), version)
	case r.Error != "" && r.Output != nil:
		err = fmt.Errorf("%w: return: an output beside an error", ErrFormat)
	}
	return r, err
}

// EncodeCancel gives the body of a KindCancel message.
func EncodeCancel(c Cancel) []byte {
	w := beginBody(1, len(c.Reason))
	w.Text(0, cut(c.Reason))
	return w.B
}

// DecodeCancel reads the body of a KindCancel message.
func DecodeCancel(data []byte) (c Cancel, err error) {
	_, err = decodeBody("cancel", 1, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			c.Reason = f.Text(MaxText)
		default:
			f.Unknown()
		}
	})
	return c, err
}
