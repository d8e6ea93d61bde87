package daemon

import (
	"cmp"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sys/unix"

	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/link/amqp"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// metrics is what GET /metrics shows. The engine counts by itself (node.Stats); it is
// read when somebody asks, so that nothing is spent where nobody does.
type metrics struct {
	registry *prometheus.Registry
	commits  prometheus.Histogram
	reloads  *prometheus.CounterVec
	reloaded prometheus.Gauge
}

func newMetrics(version string) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fmqm_commit_duration_seconds", Help: "How long durable writes of the store took.",
			Buckets: []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5},
		}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fmqm_config_reloads_total", Help: "Times that the configuration was reloaded, by whether it took effect.",
		}, []string{"result"}),
		reloaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fmqm_config_last_reload_successful", Help: "1 if the configuration that was read last took effect, else 0.",
		}),
	}
	m.reloaded.Set(1)
	for _, result := range []string{"taken_up", "refused"} {
		m.reloads.WithLabelValues(result)
	}
	version = strings.TrimSpace(strings.TrimSuffix(version, runtime.Version())) // a label of its own
	if version == "" {
		version = "unknown"
	}
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "fmqm_build_info", Help: "Which build this is; the value is always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
	m.registry.MustRegister(m.commits, m.reloads, m.reloaded, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// watch begins to show a node, the directory of its store, and what gives its broker, or
// nil.
func (m *metrics) watch(n *node.Node, dir string, broker func() *amqp.Broker) {
	m.registry.MustRegister(&nodeCollector{node: n, dir: dir, broker: broker})
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 30 * time.Second})
}

func (m *metrics) configured(err error) {
	if err != nil {
		m.reloads.WithLabelValues("refused").Inc()
		m.reloaded.Set(0)
		return
	}
	m.reloads.WithLabelValues("taken_up").Inc()
	m.reloaded.Set(1)
}

// timed is an engine whose durable writes are measured. It embeds the engine itself, not
// the interface: whatever else an engine can do, which the queues ask it for, it can too.
type timed struct {
	*badger.Engine
	commits prometheus.Observer
}

var _ interface {
	store.Engine
	store.Compactor
	store.Doubter
} = (*timed)(nil)

func (t *timed) Commit(version uint64, b *store.Batch) error {
	begun := time.Now()
	err := t.Engine.Commit(version, b)
	t.commits.Observe(time.Since(begun).Seconds())
	return err
}

// What a node and its store show. By process, program and peer, of which there are few;
// never by instance.
var (
	instancesStarted = desc("instances_started_total", "Process instances that were started at this node.", "process")
	instancesEnded   = desc("instances_ended_total", "Process instances started at this node that have ended, by how.", "process", "result")
	terminated       = desc("activities_terminated_total", "Activities that ran and terminated.", "process")
	skipped          = desc("activities_skipped_total", "Activities on a dead path, which never run.", "process")
	passed           = desc("activities_passed_total", "Activities on a dead path whose connectors this node resolved for the nodes that host them.", "process")
	stopped          = desc("activities_stopped_total", "Activities ended because an operator terminated their instance.", "process")
	iterated         = desc("activity_iterations_repeated_total", "Iterations after which the exit condition was FALSE, so that the activity ran once more.", "process")
	failedAttempts   = desc("activity_attempts_failed_total", "Failed attempts after which the program is tried again (retry).", "process")
	inError          = desc("activity_errors_total", "Times that an activity went in error and waited for an operator.", "process")
	retried          = desc("activity_retries_total", "Operators' retries of activities in error.", "process")
	attempts         = desc("activity_attempts_total", "Attempts to run an activity's program, counted when they begin.", "process")
	entries          = desc("activities_in_memory", "Activities that the node has in memory: waiting, ready or running.", "process")
	ready            = desc("activities_ready", "Activities that wait for a free place of their program (concurrency).", "process")
	running          = desc("activities_running", "Activities whose program runs.", "process")
	waiting          = desc("activities_waiting", "Activities in memory that wait: for connectors, a pause or an operator.", "process")
	errorsNow        = desc("activities_in_error", "Activities that are in error and wait for an operator.", "process")
	stored           = desc("queue_messages", "Messages in the process queue.", "process")
	absorbed         = desc("messages_absorbed_total", "Messages that had no effect any more and were dropped: repeats after a store was lost, and messages for an instance that an operator had terminated.", "process")
	parked           = desc("messages_parked", "Messages that wait for the table of their process.", "process")
	programRuns      = desc("program_attempts_total", "Attempts of a program that have ended, by their result.", "program", "result")
	programTime      = desc("program_duration_seconds", "How long attempts of a program took.", "program")
	transactions     = desc("transactions_total", "Transactions that durable writes have carried.")
	mailboxes        = desc("mailbox_activities", "Activities whose new messages wait to be folded.")
	congested        = desc("congested", "1 while links accept nothing because too much waits to be folded, else 0.")
	setAside         = desc("messages_set_aside_total", "Messages that this site refused because of their content.")
	droppedLate      = desc("messages_dropped_late_total", "Messages that were dropped: they came late for a retired process whose table was removed.")
	aside            = desc("messages_aside", "Refused messages that wait for an operator now.")
	workItems        = desc("work_items", "Work items and notices on this node's worklists: offered, or claimed by somebody.", "state")
	spaceLow         = desc("store_space_low", "1 while the store's file system has so little room that the node takes on no work, else 0.")
	storeBytes       = desc("store_size_bytes", "Size of the store's directory on disk.")
	storeFree        = desc("store_free_bytes", "Free space on the store's file system that the daemon can use.")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("fmqm_"+name, help, labels, nil)
}

