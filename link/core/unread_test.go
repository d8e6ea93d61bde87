package core

import (
	"testing"

	"github.com/google/uuid"

	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/processtable"
)

// versions is a world whose sites read different formats.
func versions(t *testing.T, a, b frame.Formats) *world {
	w := newWorld(t, 1)
	w.sites[0].formats, w.sites[1].formats = a, b
	w.start(w.sites[0])
	w.start(w.sites[1])
	return w
}

var (
	first = frame.Formats{Frame: message.Range{Min: 1, Max: 1}, Reads: message.Reads{Message: message.Range{Min: 1, Max: 1}, Table: message.Range{Min: 1, Max: 1}, Bodies: message.Current().Bodies}}
	third = frame.Formats{Frame: message.Range{Min: 1, Max: 4}, Reads: message.Reads{Message: message.Range{Min: 1, Max: 3}, Table: message.Range{Min: 1, Max: 3}, Bodies: message.Current().Bodies}}
)

// L6: sites of different versions agree on the highest frames that both read, whichever
// of them is the older; what is not a hello or a stop is only sent so.
func TestOlderAndNewerPeersShareAVersion(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b frame.Formats
		want uint8
	}{
		"older peer":     {frame.Current(), first, 1},
		"version before": {frame.Current(), frame.Before(), 2},
		"newer peer":     {frame.Current(), third, 3},
		"far apart":      {first, third, 1},
		"like peers":     {frame.Current(), frame.Current(), 3},
		"newer peers":    {third, third, 4},
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
			if got := a.core.hindrance(); got != tt.want || !a.core.established() || b.core.hindrance() != "" {
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
	w := versions(t, frame.Current(), frame.Formats{Frame: message.Range{Min: 1, Max: 3}, Reads: message.Reads{Message: message.Range{Min: 2, Max: 3}, Table: message.Range{Min: 1, Max: 3}, Bodies: message.Current().Bodies}})
	w.sites[0].put(0, encoded(t, 1, message.KindMarker, message.EncodeMarker(message.Marker{Reason: "enough"})))
	w.woken(w.sites[0])
	w.calm(10)
	if got := w.sites[0].core.hindrance(); got != want {
		t.Fatalf("the link says %q, expected %q", got, want)
	}
}
