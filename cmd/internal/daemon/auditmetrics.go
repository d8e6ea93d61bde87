package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"fmqm/node"
)

var (
	auditInstances = desc("audit_instances", "Instances of which the audit queue had records when retention last looked.")
	auditBytes     = desc("audit_size_bytes", "Size of these records, without the store's own overhead.")
	auditOverdue   = desc("audit_overdue_instances", "Instances beyond the limits of retention whose records could not be removed.")
	auditRemnants  = desc("audit_remnants", "Instances whose records retention has ever removed. One small record of each stays.")
	auditRemoved   = desc("audit_instances_removed_total", "Instances whose records retention has removed.")
)

// auditCollector shows what retention has found and done, where there is retention.
type auditCollector struct{ node *node.Node }

// Describe names nothing: without retention there is nothing.
func (c *auditCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *auditCollector) Collect(to chan<- prometheus.Metric) {
	s, looked := c.node.AuditStats()
	if !looked {
		return
	}
	out := metricsOut{to}
	out.gauge(auditInstances, float64(s.Instances))
	out.gauge(auditBytes, float64(s.Bytes))
	out.gauge(auditOverdue, float64(s.Overdue))
	out.gauge(auditRemnants, float64(s.Remnants))
	out.counter(auditRemoved, s.Removed)
}
