package api

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// LinksAnswer is how the node asked sees its links, by peer, and the broker that carries
// some of them, if there is one.
type LinksAnswer struct {
	Broker *Broker `json:"broker,omitempty"`
	Links  []Link  `json:"links"`
}

// Link is how things stand between the node and one peer.
type Link struct {
	Peer       string      `json:"peer"`
	State      string      `json:"state"` // connected, connecting, waiting, stopped, unconfigured
	Reason     string      `json:"reason,omitempty"`
	LastHeard  time.Time   `json:"last_heard,omitzero"` // zero: not since the daemon was started
	Transports []Transport `json:"transports"`          // the ways to the peer, the best first
	Waiting    uint64      `json:"waiting"`             // messages, and parts of large ones, that are held for it
	Bytes      uint64      `json:"bytes"`               // of these
	Oldest     time.Time   `json:"oldest,omitzero"`     // when the oldest of them was put
	Apart      uint64      `json:"apart,omitempty"`     // of those that wait, the ones that the peer does not read yet
	Lacks      string      `json:"lacks,omitempty"`     // what it lacks to read the first of them
	Lanes      []Lane      `json:"lanes"`
	// Stopped is the number of why the link is stopped, as in the format of frames; 0: it is not.
	Stopped int `json:"stopped,omitempty"`
	// Store is the peer's new store, where the link is stopped because it has another one
	// than is known here; 32 hexadecimal digits.
	Store string `json:"store,omitempty"`
}

// Transport is one way to a peer.
type Transport struct {
	Route   string    `json:"route"` // direct or amqp
	State   string    `json:"state"` // connected: it is used; standby: it would do; connecting
	Since   time.Time `json:"since,omitzero"`
	Dialed  bool      `json:"dialed"`            // by this node; else the peer called
	Address string    `json:"address,omitempty"` // that is dialed, without secrets
	Reason  string    `json:"reason,omitempty"`  // why it is not used
}

// Lane is where one of a link's two lanes stands.
type Lane struct {
	Lane         int    `json:"lane"`         // 0 for data, 1 for control and what is expedited
	Next         uint64 `json:"next"`         // number of the next item to be sent
	Acknowledged uint64 `json:"acknowledged"` // by the peer, up to here
	Expected     uint64 `json:"expected"`     // number of the next item from the peer
}

// Broker is the access to the broker that the node has for its links.
type Broker struct {
	Address   string    `json:"broker"` // without secrets
	State     string    `json:"state"`  // connected, connecting, blocked
	Reason    string    `json:"reason,omitempty"`
	Since     time.Time `json:"since,omitzero"`   // of the state
	Queue     string    `json:"queue"`            // that the node receives from
	Kind      string    `json:"kind,omitempty"`   // of that queue: quorum or classic
	Server    string    `json:"server,omitempty"` // such as RabbitMQ 3.13.7
	Published uint64    `json:"published"`        // messages given to the broker since the start
	Confirmed uint64    `json:"confirmed"`        // that it says it has
	Refused   uint64    `json:"refused"`          // that it did not take
	Returned  uint64    `json:"returned"`         // for which there was no queue
	Received  uint64    `json:"received"`         // messages that came
	Dropped   uint64    `json:"dropped"`          // of these: no frames for a link, or too late
}

func (s server) links(_ http.ResponseWriter, r *http.Request) (LinksAnswer, error) {
	if _, err := query(r); err != nil {
		return LinksAnswer{}, err
	}
	a, err := s.b.Links(r.Context())
	a.Links = orEmpty(a.Links)
	for i := range a.Links {
		a.Links[i].whole()
	}
	return a, err
}

func (s server) retryLink(w http.ResponseWriter, r *http.Request) (Link, error) {
	if err := readBody(w, r, 1<<10, &nothing{}); err != nil {
		return Link{}, err
	}
	l, err := s.b.RetryLink(r.Context(), r.PathValue("peer"))
	l.whole()
	return l, err
}

func (l *Link) whole() {
	l.Transports, l.Lanes = orEmpty(l.Transports), orEmpty(l.Lanes)
}

// Links says how the node sees its links.
func (c *Client) Links(ctx context.Context) (LinksAnswer, error) {
	return ask[LinksAnswer](ctx, c, c.timeout, http.MethodGet, "/v1/links", nil)
}

// RetryLink lets the stopped link of the node to a peer go on, once what it was stopped
// for is mended, and says how it is then.
func (c *Client) RetryLink(ctx context.Context, peer string) (Link, error) {
	return ask[Link](ctx, c, c.timeout, http.MethodPost, "/v1/links/"+url.PathEscape(peer)+"/retry", nothing{})
}
