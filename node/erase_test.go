package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/container"
	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/node/retention"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/queue/record"
)

const personal = "ann ames, born 1970"

// anybody takes what operators at any site ask.
var anybody = trust.Operators{{Site: "*"}}

// erasing are two sites that ask each other, unless they are cut off.
type erasing struct {
	*keepers
	cut bool
}

func newErasing(t *testing.T) *erasing {
	e := &erasing{keepers: newKeepers(t)}
	e.wire()
	return e
}

// wire lets each ask the other.
func (e *erasing) wire() {
	for _, pair := range [][2]*keeper{{e.a, e.b}, {e.b, e.a}} {
		pair[0].SetRemoteOperators(anybody)
		pair[0].query = func(ctx context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
			if e.cut || peer != pair[1].name {
				return nil, errors.New("not connected")
			}
			return pair[1].respond(ctx, pair[0].name, kind, body)
		}
	}
}

// ended runs an instance with the personal to its end, and gives what A had sent to B.
func (e *erasing) ended(id message.InstanceID) (toB []message.Message) {
	e.a.Helper()
	e.a.must(e.a.start(id, fmt.Sprintf(`{"n": 7, "text": %q}`, personal)))
	e.a.await(id, "go", record.EventTerminated)
	toB = e.a.sent("B")
	e.b.take(toB...)
	e.b.await(id, "work", record.EventTerminated)
	e.b.settled()
	e.a.take(e.b.sent("A")...)
	e.a.await(id, processtable.Sink, record.EventEnded)
	e.a.settled()
	return toB
}

// holds says how many records of a site have some bytes.
func (k *keeper) holds(text string) (n int) {
	k.Helper()
	k.must(k.engine.Scan(store.ScanOptions{Prefix: []byte{}}, func(key, value []byte) bool {
		if bytes.Contains(value, []byte(text)) || bytes.Contains(key, []byte(text)) {
			n++
		}
		return true
	}))
	return n
}

