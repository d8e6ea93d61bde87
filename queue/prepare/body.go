package prepare

import (
	"slices"

	"fmqm/internal/store/change"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// stageBody adds body's chunks to what is written before the transaction, and a record
// that says that nothing names them yet. It gives the index in staged.
func (b *builder) stageBody(body []byte) int {
	ref := record.BodyRef{ID: b.p.Bodies.Add(1), Size: len(body), Count: (len(body) + record.ChunkSize - 1) / record.ChunkSize}
	key := record.AppendStagedKey(nil, ref.ID)
	b.Stage = append(b.Stage, change.Op{Key: key, Value: record.New(key, record.StagedContent(false, ref, nil)...)})
	index := 0
	for part := range slices.Chunk(body, record.ChunkSize) {
		key := record.AppendChunkKey(nil, ref.ID, index)
		b.Stage = append(b.Stage, change.Op{Key: key, Value: record.New(key, part...)})
		index++
	}
	b.Staged = append(b.Staged, commit.Staged{Ref: ref, Op: -1, Owner: -1})
	return len(b.Staged) - 1
}

// name adds the record that says which record names the body, so that it is found
// when that record goes. Where staged is -1 there is none.
func (b *builder) name(staged, owner int) {
	if staged < 0 {
		return
	}
	s := &b.Staged[staged]
	key := record.AppendStagedKey(nil, s.Ref.ID)
	s.Owner, s.Kept = owner, true
	s.Op = b.op(key, record.New(key, record.StagedContent(true, s.Ref, b.Ops[owner].Key)...))
}

// dropReplaced drops the staged body of a record that a later one of this very
// transaction replaces.
func (b *builder) dropReplaced() {
	if len(b.Staged) == 0 {
		return
	}
	last := make(map[string]int, len(b.Replaces))
	for _, op := range b.Replaces {
		last[string(b.Ops[op].Key)] = op
	}
	for i := range b.Staged {
		s := &b.Staged[i]
		if !s.Kept {
			continue
		}
		if op, replaceable := last[string(b.Ops[s.Owner].Key)]; replaceable && op != s.Owner {
			s.Kept = false
			b.Ops = record.RemoveStaged(b.Ops, s.Ref)
		}
	}
}

// large adds a record of head and body, which is staged if it has to be.
func (b *builder) large(key, head, body []byte) (op int) {
	if len(body) <= b.inline {
		return b.sealed(key, record.End(append(append(head, record.PlaceInline), body...)))
	}
	staged := b.stageBody(body)
	op = b.sealed(key, record.End(record.AppendRef(append(head, record.PlaceStaged), b.Staged[staged].Ref)))
	b.name(staged, op)
	return op
}
