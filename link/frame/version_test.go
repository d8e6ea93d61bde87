package frame

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fmqm/internal/goldentest"
	"fmqm/message"
	"fmqm/queue/record"
)

// goldenFrames are frames of every type in every version.
func goldenFrames() map[string]*Frame {
	base := func(version uint8, ty Type) *Frame {
		return &Frame{
			Version: version, Type: ty, From: 0x1122334455667788, To: 7, Seq: 9, Challenge: 3, Answer: 2,
			Receipts: [record.Lanes]Receipt{{Position: record.Position{Number: 5, Hash: record.Hash{1, 2, 3}}, Received: 6}, {}},
		}
	}
	all := map[string]*Frame{}
	for version := uint8(MinVersion); version <= MaxVersion; version++ {
		hello, data, ack, gap := base(version, TypeHello), base(version, TypeData), base(version, TypeAck), base(version, TypeGap)
		query, reply, stop := base(version, TypeQuery), base(version, TypeReply), base(version, TypeStop)
		hello.Hello = &Hello{
			Node: "A", Expected: "B", Incarnation: record.Incarnation{1}, Known: record.Incarnation{2},
			MinVersion: 1, MaxVersion: version, Low: [record.Lanes]uint64{4, 0},
		}
		if version > 1 {
			hello.Hello.Messages, hello.Hello.Tables = message.Range{Min: 1, Max: 3}, message.Range{Min: 2, Max: 4}
			hello.Hello.Begin = [record.Lanes]record.Position{{Number: 3, Hash: record.Hash{9}}, {}}
		}
		if version > 2 {
			hello.Hello.Bodies = message.Bodies{1: 1, 3: 2, 9: 4}
		}
		data.Data = &Data{Lane: 1, First: 8, Prev: record.Hash{4}, End: record.Hash{5}, Payloads: [][]byte{[]byte("one"), []byte("two")}}
		gap.Gap = &Gap{Lane: 1, From: 12}
		query.Query = &Query{ID: 5, Kind: "node", Body: []byte("{}"), Timeout: 1500}
		reply.Reply = &Reply{ID: 5, Body: []byte("{}"), Error: "no such instance"}
		stop.Stop = &Stop{Code: StopNewIncarnation, Node: "A", Reason: "another store", Final: true}
		for name, f := range map[string]*Frame{"hello": hello, "data": data, "acknowledgement": ack, "gap": gap, "query": query, "reply": reply, "stop": stop} {
			all[fmt.Sprintf("%s %d", name, version)] = f
		}
	}
	return all
}

// L6, N17: frames of every version stay readable for ever, and are still written so. A
// line of the file is a name, a tab and the bytes; it is never changed.
func TestFramesStayAsTheyAre(t *testing.T) {
	goldentest.Stay(t, "testdata/frames.txt", goldenFrames(), Encode, func(t *testing.T, want *Frame, data []byte) {
		if got, err := Decode(data); err != nil || !reflect.DeepEqual(got, *want) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// N17: a hello of version 3 says of each kind's body what its speaker reads, and older programs
// take what they know of it.
func TestAHelloSaysWhatBodiesItReads(t *testing.T) {
	data, err := Encode(goldenFrames()["hello 3"])
	if err != nil {
		t.Fatal(err)
	}
	old, err := DecodeAs(data, message.Range{Min: 1, Max: 2})
	if err != nil || old.Hello.MaxVersion != 3 || old.Hello.Node != "A" {
		t.Fatalf("version 2 reads %+v, %v", old, err)
	}
	f := helloFields(fields{7: []byte{1, 1}, 8: []byte{1, 1}, 10: slices.Repeat([]byte{7}, 200)})
	f[0] = 3
	beyond, err := Decode(sealed(t, f))
	if err != nil || beyond.Hello.Bodies[message.MaxKinds-1] != 7 {
		t.Fatalf("kinds that are not known here: %+v, %v", beyond, err)
	}
	f = helloFields(fields{10: make([]byte, 257)})
	f[0] = 3
	if _, err := Decode(sealed(t, f)); err == nil || !strings.Contains(err.Error(), "versions of the bodies of 257 kinds: at most 256") {
		t.Fatalf("too many kinds: %v", err)
	}
	f = helloFields(fields{10: []byte{1}})
	f[0] = 2
	if _, err := Decode(sealed(t, f)); err == nil || !strings.Contains(err.Error(), "a hello of version 2 with fields of version 3") {
		t.Fatalf("in version 2: %v", err)
	}
}

// L6: a program that knows only version 1 takes from a hello of version 2 what it knows.
func TestAHelloOfVersion2InVersion1(t *testing.T) {
	data, err := Encode(goldenFrames()["hello 2"])
	if err != nil {
		t.Fatal(err)
	}
	old, err := DecodeAs(data, message.Range{Min: 1, Max: 1})
	if err != nil || old.Hello.MaxVersion != 2 || old.Hello.Node != "A" {
		t.Fatalf("version 1 reads %+v, %v", old, err)
	}
}

func TestMalformedHellosOfVersion2(t *testing.T) {
	hello := func(more fields) fields {
		f := helloFields(more)
		f[0] = 2
		return f
	}
	old := helloFields(fields{7: []byte{1, 2}})
	position := []any{uint64(9), make([]byte, 16)}
	for name, tt := range map[string]struct {
		frame fields
		want  string
	}{
		"fields of version 2 in version 1": {old, "a hello of version 1 with fields of version 2"},
		"half a range":                     {hello(fields{7: []byte{1}}), "range of message formats with 1 numbers: expected 2"},
		"a range backwards":                {hello(fields{8: []byte{3, 1}}), "format versions 3 to 1 of messages or tables: not a range"},
		"one beginning":                    {hello(fields{9: []any{position}}), "beginnings of 1 lanes: expected 2"},
		"a short hash":                     {hello(fields{9: []any{[]any{uint64(0), []byte{1}}, position}}), "hash of a beginning of 1 bytes: expected 16"},
		"begins behind what is kept":       {hello(fields{9: []any{position, position}}), "lane 0: it begins at 9, and is kept from 0 on"},
	} {
		if _, err := Decode(sealed(t, tt.frame)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, expected %q", name, err, tt.want)
		}
	}
}
