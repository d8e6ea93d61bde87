package plantrollout

import (
	"testing"

	"fmqm/examples/exampletest"
)

func TestPlantRollout(t *testing.T) { exampletest.Run(t, ".") }
