package message_test

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"fmqm/message"
)

// kept is a message whose bytes are kept, with what its body says; nil: it is not read
// here.
type kept struct {
	message message.Message
	body    any
}

// messages are of every kind, each with a body of every version.
func messages() map[string]kept {
	header := func(kind message.Kind) message.Header {
		h := full().Header
		h.Kind, h.Scope = kind, ""
		return h
	}
	at := time.Date(2026, 11, 22, 20, 0, 0, 5, time.UTC)
	record := message.Record{Process: full().Queue.Process, Started: at, InputHash: [32]byte{9, 8}, Key: "order 7", Input: []byte{0x82, 5, 0x61, 'x'}}
	snapshot := message.Snapshot{
		Iteration: 3, Run: 1, Attempt: 2, Due: at.Add(time.Hour), Quick: 1, Input: []byte{0x81, 1}, Error: "no such account", Failed: true,
		HasOutput: true, Output: []byte{0x81, 2}, RC: -4, LastFailure: "exit 4", Started: at,
	}
	caused := snapshot
	caused.Cause, caused.Source = message.CauseRefused, "receive"
	notice := message.Notice{Error: "no such account", Attempts: 3, Time: at}
	cleared := message.Notice{Cleared: true, Time: at}
	marker := message.Marker{Reason: "terminated", Time: at}
	by := message.Marker{Reason: "terminated by alice at B", Time: at, By: "alice at B"}
	least := message.Message{Header: message.Header{Queue: full().Queue, Instance: instance, Activity: "credit", Source: "receive", Kind: message.KindConnector, Control: message.False}}
	table := header(message.KindTable)
	table.Instance, table.Activity, table.Source, table.Control, table.Data = uuid.Nil, "", "", 0, 0
	table.OnBehalf, table.Onward = "", false
	return map[string]kept{
		"connector":        {full(), nil},
		"connector, FALSE": {least, nil},
		"record":           {message.Message{Header: header(message.KindRecord), Body: message.EncodeRecord(record)}, record},
		"snapshot 1":       {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(snapshot)}, snapshot},
		"snapshot 2":       {message.Message{Header: header(message.KindSnapshot), Body: message.EncodeSnapshot(caused)}, caused},
		"notice":           {message.Message{Header: header(message.KindNotice), Body: message.EncodeNotice(notice)}, notice},
		"notice, cleared":  {message.Message{Header: header(message.KindNotice), Body: message.EncodeNotice(cleared)}, cleared},
		"marker 1":         {message.Message{Header: header(message.KindMarker), Body: message.EncodeMarker(marker)}, marker},
		"marker 2":         {message.Message{Header: header(message.KindMarker), Body: message.EncodeMarker(by)}, by},
		"table":            {message.Message{Header: table, Body: []byte{0xa1, 1, 2}}, nil},
	}
}

// N17: messages of every kind, with bodies of every version, stay readable for ever, and
// are still written so: each in the lowest version that can say it. A line of the file is
// a name, a tab and the bytes; it is never changed.
func TestMessagesStayAsTheyAre(t *testing.T) {
	text, err := os.ReadFile("testdata/messages.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := messages()
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
		got, err := message.Decode(data)
		if d := cmp.Diff(want.message, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
			continue
		}
		if body, err := bodyOf(got); err != nil || cmp.Diff(want.body, body) != "" {
			t.Errorf("%s: its body is %+v, %v", name, body, err)
		}
		if again, err := message.Encode(want.message); err != nil || string(again) != string(data) {
			t.Errorf("%s is written as %x, %v", name, again, err)
		}
	}
	for name, m := range all {
		data, err := message.Encode(m.message)
		t.Errorf("no bytes are kept of this one (%v):\n%s\t%x", err, name, data)
	}
}

// bodyOf reads the body of a kind that has a form of its own.
func bodyOf(m message.Message) (body any, err error) {
	switch m.Kind {
	case message.KindRecord:
		return message.DecodeRecord(m.Body)
	case message.KindSnapshot:
		return message.DecodeSnapshot(m.Body)
	case message.KindNotice:
		return message.DecodeNotice(m.Body)
	case message.KindMarker:
		return message.DecodeMarker(m.Body)
	default:
		return nil, nil
	}
}
