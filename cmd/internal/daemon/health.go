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

// Ready is the node's, whether its certificate ends soon, and whether the directory says who works here.
func (d *Daemon) Ready(ctx context.Context) api.Health {
	h := d.Node.Ready(ctx)
	if d.identity != nil {
		state, text := api.HealthOK, nearExpiry(d.identity.Expires(), d.identity.Due(), time.Now())
		if text != "" {
			state = api.HealthDegraded
		}
		h.Add("certificate", state, text)
	}
	d.directory.Load().health(&h)
	return h
}

// staff begins to show how the directory is that says who works here, where there is one.
func (m *metrics) staff(directory func() *directory) {
	m.registry.MustRegister(staffCollector{directory})
}

var (
	staffAnswers = desc("staff_directory_answers", "1 if the directory that says who works here gave a staff when it was asked last, else 0.")
	staffHeard   = desc("staff_directory_last_answer_timestamp_seconds", "When the directory gave a staff last; 0: not yet.")
)

type staffCollector struct{ directory func() *directory }

// Describe names nothing: not every configuration has a directory.
func (staffCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c staffCollector) Collect(to chan<- prometheus.Metric) {
	o := c.directory()
	if o == nil {
		return
	}
	heard, trouble := o.state()
	out, at := metricsOut{to}, 0.0
	if !heard.IsZero() {
		at = float64(heard.Unix())
	}
	out.gauge(staffAnswers, oneIf(trouble == "" && !heard.IsZero()))
	out.gauge(staffHeard, at)
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
