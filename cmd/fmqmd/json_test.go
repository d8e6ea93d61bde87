package main

import (
	"testing"

	"fmqm/cmd/internal/cli/clitest"
	"fmqm/cmd/internal/daemon"
	"fmqm/queue/inspect"
)

// The keys of what is printed as JSON are API, so each is on the page.
func TestEveryMemberIsOnThePage(t *testing.T) {
	for row, printed := range map[string]any{
		"`fmqmd check-config` |":            finding{},
		"`fmqmd check-config --connect`":    daemon.Found{},
		"`fmqmd pki init`, `sign`, `issue`": issuedFiles{},
		"`fmqmd pki request` |":             requestedFiles{},
		"`fmqmd pki renew` |":               renewedCertificate{},
		"`fmqmd pki show` |":                shownCertificate{},
		"`fmqmd staff check` |":             finding{},
		"`fmqmd staff list`, `show` |":      shownPerson{},
		"`fmqmd backup`, `fmqmd verify`":    backedUp{},
		"`fmqmd verify` of a store":         inspect.Report{},
	} {
		clitest.Members(t, "../..", row, printed)
	}
}
