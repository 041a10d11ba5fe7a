package lambdalocal

import (
	"fmt"
	"maps"
	"slices"
)

func (r *Runner) register(i *instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.instances[i.id] = i
}

func (r *Runner) forget(i *instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.instances, i.id)
}

func (r *Runner) instance(id string) *instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.instances[id]
}

func (r *Runner) killAll() {
	r.mu.Lock()
	all := slices.Collect(maps.Values(r.instances))
	r.mu.Unlock()
	for _, i := range all {
		i.kill()
	}
	for _, i := range all {
		<-i.ended
	}
}

func (r *Runner) used(function string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.invoked[function]++
}

// Invoked lists the functions invoked so far.
func (r *Runner) Invoked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.invoked))
}

// Idle lists the functions of the template that were never invoked.
func (r *Runner) Idle() (out []string) {
	used := r.Invoked()
	for _, name := range slices.Sorted(maps.Keys(r.deployment.Functions)) {
		if !slices.Contains(used, name) {
			out = append(out, name)
		}
	}
	return out
}

// Denied lists what functions did that their roles do not allow.
func (r *Runner) Denied() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.denied)
}

// line passes on what a function wrote.
func (r *Runner) line(function string, text []byte) {
	if r.options.Functions == nil {
		return
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	_, _ = fmt.Fprintf(r.options.Functions, "%s %s\n", function, text)
}
