// Package apitest has a node's Backend for tests of what talks to a node.
package apitest

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"fmqm/api"
)

// Backend does what its fields say. A method whose field is nil answers that the test
// did not expect it, with code failed.
type Backend struct {
	OnStart       func(context.Context, api.StartRequest) (api.Status, error)
	OnStatus      func(context.Context, api.InstanceID, api.StatusRequest) (api.Status, error)
	OnWait        func(context.Context, api.InstanceID) (api.Status, error)
	OnList        func(context.Context, api.ListRequest) (api.ListAnswer, error)
	OnHistory     func(context.Context, api.InstanceID, api.HistoryRequest) (api.HistoryAnswer, error)
	OnWatch       func(context.Context, api.InstanceID, func(api.HistoryEvent) error) error
	OnWhy         func(context.Context, api.InstanceID, api.WhyRequest) (api.WhyAnswer, error)
	OnLogs        func(context.Context, api.InstanceID, api.LogsRequest) (api.LogsAnswer, error)
	OnRetry       func(context.Context, api.InstanceID, api.RetryRequest) (api.Word, error)
	OnRestart     func(context.Context, api.InstanceID, api.RestartRequest) (api.Word, error)
	OnFinish      func(context.Context, api.InstanceID, api.HandRequest) (api.Word, error)
	OnSkip        func(context.Context, api.InstanceID, api.HandRequest) (api.Word, error)
	OnTerminate   func(context.Context, api.InstanceID, api.TerminateRequest) error
	OnSuspend     func(context.Context, api.InstanceID, api.SuspendRequest) (api.Word, error)
	OnResume      func(context.Context, api.InstanceID, api.ResumeRequest) (api.Word, error)
	OnExpedite    func(context.Context, api.InstanceID, api.ExpediteRequest) (api.Word, error)
	OnDead        func(context.Context, api.RefusedRequest) (api.RefusedAnswer, error)
	OnDeadMessage func(context.Context, uint64) (api.RefusedMessage, error)
	OnRetryDead   func(context.Context, uint64) (api.RefusedDecision, error)
	OnDropDead    func(context.Context, uint64, api.DropRequest) (api.RefusedDecision, error)
	OnLinks       func(context.Context) (api.LinksAnswer, error)
	OnRetryLink   func(context.Context, string) (api.Link, error)
	OnNodes       func(context.Context) (api.NodesAnswer, error)
	OnDefinitions func(context.Context) (api.DefinitionsAnswer, error)
	OnUpload      func(context.Context, api.UploadRequest) (api.UploadAnswer, error)
}

var (
	_ api.Backend   = (*Backend)(nil)
	_ api.LogKeeper = (*Backend)(nil)
)

func unexpected(method string) error {
	return api.Errorf(api.CodeFailed, "", "the test did not expect %s", method)
}

func (b *Backend) Start(ctx context.Context, r api.StartRequest) (api.Status, error) {
	if b.OnStart == nil {
		return api.Status{}, unexpected("Start")
	}
	return b.OnStart(ctx, r)
}

func (b *Backend) StatusOf(ctx context.Context, id api.InstanceID, r api.StatusRequest) (api.Status, error) {
	if b.OnStatus == nil {
		return api.Status{}, unexpected("StatusOf")
	}
	return b.OnStatus(ctx, id, r)
}

func (b *Backend) Wait(ctx context.Context, id api.InstanceID) (api.Status, error) {
	if b.OnWait == nil {
		return api.Status{}, unexpected("Wait")
	}
	return b.OnWait(ctx, id)
}

func (b *Backend) List(ctx context.Context, r api.ListRequest) (api.ListAnswer, error) {
	if b.OnList == nil {
		return api.ListAnswer{}, unexpected("List")
	}
	return b.OnList(ctx, r)
}

func (b *Backend) HistoryOf(ctx context.Context, id api.InstanceID, r api.HistoryRequest) (api.HistoryAnswer, error) {
	if b.OnHistory == nil {
		return api.HistoryAnswer{}, unexpected("HistoryOf")
	}
	return b.OnHistory(ctx, id, r)
}

func (b *Backend) Logs(ctx context.Context, id api.InstanceID, r api.LogsRequest) (api.LogsAnswer, error) {
	if b.OnLogs == nil {
		return api.LogsAnswer{}, unexpected("Logs")
	}
	return b.OnLogs(ctx, id, r)
}

func (b *Backend) Watch(ctx context.Context, id api.InstanceID, event func(api.HistoryEvent) error) error {
	if b.OnWatch == nil {
		return unexpected("Watch")
	}
	return b.OnWatch(ctx, id, event)
}

func (b *Backend) WhyOf(ctx context.Context, id api.InstanceID, r api.WhyRequest) (api.WhyAnswer, error) {
	if b.OnWhy == nil {
		return api.WhyAnswer{}, unexpected("WhyOf")
	}
	return b.OnWhy(ctx, id, r)
}

