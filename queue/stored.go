package queue

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
)

// How much lies in each process queue, and how much is set aside, is always known
// without reading it: what the store had at open is counted once, beside the first
// commits, and each commit adds what it puts and takes off what it removes.

// stocktaking counts what the store had at open.
type stocktaking struct {
	running sync.WaitGroup
	stop    atomic.Bool
	left    atomic.Int32 // classes that are not counted yet
	aside   atomic.Int64 // what is set aside; below what was counted until all is
}

// Stored gives the messages in a process queue: what has come and was not yet removed
// by what it led to, and the records of the instances that were started here. Markers
// are not among them. counted is false while what the store had at open is being counted.
func (m *Manager) Stored(id processtable.ProcessID) (messages int, counted bool) {
	if m.stock.left.Load() > 0 {
		return 0, false
	}
	p := m.process(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stored, true
}

// AsideCount says how many messages are set aside; counted as for Stored.
func (m *Manager) AsideCount() (messages int, counted bool) {
	if m.stock.left.Load() > 0 {
		return 0, false
	}
	return int(m.stock.aside.Load()), true
}

// takeStock begins to count. It returns as soon as the scans see the store as it is at
// this moment: nothing that is committed later is in them.
func (m *Manager) takeStock() {
	classes := []byte{classMessage, classRecord, classSetAside}
	m.stock.left.Store(int32(len(classes)))
	for _, class := range classes {
		begun := make(chan struct{})
		m.stock.running.Go(func() {
			if err := m.countClass(class, sync.OnceFunc(func() { close(begun) })); err != nil {
				_ = m.judge(err) // it stops the manager, unless that is closed already
				return
			}
			m.stock.left.Add(-1)
		})
		<-begun
	}
}

// countClass counts the records of a class, and calls begun once it sees the store.
func (m *Manager) countClass(class byte, begun func()) error {
	defer begun()
	count, prefix := 0, []byte(nil)
	note := func() {
		switch {
		case class == classSetAside:
			m.stock.aside.Add(int64(count))
		case prefix != nil:
			k := keyReader{rest: prefix[1:]}
			m.process(k.process()).hasStored(count)
		}
		count = 0
	}
	err := m.scan(store.ScanOptions{Prefix: []byte{class}, KeysOnly: true}, func(key, _ []byte) error {
		begun()
		if m.stock.stop.Load() {
			return errEnough
		}
		if class != classSetAside && (prefix == nil || !bytes.HasPrefix(key, prefix)) {
			note()
			k := keyReader{rest: key[1:]}
			if k.process(); k.bad {
				return damaged(key, errKey.Error())
			}
			prefix = bytes.Clone(key[:len(key)-len(k.rest)])
		}
		count++
		return nil
	})
	if err == nil {
		note()
	}
	return err
}

func (p *process) hasStored(messages int) {
	p.mu.Lock()
	p.stored += messages
	p.mu.Unlock()
}

// isStored says whether a message of a kind is counted.
func isStored(k message.Kind) bool { return k != message.KindMarker }

// countPuts finds which messages that w puts take the place of one that is there. Of
// the connectors of an entry each comes once, unless a store was lost, here or at a
// peer, or an operator lets one come again: they are not looked up, since they are most
// of what is put.
func (c *core) countPuts(w *work) error {
	all := c.lossy || len(w.tx.TakeAside) > 0
	looksUp := func(k message.Kind) bool { return isStored(k) && (all || k != message.KindConnector) }
	for i := range w.consumes {
		k := w.consumes[i].consume
		for _, key := range k.Keys {
			if looksUp(key.Kind) {
				c.present[string(appendMessageKey(nil, k.Process, &k.Entry, key))] = false
			}
		}
	}
	for i := range w.local {
		put := &w.local[i]
		put.adds = isStored(put.message.Kind)
		if !looksUp(put.message.Kind) {
			continue
		}
		key := w.ops[put.op].Key
		there, known := c.present[string(key)]
		if !known {
			_, err := c.get(key)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			there = err == nil
		}
		put.adds = !there
		c.present[string(key)] = true
	}
	return nil
}

// loadLossy finds whether a store was lost, here or at a peer.
func (m *Manager) loadLossy() (err error) {
	if m.core.lossy, err = m.Anew(); err != nil || m.core.lossy {
		return err
	}
	began := appendName([]byte{classMeta}, beganName)
	key, err := m.firstKey(classMeta, began)
	m.core.lossy = bytes.HasPrefix(key, began)
	return err
}
