package message_test

import (
	"bytes"
	"testing"

	"fmqm/message"
)

// FuzzDecode: whatever is read is written again to the byte, and nothing panics.
func FuzzDecode(f *testing.F) {
	data, err := message.Encode(full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, m := range messages() {
		if data, err = message.Encode(m.message); err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := message.Decode(data)
		if err != nil {
			return
		}
		if again, err := message.Encode(m); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%x is written again as %x, %v", data, again, err)
		}
		if h, err := message.DecodeHeader(data); err != nil || h != m.Header {
			t.Errorf("the header alone is %+v, %v, want %+v", h, err, m.Header)
		}
	})
}

// FuzzSnapshot: the same for the body with the most fields.
func FuzzSnapshot(f *testing.F) {
	f.Add(message.EncodeSnapshot(message.Snapshot{Iteration: 2, Input: []byte{1}, Error: "e", RC: -1, Failed: true}))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := message.DecodeSnapshot(data)
		if err != nil {
			return
		}
		if again := message.EncodeSnapshot(s); !bytes.Equal(again, data) {
			t.Errorf("%x is written again as %x", data, again)
		}
	})
}

// FuzzWord, FuzzAnswer: the same for what operators say, and are told.
func FuzzWord(f *testing.F) {
	for _, name := range []string{"word", "word, blind"} {
		f.Add(messages()[name].message.Body)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := message.DecodeWord(data)
		if err != nil {
			return
		}
		if again := message.EncodeWord(w); !bytes.Equal(again, data) {
			t.Errorf("%x is written again as %x", data, again)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	for _, name := range []string{"answer", "answer, remedy", "answer, output"} {
		f.Add(messages()[name].message.Body)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := message.DecodeAnswer(data)
		if err != nil {
			return
		}
		if again := message.EncodeAnswer(a); !bytes.Equal(again, data) {
			t.Errorf("%x is written again as %x", data, again)
		}
	})
}
