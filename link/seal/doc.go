// Package seal makes sessions between two nodes over a broker that everybody may
// write to (invariant 5): what one node seals, the other opens once, and nobody else
// can have written it, or read it. What can be seen is who sends to whom, when and how
// much.
//
// [Session] is one end, for one peer: pure, without I/O, clock or goroutine; chance
// comes from an io.Reader. It is not safe for concurrent use. The shell around it
// sends what [Session.Open] and [Session.Receive] give it, and calls Open again every
// few seconds, since any envelope may be lost.
//
// A session begins with three envelopes, whoever speaks first (both may):
//
//	A → B  hello  A's offer: a nonce and an ephemeral X25519 key
//	B → A  proof  both offers, B's certificates, signature (Ed25519) and MAC
//	A → B  proof  the same of A; says that A has B's
//	B → A  frame  empty: B has A's
//
// The keys belong to the pair of offers, so hellos that cross lead to one session. An
// offer serves one session and its private half is then forgotten: what was recorded
// can never lead to that session again.
//
// Frames are encrypted (AES-256-GCM, with a key for each direction of a session, and the
// number of the frame as nonce). Peers that are too old for that are taken only where the
// configuration says so; which versions a node reads is part of its offer, so that who
// carries the envelopes cannot make two nodes use an older one than both have.
//
// What it guarantees, while no private key of either node is known to others:
//
//   - Every frame that Receive gives was sealed by the peer, for this node, in the
//     session that is ready, and is given once. Frames may be lost and reordered (in a
//     window of 4096), and none of that can be told from an attacker's doing.
//   - Nobody else can read it, also not who recorded it and gets the private key of a
//     certificate later: sessions are encrypted with keys that were made for them and
//     forgotten.
//   - A session is ready once the peer has proved that it has it too. Until a new one
//     is ready, the one before it stays; hellos and proofs, whoever writes or repeats
//     them, do not touch it.
//   - Both ends come to the same session on any network that now and then lets
//     envelopes through, also after a restart of either.
//   - Memory is bounded: one offer, one session that waits for the peer's proof, one
//     that is ready.
//
// Without an [Identity] the sessions are plain: the same envelopes without key
// agreement, encryption, certificates and signature, so that tags are checksums and anybody can
// write them. docs/formats.md has every field, and what an attacker can and cannot do.
package seal
