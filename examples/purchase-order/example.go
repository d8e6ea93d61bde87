// Package purchaseorder is the example that the README and the demo show: an order, a
// credit check, stock and shipment, over four sites. README.md says how to run it.
package purchaseorder

import (
	"embed"
	"encoding/json"
	"fmt"
)

// Files are the definition and the programs, as they are in this directory. The files
// of programs/ have to be executable where they are written.
//
//go:embed purchase-order.yaml programs
var Files embed.FS

// Programs are the programs of each site: programs/NAME in Files.
var Programs = map[string][]string{
	"A": {"receive-order", "check-stock"},
	"B": {"check-credit"},
	"C": {"ship"},
	"D": {"reject"},
}

//go:embed testdata/outcomes.json
var outcomes []byte

// Outcome is one of the eight ways that an order can take: its three conditions, each
// TRUE or FALSE.
type Outcome struct {
	Name             string            `json:"name"`
	Conditions       map[string]bool   `json:"conditions"`        // what each would be, also where it is not asked
	Input            json.RawMessage   `json:"input"`             // an Order
	States           map[string]string `json:"states"`            // by activity, at the end
	CreditIterations int               `json:"credit_iterations"` // 0: B was not asked
	// Output is the Parcel without its tracking, which is not empty if ship has run,
	// and made from an idempotency key. If ship has not run, all members are defaults.
	Output json.RawMessage `json:"output"`
}

// Outcomes gives the eight.
func Outcomes() ([]Outcome, error) {
	var all []Outcome
	if err := json.Unmarshal(outcomes, &all); err != nil {
		return nil, fmt.Errorf("outcomes of the example: %w", err)
	}
	return all, nil
}
