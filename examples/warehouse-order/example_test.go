package warehouseorder

import (
	"testing"

	"fmqm/examples/exampletest"
)

func TestWarehouseOrder(t *testing.T) { exampletest.Run(t, ".") }
