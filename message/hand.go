package message

import (
	"fmqm/container"
	"fmqm/internal/cbor"
)

// Hand is that an operator ends an activity, whatever it does or waits for (N30). It is in the
// snapshot of one that takes several transactions to end: until the last of them it goes on being
// ended, whatever happens.
type Hand struct {
	Skip   bool   // as on a dead path; else it has run
	Output []byte // CBOR container; with Skip there is none
	By     string // who, as "alice at B"; at most MaxBy bytes
	Why    string // the operator's reason; at most MaxWhy bytes
}

func appendHand(b []byte, h *Hand) []byte {
	m := cbor.BeginMap(b)
	m.Bool(0, h.Skip)
	m.Bytes(1, h.Output)
	m.Text(2, h.By)
	m.Text(3, h.Why)
	return m.B
}

func readHand(r *cbor.Reader) *Hand {
	h := &Hand{}
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case 0:
			h.Skip = f.Bool()
		case 1:
			h.Output = f.Bytes(container.MaxEncoded)
		case 2:
			h.By = f.Text(MaxBy)
		case 3:
			h.Why = f.Text(MaxWhy)
		default:
			f.Unknown()
		}
	}
	return h
}
