package message_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

var instance = uuid.MustParse("01970000-0000-7000-8000-000000000001")

// full has a value in every field.
func full() message.Message {
	return message.Message{
		Header: message.Header{
			Queue:      message.Queue{Process: processtable.ProcessID{Name: "purchase-order", Version: 3}, Node: "B"},
			Definition: processtable.ShortHash{1, 2, 3, 4, 5, 6, 7, 8}, Instance: instance, Origin: "A",
			Scope: "block/2", Activity: "credit", SourceScope: "block/2", Source: "receive", Kind: message.KindConnector,
			Control: message.True, Data: message.DataPresent, OnBehalf: "C", Onward: true,
			Lane: message.LaneControl, Clock: 300, Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		},
		Body: []byte("body"),
	}
}

// TestFormat1 keeps the bytes of format version 1: what is in queues must stay readable.
func TestFormat1(t *testing.T) {
	const want = "8301b1006e70757263686173652d6f72646572010302614203480102030405060708045001970000000070008000000000000001" +
		"056141066" + "7626c6f636b2f320766637265646974086772656365697665090" + "10a020b020c61430df50e010f19012c107837" +
		"30302d30616637363531393136636434336464383434386562323131633830333139632d623761643662373136393230333333312d3031" +
		"44626f6479"
	got, err := message.Encode(full())
	if err != nil || hex.EncodeToString(got) != want {
		t.Errorf("encoded\n%x, %v, want\n%s", got, err, want)
	}
	var any []any
	if err := cbor.Unmarshal(got, &any); err != nil || len(any) != 3 {
		t.Errorf("a CBOR library reads %v, %v", any, err)
	}
}

