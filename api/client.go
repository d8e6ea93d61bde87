package api

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fmqm/internal/text"
)

// DefaultTo is where a node is asked unless somebody says otherwise: the local socket.
const DefaultTo = "unix:/run/fmqm/fmqmd.sock"

// DefaultTimeout is how long a client waits for an answer.
const DefaultTimeout = 30 * time.Second

// maxAnswer is the most that a client reads of one answer, in bytes.
const maxAnswer = 512 << 20

// Client asks one node. It is safe for concurrent use. Its errors are of type *Error:
// the node's own, or CodeUnreachable with what to do about it.
type Client struct {
	to      string // as the caller wrote it
	base    string
	http    *http.Client
	timeout time.Duration
	as      string // for whom an operator acts; empty: for himself
}

// NewClient makes a client for http://HOST:PORT, https://HOST:PORT or unix:/PATH. It
// connects when it is asked something. timeout is for each request, 0 is
// DefaultTimeout.
func NewClient(to string, timeout time.Duration) (*Client, error) {
	return NewTLSClient(to, timeout, nil)
}

// NewTLSClient is NewClient with a configuration for https addresses; nil is the
// system's authorities and no certificate.
func NewTLSClient(to string, timeout time.Duration, config *tls.Config) (*Client, error) {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	dialer := &net.Dialer{Timeout: min(timeout, 10*time.Second)}
	transport.DialContext = dialer.DialContext
	transport.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, &dialTLSError{err}
		}
		return c, nil
	}
	c := &Client{to: to, timeout: timeout, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if path, ok := strings.CutPrefix(to, "unix:"); ok {
		if path == "" {
			return nil, badAddress(to)
		}
		c.base = "http://fmqm"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", path)
		}
		return c, nil
	}
	u, err := url.Parse(to)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, badAddress(to)
	}
	c.base = u.Scheme + "://" + u.Host
	return c, nil
}

// dialTLSError is an error of the way to the node: nothing was sent yet.
type dialTLSError struct{ err error }

func (e *dialTLSError) Error() string { return e.err.Error() }
func (e *dialTLSError) Unwrap() error { return e.err }

func badAddress(to string) error {
	return Errorf(CodeUsage, "write http://HOST:PORT, https://HOST:PORT or unix:/PATH", "%q is not the address of a node", to)
}

// Close lets idle connections go.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Start starts an instance. When it fails with MayHaveHappened, repeat it with the same
// request: that never starts a second one (N2).
func (c *Client) Start(ctx context.Context, r StartRequest) (Status, error) {
	return ask[Status](ctx, c, c.timeout, http.MethodPost, "/v1/instances", r)
}

// Status gives what all nodes of the process know of an instance, with the activities at its top.
func (c *Client) Status(ctx context.Context, id InstanceID) (Status, error) {
	return c.StatusOf(ctx, id, StatusRequest{})
}

// StatusOf is Status with the activities that are asked for.
func (c *Client) StatusOf(ctx context.Context, id InstanceID, r StatusRequest) (Status, error) {
	return ask[Status](ctx, c, c.timeout, http.MethodGet, instancePath(id, parameters("", r.parameters())), nil)
}

