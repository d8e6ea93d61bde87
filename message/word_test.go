package message_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/message"
)

// N15: what cannot be an operator's word, or an answer to one, is not read.
func TestRefusedWords(t *testing.T) {
	good := message.Word{ID: uuid.Must(uuid.NewV7()), Wish: message.WishRetry, Site: "B", Output: []byte("{}")}
	for name, tc := range map[string]struct {
		change func(*message.Word)
		want   string
	}{
		"as it should be": {func(*message.Word) {}, ""},
		"identifier":      {func(w *message.Word) { w.ID = uuid.New() }, "is no UUIDv7"},
		"no identifier":   {func(w *message.Word) { w.ID = message.WordID{} }, "is no UUIDv7"},
		"no wish":         {func(w *message.Word) { w.Wish = "" }, "it does not say what is wanted"},
		"site":            {func(w *message.Word) { w.Site = "B/2" }, `asked at "B/2", which is not a node's name`},
		"operator":        {func(w *message.Word) { w.Operator = strings.Repeat("a", message.MaxBy+1) }, "257 bytes"},
		"person":          {func(w *message.Word) { w.Person = strings.Repeat("a", message.MaxBy+1) }, "257 bytes"},
		"to whom":         {func(w *message.Word) { w.To = strings.Repeat("a", message.MaxBy+1) }, "257 bytes"},
		"reason":          {func(w *message.Word) { w.Why = strings.Repeat("a", message.MaxWhy+1) }, "1025 bytes"},
	} {
		w := good
		tc.change(&w)
		if _, err := message.DecodeWord(message.EncodeWord(w)); tc.want == "" && err != nil ||
			tc.want != "" && (!errors.Is(err, message.ErrFormat) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
	for _, r := range []message.WordResult{0, 4} {
		if _, err := message.DecodeAnswer(message.EncodeAnswer(message.Answer{Word: good.ID, Result: r})); err == nil {
			t.Errorf("an answer with result %d is read", r)
		}
	}
}

// N15: a word and its answer are known by the word's number, and bring nothing else.
func TestRefusedHeadersOfWords(t *testing.T) {
	for name, change := range map[string]func(*message.Message){
		"no number": func(m *message.Message) { m.Number = 0 },
		"a source":  func(m *message.Message) { m.Source = "receive" },
		"a truth":   func(m *message.Message) { m.Control = message.True },
		"data":      func(m *message.Message) { m.Data = message.DataAbsent },
		"a host":    func(m *message.Message) { m.OnBehalf = "C" },
		"a scope":   func(m *message.Message) { m.SourceScope = "block#1" },
	} {
		for _, kind := range []string{"word", "answer"} {
			m := messages()[kind].message
			change(&m)
			if _, err := message.Encode(m); !errors.Is(err, message.ErrFormat) {
				t.Errorf("%s with %s: %v", kind, name, err)
			}
		}
	}
}

// L6, N15: a word is written in the lowest version that can say it, so that a node of before answers what it can
// read, and who asked is told what it lacks else.
func TestWordsAreWrittenInTheLowestVersion(t *testing.T) {
	before := message.Current()
	before.Bodies[message.KindWord] = 1
	for name, tc := range map[string]struct {
		change func(*message.Word)
		reads  bool
	}{
		"finish":      {func(w *message.Word) { w.Wish, w.Output = message.WishFinish, []byte("{}") }, true},
		"skip":        {func(w *message.Word) { w.Wish = message.WishSkip }, true},
		"with input":  {func(w *message.Word) { w.Input = []byte("{}") }, false},
		"a person's":  {func(w *message.Word) { w.Person = "ann@ward" }, false},
		"to whom":     {func(w *message.Word) { w.To = "bob@ward" }, false},
		"of a claim":  {func(w *message.Word) { w.Claim = 1 }, false},
		"from others": {func(w *message.Word) { w.Over = true }, false},
	} {
		m := messages()["word"].message
		w := message.Word{ID: uuid.Must(uuid.NewV7()), Wish: message.WishRetry, Site: "B"}
		tc.change(&w)
		m.Body = message.EncodeWord(w)
		if before.Has(message.NeedsOf(&m)) != tc.reads {
			t.Errorf("%s: a node of before lacks %q", name, before.Lacks(message.NeedsOf(&m)))
		}
		higher := bytes.Clone(m.Body)
		if higher[1]--; higher[1] == 0 { // the version: another that is read
			higher[1] = 2
		}
		if _, err := message.DecodeWord(higher); !errors.Is(err, message.ErrFormat) || !strings.Contains(err.Error(), "would be written in version") {
			t.Errorf("%s, in the other version: %v", name, err)
		}
	}
}
