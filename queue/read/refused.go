package read

import (
	"bytes"

	"fmqm/queue/record"
)

// Refused reads a refused message with its body.
func (r Records) Refused(key, value []byte) (record.Refused, error) {
	head, p, err := r.RefusedHead(key, value)
	if err != nil {
		return record.Refused{}, err
	}
	s := record.Refused{Number: head.Number, Time: head.Time, Peer: head.Peer, Reason: head.Reason}
	s.Message, err = r.Body(p)
	return s, err
}

// RefusedHead reads the record of a refused message, and says where the message lies; nothing of
// it is a part of value.
func (r Records) RefusedHead(key, value []byte) (head record.RefusedHead, of record.Place, err error) {
	content, err := record.Open(key, value)
	if err != nil {
		return head, of, err
	}
	p, rest, err := record.ReadPlace(key, bytes.Clone(content))
	if err != nil {
		return head, of, err
	}
	apart := value[0] == record.RefusedVersion
	if !apart { // version 1: with all the rest
		rest, err = r.Body(p)
	} else if p.Ref.Count == 0 {
		err = record.Damaged(key, record.ErrKey.Error())
	}
	if err != nil {
		return head, of, err
	}
	head, inline, err := record.ReadRefused(key, rest, apart)
	if !apart {
		return head, record.Place{Inline: inline}, err
	}
	head.Size = p.Ref.Size
	return head, p, err
}
