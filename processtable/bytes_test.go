package processtable

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// rewrite changes a table's encoded form with another implementation of CBOR, which
// writes the deterministic form, so that only the change is wrong.
func rewrite(t *testing.T, change func(m map[any]any)) []byte {
	t.Helper()
	return rewriteOf(t, sample(), change)
}

func rewriteOf(t *testing.T, table *Table, change func(m map[any]any)) []byte {
	t.Helper()
	var m map[any]any
	if err := cbor.Unmarshal(mustEncode(t, table), &m); err != nil {
		t.Fatal(err)
	}
	change(m)
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := mode.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRefusalsOfContent(t *testing.T) {
	key := func(k int) any { return uint64(k) }
	activity := func(m map[any]any, i int) map[any]any {
		return m[key(keyActivities)].([]any)[i].(map[any]any)
	}
	first := func(v any) map[any]any { return v.([]any)[0].(map[any]any) }
	for _, tc := range []struct {
		name   string
		change func(m map[any]any)
		want   string
	}{
		{"newer format", func(m map[any]any) { m[key(keyFormat)] = 10 }, "format: byte 3: unknown table format 10: this node reads formats 1, 2 and 4 to 9: upgrade it, or compile with --table-format 2"},
		{"format 0", func(m map[any]any) { m[key(keyFormat)] = 0 }, "format: byte 3: unknown table format 0"},
		{"detours of format 1", func(m map[any]any) { m[key(keyDetours)] = []any{[]any{1, []any{2}, []any{2}}} }, "detours: byte 956: format 1 has no such field: it is of format 2 on"},
		{"resolvers of format 1", func(m map[any]any) { m[key(keyResolvers)] = []any{[]any{"C", []any{1}}} }, "resolvers: byte 956: format 1 has no such field: it is of format 2 on"},
		{"no format", func(m map[any]any) { delete(m, key(keyFormat)) }, "the format version is missing: this is not a process table"},
		{"unknown key", func(m map[any]any) { m[key(99)] = 1 }, "number 99 is over the limit of 63"},
		{"hash short", func(m map[any]any) { m[key(keyDefinition)] = []byte{1} }, "byte string has 1 bytes, expected 32"},
		{"process is a number", func(m map[any]any) { m[key(keyProcess)] = 1 }, "process: byte 4: expected text, not unsigned integer"},
		{"version too large", func(m map[any]any) { m[key(keyVersion)] = 1 << 40 }, "number 1099511627776 is over the limit of 2147483647"},
		{"roster is text", func(m map[any]any) { m[key(keyRoster)] = "A" }, "expected array, not text"},
		{"place of one", func(m map[any]any) { m[key(keyRoster)] = []any{[]any{"a"}} }, "array of 1 items, expected 2"},
		{"input beyond the structures", func(m map[any]any) { m[key(keyInput)] = 77 }, "there is no structure 77 before this place"},
		{"structure refers forward", func(m map[any]any) {
			first(m[key(keyStructures)].([]any))[key(keyMembers)] = []any{map[any]any{key(keyMemberName): "x", key(keyMemberType): []any{8, 0}}}
		}, "there is no structure 0 before this place"},
		{"unknown type", func(m map[any]any) {
			first(m[key(keyStructures)].([]any))[key(keyMembers)] = []any{map[any]any{key(keyMemberName): "x", key(keyMemberType): 8}}
		}, "there is no simple type 8"},
		{"kind without parts", func(m map[any]any) {
			first(m[key(keyStructures)].([]any))[key(keyMembers)] = []any{map[any]any{key(keyMemberName): "x", key(keyMemberType): []any{2, 0}}}
		}, "kind 2 has no parts"},
		{"member without type", func(m map[any]any) {
			first(m[key(keyStructures)].([]any))[key(keyMembers)] = []any{map[any]any{key(keyMemberName): "x"}}
		}, "x: the type is missing"},
		{"default of another type", func(m map[any]any) {
			first(first(m[key(keyStructures)].([]any))[key(keyMembers)].([]any))[key(keyDefault)] = []byte{0x01}
		}, "at byte 0: expected "},
		{"unused structure", func(m map[any]any) {
			m[key(keyStructures)] = append(m[key(keyStructures)].([]any), map[any]any{key(keyStructureName): "Unused"})
		}, "purchase-order@3.A: it is not in the form that the compiler writes"},
		{"condition twice", func(m map[any]any) {
			all := m[key(keyConditions)].([]any)
			m[key(keyConditions)] = append(all, all[0])
		}, "not in the form that the compiler writes"},
		{"default written out", func(m map[any]any) { activity(m, 1)[key(keyNoOutput)] = false }, "not in the form that the compiler writes"},
		{"condition beyond the list", func(m map[any]any) { activity(m, 2)[key(keyExit)] = 55 }, "activities[2]: ship: exit condition: byte 764: there is no condition 55"},
		{"unknown key of a condition", func(m map[any]any) { first(m[key(keyConditions)])[key(9)] = 1 }, "conditions[0]: byte 266: unknown field 9"},
		{"unknown key of an activity", func(m map[any]any) { activity(m, 1)[key(50)] = 1 }, "activities[1]: receive: byte 570: unknown field 50"},
		{"unknown key of a connector", func(m map[any]any) { first(activity(m, 1)[key(keyOutControl)])[key(9)] = 1 }, "activities[1]: receive: outgoing control connectors[0]: byte 438: unknown field 9"},
		{"unknown key of incoming data", func(m map[any]any) { first(activity(m, 1)[key(keyInData)])[key(9)] = 1 }, "incoming data connectors[0]: byte 484: unknown field 9"},
		{"unknown key of outgoing data", func(m map[any]any) { first(activity(m, 1)[key(keyOutData)])[key(9)] = 1 }, "outgoing data connectors[0]: byte 532: unknown field 9"},
		{"unknown key of a mapping", func(m map[any]any) { first(activity(m, 2)[key(keyFeedback)])[key(12)] = 1 }, "feedback[0]: byte 795: unknown field 12"},
		{"unknown key of a start condition", func(m map[any]any) { activity(m, 1)[key(keyStart)].(map[any]any)[key(9)] = 1 }, "start condition: byte 422: unknown field 9"},
		{"again of one", func(m map[any]any) { activity(m, 1)[key(keyAgain)] = []any{1} }, "again: byte 537: array of 1 items, expected 2"},
		{"retry of four", func(m map[any]any) { activity(m, 1)[key(keyRetry)] = []any{1, 2, 3, 4} }, "retry: byte 553: array of 4 items, expected 3"},
		{"too many attempts", func(m map[any]any) { activity(m, 1)[key(keyRetry)] = []any{1 << 40, 2, 3} }, "retry: byte 562: number 1099511627776 is over the limit"},
		{"a flag that is no flag", func(m map[any]any) { activity(m, 1)[key(keyRCIsData)] = nil }, "_RC is data: byte 569: expected true or false"},
		{"a number beyond 64 bits", func(m map[any]any) { activity(m, 1)[key(keyAgain)] = []any{uint64(1) << 63, 2} }, "integer does not fit into 64 bits"},
		{"activity without name", func(m map[any]any) { delete(activity(m, 1), key(keyName)) }, `activity 1 is "", but the roster calls for receive`},
		{"activity without start", func(m map[any]any) { delete(activity(m, 1), key(keyStart)) }, "activity receive: start condition: operator 0 is unknown"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Decode(rewrite(t, tc.change)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Decode: %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestANewerFormatCanBeTold(t *testing.T) {
	_, err := Decode([]byte{0xa1, keyFormat, FormatVersion + 1})
	if !errors.Is(err, ErrFormat) {
		t.Errorf("Decode: %v, want ErrFormat", err)
	}
}

func TestRefusalsOfBytes(t *testing.T) {
	for _, tc := range []struct{ name, hex, want string }{
		{"nothing", "", "the data ends too early"},
		{"not a map", "80", "expected map, not array"},
		{"JSON", hex.EncodeToString([]byte(`{"process":"p"}`)), "expected map, not text"},
		{"indefinite map", "bf0101ff", "the length is indefinite or reserved"},
		{"reserved length", "bc", "the length is indefinite or reserved"},
		{"tag", "c1a10101", "expected map, not tag"},
		{"longer head than needed", "a1011801", "format: byte 3: a number is not in its shortest form"},
		{"head cut off", "b9", "the data ends too early"},
		{"key twice", "a201010101", "field 1 after field 1: repeated, or out of order"},
		{"keys descending", "a3010104613103614e", "field 3 after field 4: repeated, or out of order"},
		{"key is text", "a16161", "byte 1: expected unsigned integer, not text"},
		{"more elements than bytes", "a2010106992710", "the data ends too early"},
		{"more elements than the limit", "a2010106992711", "roster: byte 7: array of 10001 items is over the limit of 10000"},
		{"longer text than data", "a2010102783f61", "process: byte 6: the data ends too early: expected text of 63 bytes"},
		{"something after the end", hex.EncodeToString(mustEncode(t, sample())) + "00", "the data should end here"},
		{"only a format", "a10101", `process "" is not a name`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data, err := hex.DecodeString(tc.hex)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Decode(data); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Decode: %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestEveryCutIsRefused(t *testing.T) {
	b := mustEncode(t, sample())
	for n := range b {
		if _, err := Decode(b[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", n, len(b))
		}
	}
}

func TestEveryCutOfDetoursAndBehavioursIsRefused(t *testing.T) {
	b := mustEncode(t, withBehaviours())
	for n := range b {
		if _, err := Decode(b[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", n, len(b))
		}
	}
}

// A flipped bit either is refused or gives a table that is whole and encodes to
// just these bytes.
func TestFlippedBits(t *testing.T) {
	for _, table := range []*Table{sample(), withDetours(), withBehaviours()} {
		b := mustEncode(t, table)
		for i := range b {
			for bit := range 8 {
				b[i] ^= 1 << bit
				if table, err := Decode(b); err == nil {
					if again := mustEncode(t, table); string(again) != string(b) {
						t.Fatalf("byte %d, bit %d: accepted, and written otherwise", i, bit)
					}
				}
				b[i] ^= 1 << bit
			}
		}
	}
}

// Deeply nested bytes must not exhaust the stack.
func TestDeepNestingIsRefused(t *testing.T) {
	deepType := append([]byte{0xa2, keyFormat, 1, keyStructures, 0x81, 0xa1, keyMembers, 0x81, 0xa1, keyMemberType}, []byte(strings.Repeat("\x82\x09", 1<<20))...)
	if _, err := Decode(deepType); err == nil || !strings.Contains(err.Error(), "nested deeper than 16") {
		t.Errorf("Decode of a deep type: %.2000v", err)
	}
	deepLogic := append([]byte{0xa2, keyFormat, 1, keyActivities, 0x81, 0xa1, keyStart}, []byte(strings.Repeat("\xa1\x04\x81", 1<<20))...)
	if _, err := Decode(deepLogic); err == nil || !strings.Contains(err.Error(), "nested deeper than 4096") {
		t.Errorf("Decode of a deep start condition: %.2000v", err)
	}
}
