package record

import (
	"bytes"
	"fmt"

	"fmqm/message"
)

// StoredMessage is a message as it was read, before its staged body was.
type StoredMessage struct {
	key     []byte
	Message message.Message
	Place   Place
}

// ReadMessage reads a message's record; nothing of it is a part of value.
func ReadMessage(key, value []byte) (s StoredMessage, err error) {
	content, err := Open(key, value)
	if err != nil {
		return s, err
	}
	var encoded []byte
	if s.Place, encoded, err = ReadPlace(key, bytes.Clone(content)); err != nil {
		return s, err
	}
	if s.Place.Ref.Count == 0 {
		encoded = s.Place.Inline
	}
	s.key = key
	if s.Message, err = message.Decode(encoded); err != nil {
		return s, fmt.Errorf("%w: %w", Damaged(key, "this program cannot read its message"), err)
	}
	return s, nil
}
