package noonreport

import (
	"testing"

	"fmqm/examples/exampletest"
)

func TestNoonReport(t *testing.T) { exampletest.Run(t, ".") }
