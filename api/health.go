package api

import (
	"context"
	"net/http"
	"time"
)

// HealthState says how a node, or a part of it, is; the words are API.
type HealthState string

const (
	HealthOK       HealthState = "ok"
	HealthDegraded HealthState = "degraded" // it works; somebody should look
	HealthFailed   HealthState = "failed"
)

// Health is what GET /livez and GET /readyz answer. State is the worst of the checks.
type Health struct {
	State  HealthState   `json:"state"`
	Checks []HealthCheck `json:"checks"`
}

// HealthCheck is one part that was looked at.
type HealthCheck struct {
	Name   string      `json:"name"`
	State  HealthState `json:"state"`
	Reason string      `json:"reason,omitempty"`
}

// Add adds a check, and makes the whole no better than it.
func (h *Health) Add(name string, state HealthState, reason string) {
	h.Checks = append(h.Checks, HealthCheck{Name: name, State: state, Reason: reason})
	if state == HealthFailed || state == HealthDegraded && h.State != HealthFailed {
		h.State = state
	}
}

// Healthy is what can be asked for its health. Both return when ctx ends.
type Healthy interface {
	// Live reports whether it does its work; if it does not, it should be restarted.
	Live(ctx context.Context) Health
	// Ready is Live and what else should be known.
	Ready(ctx context.Context) Health
}

// HealthTimeout is how long a part has to answer before it counts as failed.
const HealthTimeout = 5 * time.Second

// HealthHandler serves GET /livez and GET /readyz: 200 if it is ok or degraded, 503 if
// it has failed; in each case with the checks as JSON.
func HealthHandler(of Healthy) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", healthOf(of.Live))
	mux.Handle("GET /readyz", healthOf(of.Ready))
	return mux
}

func healthOf(look func(context.Context) Health) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), HealthTimeout)
		defer cancel()
		h := look(ctx)
		h.Checks = orEmpty(h.Checks)
		status := http.StatusOK
		if h.State == HealthFailed {
			status = http.StatusServiceUnavailable
		}
		w.Header().Set("Cache-Control", "no-store")
		writeJSON(w, status, h)
	}
}
