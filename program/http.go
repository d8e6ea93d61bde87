package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"fmqm/container"
)

// DefaultHTTPTimeout is the timeout of an http program that has none of its own: a
// server that is gone without a word would hold its activity for ever.
const DefaultHTTPTimeout = time.Minute

// service is a program of kind http.
type service struct {
	url       string
	timeout   time.Duration
	maxOutput int
	client    *http.Client
}

// CheckURL says what is wrong with the address of an http program.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fmt.Errorf("http: %q is not a URL: write http://HOST/PATH or https://HOST/PATH", address)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("http: %q is not an address of a web service: write http://HOST/PATH or https://HOST/PATH", address)
	}
	return nil
}

func newService(s Spec, o Options) (Program, error) {
	if err := CheckURL(s.URL); err != nil {
		return nil, err
	}
	p := &service{url: s.URL, timeout: s.Timeout, maxOutput: o.MaxOutput}
	if p.timeout <= 0 {
		p.timeout = DefaultHTTPTimeout
	}
	p.client = &http.Client{
		Transport: o.Transport,
		// A redirect is an answer like another: _RC is its status.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p, nil
}

func (p *service) Run(ctx context.Context, c Call) Result {
	r := Result{Started: time.Now()}
	r.RC, r.Output, r.Err = p.run(ctx, &c)
	r.Ended = time.Now()
	return r
}

func (p *service) run(ctx context.Context, c *Call) (int64, *container.Struct, error) {
	input, err := container.EncodeJSON(c.Input)
	if err != nil {
		return 0, nil, fmt.Errorf("input container: %w", err)
	}
	run, cancel := withTimeout(ctx, p.timeout)
	defer cancel()
	status, body, err := p.post(run, c, input)
	switch {
	case err != nil && run.Err() != nil:
		return 0, nil, stopped(ctx, p.timeout)
	case err != nil:
		return 0, nil, err
	}
	rc := int64(status)
	if status >= 200 && status < 300 {
		rc = 0
	}
	log := newLines(c.Log)
	if transient(status) && !c.RCContinue {
		return rc, nil, fmt.Errorf("%s answered %d %s: see the service's own log; `retry` on the activity repeats such answers", p.url, status, http.StatusText(status))
	}
	if c.NoOutput {
		print := &stream{to: log}
		_, _ = print.Write(body)
		print.flush()
	}
	out, err := c.output(body, rc, log)
	return rc, out, err
}

// transient says whether a status is about the moment, not about the request (P3).
func transient(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

func (p *service) post(ctx context.Context, c *Call, input []byte) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(input))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "fmqm")
	for _, f := range c.facts() {
		req.Header.Set(f.header, f.value)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the URL is said once
		}
		return 0, nil, fmt.Errorf("no answer from %s: %w: check that the service runs and that this node reaches it", p.url, err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, int64(p.maxOutput)+1))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("the answer of %s broke off: %w: check the service", p.url, err)
	case len(body) > p.maxOutput:
		return 0, nil, fmt.Errorf("%s answered with over %d bytes: pass a reference (a file, a URL) instead of the content", p.url, p.maxOutput)
	}
	return resp.StatusCode, body, nil
}
