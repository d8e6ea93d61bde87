package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// maxTombstoneNodes bounds what is read of a damaged record; a process has fewer nodes.
const maxTombstoneNodes = 1 << 16

// Tombstone stays where the table of a version was (N31): name@version is bound to its definition for ever (N3), and what
// comes late for it is dropped.
type Tombstone struct {
	Process    processtable.ProcessID
	Definition processtable.DefinitionHash
	Time       time.Time             // of the removal, for people (invariant 14)
	Nodes      []processtable.NodeID // that have a part in the process
}

// TombstoneKey is that of what stays of a table.
func TombstoneKey(p processtable.ProcessID) []byte {
	return binary.BigEndian.AppendUint32(AppendName(TombstoneKeys(), p.Name), uint32(p.Version))
}

// TombstoneKeys is what the keys of all of them begin with.
func TombstoneKeys() []byte { return AppendName([]byte{ClassMeta}, "tombstone") }

// TombstoneRecord gives the record of what stays of a table.
func TombstoneRecord(t *Tombstone) (key, value []byte) {
	w := cbor.BeginMap(nil)
	w.Bytes(0, t.Definition[:])
	w.Time(1, t.Time)
	w.Key(2)
	w.B = cbor.AppendArray(w.B, len(t.Nodes))
	for _, n := range t.Nodes {
		w.B = cbor.AppendText(w.B, string(n))
	}
	key = TombstoneKey(t.Process)
	return key, New(key, w.B...)
}

// ReadTombstone reads it.
func ReadTombstone(key, value []byte) (t Tombstone, err error) {
	content, err := Open(key, value)
	if err != nil {
		return t, err
	}
	k := KeyReader{Rest: key[1:]}
	_ = k.Name()
	t.Process.Name = k.Name()
	t.Process.Version = int(k.Uint32())
	if k.End() != nil {
		return t, Damaged(key, ErrKey.Error())
	}
	in := cbor.NewReader(bytes.Clone(content))
	for f := in.Map(); f.Next(); {
		switch f.Key {
		case 0:
			f.Fixed(t.Definition[:])
		case 1:
			t.Time = f.Time()
		case 2:
			for range f.Items(maxTombstoneNodes) {
				t.Nodes = append(t.Nodes, processtable.NodeID(f.Text(processtable.MaxName)))
			}
		default:
			f.Unknown()
		}
	}
	if err := in.End(); err != nil {
		return t, fmt.Errorf("%w: %w", Damaged(key, "this program cannot read it"), err)
	}
	return t, nil
}
