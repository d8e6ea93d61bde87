package record

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// MaxDefinition is how many bytes the text of a definition may have as it is stored.
const MaxDefinition = 512 << 10

// Definition is the text of a definition, as it was uploaded here. Tables do not hold it: each has its own part of the
// process. Nothing rests on it but what people ask for.
type Definition struct {
	Process    processtable.ProcessID
	Definition processtable.DefinitionHash // of the table with which it came
	Text       []byte                      // packed (gzip), at most MaxDefinition
}

// DefinitionKey is that of the text of a definition.
func DefinitionKey(p processtable.ProcessID) []byte {
	key := AppendName([]byte{ClassMeta}, "definition")
	return binary.BigEndian.AppendUint32(AppendName(key, p.Name), uint32(p.Version))
}

// DefinitionRecord gives the record of the text of a definition.
func DefinitionRecord(d *Definition) (key, value []byte) {
	w := cbor.BeginMap(nil)
	w.Bytes(0, d.Definition[:])
	w.Bytes(1, d.Text)
	key = DefinitionKey(d.Process)
	return key, New(key, w.B...)
}

// ReadDefinition reads it.
func ReadDefinition(p processtable.ProcessID, value []byte) (d Definition, err error) {
	key := DefinitionKey(p)
	content, err := Open(key, value)
	if err != nil {
		return d, err
	}
	d.Process = p
	in := cbor.NewReader(bytes.Clone(content))
	for f := in.Map(); f.Next(); {
		switch f.Key {
		case 0:
			f.Fixed(d.Definition[:])
		case 1:
			d.Text = f.Bytes(MaxDefinition)
		default:
			f.Unknown()
		}
	}
	if err := in.End(); err != nil {
		return d, fmt.Errorf("%w: %w", Damaged(key, "this program cannot read it"), err)
	}
	return d, nil
}
