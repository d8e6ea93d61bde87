# For scripts that install a server for the tests: install_server SCRIPT PACKAGE [DEBCONF] installs a
# package on Debian and its kin, as root, and starts no service, now or later. DEBCONF is a line that answers
# a question of the package. Where it cannot, it says so and ends the script with 1.

install_server() {
	if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
		echo "$1: $2 is missing, and this is not root on Debian: install $2 yourself" >&2
		exit 1
	fi

	# Debian starts what it installs, unless this file says that nothing may be started.
	policy=/usr/sbin/policy-rc.d
	trap restore_policy EXIT
	trap 'exit 1' HUP INT TERM
	if [ -e "$policy" ]; then
		mv "$policy" "$policy.before-fmqm"
	fi
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"

	export DEBIAN_FRONTEND=noninteractive
	if ! { apt-get -q update && answer "${3-}" && apt-get -qy install --no-install-recommends "$2"; }; then
		echo "$1: apt-get could not install $2" >&2
		exit 1
	fi
	# Nor at the next start of the machine.
	if command -v systemctl >/dev/null; then
		systemctl disable "$2" >/dev/null 2>&1 || true
	fi
}

restore_policy() {
	rm -f "$policy"
	if [ -e "$policy.before-fmqm" ]; then
		mv "$policy.before-fmqm" "$policy"
	fi
}

answer() {
	[ -z "$1" ] || echo "$1" | debconf-set-selections
}
