package wardsample

import (
	"testing"

	"fmqm/examples/exampletest"
)

func TestWardSample(t *testing.T) { exampletest.Run(t, ".") }
