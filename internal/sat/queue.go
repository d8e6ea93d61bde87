package sat

// queue gives variables, those with the highest activity first, and of two alike the one
// with the lower number. It is a binary heap that knows where each variable is.
type queue struct {
	activity []float64
	heap     []int32
	place    []int32 // by variable: in heap; -1: not there
}

func newQueue(vars int) queue {
	q := queue{activity: make([]float64, vars), heap: make([]int32, vars), place: make([]int32, vars)}
	for v := range q.heap {
		q.heap[v], q.place[v] = int32(v), int32(v)
	}
	return q
}

func (q *queue) before(a, b int32) bool {
	x, y := q.activity[a], q.activity[b]
	return x > y || x == y && a < b
}

// next takes out variables until one is wanted.
func (q *queue) next(wanted func(int32) bool) (int32, bool) {
	for len(q.heap) > 0 {
		v := q.heap[0]
		last := q.heap[len(q.heap)-1]
		q.heap = q.heap[:len(q.heap)-1]
		q.place[v] = -1
		if last != v {
			q.put(last, 0)
			q.sink(0)
		}
		if wanted(v) {
			return v, true
		}
	}
	return 0, false
}

// add puts a variable back, unless it is there.
func (q *queue) add(v int32) {
	if q.place[v] < 0 {
		q.heap = append(q.heap, v)
		q.put(v, int32(len(q.heap)-1))
		q.rise(q.place[v])
	}
}

// raise makes a variable more active, and gives its activity.
func (q *queue) raise(v int32, by float64) float64 {
	q.activity[v] += by
	if q.place[v] >= 0 {
		q.rise(q.place[v])
	}
	return q.activity[v]
}

// scale multiplies all activities, which leaves their order.
func (q *queue) scale(by float64) {
	for v := range q.activity {
		q.activity[v] *= by
	}
}

func (q *queue) put(v, at int32) { q.heap[at], q.place[v] = v, at }

func (q *queue) rise(at int32) {
	v := q.heap[at]
	for at > 0 {
		parent := (at - 1) / 2
		if !q.before(v, q.heap[parent]) {
			break
		}
		q.put(q.heap[parent], at)
		at = parent
	}
	q.put(v, at)
}

func (q *queue) sink(at int32) {
	v := q.heap[at]
	for {
		child := 2*at + 1
		if int(child) >= len(q.heap) {
			break
		}
		if right := child + 1; int(right) < len(q.heap) && q.before(q.heap[right], q.heap[child]) {
			child = right
		}
		if !q.before(q.heap[child], v) {
			break
		}
		q.put(q.heap[child], at)
		at = child
	}
	q.put(v, at)
}
