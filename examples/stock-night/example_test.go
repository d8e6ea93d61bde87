package stocknight

import (
	"testing"

	"fmqm/examples/exampletest"
)

func TestStockNight(t *testing.T) { exampletest.Run(t, ".") }
