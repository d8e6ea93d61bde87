package audit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// Values that members have. Those of one type are few, so that several instances have the same, and some are beginnings of
// others, or end where the index ends.
var (
	texts   = []string{"", "C", "C-1", "C\x00", "C\x00\xff", strings.Repeat("x", 64), strings.Repeat("x", 64) + "y"}
	numbers = []int64{-1 << 63, -1, 0, 256}
	moments = []time.Time{time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 5, time.UTC), noon, noon.Add(1)}
)

// drawnValues are what an instance of a version is found by: of the second "id" is a number, and "paid" is not declared.
func drawnValues(t *rapid.T, version int) map[string]any {
	v := map[string]any{
		"id": rapid.SampledFrom(texts).Draw(t, "id"), "order.due": rapid.SampledFrom(moments).Draw(t, "due"), "paid": rapid.Bool().Draw(t, "paid"),
	}
	if version == 2 {
		v["id"] = rapid.SampledFrom(numbers).Draw(t, "id")
		delete(v, "paid")
	}
	return v
}

func valueOf(v any) record.SearchValue {
	switch v := v.(type) {
	case string:
		return record.SearchText(v)
	case int64:
		return record.SearchIntOf(v)
	case bool:
		return record.SearchBoolOf(v)
	}
	return record.SearchTimeOf(v.(time.Time))
}

func searchedOf(values map[string]any) (all []record.Searched) {
	for _, member := range []string{"id", "order.due", "paid"} {
		if v, has := values[member]; has {
			all = append(all, record.Searched{Member: member, Value: valueOf(v)})
		}
	}
	return all
}

// wanted is a term, as people mean it: each alternative is of a type.
type wanted struct {
	member string
	is     audit.Is
	values []any
}

func drawnTerm(t *rapid.T) (w wanted) {
	w.member = rapid.SampledFrom([]string{"id", "id", "order.due", "paid", "none"}).Draw(t, "member")
	ordered := func() audit.Is {
		return rapid.SampledFrom([]audit.Is{audit.Equal, audit.Below, audit.AtMost, audit.Above, audit.AtLeast}).Draw(t, "is")
	}
	switch w.member {
	case "paid":
		w.is, w.values = audit.Equal, []any{rapid.Bool().Draw(t, "value")}
	case "order.due":
		w.is, w.values = ordered(), []any{rapid.SampledFrom(moments).Draw(t, "value")}
	case "id":
		switch rapid.IntRange(0, 2).Draw(t, "type") {
		case 0:
			w.is, w.values = ordered(), []any{rapid.SampledFrom(numbers).Draw(t, "value")}
		case 1:
			w.is, w.values = rapid.SampledFrom([]audit.Is{audit.Equal, audit.Beginning}).Draw(t, "is"), []any{rapid.SampledFrom(texts).Draw(t, "value")}
		default: // as it is asked for where versions have different types
			w.is, w.values = audit.Equal, []any{rapid.SampledFrom(texts).Draw(t, "value"), rapid.SampledFrom(numbers).Draw(t, "value")}
		}
	}
	return w
}

func (w *wanted) term() audit.Term {
	t := audit.Term{Member: w.member}
	for _, v := range w.values {
		t.Any = append(t.Any, audit.Match{Is: w.is, Value: valueOf(v)})
	}
	return t
}

// cut is how much of a text counts.
func cut(s string) string { return s[:min(len(s), 64)] }

// order compares two values of one type; false: they are of two.
func order(v, w any) (n int, same bool) {
	switch v := v.(type) {
	case string:
		w, same := w.(string)
		return strings.Compare(cut(v), cut(w)), same
	case int64:
		w, same := w.(int64)
		switch {
		case v < w:
			return -1, same
		case v > w:
			return 1, same
		}
		return 0, same
	case bool:
		w, same := w.(bool)
		if v == w {
			return 0, same
		}
		return 1, same
	}
	at, same := w.(time.Time)
	if !same {
		return 0, false
	}
	return v.(time.Time).Compare(at), true
}

func (w *wanted) holds(values map[string]any) bool {
	v, has := values[w.member]
	if !has {
		return false
	}
	for _, than := range w.values {
		n, same := order(v, than)
		if !same {
			continue
		}
		switch w.is {
		case audit.Equal:
			same = n == 0
		case audit.Beginning:
			same = strings.HasPrefix(cut(v.(string)), cut(than.(string)))
		case audit.Below:
			same = n < 0
		case audit.AtMost:
			same = n <= 0
		case audit.Above:
			same = n > 0
		case audit.AtLeast:
			same = n >= 0
		}
		if same {
			return true
		}
	}
	return false
}

