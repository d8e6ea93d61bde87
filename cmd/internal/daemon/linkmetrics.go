package daemon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fmqm/link"
	"fmqm/link/amqp"
	"fmqm/node"
)

// What the links show, and the broker that carries some of them.
var (
	linkUp          = desc("link_connected", "1 if the link to the peer is connected, else 0.", "peer")
	linkState       = desc("link_state", "1 for the state that the link to the peer is in.", "peer", "state")
	linkHeard       = desc("link_last_heard_timestamp_seconds", "When the peer was last heard, since the daemon started.", "peer")
	sendItems       = desc("transmission_queue_messages", "Messages that wait for the peer.", "peer")
	sendBytes       = desc("transmission_queue_bytes", "Bytes of the messages that wait for the peer.", "peer")
	sendAge         = desc("transmission_queue_oldest_age_seconds", "How long the oldest message for the peer waits; 0 if none does.", "peer")
	sendFull        = desc("transmission_queue_full", "1 while the transmission queue for the peer is at its quota, so that nothing starts that sends there, else 0.", "peer")
	linkConnects    = desc("link_connections_total", "Times that the link to the peer became connected.", "peer")
	linkRepeats     = desc("link_repeats_dropped_total", "Messages, or parts of one, that the peer sent again although they had arrived.", "peer")
	brokerState     = desc("broker_state", "1 for the state that the access to the broker is in.", "state")
	brokerBlocked   = desc("broker_blocked_seconds_total", "How long the broker accepted no messages because of an alarm.")
	brokerLost      = desc("broker_connections_lost_total", "Established connections to the broker that ended.")
	brokerPublished = desc("broker_published_total", "Messages given to the broker: frames, or pieces of one.")
	brokerBytes     = desc("broker_published_bytes_total", "Bytes of the messages given to the broker.")
	brokerConfirmed = desc("broker_confirmed_total", "Messages that the broker confirmed.")
	brokerRefused   = desc("broker_refused_total", "Messages that the broker refused (nack).")
	brokerReturned  = desc("broker_returned_total", "Messages for which the broker had no queue.")
	brokerReceived  = desc("broker_received_total", "Messages that came from the broker.")
	brokerDropped   = desc("broker_received_dropped_total", "Messages from the broker that no link could use: too late, damaged, or from an unknown site.")
)

// linkStates are all that a link can be in.
var linkStates = []link.State{
	link.StateConnected, link.StateConnecting, link.StateWaiting, link.StateStopped, link.StateUnconfigured,
}

func (o metricsOut) peer(p node.PeerStats, now time.Time) {
	name := string(p.Peer)
	o.gauge(linkUp, oneIf(p.State == link.StateConnected), name)
	for _, state := range linkStates {
		o.gauge(linkState, oneIf(p.State == state), name, string(state))
	}
	if !p.LastHeard.IsZero() {
		o.gauge(linkHeard, float64(p.LastHeard.UnixMilli())/1000, name)
	}
	age := 0.0
	if !p.Waiting.Oldest.IsZero() {
		age = max(now.Sub(p.Waiting.Oldest).Seconds(), 0)
	}
	o.gauge(sendItems, float64(p.Waiting.Count), name)
	o.gauge(sendBytes, float64(p.Waiting.Bytes), name)
	o.gauge(sendFull, oneIf(p.Full), name)
	o.gauge(sendAge, age, name)
	o.counter(linkConnects, p.Connects, name)
	o.counter(linkRepeats, p.Repeats, name)
}

// brokerStates are all that the access to a broker can be in.
var brokerStates = []amqp.State{amqp.StateConnected, amqp.StateConnecting, amqp.StateBlocked}

func (o metricsOut) broker(s amqp.Status) {
	for _, state := range brokerStates {
		o.gauge(brokerState, oneIf(s.State == state), string(state))
	}
	o.to <- prometheus.MustNewConstMetric(brokerBlocked, prometheus.CounterValue, s.BlockedFor.Seconds())
	o.counter(brokerLost, s.Lost)
	o.counter(brokerPublished, s.Published)
	o.counter(brokerBytes, s.PublishedBytes)
	o.counter(brokerConfirmed, s.Confirmed)
	o.counter(brokerRefused, s.Refused)
	o.counter(brokerReturned, s.Returned)
	o.counter(brokerReceived, s.Received)
	o.counter(brokerDropped, s.Dropped)
}
