package inspect

import (
	"bytes"
	"errors"
	"fmt"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// Record says what is wrong with a record by itself, as Verify does: its key, its checksum and its
// content. What lies beside it is not looked at, nor a body in chunks.
func Record(key, value []byte) error {
	if len(key) == 0 {
		return errKeyless
	}
	if _, known := classNames[key[0]]; !known {
		return errUnknown(key)
	}
	if _, err := record.Open(key, value); err != nil {
		return err
	}
	err := alone(read.Records{Reader: chunkless{}}, key, value)
	if errors.Is(err, read.ErrGone) {
		return nil
	}
	return err
}

var errKeyless = errors.New("a record has no key")

func errUnknown(key []byte) error {
	return fmt.Errorf("record %q: this program does not know its kind", record.Readable(key))
}

// chunkless has nothing: a body in chunks is gone.
type chunkless struct{}

func (chunkless) Get([]byte) ([]byte, error) { return nil, store.ErrNotFound }

func (chunkless) Scan(store.ScanOptions, func(key, value []byte) bool) error { return nil }

// alone reads a record of which the checksum is right, and what is not known from others.
func alone(in read.Records, key, value []byte) (err error) {
	switch key[0] {
	case record.ClassTable:
		return table(in, key, value)
	case record.ClassMessage, record.ClassRecord, record.ClassMarker:
		return stored(in, key, value)
	case record.ClassTransmission:
		_, _, _, err = item(in, key, value)
	case record.ClassLow:
		_, _, _, err = record.ReadLow(key, value)
	case record.ClassApart:
		a, err := record.ReadApart(key, value)
		if err == nil {
			_, err = in.Body(a.Place)
		}
		return err
	case record.ClassAccepted:
		_, _, err = record.ReadAccepted(key, value)
	case record.ClassRefused:
		_, err = in.Refused(key, value)
	case record.ClassParked:
		_, err = in.Parked(key, value)
	case record.ClassPart:
		if _, err = in.Whole(key, value); err == nil {
			err = form(key, func(k *record.KeyReader) { k.Name(); k.Bytes(1 + 8 + 4) })
		}
	case record.ClassInstance, record.ClassEnd, record.ClassHistory:
		return audit(in, key, value)
	case record.ClassRemoved:
		_, err = record.ReadRemoved(key, value)
	case record.ClassStaged:
		_, _, _, err = record.ReadStaged(key, value)
	case record.ClassTimer:
		_, err = record.ReadTimer(key, value)
	case record.ClassUsage:
		_, err = record.ReadChargeKey(key)
	case record.ClassPeer:
		err = form(key, func(k *record.KeyReader) { k.Name() })
	case record.ClassStart:
		err = form(key, func(k *record.KeyReader) { k.Bytes(8 + 16) })
	case record.ClassListed:
		err = form(key, listed)
	case record.ClassSearch:
		err = form(key, func(k *record.KeyReader) { k.Name(); k.Name(); k.SearchValue(); k.Bytes(8 + 16) })
	case record.ClassChunk:
		err = form(key, func(k *record.KeyReader) { k.Bytes(8 + 4) })
	}
	return err // chunks are read with what names them; the others have no content
}

// form says whether a key, behind its class, is what take takes.
func form(key []byte, take func(*record.KeyReader)) error {
	k := record.KeyReader{Rest: key[1:]}
	if take(&k); k.End() != nil {
		return record.Damaged(key, record.ErrKey.Error())
	}
	return nil
}

// listed takes a key of the index of instances.
func listed(k *record.KeyReader) {
	switch of := record.Listed(k.Bytes(1)[0]); of {
	case record.ListedUnplaced:
		k.Bytes(16)
		k.Cause()
	case record.ListedRunning, record.ListedFinished, record.ListedStopped, record.ListedInError:
		k.Process()
		k.Bytes(8 + 16)
		if of == record.ListedInError {
			k.Cause()
		}
	default:
		k.Bad = true
	}
}

func table(in read.Records, key, value []byte) error {
	encoded, hash, err := in.Table(key, value)
	if err != nil {
		return err
	}
	t, err := processtable.Decode(encoded)
	if err != nil {
		return record.Damaged(key, err.Error())
	}
	if t.Definition != hash {
		return record.Damaged(key, "it names another definition than its table has")
	}
	return nil
}

func stored(in read.Records, key, value []byte) error {
	s, err := record.ReadMessage(key, value)
	if err != nil {
		return err
	}
	entry := s.Message.Entry()
	if !bytes.Equal(record.AppendMessageKey(nil, s.Message.Queue.Process, &entry, s.Message.Key()), key) {
		return record.Damaged(key, "its message belongs under another key")
	}
	if _, err := in.Body(s.Place); err != nil {
		return fmt.Errorf("record %q: %w", record.Readable(key), err)
	}
	return nil
}

// audit: a record lies where its event says.
func audit(in read.Records, key, value []byte) error {
	a, err := in.Audit(key, value)
	if err != nil && !errors.Is(err, read.ErrGone) {
		return err
	}
	entry, under := message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity}, key
	event := len(key) == 1+16+8+8+4 && key[0] == record.ClassHistory && bytes.Equal(key[1:17], a.Instance[:])
	switch which, ends := record.EndOf(&a); {
	case event && a.Event == record.EventTerminated: // its activity was restarted (N30)
	case which != 0:
		under = record.AppendInstanceKey(nil, a.Instance, which)
	case ends:
		under = record.AppendEndKey(nil, &entry)
	case !event:
		under = nil
	}
	if !bytes.Equal(under, key) {
		return record.Damaged(key, "it is about something else than its key says")
	}
	return err
}

func item(in read.Records, key, value []byte) (lane record.LaneKey, i record.StoredItem, payload []byte, err error) {
	k := record.KeyReader{Rest: key[1:]}
	lane = record.LaneKey{Peer: processtable.NodeID(k.Name()), Lane: message.Lane(k.Bytes(1)[0])}
	if i, err = record.ReadItem(key, value); err != nil {
		return lane, i, nil, err
	}
	if k.Uint64(); k.End() != nil {
		return lane, i, nil, record.Damaged(key, record.ErrKey.Error())
	}
	if payload, err = in.Body(i.Place); err != nil {
		err = fmt.Errorf("record %q: %w", record.Readable(key), err)
	}
	return lane, i, payload, err
}
