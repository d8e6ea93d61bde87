package message

import (
	"fmt"
	"math"

	"fmqm/container"
	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// Gathered is what a snapshot says of a bundle (N21). What has returned is below Next, and not in Open; of it
// the results lie in the chunks.
type Gathered struct {
	Next   int      // the element that is begun next
	Open   []int    // begun, and not in a chunk: under way, or their returns lie in the entry; ascending
	Done   int      // returned, of what is not open
	Failed int      // of these
	Bytes  int      // of their results
	Chunk  uint64   // number of the last chunk that was written
	Chunks []uint64 // numbers of those that are there, ascending
	Closed bool     // until is TRUE: what is open is cancelled, and nothing more begins
	Told   int      // elements in error, as the origin, or what is around, was told last
}

// Outcome is what one element of a bundle has come to.
type Outcome struct {
	Element int
	Output  []byte // CBOR container; nil: nobody reads it, or it has none
	Error   string
	RC      int64
}

// Chunk is the body of a KindChunk message: outcomes of a bundle, in no order.
type Chunk struct {
	Level    int // how often they were put together
	Outcomes []Outcome
}

const outcomeParts = 4

// maxLevels bounds Level: with 2 in a chunk, MaxElement are in one of a level below.
const maxLevels = 32

// EncodeChunk gives the body of a KindChunk message.
func EncodeChunk(c Chunk) []byte {
	size := 0
	for i := range c.Outcomes {
		size += 16 + len(c.Outcomes[i].Output) + len(c.Outcomes[i].Error)
	}
	w := beginBody(1, size)
	w.Uint(0, uint64(c.Level))
	w.Array(1, len(c.Outcomes))
	for i := range c.Outcomes {
		o := &c.Outcomes[i]
		w.B = cbor.AppendUint(cbor.AppendArray(w.B, outcomeParts), uint64(o.Element))
		w.B = cbor.AppendInt(cbor.AppendText(cbor.AppendBytes(w.B, o.Output), cut(o.Error)), o.RC)
	}
	return w.B
}

// DecodeChunk reads the body of a KindChunk message. The outputs are parts of data.
func DecodeChunk(data []byte) (c Chunk, err error) {
	c.Level, err = EachOutcome(data, func(o Outcome) { c.Outcomes = append(c.Outcomes, o) })
	return c, err
}

// EachOutcome reads the body of a KindChunk message, and gives its level. It calls visit for each outcome that it comes
// to, also of a body that turns out to be damaged behind it: there may be tens of thousands, and none is kept. The
// outputs are parts of data.
func EachOutcome(data []byte, visit func(Outcome)) (level int, err error) {
	count := 0
	_, err = decodeBody("chunk", 1, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			level = int(f.Uint(maxLevels))
		case 1:
			for range f.Array(MaxElement + 1) {
				if f.Err() != nil {
					return
				}
				f.Tuple(outcomeParts)
				o := Outcome{Element: int(f.Reader.Uint(MaxElement)), Output: f.Reader.Bytes(container.MaxEncoded), Error: f.Reader.Text(MaxText)}
				if o.RC = f.Reader.Int(); len(o.Output) == 0 {
					o.Output = nil
				}
				count++
				visit(o)
			}
		default:
			f.Unknown()
		}
	})
	if err == nil && count == 0 {
		err = fmt.Errorf("%w: chunk: it has no outcomes", ErrFormat)
	}
	return level, err
}

// appendBegun appends what a snapshot says of what a bundle has begun, or a call: not of both.
func appendBegun(b []byte, s *Snapshot) []byte {
	w := cbor.BeginMap(b)
	if s.At != "" {
		w.Text(9, string(s.At))
		return w.B
	}
	g := s.Gathered
	w.Uint(0, uint64(g.Next))
	w.Array(1, len(g.Open))
	for _, n := range g.Open {
		w.B = cbor.AppendUint(w.B, uint64(n))
	}
	w.Uint(2, uint64(g.Done))
	w.Uint(3, uint64(g.Failed))
	w.Uint(4, uint64(g.Bytes))
	w.Uint(5, g.Chunk)
	w.Array(6, len(g.Chunks))
	for _, n := range g.Chunks {
		w.B = cbor.AppendUint(w.B, n)
	}
	w.Bool(7, g.Closed)
	w.Uint(8, uint64(g.Told))
	return w.B
}

func readBegun(r *cbor.Reader, s *Snapshot) {
	g := &Gathered{}
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case 0:
			g.Next = int(f.Uint(MaxElement + 1))
		case 1:
			for range f.Array(MaxElement + 1) {
				n := int(f.Reader.Uint(MaxElement))
				if last := len(g.Open) - 1; f.Err() == nil && (n >= g.Next || last >= 0 && g.Open[last] >= n) {
					f.Fail("element %d is not in order, or was not begun", n)
				}
				if f.Err() != nil {
					return
				}
				g.Open = append(g.Open, n)
			}
		case 2:
			g.Done = int(f.Uint(MaxElement + 1))
		case 3:
			g.Failed = int(f.Uint(MaxElement + 1))
		case 4:
			g.Bytes = int(f.Uint(math.MaxInt32))
		case 5:
			g.Chunk = f.Uint(math.MaxUint32)
		case 6:
			for range f.Array(MaxElement + 1) {
				n := f.Reader.Uint(g.Chunk)
				if last := len(g.Chunks) - 1; f.Err() == nil && (n == 0 || last >= 0 && g.Chunks[last] >= n) {
					f.Fail("chunk %d is not in order", n)
				}
				if f.Err() != nil {
					return
				}
				g.Chunks = append(g.Chunks, n)
			}
		case 7:
			g.Closed = f.Bool()
		case 8:
			g.Told = int(f.Uint(MaxElement + 1))
		case 9:
			s.At = processtable.NodeID(f.Text(processtable.MaxName))
		default:
			f.Unknown()
		}
	}
	if s.At != "" {
		if r.Err() == nil && (g.Next != 0 || g.Done != 0 || g.Bytes != 0 || g.Chunk != 0 || g.Closed || g.Told != 0) {
			r.Fail("it is of a call at %s, and of a bundle", s.At)
		}
		return
	}
	s.Gathered = g
	if r.Err() == nil && (g.Failed > g.Done || g.Done+len(g.Open) > g.Next) {
		r.Fail("of %d elements that were begun %d are open, %d done and %d failed", g.Next, len(g.Open), g.Done, g.Failed)
	}
}

// ChunkKey is the key of a chunk of the bundle with this entry.
func ChunkKey(e *Entry, number uint64) Key {
	return Key{Kind: KindChunk, Scope: e.Scope, Number: number}
}

// Work is the number of what returns from the work of a call, of these nodes: which of them it is from
// (N20), so that no node's return takes the place of another's; 0: none of them.
func Work(nodes []processtable.NodeID, from processtable.NodeID) uint64 {
	for i, n := range nodes {
		if n == from {
			return uint64(i) + 1
		}
	}
	return 0
}
