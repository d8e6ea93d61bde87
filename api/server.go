package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"fmqm/internal/text"
)

// How long a caller has to send the body of a request, and to read an answer. They are for
// those who are slow by intent: what is sent and answered is bounded in size.
var (
	bodyTimeout   = 2 * time.Minute
	answerTimeout = 2 * time.Minute
)

// MaxWait is the longest that one request waits for an instance.
const MaxWait = time.Minute

// RefuseBrowsers keeps web pages, which a browser would let send requests to this
// machine, from what it guards: the API, health and metrics.
func RefuseBrowsers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := r.Header
		if h.Get("Origin") != "" || h.Get("Sec-Fetch-Site") != "" || strings.HasPrefix(h.Get("User-Agent"), "Mozilla/") {
			writeError(w, http.StatusForbidden, Errorf(CodeRefused, "use fmqm, curl or the like", "the API is not for web browsers"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// OwnHost lets only those requests through to next whose Host is an address, localhost,
// the name of this machine or the one in listen (HOST:PORT). A web page can make a name of
// its own lead to this machine, and a browser takes what is there for a part of that page
// (DNS rebinding); an address it cannot have.
func OwnHost(next http.Handler, listen string) http.Handler {
	own, _, _ := net.SplitHostPort(listen)
	names := []string{"localhost", own}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.Trim(host, "[]")
		_, err := netip.ParseAddr(host)
		if err != nil && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, host) }) {
			writeError(w, http.StatusForbidden, Errorf(CodeRefused, "call it by its address, or write the name into `listen` of its configuration",
				"this node is not called %q", host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// asError gives err as the caller gets it.
func asError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return Errorf(CodeUnreachable, "try again", "the node did not finish in time: %v", err)
	}
	return Errorf(CodeFailed, "see the log of the node", "%v", err)
}

// writeError answers with an error. Who may not ask does not keep the connection.
func writeError(w http.ResponseWriter, status int, e *Error) {
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		w.Header().Set("Connection", "close")
	}
	writeJSON(w, status, errorBody{e})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := encode(v)
	if err != nil {
		status = http.StatusInternalServerError
		body, _ = encode(errorBody{Errorf(CodeFailed, "report it", "the answer cannot be encoded: %v", err)})
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// Without a deadline of its own (a test's recorder) the connection's holds.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout))
	_, _ = w.Write(body) // the caller has gone: nobody is left to tell
}

// encode writes a line of JSON, with < > & as they are.
func encode(v any) ([]byte, error) {
	b, err := text.Encode(v)
	return append(b, '\n'), err
}

type server struct{ b Backend }

// nothing is the answer of what only happens.
type nothing struct{}

func pathInstance(r *http.Request) (InstanceID, error) { return ParseInstance(r.PathValue("id")) }

// query gives the parameters of a request, each at most once and of those known.
func query(r *http.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, Errorf(CodeUsage, "write ?name=value&name=value", "the parameters cannot be read: %v", err)
	}
	for name, v := range values {
		if slices.Contains(known, name+"...") {
			continue
		}
		if len(v) > 1 {
			return nil, Errorf(CodeUsage, "send it once", "parameter %s is there twice", name)
		}
		if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			return nil, Errorf(CodeUsage, "remove it; there are: "+strings.Join(known, ", "), "unknown parameter %q", name)
		}
	}
	return values, nil
}