func drawMessage(t *rapid.T) message.Message {
	name := rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,20}`)
	maybe := func(label string) string {
		if rapid.Bool().Draw(t, label+" given") {
			return name.Draw(t, label)
		}
		return ""
	}
	m := message.Message{Header: message.Header{
		Queue: message.Queue{
			Process: processtable.ProcessID{Name: name.Draw(t, "process") + "-x", Version: rapid.IntRange(1, processtable.MaxVersion).Draw(t, "version")},
			Node:    processtable.NodeID(name.Draw(t, "node")),
		},
		Instance: uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "instance")),
		Origin:   processtable.NodeID(maybe("origin")),
		Scope:    message.Scope(rapid.StringMatching(`[ -~]{0,20}`).Draw(t, "scope")),
		Activity: processtable.ActivityID(name.Draw(t, "activity")),
		Source:   processtable.ActivityID(name.Draw(t, "source")),
		Kind:     message.Kind(rapid.IntRange(1, 6).Draw(t, "kind")),
		Control:  message.Truth(rapid.IntRange(0, 2).Draw(t, "control")),
		Data:     message.Data(rapid.IntRange(0, 2).Draw(t, "data")),
		OnBehalf: processtable.NodeID(maybe("on behalf")),
		Lane:     message.Lane(rapid.IntRange(0, 1).Draw(t, "lane")),
		Clock:    rapid.Uint64().Draw(t, "clock"),
		Trace:    rapid.StringMatching(`[ -~]{0,20}`).Draw(t, "trace"),
	}}
	m.Instance[6] |= 0x70
	m.SourceScope = m.Scope
	if rapid.Bool().Draw(t, "elsewhere") {
		m.SourceScope = rapid.SampledFrom([]message.Scope{"", "block#2", "line[3]#1/pick~1#4"}).Draw(t, "source's scope")
	}
	if rapid.Bool().Draw(t, "numbered") {
		m.Number = rapid.Uint64().Draw(t, "number")
	}
	m.Onward = m.OnBehalf != "" && rapid.Bool().Draw(t, "onward")
	copy(m.Definition[:], rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "definition"))
	if body := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "body"); len(body) > 0 {
		m.Body = body
	}
	return m
}

// TestRoundTrip: every message comes back as it was, whole and by its header alone,
// and nothing but what Encode writes is read.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		data, err := message.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := message.Decode(data)
		if err != nil || !cmp.Equal(got, m) {
			t.Fatalf("%v, %s", err, cmp.Diff(m, got))
		}
		header, err := message.DecodeHeader(data[:len(data)-len(m.Body)-1])
		if err != nil || !cmp.Equal(header, m.Header) {
			t.Fatalf("header: %v, %s", err, cmp.Diff(m.Header, header))
		}
		appended, err := message.AppendEncode([]byte("before"), m)
		if err != nil || string(appended) != "before"+string(data) {
			t.Fatalf("appended: %q, %v", appended, err)
		}

		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		if _, err := message.Decode(data[:at]); !errors.Is(err, message.ErrFormat) {
			t.Fatalf("a cut message is read: %v", err)
		}
		data[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if got, err = message.Decode(data); err == nil {
			if again, err := message.Encode(got); err != nil || !bytes.Equal(again, data) {
				t.Fatalf("%x was read, but is written %x, %v", data, again, err)
			}
		} else if !errors.Is(err, message.ErrFormat) {
			t.Fatalf("error does not wrap ErrFormat: %v", err)
		}
	})
}

// TestRefusedMessages: what cannot be is refused before it is stored or sent, and
// where it comes from elsewhere.
func TestRefusedMessages(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*message.Message)
		want   string
	}{
		{"process", func(m *message.Message) { m.Queue.Process.Name = "a\x00b" }, `process "a\x00b" is not a name`},
		{"version", func(m *message.Message) { m.Queue.Process.Version = 0 }, "version 0 of the process is not between 1 and 2147483647"},
		{"node", func(m *message.Message) { m.Queue.Node = processtable.Origin }, `node "@origin" is not a name`},
		{"origin", func(m *message.Message) { m.Origin = "a b" }, `origin "a b" is not a node's name`},
		{"host", func(m *message.Message) { m.OnBehalf = "a b" }, `on behalf of "a b", which is not a node's name`},
		{"activity", func(m *message.Message) { m.Activity = "a-b" }, `activity "a-b" is not a name`},
		{"source", func(m *message.Message) { m.Source = "a\x00" }, `source "a\x00" is not an activity's name`},
		{"long name", func(m *message.Message) {
			m.Activity = processtable.ActivityID(strings.Repeat("a", 65))
		}, "is not a name"},
		{"scope", func(m *message.Message) { m.Scope = "a\x00" }, "scope is longer than 1024 or has more than printable ASCII"},
		{"no scope of a source", func(m *message.Message) { m.SourceScope = "a#0" }, `scope "a#0" of the source is not one`},
		{"long scope of a source", func(m *message.Message) {
			m.SourceScope = message.Scope(strings.Repeat(strings.Repeat("a", 64)+"[99999]/", 15) + "a")
		}, "of the source is not one"},
		{"long scope", func(m *message.Message) { m.Scope = message.Scope(strings.Repeat("a", 1025)) }, "scope is longer"},
		{"trace", func(m *message.Message) { m.Trace = "é" }, "trace is longer than 256 or has more than printable ASCII"},
		{"control", func(m *message.Message) { m.Control = 6 }, "state 6 of the control connector is unknown"},
		{"data", func(m *message.Message) { m.Data = 4 }, "state 4 of the data connector is unknown"},
		{"lane", func(m *message.Message) { m.Lane = 2 }, "lane 2 is unknown"},
		{"onward", func(m *message.Message) { m.OnBehalf = "" }, "onward without on behalf"},
		{"kind", func(m *message.Message) { m.Kind = 23 }, "kind 23 is unknown"},
		{"begin with a connector", func(m *message.Message) {
			*m = beginning()
			m.Control = message.True
		}, "what begins leads into a composite"},
		{"begin of what is further inside", func(m *message.Message) { *m = beginning(); m.Scope = "documents#1/line[3]" }, "what begins leads into a composite"},
		{"begin of its own scope", func(m *message.Message) { *m = beginning(); m.Scope = "" }, "what begins leads into a composite"},
		{"begin without a source", func(m *message.Message) { *m = beginning(); m.Source = "" }, "no source"},
		{"cancels over two borders", func(m *message.Message) {
			*m = beginning()
			m.Kind, m.Scope = message.KindCancel, "documents#2/line[3]"
		}, "what cancels is of the same scope"},
		{"return into a composite", func(m *message.Message) { *m = beginning(); m.Kind = message.KindReturn }, "what returns leads out of a composite"},
		{"return of no child", func(m *message.Message) { *m = ofChild(); m.Number = 0 }, "what returns leads out of a composite, or has the number of a child"},
		{"return of a child that is an activity", func(m *message.Message) { *m = ofChild(); m.Source = "credit" }, "what returns leads out of a composite"},
		{"return of a child's iteration", func(m *message.Message) { *m = returning(); m.Number = 7 }, "what returns leads out of a composite"},
		{"start of an activity", func(m *message.Message) { *m = starting(); m.Activity = "credit" }, "what starts an instance is for its source"},
		{"start inside of a composite", func(m *message.Message) { *m = starting(); m.Scope, m.SourceScope = "a#1", "a#1" }, "what starts an instance is for its source"},
		{"start elsewhere", func(m *message.Message) { *m = starting(); m.Origin = "B" }, "at the node where that is started"},
		{"no kind", func(m *message.Message) { m.Kind = 0 }, "kind 0 is unknown"},
		{"no instance", func(m *message.Message) { m.Instance = uuid.Nil }, "no instance"},
		{"no activity", func(m *message.Message) { m.Activity = "" }, "no activity"},
		{"no source", func(m *message.Message) { m.Source = "" }, "no source"},
		{"large body", func(m *message.Message) { m.Body = make([]byte, message.MaxBody+1) }, "body of 8388609 bytes is over the limit of 8388608"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := full()
			tc.change(&m)
			got, err := message.Encode(m)
			if got != nil || !errors.Is(err, message.ErrFormat) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("encoded %x, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestKindsNeedOnlyWhatTheyHave(t *testing.T) {
	for name, h := range map[string]message.Header{
		"marker without an activity": {Kind: message.KindMarker, Instance: instance},
		"table without an instance":  {Kind: message.KindTable},
		"snapshot without a source":  {Kind: message.KindSnapshot, Instance: instance, Activity: "a"},
		"notice without a source":    {Kind: message.KindNotice, Instance: instance, Activity: "sink"},
		"record without a source":    {Kind: message.KindRecord, Instance: instance, Activity: "sink"},
	} {
		t.Run(name, func(t *testing.T) {
			h.Queue = full().Queue
			if _, err := message.Encode(message.Message{Header: h}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMalformed: each damage to an encoded message, with what it is told.
func TestMalformed(t *testing.T) {
	good, err := message.Encode(full())
	if err != nil {
		t.Fatal(err)
	}
	replace := func(old, new string) string {
		if !strings.Contains(string(good), old) {
			t.Fatalf("%q is not in the encoded message", old)
		}
		return strings.Replace(string(good), old, new, 1)
	}
	for _, tc := range []struct{ name, data, want string }{
		{"nothing", "", "ends too early: expected array"},
		{"no array", "\xa0", "expected array"},
		{"too short an array", "\x82\x01\xa0", "expected array of version, header and body"},
		{"later version", "\x83\x06" + string(good[2:]), "version 6: this node reads versions 1 to 5: upgrade it"},
		{"version that nothing asks for", "\x83\x02" + string(good[2:]), "version 2: what it says is written in version 1"},
		{"own scope of the source", replace("\x83\x01\xb1", "\x83\x02\xb2")[:len(good)-5] + "\x11\x67block/2" + "\x44body", "the source's scope is present although it is the message's own"},
		{"no scope of the source", replace("\x83\x01\xb1", "\x83\x02\xb2")[:len(good)-5] + "\x11\x61[" + "\x44body", `scope "[" of the source is not one`},
		{"unknown field", replace("\x83\x01\xb1", "\x83\x01\xb2") + "", ""},
		{"something behind", string(good) + "x", "the data should end here"},
		{"unknown kind", replace("\x09\x01", "\x09\x17"), "kind 23 is unknown"},
		{"instance of zeros", replace(string(instance[:]), strings.Repeat("\x00", 16)), "the instance is present although it is zero"},
		{"definition of zeros", replace("\x01\x02\x03\x04\x05\x06\x07\x08", strings.Repeat("\x00", 8)), "the definition is present although it is zero"},
		{"name with a zero byte", replace("credit", "cre\x00it"), `activity "cre\x00it" is not a name`},
		{"body too large", strings.TrimSuffix(string(good), "\x44body") + "\x5a\x00\x80\x00\x01", "byte string of 8388609 bytes is over the limit of 8388608"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := message.Decode([]byte(tc.data))
			if !errors.Is(err, message.ErrFormat) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := message.DecodeHeader([]byte("\x83\x02\xa0")); !errors.Is(err, message.ErrFormat) {
		t.Errorf("header of a later version: %v", err)
	}
	if _, err := message.DecodeHeader([]byte("\x83\x01\xa0")); !errors.Is(err, message.ErrFormat) {
		t.Errorf("empty header: %v", err)
	}
}

func TestIdentity(t *testing.T) {
	m := full()
	if want := (message.Entry{Instance: instance, Scope: "block/2", Activity: "credit"}); m.Entry() != want {
		t.Errorf("entry %v, want %v", m.Entry(), want)
	}
	if want := (message.Key{Kind: message.KindConnector, Source: "receive", Scope: "block/2"}); m.Key() != want {
		t.Errorf("key %v, want %v", m.Key(), want)
	}
	if message.TruthOf(true) != message.True || message.TruthOf(false) != message.False {
		t.Error("truth of bools")
	}
}

func drawTime(t *rapid.T, label string) time.Time {
	if rapid.Bool().Draw(t, label+" is zero") {
		return time.Time{}
	}
	return time.Unix(0, rapid.Int64().Draw(t, label)).UTC()
}

func drawBytes(t *rapid.T, label string) []byte {
	if b := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, label); len(b) > 0 {
		return b
	}
	return nil
}

// TestBodies: every body comes back as it was, and only what was written is read.
func TestBodies(t *testing.T) {
	count := rapid.IntRange(0, 1<<40)
	rapid.Check(t, func(t *rapid.T) {
		r := message.Record{
			Process: processtable.ProcessID{Name: "p", Version: 1}, Started: drawTime(t, "started"),
			Key: rapid.StringN(0, 10, -1).Draw(t, "key"), Input: drawBytes(t, "input"),
		}
		copy(r.InputHash[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "hash"))
		checkBody(t, r, message.EncodeRecord, message.DecodeRecord)

		checkBody(t, message.Snapshot{
			Iteration: count.Draw(t, "iteration"), Run: count.Draw(t, "run"), Attempt: count.Draw(t, "attempt"),
			Due: drawTime(t, "due"), Quick: count.Draw(t, "quick"), Input: drawBytes(t, "input"),
			Error: rapid.String().Draw(t, "error"), Failed: rapid.Bool().Draw(t, "failed"),
			HasOutput: rapid.Bool().Draw(t, "has output"), Output: drawBytes(t, "output"), RC: rapid.Int64().Draw(t, "rc"),
			LastFailure: rapid.String().Draw(t, "failure"), Started: drawTime(t, "started"),
			Cause: message.Cause(rapid.IntRange(0, 5).Draw(t, "cause")),
		}, message.EncodeSnapshot, message.DecodeSnapshot)

		checkBody(t, message.Notice{
			Error: rapid.String().Draw(t, "error"), Attempts: count.Draw(t, "attempts"),
			Cleared: rapid.Bool().Draw(t, "cleared"), Time: drawTime(t, "time"),
		}, message.EncodeNotice, message.DecodeNotice)

		by := rapid.SampledFrom([]string{"", "alice at B", "user:root at A"}).Draw(t, "by")
		checkBody(t, message.Marker{Reason: rapid.String().Draw(t, "reason"), Time: drawTime(t, "time"), By: by},
			message.EncodeMarker, message.DecodeMarker)
	})
}

func checkBody[B any](t *rapid.T, b B, encode func(B) []byte, decode func([]byte) (B, error)) {
	data := encode(b)
	got, err := decode(data)
	if err != nil || !cmp.Equal(got, b) {
		t.Fatalf("%v, %s", err, cmp.Diff(b, got))
	}
	at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
	if _, err := decode(data[:at]); !errors.Is(err, message.ErrFormat) {
		t.Fatalf("a cut %T is read: %v", b, err)
	}
	data = bytes.Clone(data)
	data[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	if got, err := decode(data); err == nil && !bytes.Equal(encode(got), data) {
		t.Fatalf("%x was read, but is written %x", data, encode(got))
	}
}

func TestMalformedBodies(t *testing.T) {
	decoders := map[string]func([]byte) error{
		"record":     func(b []byte) error { _, err := message.DecodeRecord(b); return err },
		"snapshot":   func(b []byte) error { _, err := message.DecodeSnapshot(b); return err },
		"notice":     func(b []byte) error { _, err := message.DecodeNotice(b); return err },
		"marker":     func(b []byte) error { _, err := message.DecodeMarker(b); return err },
		"cancel":     func(b []byte) error { _, err := message.DecodeCancel(b); return err },
		"begin":      func(b []byte) error { _, err := message.DecodeBegin(b); return err },
		"return":     func(b []byte) error { _, err := message.DecodeReturn(b); return err },
		"start":      func(b []byte) error { _, err := message.DecodeStart(b); return err },
		"event":      func(b []byte) error { _, err := message.DecodeEvent(b); return err },
		"wait":       func(b []byte) error { _, err := message.DecodeWait(b); return err },
		"past event": func(b []byte) error { _, err := message.DecodePast(b); return err },
	}
	for what, decode := range decoders {
		for _, tc := range []struct{ name, data, want string }{
			{"nothing", "", "ends too early"},
			{"one item", "\x81\x01", "expected array of version and fields"},
			{"later version", "\x82\x09\xa0", "version 9: this node reads version"},
			{"no version", "\x82\x00\xa0", "version 0: this node reads version"},
			{"unknown field", "\x82\x01\xa1\x17\x01", "unknown field 23"},
			{"twice", "\x82\x01\xa2\x00\x01\x00\x01", ""},
			{"something behind", "\x82\x01\xa0\x00", "the data should end here"},
		} {
			t.Run(what+" "+tc.name, func(t *testing.T) {
				err := decode([]byte(tc.data))
				if !errors.Is(err, message.ErrFormat) || !strings.Contains(err.Error(), what+": ") || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error %v, want %q", err, tc.want)
				}
			})
		}
	}
	large := append([]byte("\x82\x01\xa1\x05\x5a\x00\x10\x00\x01"), make([]byte, container.MaxEncoded+1)...)
	if _, err := message.DecodeSnapshot(large); err == nil || !strings.Contains(err.Error(), "is over the limit of 1048576") {
		t.Errorf("input over the limit of containers: %v", err)
	}
}

// TestSnapshotFormats keeps the bytes of all versions: what is in queues must stay
// readable. One without a cause is as version 1 wrote it.
func TestSnapshotFormats(t *testing.T) {
	at := message.Snapshot{
		Iteration: 2, Run: 1, Attempt: 3, Due: time.Unix(0, 5).UTC(), Quick: 4, Input: []byte{6}, Error: "e", Failed: true, HasOutput: true,
		Output: []byte{7}, RC: -1, LastFailure: "l", Started: time.Unix(0, 8).UTC(),
	}
	known := at
	known.Cause, known.Source = message.CauseRefused, "a"
	begun := known
	begun.Begun = true
	for want, s := range map[string]message.Snapshot{
		"8203b0000201010203030504040541060661650" + "7f508f50941070a200b616c0c08" + "0d040e61610ff5": begun,
		"8201ad000201010203030504040541060661650" + "7f508f50941070a200b616c0c08":                    at,
		"8202af000201010203030504040541060661650" + "7f508f50941070a200b616c0c08" + "0d040e6161":     known,
	} {
		if got := hex.EncodeToString(message.EncodeSnapshot(s)); got != want {
			t.Errorf("encoded %s, want %s", got, want)
		}
		data, err := hex.DecodeString(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := message.DecodeSnapshot(data); err != nil || !cmp.Equal(got, s) {
			t.Errorf("%v, %s", err, cmp.Diff(s, got))
		}
	}
	for _, bad := range []string{"8201a20002" + "0d04", "8202a10002", "8202a20002" + "0d06", "8203a10002", "8202a3000" + "20d040ff5"} { // version 1 with a cause, 2 without, an unknown one, 3 that was not begun, 2 that was
		data, err := hex.DecodeString(bad)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := message.DecodeSnapshot(data); !errors.Is(err, message.ErrFormat) {
			t.Errorf("%s is read as %+v, %v", bad, s, err)
		}
	}
}

// TestMarkerFormats keeps the bytes of both versions: one of whom it is not known who ended
// the instance is as version 1 wrote it.
func TestMarkerFormats(t *testing.T) {
	at := message.Marker{Reason: "e", Time: time.Unix(0, 5).UTC()}
	known := at
	known.By = "a at B"
	for want, m := range map[string]message.Marker{"8201a20061650105": at, "8202a30061650105" + "0266612061742042": known} {
		if got := hex.EncodeToString(message.EncodeMarker(m)); got != want {
			t.Errorf("encoded %s, want %s", got, want)
		}
		data, err := hex.DecodeString(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := message.DecodeMarker(data); err != nil || got != m {
			t.Errorf("%+v, %v, want %+v", got, err, m)
		}
	}
	for _, bad := range []string{"8201a10266612061742042", "8202a1006165"} { // version 1 with a name, 2 without
		data, err := hex.DecodeString(bad)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := message.DecodeMarker(data); !errors.Is(err, message.ErrFormat) {
			t.Errorf("%s is read as %+v, %v", bad, m, err)
		}
	}
}

// An operator's own reason is in that of a marker, behind who has put it; that of another marker is no operator's. Of what another
// site may write not more is taken than an operator can say.
func TestWhyOfAMarker(t *testing.T) {
	const by = "person:ann at B"
	for _, tc := range []struct{ reason, want string }{
		{message.TerminatedBy(by, ""), ""},
		{message.TerminatedBy(by, "ordered twice"), "ordered twice"},
		{message.TerminatedBy(by, "as said: twice"), "as said: twice"},
		{message.TerminatedBy("bob at B", "ordered twice"), ""},
		{"the deadline of the process has come", ""},
		{message.TerminatedBy(by, strings.Repeat("x", 5000)), strings.Repeat("x", 1024)},
	} {
		m := message.Marker{Reason: tc.reason, By: by}
		if got := m.Why(); got != tc.want {
			t.Errorf("%.60q: %.60q, want %.60q", tc.reason, got, tc.want)
		}
	}
}

// TestLongTextsAreCut: a program may print any error; it must be storable.
func TestLongTextsAreCut(t *testing.T) {
	long := "x" + strings.Repeat("é", message.MaxText) + "\xff"
	s, err := message.DecodeSnapshot(message.EncodeSnapshot(message.Snapshot{Error: long, LastFailure: "bad \xff byte"}))
	if err != nil || len(s.Error) != message.MaxText-1 || !strings.HasPrefix(long, s.Error) {
		t.Errorf("error of %d bytes, %v", len(s.Error), err)
	}
	if s.LastFailure != "bad ? byte" {
		t.Errorf("failure %q", s.LastFailure)
	}
}

func BenchmarkEncode(b *testing.B) {
	m := full()
	buf := make([]byte, 0, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := message.AppendEncode(buf, m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data, err := message.Encode(full())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := message.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
