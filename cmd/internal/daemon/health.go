package daemon

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fmqm/api"
	"fmqm/identity"
)

var _ api.Healthy = (*Daemon)(nil)

// Live is the node's.
func (d *Daemon) Live(ctx context.Context) api.Health { return d.Node.Live(ctx) }

// Ready is the node's, and whether its certificate ends soon.
func (d *Daemon) Ready(ctx context.Context) api.Health {
	h := d.Node.Ready(ctx)
	if d.identity != nil {
		state, text := api.HealthOK, nearExpiry(d.identity.Expires(), d.identity.Due(), time.Now())
		if text != "" {
			state = api.HealthDegraded
		}
		h.Add("certificate", state, text)
	}
	return h
}

// certificate begins to show when the identity ends, and whether it is to be renewed.
func (m *metrics) certificate(id *identity.Identity) {
	if id == nil {
		return
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "fmqm_certificate_expiry_timestamp_seconds", Help: "When the certificate of this node, or its authority's, expires.",
	}, func() float64 { return float64(id.Expires().Unix()) }), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "fmqm_certificate_renewal_due", Help: "1: the certificate of this node, or its authority's, has less than a third of its life left.",
	}, func() float64 {
		if id.Due() {
			return 1
		}
		return 0
	}))
}
