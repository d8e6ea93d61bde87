package insuranceclaim

import (
	"testing"

	"fmqm/examples/exampletest"
)

func TestInsuranceClaim(t *testing.T) { exampletest.Run(t, ".") }
