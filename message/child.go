package message

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/google/uuid"

	"fmqm/container"
	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// MaxDepth is how deep subprocesses may be inside of one another (N19), as Deeper counts it.
const MaxDepth = 32

// Deeper is the depth of an instance that one of several activities of a process begins, in an instance of
// that depth. Of one activity it is one more. Where a process has several, each of them costs more: so all
// instances under way at a time that come of one are about 2 to the power of half of MaxDepth at most,
// whatever begins itself, and nobody has to count them.
func Deeper(depth, several int) int { return depth + 1 + 2*bits.Len(uint(max(0, several-1))) }

// Child is an instance that an activity has begun (N19). The zero one is none.
type Child struct {
	Instance InstanceID
	Process  processtable.ProcessID
}

// Number tells the returns of an activity's children apart: it is that of the child's.
func (c *Child) Number() uint64 { return binary.BigEndian.Uint64(c.Instance[8:]) }

// Parent is the execution of an activity that has begun an instance, and awaits its return (N19).
type Parent struct {
	Process   processtable.ProcessID
	Node      processtable.NodeID // the activity's home
	Instance  InstanceID
	Scope     Scope
	Activity  processtable.ActivityID
	Iteration int
	Run       int
	Attempt   int // counts from 1
}

// Entry is the activity's.
func (p *Parent) Entry() Entry {
	return Entry{Instance: p.Instance, Scope: p.Scope, Activity: p.Activity}
}

// Back is the message that returns to the activity what a child has come to, without clock and trace.
func (p *Parent) Back(c Child, r Return) Message {
	return Message{
		Header: Header{
			Queue: Queue{Process: p.Process, Node: p.Node}, Instance: p.Instance, Scope: p.Scope, Activity: p.Activity,
			SourceScope: p.Scope, Source: processtable.Sink, Number: c.Number(), Kind: KindReturn,
		},
		Body: EncodeReturn(r),
	}
}

// Child derives the identifier of the instance of a process that the execution begins: a repeat has
// the same one. It is a UUIDv8 which says how deep the instance is inside of others (Deeper), and has the
// time of the outermost one. Several is how many activities of the parent's process begin instances.
func (p *Parent) Child(of processtable.ProcessID, several int) InstanceID {
	h := sha256.New()
	h.Write([]byte("fmqm child 1"))
	for _, s := range []string{p.Process.String(), p.Instance.String(), string(p.Scope), string(p.Activity), of.String()} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	for _, n := range []int{p.Iteration, p.Run, p.Attempt} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
	}
	var id InstanceID
	copy(id[8:], h.Sum(nil))
	copy(id[:6], p.Instance[:6])
	id[8] = id[8]&0x3f | 0x80
	depth := min(Deeper(DepthOf(p.Instance), several), MaxDepth) - 1 // 5 bits, from 0 on
	id[6], id[7] = 0x80|byte(depth>>1), byte(depth<<7)
	sum := depthSum(id)
	id[7] |= sum[0] & 0x7f
	id[15] = sum[1]
	return id
}

// DepthOf says how deep an instance is inside of others, as its identifier has it: one that no activity
// has begun, 0.
func DepthOf(id InstanceID) int {
	sum := depthSum(id)
	if id.Version() != 8 || id.Variant() != uuid.RFC4122 || id[7]&0x7f != sum[0]&0x7f || id[15] != sum[1] {
		return 0
	}
	return int(id[6]&0x0f)<<1 + int(id[7]>>7) + 1
}

// depthSum is of all of an identifier but what says the sum itself.
func depthSum(id InstanceID) [sha256.Size]byte {
	id[7] &= 0x80
	return sha256.Sum256(append([]byte("fmqm depth 1"), id[:15]...))
}

// Start is the body of a KindStart message.
type Start struct {
	Parent Parent
	Input  []byte // CBOR container
	By     Doer   // who has started the outermost instance; zero: no person. Not of version 1
}

// startVersion is that of a start which says who; others are written in version 1.
const startVersion = 2

