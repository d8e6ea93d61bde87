package program

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"fmqm/container"
)

// DefaultHTTPTimeout is the timeout of an http program that has none of its own: a
// server that is gone without a word would hold its activity for ever.
const DefaultHTTPTimeout = time.Minute

// service is a program of kind http.
type service struct {
	url       string
	header    http.Header
	secrets   map[string]string // headers whose values are in files
	redacted  secrets           // of header
	timeout   time.Duration
	maxOutput int
	client    *http.Client
}

// CheckURL says what is wrong with the address of an http program.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	shown := hideQueries(hideUsers(address))
	switch {
	case err != nil:
		return fmt.Errorf("http: %q is not a URL: write http://HOST/PATH or https://HOST/PATH", shown)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("http: %q is not an address of a web service: write http://HOST/PATH or https://HOST/PATH", shown)
	}
	return nil
}

// CheckHeader says what is wrong with a header that a configuration adds to requests.
func CheckHeader(name string) error {
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !token.MatchString(name):
		return fmt.Errorf("%q cannot name a header: use letters, digits and -", name)
	case strings.HasPrefix(canonical, "Fmqm-"), slices.Contains(ownHeaders, canonical):
		return fmt.Errorf("only the daemon sets the header %s: use another name", name)
	}
	return nil
}

var (
	token = regexp.MustCompile("^[0-9A-Za-z!#$%&'*+.^_`|~-]{1,128}$") // RFC 9110
	// ownHeaders say what is sent, and how.
	ownHeaders = []string{"Connection", "Content-Length", "Content-Type", "Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}
)

// ClientTLS reads the files of a client of TLS. The certificate comes with its key, or
// without; ca may be empty, which is the system's authorities.
func ClientTLS(certificate, key, ca string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if certificate != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("the certificate of the client: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("the authorities: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the authorities: %s has no certificate", ca)
		}
	}
	return c, nil
}

func newService(s Spec, o Options) (Program, error) {
	if err := CheckURL(s.URL); err != nil {
		return nil, err
	}
	p := &service{url: s.URL, header: http.Header{}, secrets: s.Secrets, redacted: redacted(s.Redact, s.Headers), timeout: s.Timeout, maxOutput: o.MaxOutput}
	for name, value := range s.Headers {
		p.header.Set(name, value)
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(s.Headers)), slices.Collect(maps.Keys(s.Secrets))) {
		if err := CheckHeader(name); err != nil {
			return nil, err
		}
	}
	transport := o.Transport
	if s.Certificate != "" || s.Key != "" || s.CA != "" {
		t := newTransport()
		var err error
		if t.TLSClientConfig, err = ClientTLS(s.Certificate, s.Key, s.CA); err != nil {
			return nil, err
		}
		transport = t
	}
	if p.timeout <= 0 {
		p.timeout = DefaultHTTPTimeout
	}
	p.client = &http.Client{
		Transport: transport,
		// A redirect is an answer like another: _RC is its status. It is not followed, so
		// that neither headers nor certificate go to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p, nil
}

func (p *service) Run(ctx context.Context, c *Call) Result {
	r := Result{Started: time.Now()}
	r.RC, r.Output, r.Err = p.run(ctx, c)
	r.Err = secrets(nil).reason(short(r.Err))
	r.Ended = time.Now()
	return r
}

func (p *service) run(ctx context.Context, c *Call) (_ int64, _ *container.Struct, err error) {
	input, err := container.EncodeJSON(c.Input)
	if err != nil {
		return 0, nil, fmt.Errorf("input container: %w", err)
	}
	values, hide, err := readSecrets(p.secrets)
	if err != nil {
		return 0, nil, err
	}
	hide = hide.and(p.redacted)
	defer func() { err = hide.reason(err) }()
	run, cancel := withTimeout(ctx, p.timeout)
	defer cancel()
	status, body, err := p.post(run, c, input, values)
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
	log := newLines(c.Log, hide)
	if transient(status) && !c.RCContinue {
		complaint(log, body)
		return rc, nil, fmt.Errorf("%s answered %d %s: see the service's own log; `retry` on the activity repeats such answers", p.url, status, http.StatusText(status))
	}
	if c.NoOutput {
		print := &stream{to: log}
		_, _ = print.Write(body)
		print.flush()
	}
	out, err := c.output(body, rc, log)
	if !c.NoOutput && (err != nil || rc != 0 && !c.RCIsData) {
		complaint(log, body)
	}
	return rc, out, err
}

// maxComplaint is how many bytes of an answer are logged that says why the attempt failed.
const maxComplaint = 1 << 10

// complaint logs the beginning of such an answer.
func complaint(log *lines, body []byte) {
	most := maxComplaint + log.longest() - MaxLogLine
	begin := log.hide.in(string(body[:min(len(body), most)]), maxComplaint) // no secret is cut in two
	print := &stream{to: log}
	_, _ = print.Write([]byte(begin))
	print.flush()
	if len(body) > maxComplaint {
		log.say(fmt.Sprintf("fmqm: the answer has %d bytes: the rest of it is dropped", len(body)))
	}
}

// transient says whether a status is about the moment, not about the request (P3).
func transient(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

func (p *service) post(ctx context.Context, c *Call, input []byte, secrets map[string]string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(input))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "fmqm")
	maps.Copy(req.Header, p.header)
	for name, value := range secrets {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
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
		return 0, nil, fmt.Errorf("%s answered with more than %d bytes: pass a reference (a file, a URL) instead of the content", p.url, p.maxOutput)
	}
	return resp.StatusCode, body, nil
}
