package shiprepair

import (
	"testing"

	"fmqm/examples/exampletest"
)

func TestShipRepair(t *testing.T) { exampletest.Run(t, ".") }
