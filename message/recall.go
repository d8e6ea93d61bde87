package message

import (
	"fmt"
	"math"

	"github.com/google/uuid"

	"fmqm/container"
	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// Recall is the body of a KindRecall message (N30).
type Recall struct {
	Again    bool // it is for an activity from which a connector leads to the source: that is to be sent once more
	Answered bool // what it voids was taken out; it stays where it lies, for what comes late
}

// Recalled is the body of a KindRecalled message: what has come of a recall.
type Recalled struct {
	Taken bool   // what had come by the connector does not count any more
	Why   string // for people: why it cannot be taken out; empty: it was
}

// Restart is a restart of an activity for which not all have answered yet (N30).
type Restart struct {
	Word    WordID // by which it is wanted
	By, Why string // who wants it, as "alice at B", and his reason
	Input   []byte // CBOR container with which it is to run; nil: with what its connectors bring
	Doer    Doer   // who had done it; zero: nobody
	// Consumed and Sent are what its connectors had brought, and what it had sent, as its history has it.
	Consumed []Connected
	Sent     []Connected
	// Refused is why it is being given up; empty: it is not. Told: the word was answered so. Settled are the activities of Sent
	// that have answered since, and have back what they had taken out.
	Refused string
	Told    bool
	Settled []processtable.ActivityID
}

// Connected is what one message has resolved of the connectors between two activities.
type Connected struct {
	Activity processtable.ActivityID // the other one
	Node     processtable.NodeID     // to which it was sent; of Consumed it is empty
	Number   uint64                  // of the message
	Control  Truth
	Data     Data
	Lane     Lane
	Clock    uint64
}

// Recalled is the message that answers a recall with header h, for the node of its source; why is empty where what it
// voids was taken out.
func (h *Header) Recalled(home processtable.NodeID, why string) Message {
	r := Header{
		Queue: Queue{Process: h.Queue.Process, Node: home}, Definition: h.Definition, Instance: h.Instance, Origin: h.Origin,
		Scope: h.Scope, SourceScope: h.Scope, Activity: h.Source, Source: h.Activity, Number: h.Number,
		Kind: KindRecalled, Lane: LaneControl, Rank: h.Rank, Clock: Next(h.Clock), Trace: h.Trace,
	}
	return Message{Header: r, Body: EncodeRecalled(Recalled{Taken: why == "", Why: why})}
}

// EncodeRecall gives the body of a KindRecall message.
func EncodeRecall(r Recall) []byte {
	w := beginBody(1, 0)
	w.Bool(0, r.Again)
	w.Bool(1, r.Answered)
	return w.B
}

// DecodeRecall reads the body of a KindRecall message.
func DecodeRecall(data []byte) (r Recall, err error) {
	_, err = decodeBody("recall", 1, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			r.Again = f.Bool()
		case 1:
			r.Answered = f.Bool()
		default:
			f.Unknown()
		}
	})
	if err == nil && r.Again && r.Answered {
		err = fmt.Errorf("%w: recall: what asks for something voids nothing", ErrFormat)
	}
	return r, err
}

// EncodeRecalled gives the body of a KindRecalled message.
func EncodeRecalled(r Recalled) []byte {
	w := beginBody(1, len(r.Why))
	w.Bool(0, r.Taken)
	w.Text(1, cut(r.Why))
	return w.B
}

// DecodeRecalled reads the body of a KindRecalled message.
func DecodeRecalled(data []byte) (r Recalled, err error) {
	_, err = decodeBody("answer to a recall", 1, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			r.Taken = f.Bool()
		case 1:
			r.Why = f.Text(MaxText)
		default:
			f.Unknown()
		}
	})
	if err == nil && r.Taken == (r.Why != "") {
		err = fmt.Errorf("%w: answer to a recall: it says why what was taken out cannot be, or not why it cannot", ErrFormat)
	}
	return r, err
}

// maxConnected is how many connectors a restart knows in one direction: more than a table has activities.
const maxConnected = math.MaxUint16

func appendRestart(b []byte, r *Restart) []byte {
	m := cbor.BeginMap(b)
	m.Bytes(0, r.Word[:])
	m.Text(1, cutTo(r.By, MaxBy))
	m.Text(2, cutTo(r.Why, MaxWhy))
	m.Bytes(3, r.Input)
	m.Text(4, r.Doer.String())
	appendConnected(&m, 5, r.Consumed)
	appendConnected(&m, 6, r.Sent)
	m.Text(7, cut(r.Refused))
	m.Bool(8, r.Told)
	activities(&m, 9, r.Settled)
	return m.B
}

const connectedParts = 7

func appendConnected(m *cbor.Map, key byte, all []Connected) {
	m.Array(key, len(all))
	for i := range all {
		c := &all[i]
		m.B = cbor.AppendArray(m.B, connectedParts)
		m.B = cbor.AppendText(cbor.AppendText(m.B, string(c.Activity)), string(c.Node))
		for _, n := range [...]uint64{c.Number, uint64(c.Control), uint64(c.Data), uint64(c.Lane), c.Clock} {
			m.B = cbor.AppendUint(m.B, n)
		}
	}
}

func readRestart(r *cbor.Reader) *Restart {
	o := &Restart{}
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case 0:
			f.Fixed(o.Word[:])
		case 1:
			o.By = f.Text(MaxBy)
		case 2:
			o.Why = f.Text(MaxWhy)
		case 3:
			o.Input = f.Bytes(container.MaxEncoded)
		case 4:
			o.Doer = readDoer(f.Reader)
		case 5:
			o.Consumed = readConnected(&f)
		case 6:
			o.Sent = readConnected(&f)
		case 7:
			o.Refused = f.Text(MaxText)
		case 8:
			o.Told = f.Bool()
		case 9:
			o.Settled = readActivities(&f)
		default:
			f.Unknown()
		}
	}
	if o.Word == uuid.Nil && r.Err() == nil {
		r.Fail("a restart that nobody wants")
	}
	return o
}

func readConnected(f *cbor.Fields) []Connected {
	all := make([]Connected, f.Array(maxConnected))
	for i := range all {
		c, r := &all[i], f.Reader
		if r.Array(connectedParts) != connectedParts {
			r.Fail("expected what a message has resolved, in %d parts", connectedParts)
		}
		c.Activity, c.Node = processtable.ActivityID(r.Text(processtable.MaxName)), processtable.NodeID(r.Text(processtable.MaxName))
		c.Number = r.Uint(math.MaxUint64)
		c.Control, c.Data = Truth(r.Uint(uint64(TrueFailed))), Data(r.Uint(uint64(DataWords)))
		c.Lane, c.Clock = Lane(r.Uint(uint64(LaneControl))), r.Uint(math.MaxUint64)
	}
	return all
}
