// Package rabbittest runs a private RabbitMQ for tests and measurements: its own node
// name, ports, Erlang port mapper, cookie and directories, on 127.0.0.1 only. It never
// touches the system's broker.
//
// [Start] gives a test a broker of its own, [Shared] one that all tests of a binary
// share (in virtual hosts of their own); [New] is for programs that are not tests.
// Everything that was started dies with the process that started it, also when that
// is killed.
//
// A broker can be stopped, killed, frozen, wiped and restarted on the same port, and
// its insides changed with [Broker.Eval] and what is built on it: purge and delete
// queues, raise alarms, set policies, close connections. Those take milliseconds.
//
// Where RabbitMQ is not installed tests are skipped, loudly; in CI that fails.
// scripts/install-rabbitmq.sh installs it on Debian.
package rabbittest
