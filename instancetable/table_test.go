package instancetable

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

func key(name string) message.Entry {
	return message.Entry{Activity: processtable.ActivityID(name)}
}

// keys is a behaviour of which a state is the keys of its messages: 256 bytes and 32 more for
// each.
type keys struct{ behaviour.Behaviour }

func (keys) Empty(e message.Entry) behaviour.State {
	return &keyState{Basis: behaviour.Basis{Entry: e}}
}

type keyState struct {
	behaviour.Basis
	behaviour.State
}

func (s *keyState) Known() *behaviour.Basis { return &s.Basis }

// Empty, Holds and Forget are those of Basis.
func (s *keyState) Empty() bool                { return s.Basis.Empty() }
func (s *keyState) Holds(key message.Key) bool { return s.Basis.Holds(key) }
func (s *keyState) Forget(taken []message.Key) { s.Basis.Forget(taken) }

func (s *keyState) Bytes() int { return 256 + 32*len(s.Keys) }

func entry(name string, messages int) *Entry {
	e := NewEntry(key(name), keys{})
	e.Known.Keys = make([]message.Key, messages)
	return e
}

// held lists what is in memory, without using it.
func held(t *Table) string {
	var names []string
	t.All(func(e *Entry) bool {
		names = append(names, string(e.Key.Activity))
		return true
	})
	slices.Sort(names)
	return strings.Join(names, " ")
}

func expectHeld(t *testing.T, table *Table, want string) {
	t.Helper()
	if got := held(table); got != want || table.Len() != len(strings.Fields(want)) {
		t.Errorf("in memory: %s; want %s", got, want)
	}
}

// Invariant 10: entries that are not in execution stay within the limits; the longest
// unused go first.
func TestTheLongestUnusedAreEvicted(t *testing.T) {
	table := New(Limits{Entries: 3, Bytes: 1 << 20})
	for _, name := range []string{"a", "b", "c"} {
		table.Add(entry(name, 1))
	}
	expectHeld(t, table, "a b c")
	if table.Get(key("a")) == nil || table.Get(key("x")) != nil {
		t.Error("Get finds what is there, and nothing else")
	}
	table.Add(entry("d", 1))
	expectHeld(t, table, "a c d")
	table.Touch(table.Get(key("c")))
	table.Add(entry("e", 1))
	expectHeld(t, table, "c d e")
}

func TestBytesAreLimited(t *testing.T) {
	table := New(Limits{Entries: 100, Bytes: 3*entryBytes + 1000})
	for _, name := range []string{"a", "b", "c"} {
		table.Add(entry(name, 0)) // its state has 256 bytes
	}
	expectHeld(t, table, "a b c")
	c := table.Get(key("c"))
	c.Known.Keys = make([]message.Key, 10) // 320 bytes more
	table.Touch(c)
	expectHeld(t, table, "b c")
	table.Remove(key("b"))
	table.Add(entry("d", 4)) // 576 + 384
	expectHeld(t, table, "c d")
}

// What was just used is kept even if it alone is over the limits: it is about to be
// looked at.
func TestTheNewestStays(t *testing.T) {
	table := New(Limits{})
	table.Add(entry("a", 1000))
	expectHeld(t, table, "a")
	table.Add(entry("b", 1000))
	expectHeld(t, table, "b")
}

// Entries in execution, and those with a result that is not on disk, are never evicted.
func TestPinnedEntriesStay(t *testing.T) {
	table := New(Limits{Entries: 1, Bytes: 1 << 20})
	pinned := map[string]Phase{"ready": Ready, "running": Running, "settling": Settling}
	for name, phase := range pinned {
		e := entry(name, 1)
		table.Add(e)
		table.SetPhase(e, phase)
	}
	result := entry("result", 1)
	result.Result = &behaviour.Result{}
	table.Add(result)
	table.Add(entry("a", 1))
	table.Add(entry("b", 1))
	expectHeld(t, table, "b ready result running settling")
	if n := table.Unused(); n != 1 {
		t.Errorf("%d of them may be evicted, want b only", n)
	}

	table.SetPhase(table.Get(key("running")), Waiting)
	expectHeld(t, table, "ready result running settling")
	result.Result = nil
	table.SetPhase(result, Waiting)
	expectHeld(t, table, "ready result settling")
	table.Remove(key("settling"))
	table.Remove(key("settling"))
	expectHeld(t, table, "ready result")
}

