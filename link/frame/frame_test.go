package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

func hashes() *rapid.Generator[record.Hash] {
	return rapid.Custom(func(t *rapid.T) record.Hash {
		return record.Hash(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "hash"))
	})
}

func frames() *rapid.Generator[*Frame] {
	return rapid.Custom(func(t *rapid.T) *Frame {
		u := rapid.Uint64()
		f := &Frame{
			Version: 1, Type: Type(rapid.IntRange(1, 7).Draw(t, "type")),
			From: rapid.Uint64Min(1).Draw(t, "from"), To: u.Draw(t, "to"), Seq: u.Draw(t, "seq"),
			Challenge: u.Draw(t, "challenge"), Answer: u.Draw(t, "answer"),
		}
		for l := range record.Lanes {
			n := u.Draw(t, "number")
			f.Receipts[l] = Receipt{Position: record.Position{Number: n, Hash: hashes().Draw(t, "h")}, Received: rapid.Uint64Min(n).Draw(t, "received")}
		}
		body := rapid.SliceOfN(rapid.Byte(), 1, 50)
		switch f.Type {
		case TypeHello:
			f.Hello = &Hello{Node: "A", Expected: "b-2", Incarnation: record.Incarnation{1}, Known: record.Incarnation{2}, MinVersion: 1, MaxVersion: 4, Low: [record.Lanes]uint64{u.Draw(t, "low"), 3}}
		case TypeData:
			f.Data = &Data{
				Lane: message.Lane(rapid.IntRange(0, 1).Draw(t, "lane")), First: rapid.Uint64Range(1, 1<<60).Draw(t, "first"),
				Prev: hashes().Draw(t, "prev"), End: hashes().Draw(t, "end"), Payloads: rapid.SliceOfN(body, 1, 9).Draw(t, "payloads"),
			}
		case TypeGap:
			f.Gap = &Gap{Lane: 1, From: rapid.Uint64Min(1).Draw(t, "gap")}
		case TypeQuery:
			f.Query = &Query{ID: u.Draw(t, "id"), Kind: "status", Body: body.Draw(t, "body"), Timeout: 2000}
		case TypeReply:
			f.Reply = &Reply{ID: u.Draw(t, "id"), Body: body.Draw(t, "body"), Error: rapid.StringN(0, 9, 30).Draw(t, "error")}
		case TypeStop:
			f.Stop = &Stop{Code: StopOtherHash, Node: "A", Reason: rapid.StringN(0, 9, 30).Draw(t, "reason"), Final: rapid.Bool().Draw(t, "final")}
		case TypeAck:
		}
		return f
	})
}

func TestFramesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frames().Draw(t, "frame")
		data, err := Encode(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f, &got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// L5: whatever bit is flipped, the frame is seen to be damaged.
func TestDamagedFrameIsRecognised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data, err := Encode(frames().Draw(t, "frame"))
		if err != nil {
			t.Fatal(err)
		}
		data[rapid.IntRange(0, len(data)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := Decode(data); !errors.Is(err, ErrDamaged) {
			t.Fatalf("got %v", err)
		}
		cutAt := rapid.IntRange(0, len(data)-1).Draw(t, "cut")
		if _, err := Decode(data[:cutAt]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut: got %v", err)
		}
	})
}

// fields is a frame as a CBOR map.
type fields = map[int]any

func ackFields() fields {
	receipt := []any{uint64(0), make([]byte, 16), uint64(0)}
	return fields{0: 1, 1: int(TypeAck), 2: 7, 3: 0, 4: 1, 5: 0, 6: 0, 7: []any{receipt, receipt}}
}

func with(more fields) fields {
	f := ackFields()
	maps.Copy(f, more)
	return f
}

func helloFields(more fields) fields {
	h := fields{0: "A", 1: "B", 2: make([]byte, 16), 3: make([]byte, 16), 4: 1, 5: 1, 6: []uint64{0, 0}}
	h[2].([]byte)[0] = 1
	maps.Copy(h, more)
	return with(fields{1: int(TypeHello), 8: h})
}

func dataFields(more fields) fields {
	d := fields{0: 0, 1: 1, 2: make([]byte, 16), 3: make([]byte, 16), 4: [][]byte{{1}}}
	maps.Copy(d, more)
	return with(fields{1: int(TypeData), 9: d})
}

