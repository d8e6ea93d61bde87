package queue

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/message"
	"fmqm/queue/record"
)

// Who has done something by hand is a field of its own; a record without it is as it was
// written before there was one, byte for byte.
func TestAuditRecordByWhom(t *testing.T) {
	plain := record.AuditRecord{Instance: message.InstanceID{1}, Activity: "b", Event: record.EventRetried, Clock: 7, Reason: "r"}
	named := plain
	named.By = "alice at B"
	before := record.AppendAudit(nil, &plain, true)
	if got := record.AppendAudit(nil, &named, true); !bytes.Equal(got[1:len(before)], before[1:]) || !bytes.HasSuffix(got, []byte("\x13\x6aalice at B")) { // field 19
		t.Errorf("%x, without it %x", got, before)
	}
	for _, a := range []record.AuditRecord{plain, named} {
		got, err := record.DecodeAudit(record.AppendAudit(nil, &a, true))
		if err != nil || !cmp.Equal(got, a) {
			t.Errorf("%v, %s", err, cmp.Diff(a, got))
		}
	}
	named.By = strings.Repeat("x", message.MaxBy+1)
	if err := record.ValidateAudit(&named); err == nil {
		t.Error("a name of any length is taken")
	}
}
