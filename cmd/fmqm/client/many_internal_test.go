package client

import (
	"testing"

	"fmqm/cmd/internal/cli/clitest"
)

// The keys of what is printed as JSON are API, so each is on the page.
func TestEveryMemberOfADeedIsOnThePage(t *testing.T) {
	clitest.Members(t, "../../..", "`retry`, `finish`, `skip`, `restart`, `terminate`, `suspend`, `resume` and `expedite` of many", deed{})
}
