#!/bin/sh
# Installs RabbitMQ for the tests, which start private brokers of their own: on Debian and
# its kin, as root. No service is started, now or later. Where it cannot, it says so and
# ends with 1: the tests that want a broker are then skipped.
set -eu
. "${0%/*}/debian.sh"

find_server() {
	for f in /usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server; do
		[ -x "$f" ] && return 0
	done
	command -v rabbitmq-server >/dev/null
}

find_server || install_server install-rabbitmq rabbitmq-server
find_server
