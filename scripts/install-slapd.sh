#!/bin/sh
# Installs OpenLDAP's slapd for the tests, which start private servers of their own: on Debian
# and its kin, as root. No service is started, now or later. Where it cannot, it says so and
# ends with 1: the tests that want a directory are then skipped.
set -eu

find_server() { [ -x /usr/sbin/slapd ] || command -v slapd >/dev/null; }

if find_server; then
	exit 0
fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	echo 'install-slapd: slapd is missing, and this is not root on Debian: install slapd yourself' >&2
	exit 1
fi

# Debian starts what it installs, unless this file says that nothing may be started.
policy=/usr/sbin/policy-rc.d
restore() {
	rm -f "$policy"
	if [ -e "$policy.before-fmqm" ]; then
		mv "$policy.before-fmqm" "$policy"
	fi
}
trap restore EXIT
trap 'exit 1' HUP INT TERM
if [ -e "$policy" ]; then
	mv "$policy" "$policy.before-fmqm"
fi
printf '#!/bin/sh\nexit 101\n' >"$policy"
chmod 755 "$policy"

# Nor is a directory of its own made: the package is told that somebody else does so.
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get -q update && echo 'slapd slapd/no_configuration boolean true' | debconf-set-selections && apt-get -qy install --no-install-recommends slapd; }; then
	echo 'install-slapd: apt-get could not install slapd' >&2
	exit 1
fi
# Nor at the next start of the machine.
if command -v systemctl >/dev/null; then
	systemctl disable slapd >/dev/null 2>&1 || true
fi
find_server
