package samplerun

import (
	"testing"

	"fmqm/examples/exampletest"
)

func TestSampleRun(t *testing.T) { exampletest.Run(t, ".") }
