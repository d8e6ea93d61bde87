package message

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"fmqm/container"
	"fmqm/internal/cbor"
)

// What people want of a work item (N27). Nobody but its home is asked, and none of it is queued for another node.
const (
	WishClaim    Wish = "claim"    // it is to be theirs
	WishRelease  Wish = "release"  // it is to be offered again
	WishTransfer Wish = "transfer" // it is to be To's
	WishSave     Wish = "save"     // Output changes its draft
	WishComplete Wish = "complete" // its output is settled: the draft, with what Output changes
)

// OfWork are these wishes.
var OfWork = []Wish{WishClaim, WishRelease, WishTransfer, WishSave, WishComplete}

// Item is what the snapshot of a manual activity says of the work item that its iteration is (N27): it is offered, or
// somebody has it.
type Item struct {
	Offered time.Time // when; zero: of a notice that people are not shown, as yet or any more
	Claim   uint64    // how often somebody was given it; a word may name the one that it saw
	By      Doer      // who has it; zero: it is offered
	Claimed time.Time // since when; zero: it is offered
	Draft   []byte    // CBOR of the output container as it was saved; nil: it was not
	Saved   int       // how often it was saved
	Asked   WordID    // of an offer: the word of its node by which that one has got it; zero: another's, or none (Offer)
	Did     Doers     // of a notice: who did what its staff expression asks for
}

const (
	itemOffered = 0
	itemClaim   = 1
	itemBy      = 2
	itemClaimed = 3
	itemDraft   = 4
	itemSaved   = 5
	itemAsked   = 6
	itemDid     = 7
)

func appendItem(b []byte, o *Item) []byte {
	w := cbor.BeginMap(b)
	w.Time(itemOffered, o.Offered)
	w.Uint(itemClaim, o.Claim)
	w.Text(itemBy, o.By.String())
	w.Time(itemClaimed, o.Claimed)
	w.Bytes(itemDraft, o.Draft)
	w.Uint(itemSaved, uint64(o.Saved))
	if o.Asked != (WordID{}) {
		w.Bytes(itemAsked, o.Asked[:])
	}
	writeDoers(&w, itemDid, o.Did)
	return w.B
}

func readItem(r *cbor.Reader) *Item {
	o := &Item{}
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case itemOffered:
			o.Offered = f.Time()
		case itemClaim:
			o.Claim = f.Uint(math.MaxUint64)
		case itemBy:
			o.By = readDoer(f.Reader)
		case itemClaimed:
			o.Claimed = f.Time()
		case itemDraft:
			o.Draft = f.Bytes(container.MaxEncoded)
		case itemSaved:
			o.Saved = int(f.Uint(math.MaxInt32))
		case itemAsked:
			f.Fixed(o.Asked[:])
		case itemDid:
			o.Did = readDoers(&f)
		default:
			f.Unknown()
		}
	}
	if taken := o.By != (Doer{}); r.Err() == nil && (taken == o.Claimed.IsZero() || taken && o.Claim == 0) {
		r.Fail("an item of %q, given %d times", o.By, o.Claim)
	}
	return o
}

// People is who else a line of history names, beside who did it (N27).
type People struct {
	For string // whom that one stood in for
	To  string // to whom an item was transferred
	// Operator is who acted in that person's name, as "alice at B"; empty: the person himself did.
	Operator string
}

// AppendPeople appends what a record keeps of them.
func AppendPeople(b []byte, p *People) []byte {
	w := cbor.BeginMap(b)
	w.Text(0, p.For)
	w.Text(1, p.To)
	w.Text(2, p.Operator)
	return w.B
}

// ReadPeople reads what AppendPeople has appended.
func ReadPeople(r *cbor.Reader) (p People) {
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case 0:
			p.For = f.Text(MaxPerson)
		case 1:
			p.To = f.Text(MaxPerson)
		case 2:
			p.Operator = f.Text(MaxBy)
		default:
			f.Unknown()
		}
	}
	if r.Err() == nil && p == (People{}) {
		r.Fail("it names nobody")
	}
	return p
}

// ItemDigits is how many letters an ItemID has.
const ItemDigits = 12

// ItemID is how people name a work item: the beginning of its execution's key, which is long enough to tell it from all
// others of a node.
func ItemID(e *Entry, x Execution) string { return ExecutionKey(e, x)[:ItemDigits] }

// ExecutionKey is the same for every attempt of one execution, and for no other (P1).
func ExecutionKey(e *Entry, x Execution) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		e.Instance.String(), string(e.Scope), string(e.Activity), strconv.Itoa(x.Iteration), strconv.Itoa(x.Run),
	}, "\x00")))
	return hex.EncodeToString(sum[:16])
}
