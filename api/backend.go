package api

import "context"

// Limits of requests.
const (
	MaxKey    = 1 << 10   // bytes of a start key
	MaxPage   = 1000      // instances on one page of a list
	MaxUpload = 256 << 20 // bytes of an upload request: the tables of one definition over its nodes, in base64
	MaxStart  = 9 << 20   // bytes of any other request: a container of 8 MiB of JSON and what is around it
)

// Backend is what a node does for its callers. Its methods are called concurrently,
// and return when ctx ends. An error that is an *Error goes to the caller as it is;
// any other is an internal one, code "failed". An instance that every node says it
// does not know is CodeNotFound; one that nobody present knows, CodeUnreachable.
type Backend interface {
	// Start starts an instance once, however often it is asked (N2), and returns when the
	// start is on disk. The status may be of this node's knowledge only.
	Start(ctx context.Context, r StartRequest) (Status, error)
	// StatusOf gathers from all nodes of the process, in at most 2 s; who did not answer then is not asked
	// again where what is inside of blocks takes a second question.
	StatusOf(ctx context.Context, id InstanceID, r StatusRequest) (Status, error)
	// Wait is StatusOf the top, once the instance's state is not running any more or ctx has ended,
	// whichever comes first; a ctx that has ended is not an error.
	Wait(ctx context.Context, id InstanceID) (Status, error)
	List(ctx context.Context, r ListRequest) (ListAnswer, error)
	HistoryOf(ctx context.Context, id InstanceID, r HistoryRequest) (HistoryAnswer, error)
	// Watch calls event for what has happened and for what happens, until the instance has
	// ended, ctx ends or event gives an error, which it returns.
	Watch(ctx context.Context, id InstanceID, event func(HistoryEvent) error) error
	WhyOf(ctx context.Context, id InstanceID, r WhyRequest) (WhyAnswer, error)
	// Retry returns when the activity's node has answered; or, after at most 10 s, when the
	// retry is durable on its way there.
	Retry(ctx context.Context, id InstanceID, r RetryRequest) (Word, error)
	// Finish and Skip end an activity by hand, and return as Retry does.
	Finish(ctx context.Context, id InstanceID, r HandRequest) (Word, error)
	Skip(ctx context.Context, id InstanceID, r HandRequest) (Word, error)
	// Restart has an activity that has terminated run once more. It returns as Retry does; also where the activity's node is this
	// one, and others have not answered it after 10 s.
	Restart(ctx context.Context, id InstanceID, r RestartRequest) (Word, error)
	// TerminateOf returns when the marker (N7) is durable here. It is about the instance of a process, as WhyRequest says.
	TerminateOf(ctx context.Context, id InstanceID, r TerminateRequest) error
	// Suspend and Resume return when the mark (N29) is durable where the instance was started.
	Suspend(ctx context.Context, id InstanceID, r SuspendRequest) (Word, error)
	Resume(ctx context.Context, id InstanceID, r ResumeRequest) (Word, error)
	// Expedite returns likewise, when the mark of an instance's priority (N31) is durable.
	Expedite(ctx context.Context, id InstanceID, r ExpediteRequest) (Word, error)
	// Refused gives what this node has set aside.
	Refused(ctx context.Context, r RefusedRequest) (RefusedAnswer, error)
	RefusedMessage(ctx context.Context, number uint64) (RefusedMessage, error)
	// RetryRefused and DropRefused return when what they did is durable. A number that is not
	// there, or not any more, is CodeNotFound.
	RetryRefused(ctx context.Context, number uint64) (RefusedDecision, error)
	DropRefused(ctx context.Context, number uint64, r DropRequest) (RefusedDecision, error)
	Links(ctx context.Context) (LinksAnswer, error)
	// RetryLink lets the stopped link to a peer go on, and says what has come of it, after at
	// most 10 s. A peer that is not known is CodeNotFound; a link that is not stopped, or is
	// stopped again, CodeRefused with the reason.
	RetryLink(ctx context.Context, peer string) (Link, error)
	Nodes(ctx context.Context) (NodesAnswer, error)
	Definitions(ctx context.Context) (DefinitionsAnswer, error)
	// Upload plans and, unless r.PlanOnly, sends. The tables' bytes have been compared with
	// their SHA256 before, nothing else of them.
	Upload(ctx context.Context, r UploadRequest) (UploadAnswer, error)
}
