// Package ldaptest is, for tests, a private OpenLDAP server: slapd, with its own directory,
// ports of loopback and a socket. It is no service of the machine, and ends with the test.
// scripts/install-slapd.sh installs it on Debian.
//
// What it guarantees: what New returns is prepared and not started; Kill is kill -9; the
// directory outlives Kill and Stop, and Start goes on with it.
package ldaptest
