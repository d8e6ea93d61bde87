#!/bin/sh
# Installs OpenLDAP's slapd for the tests, which start private servers of their own: on Debian
# and its kin, as root. No service is started, now or later, and no directory of its own is made.
# Where it cannot, it says so and ends with 1: the tests that want a directory are then skipped.
set -eu
. "${0%/*}/debian.sh"

find_server() { [ -x /usr/sbin/slapd ] || command -v slapd >/dev/null; }

find_server || install_server install-slapd slapd 'slapd slapd/no_configuration boolean true'
find_server