func holdAll(terms []wanted, values map[string]any) bool {
	for i := range terms {
		if !terms[i].holds(values) {
			return false
		}
	}
	return true
}

// keyed says whether a store that is closed meanwhile has a key.
func (s *indexSite) keyed(key []byte) bool {
	s.close()
	defer s.open(memory.Options{})
	engine, err := s.disk.Open(memory.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = engine.Get(key)
	if closed := engine.Close(); closed != nil || err != nil && !errors.Is(err, store.ErrNotFound) {
		s.t.Fatal(errors.Join(err, closed))
	}
	return err == nil
}

// Instances of all states are found by what they are found by, whichever index is followed, and however early a search ends.
func TestFoundByMembersOfTheInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newIndexSite(t)
		defer s.close()
		for n := 1; n < indexed; n++ {
			tx := &record.Tx{Audit: []record.AuditRecord{s.start(n)}}
			switch rapid.SampledFrom([]string{"runs", "runs", "in error", "ended", "stopped"}).Draw(t, "state") {
			case "in error":
				tx.Put = append(tx.Put, s.notice(n, "a", false))
			case "ended":
				tx.Audit = append(tx.Audit, s.end(n, record.EventEnded))
			case "stopped":
				tx.Audit = append(tx.Audit, s.end(n, record.EventStopped))
			}
			if err := s.submit(tx); err != nil {
				t.Fatal(err)
			}
		}
		for n := 1; n < indexed; n++ {
			if _, ended, _, err := s.Instance(idOf(n)); err != nil || ended == nil || slices.Contains(s.parents[:], n) || rapid.Bool().Draw(t, "stays") {
				continue
			}
			tx, _, err := s.Forget(audit.Forget{Instance: idOf(n), Time: noon, Limit: 10})
			if err == nil {
				err = s.submit(tx)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range searchedOf(s.found[n]) {
				place := record.Standing{Process: s.process[n], Started: startedAt(n)}
				if s.keyed(record.AppendSearchKey(nil, &v, &place, idOf(n))) {
					t.Fatalf("instance %d was forgotten, and the index of values has its %s", n, v.Member)
				}
			}
		}
		for range 10 {
			s.BoundSearches(rapid.IntRange(1, 5).Draw(t, "looks"), rapid.SampledFrom([]int{0, 0, 3, 100}).Draw(t, "least"), rapid.SampledFrom([]int{0, 5, 100}).Draw(t, "most"))
			s.same("all at once")
		}
	})
}

// By what a rewritten start is not found any more it does not stand in the index either, and by the rest it does.
func TestARewrittenStartIsFoundByWhatStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newIndexSite(t)
		defer s.close()
		s.process[1] = processes[0]
		if s.found[1] = drawnValues(t, 1); s.submit(&record.Tx{Audit: []record.AuditRecord{s.start(1)}}) != nil {
			t.Fatal("not started")
		}
		goes := rapid.SampledFrom([]string{"id", "order.due", "paid"}).Draw(t, "goes")
		all, next, err := s.Erase(audit.Erase{Instance: idOf(1), Limit: 10, Bytes: 1 << 20, Rewrite: func(a *record.AuditRecord) bool {
			a.Search = slices.DeleteFunc(a.Search, func(v record.Searched) bool { return v.Member == goes })
			return true
		}})
		if err == nil && next == nil {
			err = s.submit(&record.Tx{Rewrite: all})
		}
		if err != nil {
			t.Fatal(err)
		}
		place := record.Standing{Process: s.process[1], Started: startedAt(1)}
		for _, v := range searchedOf(s.found[1]) {
			places, err := s.Places(audit.ListOptions{Process: processes[0], Search: []audit.Term{{Member: v.Member, Any: []audit.Match{{Is: audit.Equal, Value: v.Value}}}}})
			if err != nil || (len(places) == 1) == (v.Member == goes) {
				t.Errorf("by %s: %v, %v", v.Member, places, err)
			}
			if s.keyed(record.AppendSearchKey(nil, &v, &place, idOf(1))) == (v.Member == goes) {
				t.Errorf("%s is in the index as before %s went", v.Member, goes)
			}
		}
	})
}
