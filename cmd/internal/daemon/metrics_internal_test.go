package daemon

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"fmqm/processtable"
)

// Processes that nobody uploaded have the names that other sites say: of those with the
// most messages each is told, and all others together, so that their number is bounded.
func TestParkedMessagesOfManyProcesses(t *testing.T) {
	counts := map[processtable.ProcessID]int{}
	for i := range 1000 {
		counts[processtable.ProcessID{Name: fmt.Sprintf("p%d", i), Version: 1}] = i + 1
	}
	metrics := make(chan prometheus.Metric, 1000)
	metricsOut{metrics}.parked(counts)
	close(metrics)
	told := map[string]float64{}
	for m := range metrics {
		var d dto.Metric
		if err := m.Write(&d); err != nil {
			t.Fatal(err)
		}
		told[d.GetLabel()[0].GetValue()] = d.GetGauge().GetValue()
	}
	if len(told) != maxParked+1 || told["p999@1"] != 1000 || told["p900@1"] != 901 || told["others"] != 900*901/2 {
		t.Errorf("%d are told: %v", len(told), told)
	}
}