func (s server) start(w http.ResponseWriter, r *http.Request) (Status, error) {
	var req StartRequest
	if err := readBody(w, r, MaxStart, &req); err != nil {
		return Status{}, err
	}
	switch {
	case req.Instance == InstanceID{}:
		return Status{}, Errorf(CodeUsage, "send a UUIDv7, and the same one when you repeat the request", "instance is missing")
	case req.Process == "":
		return Status{}, Errorf(CodeUsage, "send NAME or NAME@VERSION", "process is missing")
	case len(req.Key) > MaxKey:
		return Status{}, Errorf(CodeUsage, "use something short, such as a date or an order number", "the key has over %d bytes", MaxKey)
	}
	if req.Priority != nil {
		if err := checkPriority(*req.Priority); err != nil {
			return Status{}, err
		}
	}
	if err := wantObject("input", req.Input); err != nil {
		return Status{}, err
	}
	if isNull(req.Input) {
		req.Input = nil
	}
	if err := Permit(r.Context(), req.Process); err != nil && CallerOf(r.Context()).Person == "" {
		return Status{}, err // of a person the node judges: the process says who may start it
	}
	st, err := s.b.Start(r.Context(), req)
	return st.whole(), err
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// wantObject says whether raw, if there is one, is a JSON object; what is in it is for
// the node to judge, which knows its type.
func wantObject(name string, raw json.RawMessage) error {
	if len(raw) == 0 || isNull(raw) || raw[0] == '{' {
		return nil
	}
	return Errorf(CodeUsage, `send an object, such as {"customer": "ann"}`, "%s is not a JSON object", name)
}

func (s server) status(_ http.ResponseWriter, r *http.Request) (Status, error) {
	id, err := pathInstance(r)
	if err != nil {
		return Status{}, err
	}
	q, err := query(r, "wait", "scope", "tree", "state", "limit", "after")
	if err != nil {
		return Status{}, err
	}
	if !q.Has("wait") {
		req, err := statusRequest(q)
		if err != nil {
			return Status{}, err
		}
		st, err := s.b.StatusOf(r.Context(), id, req)
		return st.whole(), err
	}
	if len(q) > 1 {
		return Status{}, Errorf(CodeUsage, "wait first, and then ask for the activities", "wait goes with no other parameter")
	}
	d, err := time.ParseDuration(q.Get("wait"))
	if err != nil || d < 0 || d > MaxWait {
		return Status{}, Errorf(CodeUsage, "send a duration from 0s to 1m, and ask again when it is over", "wait=%s is out of range", q.Get("wait"))
	}
	ctx, cancel := context.WithTimeout(r.Context(), d)
	defer cancel()
	st, err := s.b.Wait(ctx, id)
	return st.whole(), err
}

// pageLimit is how many a caller wants at once; next is how it asks for more.
func pageLimit(q url.Values, next string) (int, error) {
	v := q.Get("limit")
	if v == "" {
		return MaxPage, nil
	}
	limit, err := strconv.Atoi(v)
	if err != nil || limit < 1 || limit > MaxPage {
		return 0, Errorf(CodeUsage, "send a number from 1 to 1000, and ask for the next page with `"+next+"`", "limit=%s is out of range", v)
	}
	return limit, nil
}

func (s server) refused(_ http.ResponseWriter, r *http.Request) (RefusedAnswer, error) {
	q, err := query(r, "before", "limit")
	if err != nil {
		return RefusedAnswer{}, err
	}
	var req RefusedRequest
	if req.Limit, err = pageLimit(q, "before"); err != nil {
		return RefusedAnswer{}, err
	}
	if v := q.Get("before"); v != "" {
		if req.Before, err = strconv.ParseUint(v, 10, 64); err != nil || req.Before == 0 {
			return RefusedAnswer{}, Errorf(CodeUsage, "send the number of the last message of the page before", "before=%s is no number of a message", v)
		}
	}
	a, err := s.b.Refused(r.Context(), req)
	a.Messages = orEmpty(a.Messages)
	return a, err
}

func (s server) history(_ http.ResponseWriter, r *http.Request) (HistoryAnswer, error) {
	id, err := pathInstance(r)
	if err != nil {
		return HistoryAnswer{}, err
	}
	q, err := query(r, "activity", "since")
	if err != nil {
		return HistoryAnswer{}, err
	}
	req := HistoryRequest{Activity: q.Get("activity")}
	if v := q.Get("since"); v != "" {
		if req.Since, err = strconv.ParseUint(v, 10, 64); err != nil {
			return HistoryAnswer{}, Errorf(CodeUsage, "send the clock of an event", "since=%s is no moment of the logical clock", v)
		}
	}
	if err := path("activity", req.Activity); err != nil {
		return HistoryAnswer{}, err
	}
	a, err := s.b.HistoryOf(r.Context(), id, req)
	a.Events, a.Unreachable = orEmpty(a.Events), orEmpty(a.Unreachable)
	return a, err
}

func (s server) why(_ http.ResponseWriter, r *http.Request) (WhyAnswer, error) {
	id, err := pathInstance(r)
	if err != nil {
		return WhyAnswer{}, err
	}
	q, err := query(r, "process", "activity")
	if err != nil {
		return WhyAnswer{}, err
	}
	if err := path("activity", q.Get("activity")); err != nil {
		return WhyAnswer{}, err
	}
	a, err := s.b.WhyOf(r.Context(), id, WhyRequest{Process: q.Get("process"), Activity: q.Get("activity")})
	a.Waits, a.Unreachable = orEmpty(a.Waits), orEmpty(a.Unreachable)
	return a, err
}

func (s server) retry(w http.ResponseWriter, r *http.Request) (Word, error) {
	id, err := pathInstance(r)
	if err != nil {
		return Word{}, err
	}
	var req RetryRequest
	if err := readBody(w, r, MaxStart, &req); err != nil {
		return Word{}, err
	}
	hand := HandRequest{Scope: req.Scope, Activity: req.Activity, Output: req.Output, Reason: req.Reason, Word: req.Word, Asked: req.Asked}
	if err := wantWord("retry", "the name of the activity that is in error", &hand); err != nil {
		return Word{}, err
	}
	if err := wantObject("input", req.Input); err != nil {
		return Word{}, err
	}
	req.Output = hand.Output
	if isNull(req.Input) {
		req.Input = nil
	}
	if len(req.Input) > 0 && len(req.Output) > 0 {
		return Word{}, Errorf(CodeUsage, "send an input, with which the activity runs again, or an output, with which it has run", "there are input and output")
	}
	return s.b.Retry(r.Context(), id, req)
}

func (s server) finish(w http.ResponseWriter, r *http.Request) (Word, error) {
	id, req, err := readHand(w, r, "finish")
	if err == nil && len(req.Output) == 0 && !req.Asked {
		err = Errorf(CodeUsage, "send the output of the activity, as one JSON object", "output is missing")
	}
	if err != nil {
		return Word{}, err
	}
	return s.b.Finish(r.Context(), id, req)
}

func (s server) skip(w http.ResponseWriter, r *http.Request) (Word, error) {
	id, req, err := readHand(w, r, "skip")
	if err == nil && len(req.Output) > 0 {
		err = Errorf(CodeUsage, "leave it out, or finish the activity", "there is an output, and what is skipped has none")
	}
	if err != nil {
		return Word{}, err
	}
	return s.b.Skip(r.Context(), id, req)
}

func (s server) restart(w http.ResponseWriter, r *http.Request) (Word, error) {
	id, err := pathInstance(r)
	if err != nil {
		return Word{}, err
	}
	var req RestartRequest
	if err := readBody(w, r, MaxStart, &req); err != nil {
		return Word{}, err
	}
	hand := HandRequest{Scope: req.Scope, Activity: req.Activity, Reason: req.Reason, Word: req.Word, Asked: req.Asked}
	if err := wantWord("restart", "the name of the activity that has ended", &hand); err != nil {
		return Word{}, err
	}
	if err := wantObject("input", req.Input); err != nil {
		return Word{}, err
	}
	if isNull(req.Input) {
		req.Input = nil
	}
	if req.Withdraw && len(req.Input) > 0 {
		return Word{}, Errorf(CodeUsage, "leave it out", "there is an input, and what is withdrawn does not run")
	}
	return s.b.Restart(r.Context(), id, req)
}

func readHand(w http.ResponseWriter, r *http.Request, what string) (id InstanceID, req HandRequest, err error) {
	if id, err = pathInstance(r); err != nil {
		return id, req, err
	}
	if err = readBody(w, r, MaxStart, &req); err != nil {
		return id, req, err
	}
	return id, req, wantWord(what, "the name of the activity", &req)
}

// wantWord says what is wrong with a request about one activity, and takes an output of null for none.
func wantWord(what, name string, req *HandRequest) error {
	switch {
	case req.Activity == "":
		return Errorf(CodeUsage, "send "+name, "activity is missing")
	case len(req.Reason) > MaxReason || !utf8.ValidString(req.Reason):
		return Errorf(CodeUsage, fmt.Sprintf("write at most %d bytes of UTF-8", MaxReason), "reason is too long, or no text")
	case req.Word != WordID{} && (req.Word.Version() != 7 || req.Word.Variant() != uuid.RFC4122):
		return Errorf(CodeUsage, "send the identifier that the first answer gave, or none", "word %s is no UUIDv7", req.Word)
	}
	if req.Asked && req.Word == (WordID{}) {
		return Errorf(CodeUsage, "send the identifier that the first answer gave, as word", "a %s that was asked before is asked for, and word is missing", what)
	}
	if err := wantObject("output", req.Output); err != nil {
		return err
	}
	if isNull(req.Output) {
		req.Output = nil
	}
	return nil
}

func (s server) terminate(w http.ResponseWriter, r *http.Request) (nothing, error) {
	id, err := pathInstance(r)
	if err != nil {
		return nothing{}, err
	}
	var req TerminateRequest
	if err := readBody(w, r, 64<<10, &req); err != nil {
		return nothing{}, err
	}
	if err := checkWord("", "", req.Reason, WordID{}); err != nil {
		return nothing{}, err
	}
	return nothing{}, s.b.TerminateOf(r.Context(), id, req)
}

func (s server) nodes(_ http.ResponseWriter, r *http.Request) (NodesAnswer, error) {
	a, err := s.b.Nodes(r.Context())
	a.Nodes = orEmpty(a.Nodes)
	for i := range a.Nodes {
		if l := a.Nodes[i].Link; l != nil {
			l.whole()
		}
	}
	return a, err
}

func (s server) definitions(_ http.ResponseWriter, r *http.Request) (DefinitionsAnswer, error) {
	a, err := s.b.Definitions(r.Context())
	a.Definitions = orEmpty(a.Definitions)
	for i := range a.Definitions {
		d := &a.Definitions[i]
		d.Starts, d.Activities = orEmpty(d.Starts), orEmpty(d.Activities)
	}
	return a, err
}

func (s server) upload(w http.ResponseWriter, r *http.Request) (UploadAnswer, error) {
	var req UploadRequest
	if err := readBody(w, r, MaxUpload, &req); err != nil {
		return UploadAnswer{}, err
	}
	if req.PlanOnly {
		notePlanned(r.Context())
	}
	if len(req.Tables) == 0 {
		return UploadAnswer{}, Errorf(CodeUsage, "send the tables of a compiled process", "tables is missing or empty")
	}
	for i, t := range req.Tables {
		if sum := sha256.Sum256(t.Table); hex.EncodeToString(sum[:]) != t.SHA256 {
			return UploadAnswer{}, Errorf(CodeUsage, "send it again; sha256 is of the bytes of the table, in 64 lower-case hexadecimal digits",
				"tables[%d]: the table of %s for node %s does not have the sha256 that is given", i, t.Process, t.Node)
		}
	}
	for _, t := range req.Tables {
		if err := Permit(r.Context(), t.Process); err != nil {
			return UploadAnswer{}, err
		}
	}
	for i, d := range req.Definitions {
		if !slices.ContainsFunc(req.Tables, func(t Table) bool { return t.Process == d.Process }) {
			return UploadAnswer{}, Errorf(CodeUsage, "send it with the tables of its process", "definitions[%d]: there is no table of %q", i, d.Process)
		}
	}
	a, err := s.b.Upload(r.Context(), req)
	a.Nodes, a.Warnings = orEmpty(a.Nodes), orEmpty(a.Warnings)
	return a, err
}

// whole makes lists that are empty lists in JSON too, not null.
func (s Status) whole() Status {
	s.Activities, s.Unreachable = orEmpty(s.Activities), orEmpty(s.Unreachable)
	return s
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
