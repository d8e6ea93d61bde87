#!/bin/sh
# Installs RabbitMQ for the tests, which start private brokers of their own: on Debian and
# its kin, as root. No service is started, now or later. Where it cannot, it says so and
# ends with 1: the tests that want a broker are then skipped.
set -eu

find_server() {
	for f in /usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server; do
		[ -x "$f" ] && return 0
	done
	command -v rabbitmq-server >/dev/null
}

if find_server; then
	exit 0
fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	echo 'install-rabbitmq: RabbitMQ is missing, and this is not root on Debian: install rabbitmq-server yourself' >&2
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

export DEBIAN_FRONTEND=noninteractive
if ! { apt-get -q update && apt-get -qy install --no-install-recommends rabbitmq-server; }; then
	echo 'install-rabbitmq: apt-get could not install rabbitmq-server' >&2
	exit 1
fi
# Nor at the next start of the machine.
if command -v systemctl >/dev/null; then
	systemctl disable rabbitmq-server >/dev/null 2>&1 || true
fi
find_server
