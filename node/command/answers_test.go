package command

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// What another site answers is shown to operators as one line: one of its own would pass for one of
// ours.
func TestWhatOtherSitesAnswerIsOneLine(t *testing.T) {
	w := newWorld(t)
	defer w.kill()
	w.ReadsWords = func(processtable.NodeID) bool { return false } // they are asked by questions
	w.reply = `{"error": {"code": "refused", "message": "no\ndone: 1", "remedy": "a\r\nb", "problems": [{"path": "x\ny", "message": "c\nd", "remedy": "e\nf"}]}}`
	w.run(func() {
		_, retried := w.Retry(context.Background(), instance, api.RetryRequest{Activity: "y"})
		terminated := w.askOrigin(context.Background(), "B", TerminateQuestion{Instance: instance, Process: "p@1"})
		for what, err := range map[string]error{"a retry": retried, "a termination": terminated} {
			var e *api.Error
			if !errors.As(err, &e) || e.Message != "no done: 1" || e.Remedy != "a b" || e.Problems[0] != (api.Problem{Path: "x y", Message: "c d", Remedy: "e f"}) {
				t.Errorf("%s: %#v", what, err)
			}
		}
	})
}

// A rebuild goes on past an instance where its origin knows better, and asks again where that only
// cannot now.
func TestAnOriginThatDoesNotTellOfAnEnd(t *testing.T) {
	for reply, want := range map[string]string{
		`{}`: "",
		`{"error": {"code": "refused", "message": "it has not ended"}}`:                     "",
		`{"error": {"code": "not-found", "message": "no table of p@1 at B"}}`:               "",
		`{"error": {"code": "unreachable", "message": "the node is stopping"}}`:             "cannot tell C now: the node is stopping",
		`{"error": {"code": "failed", "message": "the transaction is too large, at last"}}`: "cannot tell C now: the transaction is too large",
		"": "has to tell C: ",
	} {
		w := newWorld(t)
		w.reply = reply
		w.run(func() {
			err := w.LetEnd(context.Background(), EndQuestion{Instance: instance, Process: "p@1", Node: "C"}, "B")
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v", reply, err)
			}
		})
		w.kill()
	}
}

// Whoever has a part may ask that another site is told of an end, again and again: what waits for
// that stays within its quota (S3).
func TestWhoIsToldOfAnEndIsToldWithinItsQuota(t *testing.T) {
	w := newWorld(t)
	defer w.kill()
	w.quota = 1000
	q := EndQuestion{Instance: instance, Process: "p@1", Node: "C"}
	w.run(func() {
		w.must(fake{w}.Commit(context.Background(), &record.Tx{
			Put: []message.Message{w.marker(w.id(), instance, "A", message.EncodeMarker(message.Marker{Reason: "enough"}))},
		}))
		told := 0
		for range 100 {
			err := w.EndFor(context.Background(), "B", q)
			if err == nil {
				told++
			} else if want := "what waits at A for C has no more room (limits.transmission): ask again once it takes that"; err.Error() != want || api.CodeOf(err) != api.CodeUnreachable {
				t.Fatalf("%v, want %s", err, want)
			}
		}
		if size := w.waitingFor("C"); told == 0 || size < w.quota || size >= 2*w.quota {
			t.Errorf("%d bytes wait for C, of %d markers", size, told)
		}
	})
}
