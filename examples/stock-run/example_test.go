package stockrun

import (
	"testing"

	"fmqm/examples/exampletest"
)

func TestStockRun(t *testing.T) { exampletest.Run(t, ".") }
