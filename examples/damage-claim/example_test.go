package damageclaim

import (
	"testing"

	"fmqm/examples/exampletest"
)

func TestDamageClaim(t *testing.T) { exampletest.Run(t, ".") }
