package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
)

// Subject says over which processes a caller needs the right of a request.
type Subject int

const (
	// OfNode: over all: what is asked for is of the node itself.
	OfNode Subject = iota
	// OfSeveral: over any. The node shows and does only what the caller may (Caller.Sees, Permit).
	OfSeveral
	// OfInstance: over the process of the instance {id}.
	OfInstance
	// OfProcess: over {process}.
	OfProcess
	// OfMessage: over the process of the refused message {number}.
	OfMessage
	// OfBody: over those that the body names: whoever reads it calls Permit.
	OfBody
)

// Request is a row of the table of all that a node is asked.
type Request struct {
	Pattern string // method and path, as http.ServeMux has them
	Right   Right  // that it needs
	Of      Subject
	Changes bool // something; the log of the node has who did it
	// People: people of the staff may ask it as well, without the right, also over their socket; the node judges by
	// the process and the staff.
	People bool
	serve  func(server, http.ResponseWriter, *http.Request)
}

// requests is the table: Handler serves each row, and nothing else (N28). Each pattern stands in doc.go too.
var requests = []Request{
	{"POST /v1/instances", RightClerk, OfBody, true, true, gives(server.start)},
	{"GET /v1/instances", RightViewer, OfSeveral, false, false, gives(server.list)},
	{"GET /v1/instances/{id}", RightViewer, OfInstance, false, false, gives(server.status)},
	{"GET /v1/instances/{id}/history", RightViewer, OfInstance, false, false, gives(server.history)},
	{"GET /v1/instances/{id}/watch", RightViewer, OfInstance, false, false, server.watch},
	{"GET /v1/instances/{id}/why", RightViewer, OfInstance, false, false, gives(server.why)},
	{"GET /v1/instances/{id}/logs", RightViewer, OfInstance, false, false, gives(server.logs)},
	{"POST /v1/instances/{id}/retry", RightOperator, OfInstance, true, false, gives(server.retry)},
	{"POST /v1/instances/{id}/finish", RightOperator, OfInstance, true, false, gives(server.finish)},
	{"POST /v1/instances/{id}/skip", RightOperator, OfInstance, true, false, gives(server.skip)},
	{"POST /v1/instances/{id}/restart", RightOperator, OfInstance, true, false, gives(server.restart)},
	{"POST /v1/instances/{id}/terminate", RightOperator, OfInstance, true, false, gives(server.terminate)},
	{"POST /v1/instances/{id}/suspend", RightOperator, OfInstance, true, false, gives(server.suspend)},
	{"POST /v1/instances/{id}/resume", RightOperator, OfInstance, true, false, gives(server.resume)},
	{"POST /v1/instances/{id}/erase", RightAdmin, OfInstance, true, false, gives(server.erase)},
	{"POST /v1/instances/{id}/expedite", RightOperator, OfInstance, true, false, gives(server.expedite)},
	{"GET /v1/dead", RightViewer, OfSeveral, false, false, gives(server.refused)},
	{"GET /v1/dead/{number}", RightViewer, OfMessage, false, false, gives(server.refusedMessage)},
	{"POST /v1/dead/{number}/retry", RightOperator, OfMessage, true, false, gives(server.retryRefused)},
	{"POST /v1/dead/{number}/drop", RightOperator, OfMessage, true, false, gives(server.dropRefused)},
	{"GET /v1/links", RightViewer, OfSeveral, false, false, gives(server.links)},
	{"POST /v1/links/{peer}/retry", RightAdmin, OfNode, true, false, gives(server.retryLink)},
	{"GET /v1/nodes", RightViewer, OfSeveral, false, false, gives(server.nodes)},
	{"GET /v1/definitions", RightViewer, OfSeveral, false, false, gives(server.definitions)},
	{"GET /v1/definitions/{process}", RightViewer, OfProcess, false, false, gives(server.definition)},
	{"POST /v1/definitions/{process}/retire", RightDefiner, OfProcess, true, false, gives(server.retire)},
	{"GET /v1/rebuild/{peer}", RightAdmin, OfNode, false, false, gives(server.rebuildPlan)},
	{"POST /v1/rebuild/{peer}", RightAdmin, OfNode, true, false, gives(server.rebuild)},
	{"GET /v1/schedules", RightViewer, OfSeveral, false, false, gives(server.schedules)},
	{"POST /v1/schedules/{process}/suspend", RightOperator, OfProcess, true, false, gives(server.suspendSchedule)},
	{"POST /v1/schedules/{process}/resume", RightOperator, OfProcess, true, false, gives(server.resumeSchedule)},
	{"POST /v1/schedules/{process}/run", RightOperator, OfProcess, true, false, gives(server.runSchedule)},
	{"POST /v1/events", RightClerk, OfBody, true, false, gives(server.sendEvent)},
	{"GET /v1/events", RightViewer, OfSeveral, false, false, gives(server.events)},
	{"GET /v1/events/{id}", RightViewer, OfSeveral, false, false, gives(server.event)},
	{"POST /v1/events/{id}/drop", RightOperator, OfSeveral, true, false, gives(server.dropEvent)},
	{"GET /v1/whoami", RightNone, OfSeveral, false, true, gives(server.whoami)},
	{"GET /v1/work", RightClerk, OfSeveral, false, true, gives(server.work)},
	{"GET /v1/work/{item}", RightClerk, OfSeveral, false, true, gives(server.workItem)},
	{"POST /v1/work/{item}/claim", RightClerk, OfSeveral, true, true, gives(workWord(WorkClaim))},
	{"POST /v1/work/{item}/release", RightClerk, OfSeveral, true, true, gives(workWord(WorkRelease))},
	{"POST /v1/work/{item}/transfer", RightClerk, OfSeveral, true, true, gives(workWord(WorkTransfer))},
	{"POST /v1/work/{item}/save", RightClerk, OfSeveral, true, true, gives(workWord(WorkSave))},
	{"POST /v1/work/{item}/complete", RightClerk, OfSeveral, true, true, gives(workWord(WorkComplete))},
	{"POST /v1/upload", RightDefiner, OfBody, true, false, gives(server.upload)},
}