// parameters adds to a path what a request says.
func parameters(path string, q url.Values) string {
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// Wait gives the status once the instance is not running any more, or after d, at most
// MaxWait, as it is then.
func (c *Client) Wait(ctx context.Context, id InstanceID, d time.Duration) (Status, error) {
	d = min(d, MaxWait)
	return ask[Status](ctx, c, c.timeout+d, http.MethodGet, instancePath(id, "?wait="+d.String()), nil)
}

// History gives what has happened to an instance, over all nodes that answer.
func (c *Client) History(ctx context.Context, id InstanceID) (HistoryAnswer, error) {
	return c.HistoryOf(ctx, id, HistoryRequest{})
}

// HistoryOf is History of what is asked for.
func (c *Client) HistoryOf(ctx context.Context, id InstanceID, r HistoryRequest) (HistoryAnswer, error) {
	q := url.Values{}
	if r.Activity != "" {
		q.Set("activity", r.Activity)
	}
	if r.Since > 0 {
		q.Set("since", strconv.FormatUint(r.Since, 10))
	}
	return ask[HistoryAnswer](ctx, c, c.timeout, http.MethodGet, instancePath(id, parameters("/history", q)), nil)
}

// Why says what an instance waits for: that of a process, NAME@VERSION, if one is named.
func (c *Client) Why(ctx context.Context, id InstanceID, process string) (WhyAnswer, error) {
	return c.WhyOf(ctx, id, WhyRequest{Process: process})
}

// WhyOf is Why of what is asked for.
func (c *Client) WhyOf(ctx context.Context, id InstanceID, r WhyRequest) (WhyAnswer, error) {
	q := url.Values{}
	if r.Process != "" {
		q.Set("process", r.Process)
	}
	if r.Activity != "" {
		q.Set("activity", r.Activity)
	}
	return ask[WhyAnswer](ctx, c, c.timeout, http.MethodGet, instancePath(id, parameters("/why", q)), nil)
}

// Finish ends an activity by hand as one that has run, or says that this is on its way.
func (c *Client) Finish(ctx context.Context, id InstanceID, r HandRequest) (Word, error) {
	return ask[Word](ctx, c, c.timeout, http.MethodPost, instancePath(id, "/finish"), r)
}

// Skip ends an activity by hand as one on a dead path, or says that this is on its way.
func (c *Client) Skip(ctx context.Context, id InstanceID, r HandRequest) (Word, error) {
	return ask[Word](ctx, c, c.timeout, http.MethodPost, instancePath(id, "/skip"), r)
}

// Restart has an activity that has terminated run once more, or gives that up, or says that this is on its way.
func (c *Client) Restart(ctx context.Context, id InstanceID, r RestartRequest) (Word, error) {
	return ask[Word](ctx, c, c.timeout, http.MethodPost, instancePath(id, "/restart"), r)
}

// Retry lets an activity in error go on, or says that this is on its way.
func (c *Client) Retry(ctx context.Context, id InstanceID, r RetryRequest) (Word, error) {
	return ask[Word](ctx, c, c.timeout, http.MethodPost, instancePath(id, "/retry"), r)
}

// Terminate ends an instance without letting it finish: that of a process, NAME@VERSION, if one is named.
func (c *Client) Terminate(ctx context.Context, id InstanceID, process string) error {
	return c.TerminateOf(ctx, id, TerminateRequest{Process: process})
}

// TerminateOf is Terminate of what is asked for.
func (c *Client) TerminateOf(ctx context.Context, id InstanceID, r TerminateRequest) error {
	_, err := ask[nothing](ctx, c, c.timeout, http.MethodPost, instancePath(id, "/terminate"), r)
	return err
}

// Suspend suspends an instance, or an activity of it.
func (c *Client) Suspend(ctx context.Context, id InstanceID, r SuspendRequest) (Word, error) {
	return ask[Word](ctx, c, c.timeout, http.MethodPost, instancePath(id, "/suspend"), r)
}

// Resume lifts suspends.
func (c *Client) Resume(ctx context.Context, id InstanceID, r ResumeRequest) (Word, error) {
	return ask[Word](ctx, c, c.timeout, http.MethodPost, instancePath(id, "/resume"), r)
}

// Expedite gives an instance another priority.
func (c *Client) Expedite(ctx context.Context, id InstanceID, r ExpediteRequest) (Word, error) {
	return ask[Word](ctx, c, c.timeout, http.MethodPost, instancePath(id, "/expedite"), r)
}

// Refused gives one page of the messages that the node has set aside.
func (c *Client) Refused(ctx context.Context, r RefusedRequest) (RefusedAnswer, error) {
	q := url.Values{}
	if r.Before > 0 {
		q.Set("before", strconv.FormatUint(r.Before, 10))
	}
	if r.Limit > 0 {
		q.Set("limit", strconv.Itoa(r.Limit))
	}
	return ask[RefusedAnswer](ctx, c, c.timeout, http.MethodGet, "/v1/dead?"+q.Encode(), nil)
}

// Nodes gives the node asked and its peers.
func (c *Client) Nodes(ctx context.Context) (NodesAnswer, error) {
	return ask[NodesAnswer](ctx, c, c.timeout, http.MethodGet, "/v1/nodes", nil)
}

// Definitions gives the processes that the node has tables of.
func (c *Client) Definitions(ctx context.Context) (DefinitionsAnswer, error) {
	return ask[DefinitionsAnswer](ctx, c, c.timeout, http.MethodGet, "/v1/definitions", nil)
}

// Upload sends tables to their nodes, or plans it.
func (c *Client) Upload(ctx context.Context, r UploadRequest) (UploadAnswer, error) {
	return ask[UploadAnswer](ctx, c, c.timeout, http.MethodPost, "/v1/upload", r)
}

func instancePath(id InstanceID, rest string) string { return "/v1/instances/" + id.String() + rest }

// Watch calls event for what happens to an instance until it has ended, ctx ends, or
// event gives an error, which it returns.
func (c *Client) Watch(ctx context.Context, id InstanceID, event func(HistoryEvent) error) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	patience := c.timeout + heartbeat
	silence := time.AfterFunc(patience, cancel)
	defer silence.Stop()
	broken := func(err error) error {
		if watching.Err() != nil && ctx.Err() == nil {
			err = context.DeadlineExceeded
		}
		return c.unreachable(err, patience, false)
	}
	resp, err := c.send(watching, http.MethodGet, instancePath(id, "/watch"), nil)
	if err != nil {
		return broken(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return c.readError(resp)
	}
	for lines := bufio.NewReader(resp.Body); ; {
		silence.Reset(patience)
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return broken(err)
		case len(line) == 1:
			continue // a heartbeat
		}
		silence.Stop() // event takes as long as it likes
		if err := c.event(line, event); err != nil {
			return err
		}
	}
}