func sealed(t *testing.T, v any) []byte {
	t.Helper()
	data, ok := v.([]byte)
	if !ok {
		var err error
		if data, err = cbor.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	data = data[:len(data):len(data)]
	return binary.BigEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
}

// Invariant 12: each malformed frame has its error, and changes nothing.
func TestMalformedFramesAreRefused(t *testing.T) {
	long := strings.Repeat("x", 65)
	tests := []struct {
		name  string
		frame any
		want  string
	}{
		{"not CBOR", []byte{0xff, 0xff}, "cbor: unexpected"},
		{"not a map", []any{1, 2}, "cannot unmarshal array"},
		{"something after it", append(must(cbor.Marshal(ackFields())), 0), "1 bytes of extraneous data"},
		{"unknown key", with(fields{40: 1}), "unknown field"},
		{"duplicate key", []byte{0xa2, 0x00, 0x01, 0x00, 0x01}, "duplicate map key"},
		{"indefinite length", []byte{0xbf, 0x00, 0x01, 0xff}, "indefinite-length"},
		{"tag", []byte{0xa1, 0x00, 0xc2, 0x41, 0x01}, "tag"},
		{"text for a number", with(fields{2: "7"}), "cannot unmarshal UTF-8 text string"},
		{"negative number", with(fields{4: -1}), "cannot unmarshal negative integer"},
		{"version 0", with(fields{0: 0}), "format version 0: this program reads 1 to 3"},
		{"newer version", with(fields{0: 4}), "format version 4: this program reads 1 to 3"},
		{"no type", with(fields{1: 0}), "frame type 0: expected 1 to 7"},
		{"unknown type", with(fields{1: 8}), "frame type 8: expected 1 to 7"},
		{"session 0", with(fields{2: 0}), "session 0"},
		{"one lane", with(fields{7: []any{[]any{uint64(0), make([]byte, 16), uint64(0)}}}), "receipts of 1 lanes: expected 2"},
		{"receipt with four elements", with(fields{7: []any{[]any{0, make([]byte, 16), 0, 0}, []any{0, make([]byte, 16), 0, 0}}}), "different number of elements"},
		{"short hash", with(fields{7: []any{[]any{0, []byte{1}, 0}, []any{0, make([]byte, 16), 0}}}), "hash of a receipt of 1 bytes: expected 16"},
		{"received less than accepted", with(fields{7: []any{[]any{5, make([]byte, 16), 4}, []any{0, make([]byte, 16), 0}}}), "lane 0: received up to 4 is less than accepted up to 5"},
		{"acknowledgement with a body", with(fields{10: fields{0: 0, 1: 1}}), "an acknowledgement with a body"},
		{"body of another type", with(fields{1: int(TypeData), 10: fields{0: 0, 1: 1}}), "a frame of type 2 without its body"},
		{"two bodies", func() fields { f := dataFields(nil); f[10] = fields{0: 0, 1: 1}; return f }(), "a frame of type 2 with 2 bodies"},
		{"no body", with(fields{1: int(TypeHello)}), "a frame of type 1 without its body"},

		{"hello without a name", helloFields(fields{0: ""}), `node name "" is not one`},
		{"hello with a bad name", helloFields(fields{0: "a b"}), `node name "a b" is not one`},
		{"hello with a long name", helloFields(fields{0: long}), `node name "` + long + `" is not one`},
		{"hello for nobody", helloFields(fields{1: "@"}), `expected node name "@" is not one`},
		{"name that is not UTF-8", helloFields(fields{0: cbor.RawMessage{0x61, 0xff}}), "invalid UTF-8"},
		{"no incarnation", helloFields(fields{2: make([]byte, 16)}), "incarnation 0"},
		{"short incarnation", helloFields(fields{2: []byte{1}}), "incarnation of 1 bytes: expected 16"},
		{"long known incarnation", helloFields(fields{3: make([]byte, 17)}), "known incarnation of 17 bytes: expected 16"},
		{"no versions", helloFields(fields{4: 0}), "format versions 0 to 1: not a range"},
		{"versions the wrong way", helloFields(fields{4: 3, 5: 2}), "format versions 3 to 2: not a range"},
		{"lowest numbers of three lanes", helloFields(fields{6: []uint64{1, 2, 3}}), "lowest numbers of 3 lanes: expected 2"},

		{"data of lane 2", dataFields(fields{0: 2}), "lane 2: expected 0 to 1"},
		{"items from 0", dataFields(fields{1: 0}), "items from number 0: items count from 1"},
		{"items past the last number", dataFields(fields{1: ^uint64(0)}), "end before 2^64"},
		{"no items", dataFields(fields{4: [][]byte{}}), "0 items in a frame: expected 1 to 16384"},
		{"too many items", dataFields(fields{4: make([][]byte, MaxItems+1)}), "exceeded max number of elements 16384"},
		{"large item", dataFields(fields{4: [][]byte{make([]byte, MaxItem+1)}}), "item 1 of 2097153 bytes: at most 2097152"},
		{"short hash before", dataFields(fields{2: []byte{}}), "hash before the items of 0 bytes: expected 16"},
		{"short hash after", dataFields(fields{3: []byte{1, 2}}), "hash after the items of 2 bytes: expected 16"},
		{"gap from 0", with(fields{1: int(TypeGap), 10: fields{0: 0, 1: 0}}), "a gap from 0"},
		{"gap in lane 7", with(fields{1: int(TypeGap), 10: fields{0: 7, 1: 1}}), "lane 7: expected 0 to 1"},
		{"query without a kind", with(fields{1: int(TypeQuery), 11: fields{0: 1, 1: "", 2: []byte{}, 3: 0}}), "query kind of 0 bytes: expected 1 to 64"},
		{"large query", with(fields{1: int(TypeQuery), 11: fields{0: 1, 1: "k", 2: make([]byte, MaxBody+1), 3: 0}}), "query body of 3145729 bytes: at most 3145728"},
		{"large reply", with(fields{1: int(TypeReply), 12: fields{0: 1, 1: make([]byte, MaxBody+1), 2: ""}}), "reply body of 3145729 bytes"},
		{"long error", with(fields{1: int(TypeReply), 12: fields{0: 1, 1: []byte{}, 2: strings.Repeat("x", MaxReason+1)}}), "reply error of 2049 bytes"},
		{"stop without a code", with(fields{1: int(TypeStop), 13: fields{0: 0, 1: "A", 2: "r", 3: true}}), "a stop without its code"},
		{"long reason", with(fields{1: int(TypeStop), 13: fields{0: 1, 1: "A", 2: strings.Repeat("x", MaxReason+1), 3: true}}), "stop reason of 2049 bytes"},
		{"too large", make([]byte, MaxFrame), "4194308 bytes: at most 4194304"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode(sealed(t, tt.frame))
			if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, expected %q", err, tt.want)
			}
		})
	}
	for name, good := range map[string]fields{"ack": ackFields(), "hello": helloFields(nil), "data": dataFields(nil)} {
		if _, err := Decode(sealed(t, good)); err != nil {
			t.Fatalf("the %s that the tests change is not a good frame: %v", name, err)
		}
	}
}

