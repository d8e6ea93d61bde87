package message

import (
	"fmt"
	"math"
	"time"

	"fmqm/internal/cbor"
)

// Offer is the body of a KindOffer message: how a work item is at its home, for a node that offers it to its own people (N27).
type Offer struct {
	Claim   uint64    // how often somebody was given it
	By      Doer      // who has it; zero: it is offered
	Claimed time.Time // since when; zero: it is offered
	// Asked is the word by which that one has got it, where the node was asked for that; nobody waits for it any more where the node has
	// stopped, or given up, since. Zero: another word, or none.
	Asked WordID
}

// Change is the number of what an item has come to: it grows with everything that offers are told of.
func (o *Item) Change() uint64 {
	if o.By == (Doer{}) {
		return 2*o.Claim + 1
	}
	return 2 * o.Claim
}

// Offer is what nodes that offer the item are told.
func (o *Item) Offer(asked WordID) Offer {
	return Offer{Claim: o.Claim, By: o.By, Claimed: o.Claimed, Asked: asked}
}

// Change is that of the item that it tells of: the number of its message.
func (o *Offer) Change() uint64 {
	item := Item{Claim: o.Claim, By: o.By}
	return item.Change()
}

// EncodeOffer gives the body of a KindOffer message.
func EncodeOffer(o Offer) []byte {
	w := beginBody(1, 2*MaxPerson)
	w.Uint(0, o.Claim)
	w.Text(1, o.By.String())
	w.Time(2, o.Claimed)
	if o.Asked != (WordID{}) {
		w.Bytes(3, o.Asked[:])
	}
	return w.B
}

// DecodeOffer reads the body of a KindOffer message.
func DecodeOffer(data []byte) (o Offer, err error) {
	_, err = decodeBody("offer", 1, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			o.Claim = f.Uint(math.MaxUint32)
		case 1:
			o.By = readDoer(f.Reader)
		case 2:
			o.Claimed = f.Time()
		case 3:
			f.Fixed(o.Asked[:])
		default:
			f.Unknown()
		}
	})
	if err != nil {
		return o, err
	}
	switch taken := o.By != (Doer{}); {
	case o.Claim == 0:
		err = fmt.Errorf("%w: offer: nobody was given the item, so there is nothing to tell of it", ErrFormat)
	case taken == o.Claimed.IsZero(), o.Asked != (WordID{}) && (!taken || !validWord(o.Asked)):
		err = fmt.Errorf("%w: offer: it is of %q, who has it or has not", ErrFormat, o.By)
	}
	return o, err
}
