package processtable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func diff(want, got *Table) string {
	return cmp.Diff(want, got, cmpopts.IgnoreUnexported(Table{}), cmpopts.EquateEmpty())
}

func TestDecodeGivesWhatWasEncoded(t *testing.T) {
	got, err := Decode(mustEncode(t, sample()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(sample(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
}

func TestRoundTripOfAnyTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		b, err := Encode(table)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(table, got); d != "" {
			t.Fatalf("the decoded table differs (-want +got):\n%s", d)
		}
		again, err := Encode(got)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("the decoded table encodes to other bytes: %v", err)
		}
	})
}

// The format is stored at sites for years. If this fails, the change needs a new
// FormatVersion and a reader of the old one.
func TestTheFormatDoesNotChange(t *testing.T) {
	for _, tc := range []struct {
		table *Table
		want  string
	}{
		{sample(), "61399d32b35ff886150f2e6f6caa68cb3cba4356546767928534fce76ce90882"},
		{withDetours(), "ff3c269cc25ed89b62e4f9cd4d972f542826f22bdd7b987c5eb108013866af5e"},
	} {
		sum := sha256.Sum256(mustEncode(t, tc.table))
		if got := hex.EncodeToString(sum[:]); got != tc.want {
			t.Errorf("format %d: the encoded sample has the SHA-256 %s, want %s", tc.table.Format, got, tc.want)
		}
	}
}

// L6: a format is told without reading the table.
func TestFormatOf(t *testing.T) {
	for _, tc := range []struct {
		data []byte
		want int
	}{
		{mustEncode(t, sample()), 1},
		{mustEncode(t, withDetours()), 2},
		{mustEncode(t, withBehaviours()), 4},
		{mustEncode(t, withBlock()), 5},
		{mustEncode(t, withSchedules()), 6},
		{[]byte{0xa1, keyFormat, 7}, 7},
		{nil, 0},
		{[]byte("{}"), 0},
		{[]byte{0xa1, keyProcess, 1}, 0},
		{[]byte{0xa1, keyFormat}, 0},
	} {
		if got := FormatOf(tc.data); got != tc.want {
			t.Errorf("FormatOf(%x) = %d, want %d", tc.data, got, tc.want)
		}
	}
}

func TestEncodingIsDeterministic(t *testing.T) {
	first := mustEncode(t, sample())
	for range 20 {
		if !bytes.Equal(first, mustEncode(t, sample())) {
			t.Fatal("two encodings of one table differ")
		}
	}
}

// RFC 8949 §4.2.1, as another implementation understands it.
func TestEncodingIsCoreDeterministicCBOR(t *testing.T) {
	b := mustEncode(t, sample())
	mode, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden}.DecMode()
	if err != nil {
		t.Fatal(err)
	}
	var generic any
	if err := mode.Unmarshal(b, &generic); err != nil {
		t.Fatal(err)
	}
	encode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := encode.Marshal(generic)
	if err != nil || !bytes.Equal(again, b) {
		t.Errorf("another implementation writes other bytes: %v", err)
	}
}

func TestEqualConditionsAndTypesAreShared(t *testing.T) {
	table, err := Decode(mustEncode(t, sample()))
	if err != nil {
		t.Fatal(err)
	}
	ship, receive := table.Activity(RowID{Name: "ship"}), table.Activity(RowID{Name: "receive"})
	if ship.Exit != ship.OutControl[0].Condition {
		t.Error("exit and transition condition with one text are two *Checked")
	}
	if receive.Input != table.Input || receive.Output != table.Activity(RowID{Name: Source}).Output {
		t.Error("one structure is two *Type")
	}
	if ship.InData[0].Mappings[1].Type != table.Input || ship.Input.Members[1].Type != table.Input {
		t.Error("a structure inside another, or in a mapping, is another *Type")
	}
	if receive.OutData[0].Mappings[0].Type != table.Input.Members[2].Type {
		t.Error("a list type is two *Type")
	}
}

func TestTheResultSharesNothingWithTheData(t *testing.T) {
	b := mustEncode(t, sample())
	got, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if d := diff(sample(), got); d != "" {
		t.Errorf("the table changed with the bytes that it was read from:\n%s", d)
	}
}

func TestLookUps(t *testing.T) {
	decoded, err := Decode(mustEncode(t, sample()))
	if err != nil {
		t.Fatal(err)
	}
	for what, table := range map[string]*Table{"decoded": decoded, "by hand": sample()} {
		t.Run(what, func(t *testing.T) {
			if a := table.Activity(RowID{Name: "ship"}); a == nil || a.Name != "ship" {
				t.Errorf("Activity(ship) = %v", a)
			}
			if a := table.Activity(RowID{Name: "credit"}); a != nil {
				t.Errorf("Activity(credit) = %v, which another node hosts", a)
			}
			got := map[ActivityID]NodeID{}
			for _, name := range []ActivityID{"receive", "credit", Source, Sink, "nobody"} {
				if n, ok := table.NodeOf(RowID{Name: name}); ok {
					got[name] = n
				}
			}
			want := map[ActivityID]NodeID{"receive": "A", "credit": "B", Source: Origin, Sink: Origin}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("NodeOf gives %v, want %v", got, want)
			}
			if !table.IsStart() {
				t.Error("A is not a start node")
			}
			table.Starts = []NodeID{"C"}
			if table.IsStart() {
				t.Error("A is a start node though only C is named")
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	b, err := Encode(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	for _, table := range []*Table{withDetours(), withBehaviours(), withSchedules(), withChildren(), worked()} {
		if b, err = Encode(table); err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0xa1, keyFormat, FormatVersion})
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Encode(table)
		if err != nil {
			t.Fatalf("Encode refuses what Decode accepted: %v", err)
		}
		if !bytes.Equal(again, data) {
			t.Fatal("Decode accepted bytes that Encode does not write")
		}
	})
}