// L6: of a newer version only the hello and the stop are read, as far as known.
func TestHelloOfANewerVersionIsUnderstood(t *testing.T) {
	f := helloFields(fields{4: 2, 5: 3, 90: "new"})
	f[0], f[91] = 4, "new too"
	got, err := Decode(sealed(t, f))
	if err != nil || got.Version != 4 || got.Hello.MinVersion != 2 || got.Hello.Node != processtable.NodeID("A") {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestEncodeRefusesWhatDecodeWould(t *testing.T) {
	bad := &Frame{Version: 1, Type: TypeData, From: 1, Data: &Data{Lane: 3, First: 1, Payloads: [][]byte{{}}}}
	if _, err := Encode(bad); err == nil || !strings.Contains(err.Error(), "encode frame: lane 3: expected 0 to 1") {
		t.Fatalf("got %v", err)
	}
	large := &Frame{Version: 1, Type: TypeData, From: 1, Data: &Data{First: 1, Payloads: [][]byte{make([]byte, MaxItem), make([]byte, MaxItem)}}}
	if _, err := Encode(large); err == nil || !strings.Contains(err.Error(), "at most 4194304") {
		t.Fatalf("got %v", err)
	}
}

func TestReasonsAreCutAtACharacter(t *testing.T) {
	text := strings.Repeat("é", MaxReason)
	got := Cut("x" + text)
	if len(got) > MaxReason || !strings.HasPrefix("x"+text, got) || len(got) != MaxReason-1 {
		t.Fatalf("cut to %d bytes", len(got))
	}
}

// The codec's own error quotes the frame; what is kept of it does not grow with that.
func TestAMalformedFrameIsNotQuotedWhole(t *testing.T) {
	key := append(binary.BigEndian.AppendUint32([]byte{0x7a}, 1<<20), bytes.Repeat([]byte("k"), 1<<20)...)
	twice := slices.Concat([]byte{0xa2}, key, []byte{0}, key, []byte{0})
	_, err := Decode(binary.BigEndian.AppendUint32(twice, crc32.Checksum(twice, castagnoli)))
	if !errors.Is(err, ErrMalformed) || len(err.Error()) > 2*MaxReason {
		t.Errorf("an error of %d bytes: %.200v", len(err.Error()), err)
	}
}
