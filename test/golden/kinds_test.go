package golden

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/internal/store/badger"
	"fmqm/message"
	"fmqm/queue/inspect"
	"fmqm/queue/record"
	"fmqm/test/fleet"
)

// N17: what a store can hold stands in one of the golden stores: every kind of record, every
// kind of message, every event of the audit and every meta record. What a new format adds is
// missing here until a release that writes it has its golden files.
func TestEveryKindIsInASet(t *testing.T) {
	found := kinds{}
	for _, dir := range releases(t) {
		for _, name := range fleet.Names {
			found.read(t, dir, name)
		}
	}
	want := known(t)
	for _, kind := range coming {
		if !want[kind] {
			t.Errorf("%s is no kind", kind)
		}
		delete(want, kind)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("make the golden files of a release that has them, see scripts/golden.sh (-what a store can hold +what the golden stores have):\n%s", diff)
	}
}

// kinds is what stores have or can have: "record marker", "message word", "event 12".
type kinds map[string]bool

// passing are the meta records that are there for a moment, while a store is brought to another format, room is
// given back, or data of an instance are overwritten: queue/migrate_test.go, queue/marks.go and node/erase have them.
var passing = []string{"migrating", "padding", "erase"}

// coming are the kinds that no release has written yet. The golden files of the first one that does
// have to have them, as what TestMake makes has: then this list is empty again.
var coming = []string{
	"message mark", "message offer", "message recall", "message recalled", "event 29", "event 30", "event 31", "event 32", "event 33", "event 34", "event 35", "event 36", "event 43", "event 44", "event 45", "event 46", "event 47", "event 48", "event 49", "event 50",
	"meta retired", "meta definition", "meta final", "meta tombstone", "meta without", "record index", "record value",
}

// meta finds the names of meta records in the row of formats.md.
var meta = regexp.MustCompile("(?m)^\\| `m` \\| meta \\| (.*?) \\|")

// known are the kinds that this code knows.
func known(t *testing.T) kinds {
	t.Helper()
	k := kinds{}
	for _, name := range inspect.Kinds() {
		k["record "+name] = true
	}
	for of, body := range message.Current().Bodies {
		if kind := message.Kind(of); body > 0 || kind == message.KindDue {
			k["message "+kind.String()] = true
		}
	}
	for _, e := range record.Events() {
		k[fmt.Sprint("event ", e)] = true
	}
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	row := meta.FindSubmatch(page)
	if row == nil {
		t.Fatal("docs/formats.md has no row of meta records")
	}
	for _, name := range regexp.MustCompile("`[a-z]+`").FindAllString(string(row[1]), -1) {
		if name = strings.Trim(name, "`"); !slices.Contains(passing, name) {
			k["meta "+name] = true
		}
	}
	return k
}

// read adds what the golden store of a site has.
func (k kinds) read(t *testing.T, dir, name string) {
	t.Helper()
	s := &fleet.Site{Name: name, Dir: t.TempDir()}
	unpack(t, dir, s)
	engine, err := badger.Open(badger.Options{Dir: s.File("data")})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	err = inspect.Dump(engine, func(d inspect.Dumped) error {
		k["record "+d.Kind] = true
		if d.Message != "" {
			k["message "+d.Message] = true
		}
		if d.Audit != nil {
			k[fmt.Sprint("event ", d.Audit.Event)] = true
		}
		if d.Kind == "meta" {
			called, _, _ := strings.Cut(d.Key[1:], ".")
			k["meta "+called] = true
		}
		if d.Problem != "" {
			t.Errorf("%s of %s: %+v", name, dir, d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
