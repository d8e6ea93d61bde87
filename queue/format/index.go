package format

import (
	"errors"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// index makes the index of instances, of their starts and of the notices of errors.
var index = Step{Classes: []byte{record.ClassInstance, record.ClassMessage}, Change: indexed}

// indexed gives what stands in the index for a record.
func indexed(r store.Reader, key, value []byte) ([]store.Op, error) {
	if key[0] == record.ClassInstance {
		return startIndexed(r, key, value)
	}
	return noticeIndexed(r, key)
}

func startIndexed(r store.Reader, key, value []byte) ([]store.Op, error) {
	if key[len(key)-1] != record.InstanceStarted {
		return nil, nil
	}
	a, _, err := record.ReadAuditHead(key, value)
	if err != nil {
		return nil, err
	}
	of := record.ListedRunning
	endKey := record.AppendInstanceKey(nil, a.Instance, record.InstanceEnded)
	switch end, err := r.Get(endKey); {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return nil, err
	default:
		ended, _, err := record.ReadAuditHead(endKey, end)
		if err != nil {
			return nil, err
		}
		of = record.ListedEnd(&ended)
	}
	return put(record.AppendListedKey(nil, of, record.StandingOf(&a), a.Instance)), nil
}

func noticeIndexed(r store.Reader, key []byte) ([]store.Op, error) {
	k := record.KeyReader{Rest: key[1:]}
	k.Process()
	e := k.Entry()
	if k.Bad {
		return nil, record.Damaged(key, record.ErrKey.Error())
	}
	if len(k.Rest) == 0 || !record.IsNotice(&e, message.Kind(k.Rest[0])) {
		return nil, nil
	}
	in := read.Records{Reader: r}
	m, err := in.Message(key)
	if err != nil {
		return nil, err
	}
	if body, err := message.DecodeNotice(m.Body); err == nil && body.Cleared {
		return nil, nil
	}
	keys, err := record.NoticeKeys(e.Instance, m.Key(), false, in.Standing)
	if err != nil {
		return nil, err
	}
	return put(keys...), nil
}

func put(keys ...[]byte) (ops []store.Op) {
	for _, key := range keys {
		ops = append(ops, store.Op{Key: key, Value: record.New(key)})
	}
	return ops
}

// values makes the index of values, of what the starts of instances say that these are found by.
var values = Step{Classes: []byte{record.ClassInstance}, Change: valued}

func valued(_ store.Reader, key, value []byte) ([]store.Op, error) {
	if key[len(key)-1] != record.InstanceStarted {
		return nil, nil
	}
	a, _, err := record.ReadAuditHead(key, value)
	if err != nil {
		return nil, err
	}
	place := record.StandingOf(&a)
	var keys [][]byte
	for i := range a.Search {
		keys = append(keys, record.AppendSearchKey(nil, &a.Search[i], &place, a.Instance))
	}
	return put(keys...), nil
}
