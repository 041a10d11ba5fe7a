package op

// once keeps what a request did that cannot be done again.
type once struct {
	done map[string]onceResult
}

type onceResult struct {
	value any
	err   error
}

// Once runs fn at most once per request, however often the operation decides, and answers
// its result each time, an error too. It is for what cannot be done again and is no
// decision: reading the body's stream into the blob store. An operation that reads its
// stream in Once can lose a race and decide again.
func (c *Call) Once(name string, fn func() (any, error)) (any, error) {
	if c.once == nil {
		c.once = &once{}
	}
	if r, ok := c.once.done[name]; ok {
		return r.value, r.err
	}
	v, err := fn()
	if c.once.done == nil {
		c.once.done = map[string]onceResult{}
	}
	c.once.done[name] = onceResult{v, err}
	return v, err
}

// used tells whether anything was done.
func (o *once) used() bool { return len(o.done) > 0 }
