package message_test

import (
	"bytes"
	"strings"
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

// Of each kind of body: whatever is read is written again to the byte, and nothing panics.

func FuzzRecord(f *testing.F) { fuzzBody(f, "record", message.DecodeRecord, message.EncodeRecord) }

func FuzzSnapshot(f *testing.F) {
	fuzzBody(f, "snapshot", message.DecodeSnapshot, message.EncodeSnapshot)
}

func FuzzNotice(f *testing.F) { fuzzBody(f, "notice", message.DecodeNotice, message.EncodeNotice) }

func FuzzMarker(f *testing.F) { fuzzBody(f, "marker", message.DecodeMarker, message.EncodeMarker) }
func FuzzReturn(f *testing.F) { fuzzBody(f, "return", message.DecodeReturn, message.EncodeReturn) }
func FuzzChunk(f *testing.F)  { fuzzBody(f, "chunk", message.DecodeChunk, message.EncodeChunk) }
func FuzzStart(f *testing.F)  { fuzzBody(f, "start", message.DecodeStart, message.EncodeStart) }
func FuzzWord(f *testing.F)   { fuzzBody(f, "word", message.DecodeWord, message.EncodeWord) }
func FuzzAnswer(f *testing.F) { fuzzBody(f, "answer", message.DecodeAnswer, message.EncodeAnswer) }

// fuzzBody begins with the golden bodies whose names start with what.
func fuzzBody[B any](f *testing.F, what string, decode func([]byte) (B, error), encode func(B) []byte) {
	for name, m := range messages() {
		if strings.HasPrefix(name, what) {
			f.Add(m.message.Body)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := decode(data)
		if err != nil {
			return
		}
		if again := encode(b); !bytes.Equal(again, data) {
			t.Errorf("%x is written again as %x", data, again)
		}
	})
}
