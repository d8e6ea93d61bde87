// Package broker holds tests with four real daemons whose messages go through a real,
// private RabbitMQ with a faulty network before it. What a broker can do to messages is
// done to it while 200 instances run; at the end each is as the interpreter says,
// and nothing is left in any queue (invariants 5, 7 and 8).
package broker
