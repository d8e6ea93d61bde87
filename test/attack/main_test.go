package attack

import (
	"os"
	"testing"

	"fmqm/internal/rabbittest"
	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(rabbittest.Main(m))) }
