package processtable

import (
	"testing"

	"fmqm/internal/goldentest"
)

// N17: tables of all formats stay readable for ever, and are still written so: sites and
// backups hold them. A line of the file is a name, a tab and the bytes; it is never
// changed. Signed tables have files of their own.
func TestTablesStayAsTheyAre(t *testing.T) {
	all := map[string]*Table{"table 1": sample(), "table 2": withDetours(), "table 4": withBehaviours(), "table 5": withBlock(), "table 5, times": withTimes(), "table 6": worked(), "table 6, schedules": withSchedules(), "table 6, subprocesses": withChildren(), "table 7, bundles": withBundle("A"), "table 7, events": withEvents(), "table 7, first": withFirst(), "table 7, notices": withNotices(), "table 7, origin": withOrigin(), "table 8": withManual(), "table 8, offers": withOffers("A"), "table 8, an offer": withOffers("C"), "table 8, notices": withPeopleNotices(), "table 9": withSearch(), "table 9, told": withTold()}
	goldentest.Stay(t, "testdata/tables.txt", all, Encode, func(t *testing.T, want *Table, data []byte) {
		got, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(want, got); d != "" {
			t.Errorf("it is read as another table (-want +got):\n%s", d)
		}
	})
}