func TestAddKeepsWhatIsThere(t *testing.T) {
	table := New(Limits{Entries: 10, Bytes: 1 << 20})
	first := entry("a", 1)
	table.Add(first)
	table.Add(entry("a", 2))
	if table.Get(key("a")) != first || table.Len() != 1 {
		t.Error("another entry took its place")
	}
}

func TestAllStopsWhenToldTo(t *testing.T) {
	table := New(Limits{Entries: 10, Bytes: 1 << 20})
	table.Add(entry("a", 1))
	table.Add(entry("b", 1))
	n := 0
	table.All(func(*Entry) bool { n++; return false })
	if n != 1 {
		t.Errorf("visited %d", n)
	}
}

func TestMayBeStored(t *testing.T) {
	table := New(Limits{Entries: 1, Bytes: 1 << 20})
	if !table.MayBeStored(key("a")) {
		t.Error("before the queue was browsed, everything may be in the store")
	}
	table.Scanned()
	if table.MayBeStored(key("a")) {
		t.Error("nothing was evicted, and all was read")
	}
	table.Add(entry("a", 1))
	table.Add(entry("b", 1))
	if !table.MayBeStored(key("a")) {
		t.Error("a was evicted")
	}
	table.Remove(key("b"))
	if table.MayBeStored(key("b")) {
		t.Error("b has ended, and its messages are gone")
	}
	table.Rescan()
	if !table.MayBeStored(key("a")) || !table.MayBeStored(key("b")) {
		t.Error("until the queue was browsed again, everything may be in the store")
	}
	table.Scanned()
	if table.MayBeStored(key("a")) {
		t.Error("the browse did not find a: it is not in the store")
	}
}

// When half of the filter's bits are set it is made anew, four times as large, up to
// a limit where another browse would not help.
func TestACrowdedFilterIsMadeAnew(t *testing.T) {
	table := New(Limits{})
	table.evicted = newFilter(64, 1)
	table.Scanned()
	n := 0
	for ; !table.Crowded(); n++ {
		if n > 1000 {
			t.Fatal("never crowded")
		}
		table.Add(entry(fmt.Sprint(n), 1))
	}
	if n < 33 {
		t.Errorf("crowded by %d entries in 64 bits", n)
	}
	table.Rescan()
	if table.Crowded() || table.evicted.size != 256 || table.evicted.set != 0 {
		t.Errorf("after Rescan: %d of %d bits are set", table.evicted.set, table.evicted.size)
	}
	table.Scanned()
	if table.Crowded() {
		t.Error("crowded at once")
	}
	full := newFilter(maxFilterBits, 1)
	full.set = maxFilterBits
	if full.crowded() || full.grown() != maxFilterBits {
		t.Error("a filter of the largest size cannot be made better")
	}
}

// MayBeStored never says no for an entry that has messages in the store and is not in
// memory, whatever arrives, is evicted, ends and is browsed, in any order.
func TestMayBeStoredIsNeverWronglyNo(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := New(Limits{Entries: rapid.IntRange(0, 4).Draw(rt, "entries"), Bytes: rapid.IntRange(200, 3000+8*entryBytes).Draw(rt, "bytes")})
		table.evicted = newFilter(64*rapid.Uint64Range(1, 4).Draw(rt, "filter"), 1)
		m := &model{table: table, stored: map[string]bool{}, browsing: true}
		for i := range rapid.IntRange(0, 20).Draw(rt, "before the start") {
			m.stored[fmt.Sprintf("k%02d", i*2)] = true
		}
		name := rapid.Custom(func(rt *rapid.T) string { return fmt.Sprintf("k%02d", rapid.IntRange(0, 40).Draw(rt, "key")) })
		rt.Repeat(map[string]func(*rapid.T){
			"arrive": func(rt *rapid.T) { m.arrive(name.Draw(rt, "name"), rapid.IntRange(1, 5).Draw(rt, "messages")) },
			"pin": func(rt *rapid.T) {
				if e := table.Get(key(name.Draw(rt, "name"))); e != nil {
					table.SetPhase(e, rapid.SampledFrom([]Phase{Waiting, Ready, Running, Settling}).Draw(rt, "phase"))
				}
			},
			"end": func(rt *rapid.T) {
				if n := name.Draw(rt, "name"); table.Get(key(n)) != nil {
					delete(m.stored, n)
					table.Remove(key(n))
				}
			},
			"browse": func(rt *rapid.T) { m.browse(rapid.IntRange(1, 5).Draw(rt, "chunk")) },
			"tidy": func(*rapid.T) {
				if !m.browsing && table.Crowded() {
					table.Rescan()
					m.browsing, m.after = true, ""
				}
			},
			"": m.check,
		})
	})
}

