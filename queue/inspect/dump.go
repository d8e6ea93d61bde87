package inspect

import (
	"cmp"
	"fmt"
	"time"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// Dumped is one record of a store, for people and their scripts. Only the fields that
// its kind has are set. Bodies are shown as their size: they are of a process's types.
type Dumped struct {
	Kind     string              `json:"kind"`
	Key      string              `json:"key"` // readable part of the key
	Bytes    int                 `json:"bytes"`
	Problem  string              `json:"problem,omitempty"`
	Process  string              `json:"process,omitempty"`
	Instance string              `json:"instance,omitempty"`
	Scope    string              `json:"scope,omitempty"`
	Activity string              `json:"activity,omitempty"`
	Source   string              `json:"source,omitempty"`
	From     string              `json:"source_scope,omitempty"` // "/": the top; empty: the message's own
	Nth      uint64              `json:"message_number,omitempty"`
	Arrival  string              `json:"arrival,omitempty"` // commit and index
	Message  string              `json:"message,omitempty"` // connector, snapshot, ...
	Control  string              `json:"control,omitempty"`
	Data     string              `json:"data,omitempty"`
	Clock    uint64              `json:"clock,omitempty"`
	Body     int                 `json:"body,omitempty"` // bytes
	Peer     string              `json:"peer,omitempty"`
	Lane     *int                `json:"lane,omitempty"`
	Number   uint64              `json:"number,omitempty"`
	Hash     string              `json:"hash,omitempty"`
	Definer  string              `json:"definer,omitempty"` // who signed a table
	Of       string              `json:"of,omitempty"`      // kind of the record that names a staged body
	Reason   string              `json:"reason,omitempty"`
	Event    string              `json:"event,omitempty"`
	Time     *time.Time          `json:"time,omitempty"`
	Timer    string              `json:"timer,omitempty"` // its name, where it has one
	Due      *time.Time          `json:"due,omitempty"`
	Audit    *record.AuditRecord `json:"audit,omitempty"`
}

// Dump calls visit for every record of a store at rest, in the order of the keys,
// also for those that are damaged. It changes nothing.
func Dump(engine store.Engine, visit func(Dumped) error) error {
	r := read.Records{Reader: engine}
	var failed error
	err := engine.Scan(store.ScanOptions{}, func(key, value []byte) bool {
		d := Dumped{Kind: classNames[key[0]], Key: record.Readable(key), Bytes: len(value)}
		if err := d.fill(r, key, value); err != nil {
			d.Problem = err.Error()
		}
		failed = visit(d)
		return failed == nil
	})
	if err = cmp.Or(failed, err); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return nil
}

func (d *Dumped) fill(in read.Records, key, value []byte) error {
	if _, err := record.Open(key, value); err != nil {
		return err
	}
	switch key[0] {
	case record.ClassTable:
		encoded, hash, err := in.Table(key, value)
		k := record.KeyReader{Rest: key[1:]}
		d.Process, d.Hash = k.Process().String(), hash.String()
		if definer := processtable.DefinerOf(encoded); definer != nil {
			d.Definer = processtable.DefinerText(definer)
		}
		return err
	case record.ClassMessage, record.ClassRecord, record.ClassMarker:
		s, err := record.ReadMessage(key, value)
		if at := s.Message.Arrival; at != (message.Arrival{}) {
			d.Arrival = fmt.Sprintf("%d.%d", at.Commit, at.Index)
		}
		if err == nil {
			s.Message.Body, err = in.Body(s.Place)
		}
		d.message(&s.Message)
		return err
	case record.ClassTransmission:
		return d.item(in, key, value)
	case record.ClassApart:
		a, err := record.ReadApart(key, value)
		lane := int(a.Lane)
		d.Peer, d.Lane, d.Number, d.Body, d.Time = string(a.Peer), &lane, a.Number, a.Size, &a.Put
		return err
	case record.ClassStaged:
		named, _, owner, err := record.ReadStaged(key, value)
		if named && len(owner) > 0 {
			d.Of = classNames[owner[0]]
		}
		return err
	case record.ClassLow:
		peer, lane, low, err := record.ReadLow(key, value)
		d.lane(peer, lane, low.Position)
		return err
	case record.ClassAccepted:
		lane, at, err := record.ReadAccepted(key, value)
		d.lane(lane.Peer, lane.Lane, at.Position)
		return err
	case record.ClassRefused:
		head, _, err := in.RefusedHead(key, value)
		d.Peer, d.Reason, d.Time, d.Body = string(head.Peer), head.Reason, &head.Time, head.Size
		return err
	case record.ClassParked:
		p, err := in.Parked(key, value)
		if err != nil {
			return err
		}
		msg, err := message.Decode(p.Message)
		d.message(&msg)
		d.Peer, d.Number = string(p.Peer), p.Number
		return err
	case record.ClassTimer:
		t, err := record.ReadTimer(key, value)
		d.Due, d.Process, d.Timer = &t.Due, t.Process.String(), t.Name
		d.entry(t.Entry)
		return err
	case record.ClassInstance, record.ClassEnd, record.ClassHistory:
		a, err := in.Audit(key, value)
		d.Body, a.Output = len(a.Output), nil
		d.Audit, d.Process, d.Clock, d.Time = &a, a.Process.String(), a.Clock, &a.Time
		d.entry(message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity})
		return err
	case record.ClassRemoved:
		r, err := record.ReadRemoved(key, value)
		d.Process, d.Instance, d.Time = r.Process.String(), r.Instance.String(), &r.Time
		return err
	}
	return nil
}

func (d *Dumped) item(in read.Records, key, value []byte) error {
	k := record.KeyReader{Rest: key[1:]}
	peer, lane := processtable.NodeID(k.Name()), message.Lane(k.Bytes(1)[0])
	item, err := record.ReadItem(key, value)
	d.lane(peer, lane, item.At.Position)
	if err != nil {
		return err
	}
	payload, err := in.Body(item.Place)
	if err != nil {
		return err
	}
	piece, err := record.Unpack(payload)
	if err != nil || !piece.Whole {
		return err
	}
	msg, err := message.Decode(piece.Data)
	d.message(&msg)
	return err
}

func (d *Dumped) entry(e message.Entry) {
	d.Instance, d.Scope, d.Activity = e.Instance.String(), string(e.Scope), string(e.Activity)
}

func (d *Dumped) lane(peer processtable.NodeID, lane message.Lane, at record.Position) {
	n := int(lane)
	d.Peer, d.Lane, d.Number, d.Hash = string(peer), &n, at.Number, at.Hash.String()
}

func (d *Dumped) message(m *message.Message) {
	d.Process, d.Source, d.Clock, d.Body = m.Queue.Process.String(), string(m.Source), m.Clock, len(m.Body)
	d.entry(m.Entry())
	if d.Nth = m.Number; m.SourceScope != m.Scope {
		d.From = cmp.Or(string(m.SourceScope), "/")
	}
	d.Message = m.Kind.String()
	d.Control = m.Control.String()
	d.Data = [...]string{"", "absent", "present"}[min(int(m.Data), 2)]
}
