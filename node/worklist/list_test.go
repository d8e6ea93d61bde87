package worklist

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fmqm/message"
	"fmqm/processtable"
)

var noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)

// those says that these people may have items.
type those []string

func (t those) May(person string) bool { return slices.Contains(t, person) }

// nth is an item of a class.
func nth(n int, class string, rule Rule) Item {
	e := message.Entry{Instance: message.InstanceID{0: byte(n >> 16), 1: byte(n >> 8), 2: byte(n)}, Activity: "approve"}
	return Item{
		Key: Key{Process: processtable.ProcessID{Name: "p", Version: 1}, Entry: e}, ID: fmt.Sprintf("%012x", n), Title: fmt.Sprint("Approve ", n),
		Priority: 4, Offered: noon.Add(time.Duration(n) * time.Second), Class: class, Rule: rule,
	}
}

func names(items []Item) string {
	all := make([]string, len(items))
	for i := range items {
		all[i] = strings.TrimLeft(items[i].ID, "0")
	}
	return strings.Join(all, " ")
}

// Who asks sees what is offered to him and what he has, by priority, then the oldest first, page by page.
func TestAPageIsOfWhoAsks(t *testing.T) {
	l := New()
	both, ann := those{"ann", "bob"}, those{"ann"}
	for n := range 6 {
		i := nth(n+1, "both", both)
		if n%2 == 1 {
			i.Class, i.Rule = "ann", ann
		}
		l.Put(i)
	}
	urgent := nth(9, "both", both)
	urgent.Priority = 9
	l.Put(urgent)
	taken := nth(3, "both", both)
	taken.By, taken.Claim, taken.Claimed = message.Doer{Person: "bob@A"}, 1, noon
	l.Put(taken)
	ask := func(q Query) string {
		q.Limit = cmp.Or(q.Limit, 100)
		page, more := l.Page(q)
		return fmt.Sprint(names(page), " ", more)
	}
	for _, c := range []struct {
		what, want string
		q          Query
	}{
		{"ann", "9 1 2 4 5 6 false", Query{Person: "ann", Name: "ann@A"}},
		{"bob", "9 1 3 5 false", Query{Person: "bob", Name: "bob@A"}},
		{"nobody", " false", Query{Person: "eve", Name: "eve@A"}},
		{"what bob has", "3 false", Query{Person: "bob", Name: "bob@A", Claimed: true}},
		{"all", "9 1 2 3 4 5 6 false", Query{All: true}},
		{"all that somebody has", "3 false", Query{All: true, Claimed: true}},
		{"the first page", "9 1 true", Query{Person: "ann", Name: "ann@A", Limit: 2}},
		{"the next page", "2 4 true", Query{Person: "ann", Name: "ann@A", Limit: 2, After: ptr(nth(1, "", nil))}},
		{"the last page", "5 6 false", Query{Person: "ann", Name: "ann@A", Limit: 2, After: ptr(nth(4, "", nil))}},
		{"another activity", " false", Query{Person: "ann", Name: "ann@A", Activity: "pay"}},
		{"another process", " false", Query{Person: "ann", Name: "ann@A", Process: func(processtable.ProcessID) bool { return false }}},
	} {
		if got := ask(c.q); got != c.want {
			t.Errorf("%s sees %q, want %q", c.what, got, c.want)
		}
	}
}

func ptr(i Item) *Item { return &i }

// What was found out of one staff does not hold for the next, nor beyond the time up to which it holds.
func TestAnotherEpochIsAskedAnew(t *testing.T) {
	l := New()
	rule := &changing{}
	l.Put(nth(1, "c", rule))
	q := Query{Person: "ann", Name: "ann@A", Limit: 10, Epoch: Epoch{Staff: 1}}
	for range 3 {
		if page, _ := l.Page(q); len(page) != 0 {
			t.Fatal("she may not, and sees it")
		}
	}
	if rule.asked != 1 {
		t.Errorf("it was asked %d times, want once", rule.asked)
	}
	rule.may = true
	for _, e := range []Epoch{{Staff: 2}, {Staff: 2, Until: noon}} {
		q.Epoch = e
		if page, _ := l.Page(q); len(page) != 1 {
			t.Errorf("in epoch %v she does not see it", e)
		}
	}
}

type changing struct {
	may   bool
	asked int
}

func (c *changing) May(string) bool {
	c.asked++
	return c.may
}