func (c *Client) event(line []byte, event func(HistoryEvent) error) error {
	var e struct {
		HistoryEvent
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return c.noNode("a line that is no event", err)
	}
	if e.Error != nil {
		return e.Error
	}
	return event(e.HistoryEvent)
}

// ask sends one request and reads its answer, within timeout.
func ask[A any](ctx context.Context, c *Client, timeout time.Duration, method, path string, body any) (A, error) {
	var a A
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return a, c.unreachable(err, timeout, changes(method, body))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return a, c.readError(resp)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return a, c.unreachable(err, timeout, changes(method, body))
	case len(answer) > maxAnswer:
		return a, Errorf(CodeFailed, "ask for less", "the answer of %s is over %d bytes", c.to, maxAnswer)
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return a, c.noNode("an answer that cannot be read", err)
	}
	return a, nil
}

// changes says whether a request is to change something.
func changes(method string, body any) bool {
	upload, is := body.(UploadRequest)
	return method != http.MethodGet && !(is && upload.PlanOnly)
}

func (c *Client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		b, err := text.Encode(body)
		if err != nil {
			return nil, Errorf(CodeUsage, "correct it", "the request is not JSON: %v", err)
		}
		content = bytes.NewReader(b)
		if told, ok := ctx.Value(progressKey{}).(func(sent, total int64)); ok {
			content = &counted{r: content, total: int64(len(b)), told: told}
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "fmqm")
	if c.as != "" {
		req.Header.Set(AsHeader, c.as)
	}
	if c, ok := content.(*counted); ok {
		req.ContentLength = c.total
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.http.Do(req)
}

// readError gives the error that the node answered with.
func (c *Client) readError(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if resp.StatusCode == http.StatusBadRequest && bytes.Contains(body, []byte("HTTP request to an HTTPS server")) {
		return Errorf(CodeUnreachable, "write https:// in --to (or FMQM_TO)", "%s takes encrypted connections only", c.to)
	}
	var e errorBody
	if err := json.Unmarshal(body, &e); err != nil || e.Error == nil {
		return c.noNode(fmt.Sprintf("HTTP status %s", resp.Status), err)
	}
	return e.Error
}

func (c *Client) noNode(what string, cause error) error {
	e := Errorf(CodeFailed, "check that --to (or FMQM_TO) names a node of fmqm, of the same version", "%s answered with %s", c.to, what)
	e.cause = cause
	return e
}

// unreachable makes of what the way to the node said something to act on; changes: the request was to change something.
func (c *Client) unreachable(err error, timeout time.Duration, changes bool) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the URL of a socket means nothing to anybody
	}
	var dial *net.OpError
	var secure *dialTLSError
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	sent := !errors.As(err, &secure) && (!errors.As(err, &dial) || dial.Op != "dial")
	const elsewhere = "name another node with --to (or FMQM_TO)"
	var e *Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e = Errorf(CodeUnreachable, "start fmqmd, or "+elsewhere, "no daemon here: there is no socket %s", c.to)
	case errors.Is(err, fs.ErrPermission):
		e = Errorf(CodeUnreachable, "become a user who may open it (see `ls -l`), or "+elsewhere+"; people of the staff have a socket of their own, such as unix:/run/fmqm/work.sock", "permission denied on %s", c.to)
	case errors.Is(err, syscall.ECONNREFUSED):
		e = Errorf(CodeUnreachable, "start fmqmd there, or "+elsewhere, "no daemon listens at %s", c.to)
	case isTimeout(err):
		e = Errorf(CodeUnreachable, "check that the node runs and try again", "no answer from %s within %v", c.to, timeout)
	case errors.Is(err, context.Canceled):
		e = Errorf(CodeUnreachable, "", "given up waiting for %s", c.to)
	case errors.As(err, &record):
		e = Errorf(CodeUnreachable, "write http:// in --to (or FMQM_TO), or give the node an `identity`", "%s does not speak TLS", c.to)
	case errors.As(err, &unknown):
		e = Errorf(CodeUnreachable, "name the certificate of an operator, and the sites' authority, with --cert, --cert-key and --ca (or FMQM_CERT, FMQM_KEY and FMQM_CA)",
			"the certificate of %s is of an authority that is not known here", c.to)
	case sent:
		e = Errorf(CodeUnreachable, "check that the node runs and try again", "the connection to %s broke: %v", c.to, err)
	default:
		e = Errorf(CodeUnreachable, "check the address, or "+elsewhere, "cannot reach %s: %v", c.to, err)
	}
	if sent && changes {
		e.Message += "; it may have been done"
	}
	e.cause, e.sent = err, sent
	return e
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}
