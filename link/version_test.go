package link

import (
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// goldenFrames are frames of every type in every version.
func goldenFrames() map[string]*Frame {
	base := func(version uint8, ty FrameType) *Frame {
		return &Frame{
			Version: version, Type: ty, From: 0x1122334455667788, To: 7, Seq: 9, Challenge: 3, Answer: 2,
			Receipts: [Lanes]Receipt{{Position: Position{Number: 5, Hash: queue.Hash{1, 2, 3}}, Received: 6}, {}},
		}
	}
	all := map[string]*Frame{}
	for version := uint8(MinVersion); version <= MaxVersion; version++ {
		hello, data, ack, gap := base(version, FrameHello), base(version, FrameData), base(version, FrameAck), base(version, FrameGap)
		query, reply, stop := base(version, FrameQuery), base(version, FrameReply), base(version, FrameStop)
		hello.Hello = &Hello{
			Node: "A", Expected: "B", Incarnation: queue.Incarnation{1}, Known: queue.Incarnation{2},
			MinVersion: 1, MaxVersion: version, Low: [Lanes]uint64{4, 0},
		}
		if version > 1 {
			hello.Hello.Messages, hello.Hello.Tables = Range{1, 3}, Range{2, 4}
			hello.Hello.Begin = [Lanes]Position{{Number: 3, Hash: queue.Hash{9}}, {}}
		}
		data.Data = &Data{Lane: 1, First: 8, Prev: queue.Hash{4}, End: queue.Hash{5}, Payloads: [][]byte{[]byte("one"), []byte("two")}}
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
	text, err := os.ReadFile("testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := goldenFrames()
	for line := range strings.Lines(string(text)) {
		name, digits, _ := strings.Cut(strings.TrimSpace(line), "\t")
		want, known := all[name]
		if !known {
			t.Errorf("%q is kept, and not read any more", name)
			continue
		}
		delete(all, name)
		data, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := Decode(data); err != nil || !reflect.DeepEqual(got, *want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if written, err := Encode(want); err != nil || string(written) != string(data) {
			t.Errorf("%s is written as %x, %v", name, written, err)
		}
	}
	for name, f := range all {
		data, err := Encode(f)
		t.Errorf("no bytes are kept of this one (%v):\n%s\t%x", err, name, data)
	}
}

// L6: a program that knows only version 1 takes from a hello of version 2 what it knows.
func TestAHelloOfVersion2InVersion1(t *testing.T) {
	data, err := Encode(goldenFrames()["hello 2"])
	if err != nil {
		t.Fatal(err)
	}
	old, err := decodeAs(data, Range{1, 1})
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

// versions is a world whose sites read different formats.
func versions(t *testing.T, a, b Formats) *world {
	w := newWorld(t, 1)
	w.sites[0].formats, w.sites[1].formats = a, b
	w.start(w.sites[0])
	w.start(w.sites[1])
	return w
}

var (
	first = Formats{Frame: Range{1, 1}, Message: Range{1, 1}, Table: Range{1, 1}}
	third = Formats{Frame: Range{1, 3}, Message: Range{1, 3}, Table: Range{1, 3}}
)

// L6: sites of different versions agree on the highest frames that both read, whichever
// of them is the older; what is not a hello or a stop is only sent so.
func TestOlderAndNewerPeersShareAVersion(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b Formats
		want uint8
	}{
		"older peer":  {reads, first, 1},
		"newer peer":  {reads, third, 2},
		"far apart":   {first, third, 1},
		"like peers":  {reads, reads, 2},
		"newer peers": {third, third, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := versions(t, tt.a, tt.b)
			w.putSome(w.sites[0], 0, 20)
			w.putSome(w.sites[1], 1, 20)
			w.calm(20)
			w.checkDelivered()
			for _, s := range w.sites {
				if got := s.core.peer.version; got != tt.want {
					t.Errorf("site %s sends version %d, expected %d", s.name, got, tt.want)
				}
			}
		})
	}
}

// encoded is an item's payload with a message in a format of its own.
func encoded(t *testing.T, format byte, kind message.Kind, body []byte) string {
	m := message.Message{Header: message.Header{
		Queue: message.Queue{Process: processtable.ProcessID{Name: "p", Version: 1}, Node: "B"},
		Kind:  kind, Origin: "A", Clock: 1,
	}, Body: body}
	if kind == message.KindTable {
		m.Definition = processtable.ShortHash{1}
	} else {
		m.Instance = uuid.UUID{1}
	}
	data, err := message.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	data[1] = format // behind the head of the array
	return string(append([]byte{0}, data...))
}

// L6: a sender writes what the peer reads. What is in a newer format waits, with all
// that is behind it in its lane, and the link says what to do; when the peer is
// upgraded it goes.
func TestWhatThePeerCannotReadWaits(t *testing.T) {
	table := []byte{0xa1, 1, 3} // format 3
	envelope := append([]byte{0x86, 2, 0x58, 32}, make([]byte, 32)...)
	marker := message.EncodeMarker(message.Marker{Reason: "enough"})
	for name, tt := range map[string]struct {
		payload string
		want    string
	}{
		"message":                    {encoded(t, 3, message.KindMarker, marker), "site B reads message formats 1 to 1; what waits since item 2 is in format 3: upgrade B"},
		"table":                      {encoded(t, 1, message.KindTable, table), "site B reads table formats 1 to 1; what waits since item 2 is in format 3: upgrade B"},
		"table signed for a network": {encoded(t, 1, message.KindTable, envelope), "site B reads table formats 1 to 1; what waits since item 2 is in format 3: upgrade B"},
	} {
		t.Run(name, func(t *testing.T) {
			w := versions(t, third, first)
			a, b := w.sites[0], w.sites[1]
			for _, payload := range []string{encoded(t, 1, message.KindMarker, marker), tt.payload, "behind it"} {
				a.put(0, payload)
			}
			a.put(1, "another lane")
			w.woken(a)
			w.calm(10)
			if len(b.delivered[0]) != 1 || len(b.delivered[1]) != 1 {
				t.Fatalf("%d and %d items arrived, expected one in each lane", len(b.delivered[0]), len(b.delivered[1]))
			}
			if got := a.core.hindrance(); got != tt.want || !a.core.Established() || b.core.hindrance() != "" {
				t.Fatalf("the link says %q, expected %q", got, tt.want)
			}
			if a.core.Restless() {
				t.Fatal("the link has no rest while the peer is not upgraded")
			}
			b.formats = third
			w.start(b)
			w.calm(60)
			w.checkDelivered()
			if got := a.core.hindrance(); got != "" {
				t.Fatalf("the link still says %q", got)
			}
		})
	}
}

// A newer program may have given up reading the oldest format.
func TestWhatIsTooOldForThePeerWaits(t *testing.T) {
	want := "site B reads message formats 2 to 3; what waits since item 1 is in format 1, of an older version of this program: upload the process again, or run the older version at B"
	w := versions(t, reads, Formats{Frame: Range{1, 3}, Message: Range{2, 3}, Table: Range{1, 3}})
	w.sites[0].put(0, encoded(t, 1, message.KindMarker, message.EncodeMarker(message.Marker{Reason: "enough"})))
	w.woken(w.sites[0])
	w.calm(10)
	if got := w.sites[0].core.hindrance(); got != want {
		t.Fatalf("the link says %q, expected %q", got, want)
	}
}