// model is a process thread with its store, of which only keys matter.
type model struct {
	table    *Table
	stored   map[string]bool
	browsing bool
	after    string
}

func (m *model) arrive(name string, messages int) {
	e := m.table.Get(key(name))
	if e == nil {
		m.stored[name] = true
		m.table.Add(entry(name, messages))
		return
	}
	e.Known.Keys = append(e.Known.Keys, make([]message.Key, messages)...)
	m.table.Touch(e)
}

func (m *model) browse(chunk int) {
	if !m.browsing {
		return
	}
	var next []string
	for name := range m.stored {
		if name > m.after {
			next = append(next, name)
		}
	}
	slices.Sort(next)
	for _, name := range next[:min(chunk, len(next))] {
		m.after = name
		if m.table.Get(key(name)) == nil {
			m.table.Add(entry(name, 1))
		}
	}
	if len(next) <= chunk {
		m.browsing = false
		m.table.Scanned()
	}
}

func (m *model) check(rt *rapid.T) {
	for name := range m.stored {
		if m.table.entries[key(name)] == nil && !m.table.MayBeStored(key(name)) {
			rt.Fatalf("%s is in the store, not in memory, and MayBeStored says no", name)
		}
	}
	unused, bytes := 0, 0
	for _, e := range m.table.entries {
		if !m.stored[string(e.Key.Activity)] {
			rt.Fatalf("%s is in memory and not in the store", e.Key.Activity)
		}
		if !e.pinned() {
			unused++
			bytes += entryBytes + e.State.Bytes()
		}
	}
	if unused > 1 && (unused > m.table.limits.Entries || bytes > m.table.limits.Bytes) {
		rt.Fatalf("%d entries of %d bytes are in memory, over %+v", unused, bytes, m.table.limits)
	}
	if unused != m.table.unused.len || bytes != m.table.bytes {
		rt.Fatalf("%d entries of %d bytes, counted as %d of %d", unused, bytes, m.table.unused.len, m.table.bytes)
	}
}

// What waits for days is looked at by every cycle of the garbage collector: an entry and
// its state are two objects, and its place in the order of use is none.
func TestAnEntryIsTwoObjects(t *testing.T) {
	table := New(Limits{Entries: 1, Bytes: 1 << 20})
	table.Add(entry("a", 1))
	var e *Entry
	if n := testing.AllocsPerRun(100, func() { e = NewEntry(key("a"), keys{}) }); n != 2 {
		t.Errorf("an entry and its state are %v objects", n)
	}
	if e.Known.Entry != e.Key || e.Key != key("a") {
		t.Errorf("the entry %v has the state of %v", e.Key, e.Known.Entry)
	}
	if n := testing.AllocsPerRun(100, func() { table.Touch(table.Get(key("a"))) }); n != 0 {
		t.Errorf("to be used once more costs %v objects", n)
	}
}

// An instance is held as long as an entry of it is, however that came and went.
func TestHolds(t *testing.T) {
	table := New(Limits{Entries: 2, Bytes: 1 << 20})
	of := func(n byte, name string) *Entry {
		e := entry(name, 1)
		e.Key.Instance = message.InstanceID{n}
		return e
	}
	expect := func(what string, one, two bool) {
		t.Helper()
		if table.Holds(message.InstanceID{1}) != one || table.Holds(message.InstanceID{2}) != two {
			t.Errorf("%s: held are %t and %t", what, !one, !two)
		}
	}
	expect("empty", false, false)
	table.Add(of(1, "a"))
	table.Add(of(1, "a")) // it is there
	table.Add(of(2, "a"))
	expect("two", true, true)
	table.Add(of(2, "b"))
	expect("the first was evicted", false, true)
	table.Remove(of(2, "a").Key)
	table.Remove(of(2, "a").Key) // it is gone
	expect("one of two is removed", false, true)
	table.Evict(table.Get(of(2, "b").Key))
	expect("all are gone", false, false)
	if len(table.of) > 0 {
		t.Errorf("left are %v", table.of)
	}
}