// EncodeStart gives the body of a KindStart message.
func EncodeStart(s Start) []byte {
	version := uint64(1)
	if s.By != (Doer{}) {
		version = startVersion
	}
	w := beginBody(version, len(s.Input)+len(s.Parent.Scope)+4*processtable.MaxName)
	w.Key(0)
	w.B = AppendParent(w.B, &s.Parent)
	w.Bytes(1, s.Input)
	w.Text(2, s.By.String())
	return w.B
}

// DecodeStart reads the body of a KindStart message. Input is a part of data.
func DecodeStart(data []byte) (s Start, err error) {
	version, err := decodeBody("start", startVersion, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			s.Parent = ReadParent(f.Reader)
		case 1:
			s.Input = f.Bytes(container.MaxEncoded)
		case 2:
			s.By = readDoer(f.Reader)
		default:
			f.Unknown()
		}
	})
	if err == nil && s.Parent.Instance == uuid.Nil {
		err = invalid("start: no parent")
	}
	if err == nil && (version == startVersion) != (s.By != Doer{}) {
		err = invalid("start: version %d is that of one which says who has started it", startVersion)
	}
	return s, err
}

// AppendParent appends the encoded form of a parent, a map.
func AppendParent(b []byte, p *Parent) []byte {
	w := cbor.BeginMap(b)
	w.Text(0, p.Process.Name)
	w.Uint(1, uint64(p.Process.Version))
	w.Text(2, string(p.Node))
	w.Bytes(3, p.Instance[:])
	w.Text(4, string(p.Scope))
	w.Text(5, string(p.Activity))
	w.Uint(6, uint64(p.Iteration))
	w.Uint(7, uint64(p.Run))
	w.Uint(8, uint64(p.Attempt))
	return w.B
}

// ReadParent reads what AppendParent has written, and accepts nothing that cannot be one.
func ReadParent(r *cbor.Reader) (p Parent) {
	const name = processtable.MaxName
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case 0:
			p.Process.Name = f.Text(name)
		case 1:
			p.Process.Version = int(f.Uint(processtable.MaxVersion))
		case 2:
			p.Node = processtable.NodeID(f.Text(name))
		case 3:
			f.Fixed(p.Instance[:])
		case 4:
			p.Scope = Scope(f.Text(MaxScope))
		case 5:
			p.Activity = processtable.ActivityID(f.Text(name))
		case 6:
			p.Iteration = int(f.Uint(math.MaxInt64))
		case 7:
			p.Run = int(f.Uint(math.MaxInt64))
		case 8:
			p.Attempt = int(f.Uint(math.MaxInt64))
		default:
			f.Unknown()
		}
	}
	switch {
	case r.Err() != nil:
	case !processtable.ValidProcess(p.Process.Name) || p.Process.Version < 1 || !processtable.ValidNode(string(p.Node)) ||
		p.Instance == uuid.Nil || !validScope(p.Scope) || !processtable.ValidActivity(string(p.Activity)):
		r.Fail("no activity of an instance is named as the parent")
	}
	return p
}

const childParts = 3

// AppendChild appends the encoded form of a child, an array.
func AppendChild(b []byte, c *Child) []byte {
	b = cbor.AppendBytes(cbor.AppendArray(b, childParts), c.Instance[:])
	return cbor.AppendUint(cbor.AppendText(b, c.Process.Name), uint64(c.Process.Version))
}

// ReadChild reads what AppendChild has written.
func ReadChild(r *cbor.Reader) (c Child) {
	r.Tuple(childParts)
	r.Fixed(c.Instance[:])
	c.Process.Name = r.Text(processtable.MaxName)
	c.Process.Version = int(r.Uint(processtable.MaxVersion))
	if r.Err() == nil && (c.Instance == uuid.Nil || !processtable.ValidProcess(c.Process.Name) || c.Process.Version < 1) {
		r.Fail("a child is an instance of a process")
	}
	return c
}