func (b *Backend) Retry(ctx context.Context, id api.InstanceID, r api.RetryRequest) (api.Word, error) {
	if b.OnRetry == nil {
		return api.Word{}, unexpected("Retry")
	}
	return b.OnRetry(ctx, id, r)
}

func (b *Backend) Finish(ctx context.Context, id api.InstanceID, r api.HandRequest) (api.Word, error) {
	if b.OnFinish == nil {
		return api.Word{}, unexpected("Finish")
	}
	return b.OnFinish(ctx, id, r)
}

// Restart answers with OnRestart.
func (b *Backend) Restart(ctx context.Context, id api.InstanceID, r api.RestartRequest) (api.Word, error) {
	if b.OnRestart == nil {
		return api.Word{}, unexpected("Restart")
	}
	return b.OnRestart(ctx, id, r)
}

func (b *Backend) Skip(ctx context.Context, id api.InstanceID, r api.HandRequest) (api.Word, error) {
	if b.OnSkip == nil {
		return api.Word{}, unexpected("Skip")
	}
	return b.OnSkip(ctx, id, r)
}

// Suspend calls OnSuspend.
func (b *Backend) Suspend(ctx context.Context, id api.InstanceID, r api.SuspendRequest) (api.Word, error) {
	if b.OnSuspend == nil {
		return api.Word{}, unexpected("Suspend")
	}
	return b.OnSuspend(ctx, id, r)
}

// Expedite calls OnExpedite.
func (b *Backend) Expedite(ctx context.Context, id api.InstanceID, r api.ExpediteRequest) (api.Word, error) {
	if b.OnExpedite == nil {
		return api.Word{}, unexpected("Expedite")
	}
	return b.OnExpedite(ctx, id, r)
}

// Resume calls OnResume.
func (b *Backend) Resume(ctx context.Context, id api.InstanceID, r api.ResumeRequest) (api.Word, error) {
	if b.OnResume == nil {
		return api.Word{}, unexpected("Resume")
	}
	return b.OnResume(ctx, id, r)
}

func (b *Backend) TerminateOf(ctx context.Context, id api.InstanceID, r api.TerminateRequest) error {
	if b.OnTerminate == nil {
		return unexpected("TerminateOf")
	}
	return b.OnTerminate(ctx, id, r)
}

func (b *Backend) Refused(ctx context.Context, r api.RefusedRequest) (api.RefusedAnswer, error) {
	if b.OnDead == nil {
		return api.RefusedAnswer{}, unexpected("Refused")
	}
	return b.OnDead(ctx, r)
}

func (b *Backend) RefusedMessage(ctx context.Context, number uint64) (api.RefusedMessage, error) {
	if b.OnDeadMessage == nil {
		return api.RefusedMessage{}, unexpected("RefusedMessage")
	}
	return b.OnDeadMessage(ctx, number)
}

func (b *Backend) RetryRefused(ctx context.Context, number uint64) (api.RefusedDecision, error) {
	if b.OnRetryDead == nil {
		return api.RefusedDecision{}, unexpected("RetryRefused")
	}
	return b.OnRetryDead(ctx, number)
}

func (b *Backend) DropRefused(ctx context.Context, number uint64, r api.DropRequest) (api.RefusedDecision, error) {
	if b.OnDropDead == nil {
		return api.RefusedDecision{}, unexpected("DropRefused")
	}
	return b.OnDropDead(ctx, number, r)
}

func (b *Backend) Links(ctx context.Context) (api.LinksAnswer, error) {
	if b.OnLinks == nil {
		return api.LinksAnswer{}, unexpected("Links")
	}
	return b.OnLinks(ctx)
}

func (b *Backend) RetryLink(ctx context.Context, peer string) (api.Link, error) {
	if b.OnRetryLink == nil {
		return api.Link{}, unexpected("RetryLink")
	}
	return b.OnRetryLink(ctx, peer)
}

func (b *Backend) Nodes(ctx context.Context) (api.NodesAnswer, error) {
	if b.OnNodes == nil {
		return api.NodesAnswer{}, unexpected("Nodes")
	}
	return b.OnNodes(ctx)
}

func (b *Backend) Definitions(ctx context.Context) (api.DefinitionsAnswer, error) {
	if b.OnDefinitions == nil {
		return api.DefinitionsAnswer{}, unexpected("Definitions")
	}
	return b.OnDefinitions(ctx)
}

func (b *Backend) Upload(ctx context.Context, r api.UploadRequest) (api.UploadAnswer, error) {
	if b.OnUpload == nil {
		return api.UploadAnswer{}, unexpected("Upload")
	}
	return b.OnUpload(ctx, r)
}

// Serve serves b on a Unix socket until the test ends, and gives its address for --to.
func Serve(t testing.TB, b api.Backend) string {
	t.Helper()
	return ServeHandler(t, api.Handler(b))
}

// ServeHandler is Serve for any handler.
func ServeHandler(t testing.TB, h http.Handler) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fmqmd.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-ended
	})
	return "unix:" + path
}
