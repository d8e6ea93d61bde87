package processtable

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// N17: tables of both formats stay readable for ever, and are still written so: sites and
// backups hold them. A line of the file is a name, a tab and the bytes; it is never
// changed. Signed tables have files of their own.
func TestTablesStayAsTheyAre(t *testing.T) {
	text, err := os.ReadFile("testdata/tables.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*Table{"table 1": sample(), "table 2": withDetours()}
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
		got, err := Decode(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := diff(want, got); d != "" {
			t.Errorf("%s is read as another table (-want +got):\n%s", name, d)
		}
		if again := mustEncode(t, want); !bytes.Equal(again, data) {
			t.Errorf("%s is written as %x", name, again)
		}
	}
	for name, table := range all {
		t.Errorf("no bytes are kept of this one:\n%s\t%x", name, mustEncode(t, table))
	}
}
