// Package tls holds tests with real daemons that talk over TLS, with certificates that
// `fmqmd pki` made.
package tls
