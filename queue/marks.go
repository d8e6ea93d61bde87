package queue

import (
	"errors"
	"fmt"
	"hash/crc32"
	"sync/atomic"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// marksBits is the size of marks: with 100,000 instances terminated, one in ten of all
// others costs a read.
const marksBits = 1 << 20

// castagnoli is the table of a hash that is the same in every process: what is read must
// not depend on chance (invariant 13).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// marks says, in memory of a fixed size, which instances may have a marker, so that to
// ask for that of any other costs no read: an operator's terminate must cost nothing but
// its own instance. It is safe for concurrent use.
type marks struct {
	known atomic.Bool // those that the store had at open are among them
	bits  [marksBits / 64]atomic.Uint64
}

func (m *marks) slot(i message.InstanceID) (word *atomic.Uint64, bit uint64) {
	n := crc32.Checksum(i[:], castagnoli) % marksBits
	return &m.bits[n/64], 1 << (n % 64)
}

func (m *marks) add(i message.InstanceID) {
	word, bit := m.slot(i)
	word.Or(bit)
}

// maybe says no only for an instance that has no marker.
func (m *marks) maybe(i message.InstanceID) bool {
	word, bit := m.slot(i)
	return !m.known.Load() || word.Load()&bit != 0
}

// loadMarkers finds the markers of the store, beside the first commits: there is one for
// each instance that was ever terminated. Until it has, every instance may have one.
func (m *Manager) loadMarkers() {
	m.stock.running.Go(func() {
		err := m.scan(store.ScanOptions{Prefix: []byte{record.ClassMarker}, KeysOnly: true}, func(key, _ []byte) error {
			k := record.KeyReader{Rest: key[1:]}
			k.Process()
			instance := k.Entry().Instance
			if k.Bad {
				return record.Damaged(key, record.ErrKey.Error())
			}
			m.marks.add(instance)
			if m.stock.stop.Load() {
				return errEnough
			}
			return nil
		})
		switch {
		case err == nil:
			m.marks.known.Store(true)
		case !errors.Is(err, errEnough):
			_ = m.judge(err) // it stops the manager, unless that is closed already
		}
	})
}

// Marker gives the marker of an instance that an operator ended, nil if there is none.
func (m *Manager) Marker(id processtable.ProcessID, i message.InstanceID) (*message.Message, error) {
	if !m.marks.maybe(i) {
		return nil, nil
	}
	found, err := m.browse(append(record.AppendProcess(nil, record.ClassMarker, id), i[:]...))
	if err != nil {
		return nil, fmt.Errorf("marker of instance %s: %w", i, m.judge(err))
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}