// lines tells of an answer as people are told.
func lines(a api.EraseAnswer) string {
	var all []string
	for _, n := range a.Nodes {
		line := fmt.Sprintf("%s %s %d", n.Node, n.Result, n.Records)
		if n.Reason != "" {
			line += ": " + n.Reason
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

// trimmed lets acknowledged messages go, with the next commit.
func (k *keeper) trimmed() {
	k.Helper()
	for _, peer := range k.queue.Peers() {
		k.sent(peer)
	}
	k.must(k.commit(k.Context(), &record.Tx{Audit: []record.AuditRecord{{
		Process: processtable.ProcessID{Name: "other", Version: 1}, Instance: uuid.UUID{9}, Activity: "x", Event: record.EventAsked,
	}}}))
}

var word = message.InstanceID(uuid.MustParse("01970000-0000-7000-8000-000000000001"))

// Point 8: what named is overwritten at both sites, with its copies under the same name; what refuses repeats stays.
func TestEraseOverwritesAtEachSite(t *testing.T) {
	e := newErasing(t)
	toB := e.ended(word)
	e.a.trimmed()
	e.b.trimmed()
	if e.a.holds(personal) < 3 || e.b.holds(personal) < 1 {
		t.Fatalf("%d records at A and %d at B have it before", e.a.holds(personal), e.b.holds(personal))
	}
	ctx := api.WithOperator(t.Context(), "alice")
	request := api.EraseRequest{Members: []string{"text"}, Reason: "request 17"}
	answer, err := e.a.Erase(ctx, word, request)
	e.a.must(err)
	const want = "A erased 3\nB erased 1"
	if got := lines(answer); got != want {
		t.Fatalf("told is\n%s\nwant\n%s", got, want)
	}
	if e.a.holds(personal)+e.b.holds(personal) > 0 {
		t.Errorf("%d records at A and %d at B still have it", e.a.holds(personal), e.b.holds(personal))
	}

	status, err := e.a.Status(ctx, word)
	e.a.must(err)
	if status.State != api.InstanceFinished || status.Erased.IsZero() || string(status.Output) != `{"n":7,"text":""}` {
		t.Errorf("status %s, erased %v, output %s", status.State, status.Erased, status.Output)
	}
	history, err := e.a.History(ctx, word)
	e.a.must(err)
	told := 0
	for _, h := range history.Events {
		if h.Event == api.EventErased {
			told++
			if h.About != "text" || h.By != "alice at A" || h.Reason != "request 17" {
				t.Errorf("history tells %+v", h)
			}
		}
	}
	if told != 2 {
		t.Errorf("history tells %d times that it was erased, want once for each site", told)
	}

	before, invoked := e.a.records(word)+e.b.records(word), e.b.invoked()
	answer, err = e.a.Erase(ctx, word, request)
	e.a.must(err)
	if got := lines(answer); got != want || e.a.records(word)+e.b.records(word) != before {
		t.Errorf("repeated it tells\n%s\nand there are %d lines, %d before", got, e.a.records(word)+e.b.records(word), before)
	}
	e.b.take(toB...)
	e.b.settled()
	if again := e.a.records(word) + e.b.records(word); again != before || e.b.invoked() != invoked {
		t.Errorf("what was sent again is recorded: %d lines, %d before; %d programs ran", again, before, e.b.invoked()-invoked)
	}
	if err := e.a.start(word, fmt.Sprintf(`{"n": 7, "text": %q}`, personal)); err != nil {
		t.Errorf("the same start: %v", err)
	}
	if err := e.a.start(word, `{"n": 7, "text": ""}`); api.CodeOf(err) != api.CodeRefused {
		t.Errorf("a start with what stands there now: %v", err)
	}
	if listed, err := e.a.List(ctx, api.ListRequest{Process: "two", Where: `text != ""`, Limit: 10}); err != nil || len(listed.Instances) > 0 {
		t.Errorf("a list by what was there gives %+v, %v", listed.Instances, err)
	}
}

// All data: each container has its defaults. What retention removed since is told as that.
func TestEraseAllDataAndWhatRetentionRemoved(t *testing.T) {
	e := newErasing(t)
	e.ended(word)
	e.a.trimmed()
	e.b.trimmed()
	answer, err := e.b.Erase(api.WithOperator(t.Context(), "bob"), word, api.EraseRequest{AllData: true}) // from B, through A
	e.a.must(err)
	if got, want := lines(answer), "A erased 3\nB erased 1"; got != want {
		t.Fatalf("told is\n%s\nwant\n%s", got, want)
	}
	status, err := e.a.Status(t.Context(), word)
	e.a.must(err)
	if string(status.Output) != `{"n":0,"text":""}` || status.Key != "monday" {
		t.Errorf("output %s, key %q", status.Output, status.Key)
	}
	last, _, err := e.a.queue.Erased(word)
	e.a.must(err)
	if last == nil || last.By != "bob at B" || !last.Erased.Members.All {
		t.Errorf("A has noted %+v", last)
	}
	e.b.clock.pass(2 * day90)
	e.b.round(retention.Policy{Age: day90})
	answer, err = e.a.Erase(t.Context(), word, api.EraseRequest{AllData: true})
	e.a.must(err)
	if got, want := lines(answer), "A erased 3\nB removed 0"; got != want {
		t.Errorf("told is\n%s\nwant\n%s", got, want)
	}
	e.a.clock.pass(2 * day90)
	e.a.round(retention.Policy{Age: day90})
	if err := e.a.start(word, fmt.Sprintf(`{"n": 7, "text": %q}`, personal)); err != nil {
		t.Errorf("the same start after retention: %v", err)
	}
	if err := e.a.start(word, `{"n": 0, "text": ""}`); api.CodeOf(err) != api.CodeRefused {
		t.Errorf("another start after retention: %v", err)
	}
}

// A site that does not answer is named, and is done once it is asked again; messages that wait for it are told as left.
func TestEraseNamesWhoDoesNotAnswer(t *testing.T) {
	e := newErasing(t)
	e.a.must(e.a.start(word, fmt.Sprintf(`{"n": 7, "text": %q}`, personal)))
	e.a.await(word, "go", record.EventTerminated)
	toB := e.a.sent("B")
	e.b.take(toB...)
	e.b.await(word, "work", record.EventTerminated)
	e.b.settled()
	var toA []message.Message
	for lane := range message.Lane(2) { // they stay in B's queue, as where A's acknowledgement was lost
		items, err := e.b.queue.Transmission("A").Read(lane, 1, 1<<20)
		e.b.must(err)
		for _, item := range items {
			piece, err := record.Unpack(item.Payload)
			e.b.must(err)
			m, err := message.Decode(piece.Data)
			e.b.must(err)
			toA = append(toA, m)
		}
	}
	e.a.take(toA...)
	e.a.await(word, processtable.Sink, record.EventEnded)
	e.a.settled()
	e.a.trimmed()
	request := api.EraseRequest{Members: []string{"text"}}
	e.cut = true
	answer, err := e.a.Erase(t.Context(), word, request)
	e.a.must(err)
	if got, want := lines(answer), "A erased 3\nB unreachable 0: not connected"; got != want {
		t.Errorf("told is\n%s\nwant\n%s", got, want)
	}
	if _, err := e.b.Erase(t.Context(), word, request); api.CodeOf(err) != api.CodeUnreachable {
		t.Errorf("where the origin does not answer: %v", err)
	}
	if e.b.holds(personal) == 0 {
		t.Error("B has changed something")
	}
	e.cut = false
	answer, err = e.a.Erase(t.Context(), word, request)
	e.a.must(err)
	if got, want := lines(answer), "A erased 3\nB left 1: 1 message of it waits for A: wait until that is heard"; got != want {
		t.Errorf("told is\n%s\nwant\n%s", got, want)
	}
	e.b.trimmed()
	answer, err = e.a.Erase(t.Context(), word, request)
	e.a.must(err)
	if got, want := lines(answer), "A erased 3\nB erased 1"; got != want || e.b.holds(personal) > 0 {
		t.Errorf("told is\n%s\nwant\n%s; %d records at B have it", got, want, e.b.holds(personal))
	}
}

// Whoever has no right, or no part, changes nothing.
func TestEraseIsRefused(t *testing.T) {
	e := newErasing(t)
	e.ended(word)
	running := message.InstanceID(uuid.MustParse("01970000-0000-7000-8000-000000000002"))
	e.a.must(e.a.start(running, fmt.Sprintf(`{"n": 7, "text": %q}`, personal)))
	e.a.await(running, "go", record.EventTerminated)
	for _, tc := range []struct {
		name    string
		id      message.InstanceID
		request api.EraseRequest
		code    api.Code
		told    string
	}{
		{"one that goes on", running, api.EraseRequest{AllData: true}, api.CodeRefused, "has not ended"},
		{"a member that there is not", word, api.EraseRequest{Members: []string{"text", "txet"}}, api.CodeUsage, "has a member txet: nothing was erased: did you mean text?"},
		{"one that nobody knows", message.InstanceID{7}, api.EraseRequest{AllData: true}, api.CodeNotFound, "does not know"},
	} {
		if _, err := e.a.Erase(t.Context(), tc.id, tc.request); api.CodeOf(err) != tc.code || !strings.Contains(fmt.Sprint(err), tc.told) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.told)
		}
	}
	ask := func(k *keeper, peer processtable.NodeID, change string) string {
		body := []byte(fmt.Sprintf(`{"instance": %q, "process": "two@1", "all": true, "operator": "eve", %s}`, word, change))
		answer, err := k.respond(t.Context(), peer, "erase", body)
		k.must(err)
		var told struct{ Error *api.Error }
		k.must(json.Unmarshal(answer, &told))
		if told.Error == nil {
			return "nothing is refused"
		}
		return told.Error.Error()
	}
	for _, tc := range []struct{ name, told, want string }{
		{"a peer without a part", ask(e.b, "C", `"reason": ""`), "no table of two@1 at B"},
		{"a peer that is not the origin", ask(e.a, "B", `"reason": ""`), "was not started at B"},
		{"members and all data", ask(e.b, "A", `"members": ["text"]`), "asks for what cannot be"},
		{"an instance that goes on", ask(e.a, "B", fmt.Sprintf(`"whole": true, "instance": %q`, running)), "has not ended"},
	} {
		if !strings.Contains(tc.told, tc.want) {
			t.Errorf("%s is told %s, want %s", tc.name, tc.told, tc.want)
		}
	}
	e.b.SetRemoteOperators(nil)
	if told := ask(e.b, "A", `"reason": ""`); !strings.Contains(told, "remote_operators") {
		t.Errorf("whose operators are not taken is told %s", told)
	}
	if _, under, err := e.b.queue.Erasing(word); under || err != nil || e.b.holds(personal) == 0 || e.a.holds(personal) < 3 {
		t.Errorf("something has changed: %t, %v", under, err)
	}
	answer, err := e.b.Erase(t.Context(), word, api.EraseRequest{AllData: true}) // B's own may do so at B
	e.b.must(err)
	if got := lines(answer); !strings.HasSuffix(got, "B erased 1") {
		t.Errorf("told is\n%s", got)
	}
}

// Who is killed before all is overwritten goes on by himself.
func TestEraseGoesOnAfterARestart(t *testing.T) {
	for _, over := range []bool{false, true} {
		e := newErasing(t)
		e.ended(word)
		e.a.trimmed()
		e.a.close()
		e.a.openOnly("A") // nothing is worked off
		e.a.must(e.a.commit(t.Context(), &record.Tx{Erasing: &record.Erasing{
			Instance: word, Process: processtable.ProcessID{Name: "two", Version: 1}, Origin: "A", By: "alice at A", Over: over,
			Members: membersOf("text"),
		}}))
		e.a.close()
		if _, under, err := e.a.reopened().queue.Erasing(word); !under || err != nil {
			t.Fatalf("it is not noted: %v", err)
		}
		e.a.close()
		e.a.open("A")
		for {
			if _, under, err := e.a.queue.Erasing(word); !under || err != nil {
				e.a.must(err)
				break
			}
			settled(t, e.a.Node)
		}
		if over != (e.a.holds(personal) > 0) { // what is noted as over is not looked at again
			t.Errorf("over %t: %d records have it", over, e.a.holds(personal))
		}
	}
}

// reopened opens the node, and begins none of its threads.
func (k *keeper) reopened() *keeper {
	k.openOnly(string(k.name))
	return k
}

// The last lines of programs, reasons and logs go with any member; a text that is no member's default stays nowhere.
func TestEraseTakesTexts(t *testing.T) {
	e := newErasing(t)
	e.ended(word)
	e.a.trimmed()
	e.a.must(e.a.commit(t.Context(), &record.Tx{Audit: []record.AuditRecord{{
		Process: processtable.ProcessID{Name: "two", Version: 1}, Instance: word, Origin: "A", Activity: "go", Event: record.EventFailed, Clock: 3,
		Reason: "no such customer: " + personal, Stderr: personal, About: &message.EventRef{Token: "e", Name: "x", Key: personal},
	}}}))
	if _, err := e.a.Erase(t.Context(), word, api.EraseRequest{Members: []string{"n"}}); err != nil {
		t.Fatal(err)
	}
	history, err := e.a.queue.History(word)
	e.a.must(err)
	for _, h := range history {
		if h.Event == record.EventFailed && (h.Reason != "erased" || h.Stderr != "" || h.About.Key != "" || h.Erased == nil) {
			t.Errorf("it is %+v", h)
		}
		if h.Event == record.EventStarted && (h.Reason != "monday" || !bytes.Contains(h.Output, []byte(personal))) {
			t.Errorf("the start is %+v", h)
		}
	}
}

func membersOf(paths ...string) container.Members { return container.Members{Paths: paths} }
