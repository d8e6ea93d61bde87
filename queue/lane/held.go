package lane

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

// EachHeld visits the headers of messages that wait in the transmission queue for a peer, the oldest of each lane first, until
// visit gives false. It looks at so many items at most; all says that there are no others.
func (l *Lanes) EachHeld(peer processtable.NodeID, looks int, visit func(message.Header) bool) (all bool, err error) {
	scan := store.ScanOptions{Prefix: record.AppendName([]byte{record.ClassTransmission}, string(peer))}
	err = l.records.Each(scan, func(key, value []byte) error {
		if looks--; looks < 0 {
			return read.ErrEnough
		}
		item, err := record.ReadItem(key, value)
		if err != nil {
			return err
		}
		h, begins, err := l.headerOf(&item)
		if err != nil || !begins {
			return err
		}
		if !visit(h) {
			return read.ErrEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, read.ErrEnough):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("transmission queue for %s: %w", peer, l.records.Judge(err))
	}
	return true, nil
}

// headerOf gives the header of the message that an item carries or begins. Of a large body the first chunk has it; where that
// has gone meanwhile, so has the item.
func (l *Lanes) headerOf(item *record.StoredItem) (h message.Header, begins bool, err error) {
	payload := item.Place.Inline
	if item.Place.Ref.Count > 0 {
		key := record.AppendChunkKey(nil, item.Place.Ref.ID, 0)
		value, err := l.records.Get(key)
		if errors.Is(err, store.ErrNotFound) {
			return h, false, nil
		}
		if err == nil {
			payload, err = record.Open(key, value)
		}
		if err != nil {
			return h, false, err
		}
	}
	piece, err := record.Unpack(payload)
	if err != nil || piece.Index > 0 {
		return h, false, err
	}
	h, err = message.DecodeHeader(bytes.Clone(piece.Data))
	return h, err == nil, err
}