// Requests gives the table of all that Handler serves.
func Requests() []Request { return append([]Request(nil), requests...) }

// gives makes a handler of what gives one answer or an error.
func gives[A any](ask func(server, http.ResponseWriter, *http.Request) (A, error)) func(server, http.ResponseWriter, *http.Request) {
	return func(s server, w http.ResponseWriter, r *http.Request) {
		a, err := ask(s, w, r)
		if err != nil {
			writeRefusal(w, err)
			return
		}
		writeJSON(w, http.StatusOK, a)
	}
}

// writeRefusal answers with an error: who lacks a right is told so as HTTP says it.
func writeRefusal(w http.ResponseWriter, err error) {
	e := asError(err)
	status := e.Code.httpStatus()
	if e.denied {
		status = http.StatusForbidden
	}
	writeError(w, status, e)
}

// Handler serves the API of a node: the rows of the table, each to whom has its right.
func Handler(b Backend) http.Handler {
	s := server{b}
	mux := http.NewServeMux()
	for _, row := range requests {
		mux.HandleFunc(row.Pattern, func(w http.ResponseWriter, r *http.Request) {
			r = r.WithContext(context.WithValue(r.Context(), requestKey{}, row))
			if err := row.permit(b, r); err != nil {
				writeRefusal(w, err)
				return
			}
			row.serve(s, w, r)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, Errorf(CodeUsage, "see the documentation of the API; the node may be of another version than its caller",
			"a node has no request %s %s", r.Method, r.URL.Path))
	})
	return RefuseBrowsers(mux)
}

// requestKey is under what the context of a request has its row of the table.
type requestKey struct{}

// Permit says why the caller of a request may not make it about a process, NAME or NAME@VERSION, or nil. It is for who
// reads the body, or finds the process, of a request whose path does not say it; outside of a request nothing is refused.
func Permit(ctx context.Context, process string) error {
	row, ok := ctx.Value(requestKey{}).(Request)
	if c := CallerOf(ctx); ok && !c.May(row.Right, process) {
		return denied(c.refuse(row.Right, process))
	}
	return nil
}

// PermitNode is Permit about the node itself, or what may be of any process.
func PermitNode(ctx context.Context) error {
	row, ok := ctx.Value(requestKey{}).(Request)
	if c := CallerOf(ctx); ok && !c.MayAll(row.Right) {
		return denied(c.refuse(row.Right, ""))
	}
	return nil
}

// Denied is what a caller is told who lacks a right over the node itself.
func Denied(c Caller, r Right) *Error { return denied(c.refuse(r, "")) }

// Refuse answers a request with an error.
func Refuse(w http.ResponseWriter, e *Error) { writeRefusal(w, e) }

// Guard lets those requests through to next whose caller has a right over the node itself: it is for what is no row
// of the table.
func Guard(right Right, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := CallerOf(r.Context()); !c.MayAll(right) {
			writeRefusal(w, Denied(c, right))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func denied(e *Error) *Error {
	e.denied = true
	return e
}

// ProcessFinder is a backend that says of which process, NAME@VERSION, an instance is: an error if it does not know.
// Who has rights over some processes only is answered by a backend that does.
type ProcessFinder interface {
	ProcessOf(ctx context.Context, id InstanceID) (string, error)
}

// permit says why the caller may not make a request, or nil. What he may not see is not there for him.
func (q *Request) permit(b Backend, r *http.Request) error {
	c := CallerOf(r.Context())
	switch {
	case c.Proved == ProvedWorkSocket && c.Person == "":
		return denied(Errorf(CodeRefused, cmp.Or(c.Enrol, "let the staff have that login")+"; operators use the other socket", "%s is not in the staff of this node", c.Name))
	case c.Proved == ProvedWorkSocket && !q.People:
		return denied(Errorf(CodeRefused, "use the other socket of the node (--to), or a certificate", "the socket of the staff is for people's work, for starts and for whoami"))
	case c.MayAll(q.Right), q.People && c.Person != "":
		return nil
	case q.Of == OfNode:
		return denied(c.refuse(q.Right, ""))
	case !c.MaySome(RightViewer), q.Of == OfSeveral && !c.MaySome(q.Right), q.Of == OfBody && q.Right == RightDefiner && !c.MaySome(q.Right):
		return denied(c.refuse(q.Right, "")) // an upload is large: it is not read first
	case q.Of == OfSeveral, q.Of == OfBody:
		return nil
	}
	process, err := q.process(b, r)
	if err != nil {
		return err
	}
	if !c.May(q.Right, process) {
		return denied(c.refuse(q.Right, process))
	}
	return nil
}

// process gives the process that a request is about, as its path says it. What the caller may not see is not found.
func (q *Request) process(b Backend, r *http.Request) (string, error) {
	switch q.Of {
	case OfProcess:
		return r.PathValue("process"), nil // whether there is one, who has no right over it is not told
	case OfInstance:
		id, err := pathInstance(r)
		if err != nil {
			return "", err
		}
		finder, ok := b.(ProcessFinder)
		if !ok {
			return "", errors.New("this node cannot say of which process an instance is")
		}
		return finder.ProcessOf(r.Context(), id)
	case OfMessage:
		n, err := pathNumber(r)
		if err != nil {
			return "", err
		}
		m, err := b.RefusedMessage(r.Context(), n)
		return m.Process, err
	case OfNode, OfSeveral, OfBody:
	}
	return "", nil
}