// Whatever is put, taken and given: each page is what a list without any order would give.
func TestPagesAreThoseOfAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, plain := New(), map[Key]Item{}
		rules := []those{{"ann"}, {"bob"}, {"ann", "bob"}, {}}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			n := rapid.IntRange(0, 40).Draw(t, "item")
			class := rapid.IntRange(0, 3).Draw(t, "class")
			i := nth(n, fmt.Sprint(class), rules[class])
			i.Priority, i.Offered = rapid.IntRange(0, 2).Draw(t, "priority"), noon.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "offered"))*time.Second)
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				l.Remove(i.Key)
				delete(plain, i.Key)
				continue
			case 1:
				i.By, i.Claim = message.Doer{Person: rapid.SampledFrom([]string{"ann@A", "bob@A"}).Draw(t, "by")}, 1
			}
			l.Put(i)
			plain[i.Key] = i
			if rapid.IntRange(0, 3).Draw(t, "asks") > 0 {
				continue
			}
			person := rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "person")
			q := Query{Person: person, Name: person + "@A", Claimed: rapid.Bool().Draw(t, "claimed"), All: rapid.Bool().Draw(t, "all"), Limit: rapid.IntRange(1, 7).Draw(t, "limit")}
			for {
				page, more := l.Page(q)
				want, wantMore := plainPage(plain, &q)
				if names(page) != names(want) || more != wantMore {
					t.Fatalf("%+v gives %q, %t; want %q, %t", q, names(page), more, names(want), wantMore)
				}
				if !more {
					break
				}
				q.After = &page[len(page)-1]
			}
		}
		if all, _ := l.Len(); all != len(plain) {
			t.Fatalf("there are %d, want %d", all, len(plain))
		}
	})
}

func plainPage(plain map[Key]Item, q *Query) (page []Item, more bool) {
	for _, i := range plain {
		mine := i.By.Person == q.Name
		open := i.By.Person == "" && !q.Claimed && i.Rule.May(q.Person)
		all := q.All && (i.By.Person != "" || !q.Claimed)
		if (mine || open || all) && (q.After == nil || i.compare(q.After) > 0) {
			page = append(page, i)
		}
	}
	slices.SortFunc(page, func(a, b Item) int { return a.compare(&b) })
	if more = len(page) > q.Limit; more {
		page = page[:q.Limit]
	}
	return page, more
}

// An item is found by as much of its name as somebody writes, under the name that it has now; one that was taken out only where no other
// is meant.
func TestAnItemIsFoundByHowItsNameBegins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, plain, gone := New(), map[Key]string{}, []string{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := nth(rapid.IntRange(0, 12).Draw(t, "item"), "c", those{})
			if before, there := plain[i.Key]; there && rapid.Bool().Draw(t, "remove") {
				l.Remove(i.Key)
				delete(plain, i.Key)
				gone = append(gone, before)
				continue
			}
			i.ID = rapid.StringMatching("[ab]{6}").Draw(t, "name")
			l.Put(i)
			plain[i.Key] = i.ID
		}
		begins := rapid.StringMatching("[ab]{0,6}").Draw(t, "begins")
		other := func(name string) bool { return !strings.HasPrefix(name, begins) }
		want := slices.DeleteFunc(slices.Sorted(maps.Values(plain)), other)
		if last := slices.DeleteFunc(gone, other); len(want) == 0 && len(last) > 0 {
			want = last[:1]
		}
		var got []string
		for _, i := range l.Find(begins) {
			got = append(got, i.ID)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("%q finds %v, want %v", begins, got, want)
		}
	})
}

// BenchmarkFind: an item among 100,000, by its name.
func BenchmarkFind(b *testing.B) {
	l := New()
	for n := range 100_000 {
		i := nth(n, "c", those{"ann"})
		i.ID = fmt.Sprintf("%012x", uint64(n)*0x9e3779b97f4a7c15>>16)
		l.Put(i)
	}
	wanted, _ := l.Page(Query{Person: "ann", Name: "ann@A", Limit: 1})
	for b.Loop() {
		if found := l.Find(wanted[0].ID); len(found) != 1 {
			b.Fatal(len(found))
		}
	}
}

// Process threads tell of items while people look.
func TestManyAtOnce(t *testing.T) {
	l := New()
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for n := range 2000 {
				i := nth(n*4+g, fmt.Sprint(n%7), those{"ann"})
				l.Put(i)
				if n%3 == 0 {
					l.Remove(i.Key)
				}
			}
		})
		all.Go(func() {
			for range 50 {
				page, _ := l.Page(Query{Person: "ann", Name: "ann@A", Limit: 20})
				if !slices.IsSortedFunc(page, func(a, b Item) int { return a.compare(&b) }) {
					t.Error("a page is not in order")
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkPage: 100,000 items that 1,000 people may have, in one class and in as many as there are items.
func BenchmarkPage(b *testing.B) {
	people := make(those, 1000)
	for i := range people {
		people[i] = fmt.Sprint("p", i)
	}
	for _, classes := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprint("classes=", classes), func(b *testing.B) {
			l := New()
			for n := range 100_000 {
				i := nth(n, fmt.Sprint(n%classes), people)
				l.Put(i)
			}
			l.Page(Query{Person: "p3", Name: "p3@A", Limit: 50}) // who may is found out once
			for n := 0; b.Loop(); n++ {
				l.Put(nth(n%100_000, fmt.Sprint(n%classes), people))
				if page, _ := l.Page(Query{Person: "p3", Name: "p3@A", Limit: 50}); len(page) != 50 {
					b.Fatal(len(page))
				}
			}
		})
	}
}