// nodeCollector asks a node when it is asked.
type nodeCollector struct {
	node   *node.Node
	dir    string
	broker func() *amqp.Broker
}

// Describe names nothing: what is shown depends on processes, programs and peers.
func (c *nodeCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *nodeCollector) Collect(to chan<- prometheus.Metric) {
	s, err := c.node.Stats()
	if err != nil {
		to <- prometheus.NewInvalidMetric(transactions, err)
		return
	}
	out := metricsOut{to}
	out.counter(transactions, s.Queue.Transactions)
	out.gauge(mailboxes, float64(s.Queue.Dirty))
	out.gauge(congested, oneIf(s.Congested))
	out.gauge(spaceLow, oneIf(s.SpaceLow))
	out.gauge(workItems, float64(s.Offered), "offered")
	out.gauge(workItems, float64(s.Claimed), "claimed")
	out.counter(setAside, s.SetAside)
	out.counter(droppedLate, s.Absorbed)
	if s.Counted {
		out.gauge(aside, float64(s.Aside))
	}
	for _, p := range s.Processes {
		out.process(p, s.Counted)
	}
	for _, p := range s.Programs {
		name := string(p.Program)
		out.counter(programRuns, p.Succeeded, name, "succeeded")
		out.counter(programRuns, p.Nonzero, name, "nonzero")
		out.counter(programRuns, p.Failed, name, "failed")
		all := p.Buckets[math.Inf(1)]
		delete(p.Buckets, math.Inf(1))
		to <- prometheus.MustNewConstHistogram(programTime, all, p.Seconds, p.Buckets, name)
	}
	for _, p := range s.Peers {
		out.peer(p, time.Now())
	}
	out.parked(s.Parked)
	if b := c.broker(); b != nil {
		out.broker(b.Status())
	}
	if size, err := diskUse(c.dir); err == nil {
		out.gauge(storeBytes, float64(size))
	}
	var disk unix.Statfs_t
	if unix.Statfs(c.dir, &disk) == nil {
		out.gauge(storeFree, float64(disk.Bavail)*float64(disk.Bsize))
	}
}

// metricsOut writes metrics.
type metricsOut struct{ to chan<- prometheus.Metric }

func (o metricsOut) counter(d *prometheus.Desc, value uint64, labels ...string) {
	o.to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
}

func (o metricsOut) gauge(d *prometheus.Desc, value float64, labels ...string) {
	o.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (o metricsOut) process(p node.ProcessStats, counted bool) {
	name := p.Process.String()
	o.counter(instancesStarted, p.Events[record.EventStarted], name)
	o.counter(instancesEnded, p.Events[record.EventEnded], name, "finished")
	o.counter(instancesEnded, p.Terminated, name, "terminated")
	o.counter(terminated, p.Events[record.EventTerminated], name)
	o.counter(skipped, p.Events[record.EventSkipped], name)
	o.counter(passed, p.Events[record.EventPassed], name)
	o.counter(stopped, p.Events[record.EventStopped], name)
	o.counter(iterated, p.Events[record.EventIterated], name)
	o.counter(failedAttempts, p.Events[record.EventFailed], name)
	o.counter(inError, p.Events[record.EventInError], name)
	o.counter(retried, p.Events[record.EventRetried], name)
	o.counter(attempts, p.Attempts, name)
	o.gauge(entries, float64(p.Entries), name)
	o.gauge(ready, float64(p.Ready), name)
	o.gauge(running, float64(p.Running), name)
	o.gauge(waiting, float64(p.Waiting), name)
	o.counter(absorbed, p.Absorbed, name)
	if p.InError >= 0 {
		o.gauge(errorsNow, float64(p.InError), name)
	}
	if counted {
		o.gauge(stored, float64(p.Stored), name)
	}
}

// maxParked is of how many processes without a table the messages are told by name:
// names of processes that nobody uploaded are what other sites say.
const maxParked = 100

// parked tells of those processes that have the most messages by their names, and of all
// others together.
func (o metricsOut) parked(counts map[processtable.ProcessID]int) {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b processtable.ProcessID) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.String(), b.String()))
	})
	others := 0
	for i, name := range names {
		if i < maxParked {
			o.gauge(parked, float64(counts[name]), name.String())
		} else {
			others += counts[name]
		}
	}
	if others > 0 {
		o.gauge(parked, float64(others), "others")
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// diskUse is what the files below dir take on disk: the engine's logs are sparse, so
// their lengths say nothing. A file that goes meanwhile is no error.
func diskUse(dir string) (int64, error) {
	var size int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				size += s.Blocks * 512
			}
		}
		return nil
	})
	return size, err
}
