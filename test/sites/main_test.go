package sites

import (
	"os"
	"testing"

	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }
