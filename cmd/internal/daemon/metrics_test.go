package daemon_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"fmqm/api"
	"fmqm/api/apitest"
)

// get asks a site, over its port or its socket.
func (n *network) get(site, path string, socket bool, header ...string) (int, string) {
	n.t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	if socket {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(n.dir, site+".sock"))
		}
	}
	r, err := http.NewRequestWithContext(n.t.Context(), "GET", "http://"+n.daemons[site].Address()+path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// value finds the sample of a metric that has the labels, given as name=value.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) (float64, bool) {
	for _, m := range families[name].GetMetric() {
		have := map[string]bool{}
		for _, l := range m.GetLabel() {
			have[l.GetName()+"="+l.GetValue()] = true
		}
		all := true
		for _, l := range labels {
			all = all && have[l]
		}
		if !all {
			continue
		}
		switch {
		case m.Counter != nil:
			return m.Counter.GetValue(), true
		case m.Gauge != nil:
			return m.Gauge.GetValue(), true
		case m.Histogram != nil:
			return float64(m.Histogram.GetSampleCount()), true
		}
	}
	return 0, false
}

// GET /metrics gives, on the port and on the socket, what has happened, under names
// that follow the conventions, by process, program and peer, and never by instance.
func TestMetrics(t *testing.T) {
	n := newNetwork(t)
	password := filepath.Join(n.dir, "password")
	if err := os.WriteFile(password, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.broker = fmt.Sprintf("  amqp: {url: 'amqp://u@%s/v', password: %s}\n", n.listens["D"], password)
	n.start("A") // and no other: no peer will ever be heard, and no broker
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	a := n.daemons["A"].Node
	text := "process: p\nversion: 1\nactivities:\n  here: {node: A, program: ship}\n  there: {node: B, program: ship}\ncontrol: [here -> there]\n"
	if _, err := a.Upload(ctx, apitest.Upload(t, text)); err != nil {
		t.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7())
	if _, err := a.Start(ctx, api.StartRequest{Instance: id, Process: "p"}); err != nil {
		t.Fatal(err)
	}
	watching, enough := context.WithCancel(ctx)
	_ = a.Watch(watching, id, func(e api.HistoryEvent) error {
		if e.Activity == "here" && e.Event == api.EventTerminated {
			enough()
		}
		return nil
	})
	enough()

	for counted := false; !counted; { // what lay in the store at open, which was nothing
		_, body := n.get("A", "/metrics", true)
		counted = strings.Contains(body, "\nfmqm_queue_messages{") || ctx.Err() != nil
	}
	for _, socket := range []bool{false, true} {
		status, body := n.get("A", "/metrics", socket)
		if status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		problems, err := promlint.New(strings.NewReader(body)).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			if strings.HasPrefix(p.Metric, "fmqm_") {
				t.Errorf("%s: %s", p.Metric, p.Text)
			}
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct {
			name   string
			labels []string
			least  float64
			most   float64
		}{
			{"fmqm_instances_started_total", []string{"process=p@1"}, 1, 1},
			{"fmqm_instances_ended_total", []string{"process=p@1", "result=finished"}, 0, 0},
			{"fmqm_instances_ended_total", []string{"process=p@1", "result=terminated"}, 0, 0},
			{"fmqm_activities_terminated_total", []string{"process=p@1"}, 1, 1},
			{"fmqm_activity_attempts_total", []string{"process=p@1"}, 1, 1},
			{"fmqm_activity_errors_total", []string{"process=p@1"}, 0, 0},
			{"fmqm_program_attempts_total", []string{"program=ship", "result=succeeded"}, 1, 1},
			{"fmqm_program_duration_seconds", []string{"program=ship"}, 1, 1},
			{"fmqm_link_connected", []string{"peer=B"}, 0, 0},
			{"fmqm_link_state", []string{"peer=B", "state=connecting"}, 1, 1},
			{"fmqm_transmission_queue_messages", []string{"peer=B"}, 2, 2}, // its table, and here -> there
			{"fmqm_transmission_queue_bytes", []string{"peer=B"}, 100, 1e5},
			{"fmqm_transmission_queue_oldest_age_seconds", []string{"peer=B"}, 0.000001, 60},
			{"fmqm_transmission_queue_messages", []string{"peer=C"}, 0, 0},
			{"fmqm_transmission_queue_oldest_age_seconds", []string{"peer=C"}, 0, 0},
			{"fmqm_transmission_queue_full", []string{"peer=B"}, 0, 0},
			{"fmqm_link_connections_total", []string{"peer=B"}, 0, 0},
			{"fmqm_link_repeats_dropped_total", []string{"peer=B"}, 0, 0},
			{"fmqm_queue_messages", []string{"process=p@1"}, 1, 1}, // the record of the instance
			{"fmqm_activities_in_error", []string{"process=p@1"}, 0, 0},
			{"fmqm_activities_waiting", []string{"process=p@1"}, 0, 1},
			{"fmqm_activities_passed_total", []string{"process=p@1"}, 0, 0},
			{"fmqm_messages_absorbed_total", []string{"process=p@1"}, 0, 0},
			{"fmqm_messages_aside", nil, 0, 0},
			{"fmqm_broker_state", []string{"state=connecting"}, 1, 1},
			{"fmqm_broker_state", []string{"state=blocked"}, 0, 0},
			{"fmqm_broker_published_total", nil, 0, 0},
			{"fmqm_work_items", []string{"state=offered"}, 0, 0},
			{"fmqm_work_items", []string{"state=claimed"}, 0, 0},
			{"fmqm_store_space_low", nil, 0, 0},
			{"fmqm_commit_duration_seconds", nil, 2, 100},
			{"fmqm_transactions_total", nil, 2, 100},
			{"fmqm_store_size_bytes", nil, 1, 1 << 30},
			{"fmqm_store_free_bytes", nil, 1, 1e18},
			{"fmqm_congested", nil, 0, 0},
			{"fmqm_config_last_reload_successful", nil, 1, 1},
			{"fmqm_build_info", []string{"version=a test's"}, 1, 1},
			{"go_goroutines", nil, 1, 1e5},
			{"process_resident_memory_bytes", nil, 1, 1e12},
		} {
			got, found := value(families, want.name, want.labels...)
			if !found || got < want.least || got > want.most {
				t.Errorf("%s%v is %g (found: %t), want %g to %g", want.name, want.labels, got, found, want.least, want.most)
			}
		}
		documented(t, families)
		if strings.Contains(body, id.String()) {
			t.Error("an instance is in the metrics: their number must not grow with instances")
		}
	}
}

// Health is to be had on both listeners, and not by a web page.
func TestHealthEndpoints(t *testing.T) {
	n := newNetwork(t)
	n.start("A")
	for _, socket := range []bool{false, true} {
		if status, body := n.get("A", "/livez", socket); status != 200 || !strings.Contains(body, `{"name":"committer","state":"ok"}`) {
			t.Errorf("%d %s", status, body)
		}
		if status, body := n.get("A", "/readyz", socket); status != 200 || !strings.Contains(body, `"state":"degraded"`) || !strings.Contains(body, `"link B"`) {
			t.Errorf("%d %s", status, body)
		}
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		if status, body := n.get("A", path, false, "Origin", "https://evil.example"); status != 403 {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if status, body := n.get("A", path, false, "Host", "evil.example"); path == "/metrics" && status != 403 {
			t.Errorf("%s as part of another page: %d %s", path, status, body)
		}
	}
}

// documented compares what is shown with the page about it, both ways.
func documented(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(fmqm_[a-z_]+)` \\| ([a-z]+)").FindAllStringSubmatch(string(page), -1) {
		rows[row[1]] = row[2]
	}
	for name, f := range families {
		if kind := strings.ToLower(f.GetType().String()); strings.HasPrefix(name, "fmqm_") && rows[name] != kind {
			t.Errorf("docs/monitoring.md says %q of %s, which is a %s", rows[name], name, kind)
		}
	}
	// Nobody was heard, nothing is parked, and there is no identity (TestWhoMayAskOverTLS has one),
	// nor a directory (TestADirectoryThatComesAndGoes of fmqmd has one).
	sometimes := []string{"fmqm_link_last_heard_timestamp_seconds", "fmqm_messages_parked", "fmqm_certificate_expiry_timestamp_seconds", "fmqm_certificate_renewal_due", "fmqm_staff_directory_answers", "fmqm_staff_directory_last_answer_timestamp_seconds"}
	for name := range rows {
		if families[name] == nil && !slices.Contains(sometimes, name) && !strings.HasPrefix(name, "fmqm_audit_") { // TestRetentionOverALink has these
			t.Errorf("docs/monitoring.md has %s, which is not shown", name)
		}
	}
	for _, used := range regexp.MustCompile("fmqm_[a-z_]+").FindAllString(string(page), -1) {
		if _, known := rows[strings.TrimSuffix(used, "_bucket")]; !known {
			t.Errorf("docs/monitoring.md uses %s, which is not in its table", used)
		}
	}
}
