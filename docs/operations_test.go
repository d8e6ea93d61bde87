package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every state that users are shown is on the page.
func TestEveryStateIsExplained(t *testing.T) {
	text, err := os.ReadFile("operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for file, ends := range map[string][2]string{
		"api/types.go":  {"InstanceRunning", "ActivityUnknown"},
		"link/types.go": {"StateConnected", "StateUnconfigured"},
	} {
		for _, state := range constants(t, file, ends[0], ends[1]) {
			if !strings.Contains(string(text), "\n| `"+strings.Trim(state, `"`)+"` |") {
				t.Errorf("operations.md does not explain the state %s of %s", state, file)
			}
		}
	}
}

// What the page quotes of refusals is what the code says.
func TestQuotedReasons(t *testing.T) {
	text, err := os.ReadFile("operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for quoted, file := range map[string]string{
		"site X has another store than the one known here":              "link/core/reason.go",
		"site X knows this site by another store":                       "link/core/reason.go",
		"disagree about the messages up to":                             "link/core/reason.go",
		"two daemons run under the name":                                "link/core/reason.go",
		"the address that is configured for site X is answered by site": "link/core/reason.go",
		"no peer X is configured here":                                  "link/acceptor.go",
		"reads frame formats":                                           "link/core/reason.go",
		"overran its timeout":                                           "program/program.go",
		"killed by ":                                                    "program/exec.go",
		"cannot be started: ":                                           "program/exec.go",
		"the output is not a container of type":                         "program/output.go",
		"is not registered at":                                          "node/execute/activity.go",
		"still FALSE after":                                             "navigator/snapshot.go",
		"the store is damaged":                                          "internal/store/badger/inspect.go",
		"too little free disk space":                                    "internal/store/store.go",
		"was signed by another authority":                               "identity/verify.go",
		"expired on":                                                    "identity/verify.go",
		"set the clock that is wrong":                                   "identity/verify.go",
		"was revoked":                                                   "identity/verify.go",
		"is no longer accepted":                                         "link/https/conn.go",
		"is that of the broker, and a broker is not a site":             "identity/identity.go",
		"the certificate names":                                         "identity/identity.go",
		"links are for sites":                                           "identity/identity.go",
		"requests are for operators":                                    "identity/identity.go",
		"does not speak TLS":                                            "identity/identity.go",
		"no certificate was shown":                                      "identity/verify.go",
		"and its certificate names site":                                "cmd/internal/daemon/identity.go",
		"the peer has an identity and speaks TLS only":                  "link/https/dial.go",
		"who could not read what root writes":                           "cmd/fmqmd/owner.go",
		"another process has it open":                                   "internal/store/badger/side.go",
		"another daemon answers":                                        "api/socket.go",
		"the last stop was unclean":                                     "cmd/internal/daemon/programs.go",
		"configuration not taken up":                                    "cmd/fmqmd/run.go",
		"the transmission queue is at its quota":                        "node/pressure.go",
		"room on the disk is low":                                       "node/pressure.go",
		"was refused: ":                                                 "navigator/snapshot.go",
		"input container of ":                                           "navigator/state.go",
		"may have brought this machine down":                            "program/ledger.go",
	} {
		code, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), quoted) {
			t.Errorf("operations.md does not quote %q", quoted)
		}
		if !strings.Contains(string(code), strings.ReplaceAll(strings.TrimSpace(quoted), " X ", " %s ")) {
			t.Errorf("%s does not say %q, which operations.md quotes", file, quoted)
		}
	}
}

// What a daemon logs as a warning or an error is in the table of the log: its message, up
// to where it goes into details.
func TestEveryWarningIsInTheTable(t *testing.T) {
	page, err := os.ReadFile("operations.md")
	if err != nil {
		t.Fatal(err)
	}
	message := regexp.MustCompile(`\bMsg\("([^":;,]*)`)
	for _, room := range []string{"cmd", "link", "node"} {
		err := filepath.WalkDir("../"+room, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			for line := range strings.Lines(string(code)) {
				if strings.Contains(line, ".Info()") || strings.Contains(line, ".Debug()") {
					continue
				}
				if m := message.FindStringSubmatch(line); m != nil && !strings.Contains(string(page), "`"+m[1]) {
					t.Errorf("operations.md does not explain %q of %s", m[1], path)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
