package tabletest

import "guildhall/pkg/table"

// state is what is stored before a write whose precondition is tried.
type state int

const (
	nothing state = iota // no such row
	stored               // a row whose version the write may name
	renewed              // a row replaced since its first version was read
	removed              // a row created and deleted since
	reborn               // a row created, deleted and created again
	counter              // a counter row
)

// prepare brings the row into the state and returns its first version.
func (s *stage) prepare(k table.Key, st state) (first string) {
	s.Helper()
	switch st {
	case nothing:
		return "no-such-version"
	case counter:
		s.must(add(k, "n", 7))
		return table.CounterVersion
	}
	first = s.must(create(k, "first"))
	switch st {
	case renewed:
		s.must(replace(k, first, "second"))
	case removed:
		s.must(remove(k, first))
	case reborn:
		s.must(remove(k, first))
		s.must(create(k, "second"))
	}
	return first
}

// preconditions tries every kind of write on every state of its row. "first" stands for the
// version the row had first, "" for absent, anything else for itself.
func preconditions() []scene {
	no := table.ErrConflict
	tries := []struct {
		name    string
		before  state
		kind    table.Kind
		version string
		want    error
	}{
		{"create of an absent row", nothing, table.Create, "", nil},
		{"create of a stored row", stored, table.Create, "", no},
		{"create of a counter row", counter, table.Create, "", no},
		{"create of a deleted row", removed, table.Create, "", nil},
		{"replace at the version read", stored, table.Replace, "first", nil},
		{"replace at another version", stored, table.Replace, "other", no},
		{"replace at a version since replaced", renewed, table.Replace, "first", no},
		{"replace of an absent row", nothing, table.Replace, "other", no},
		{"replace of a deleted row", removed, table.Replace, "first", no},
		{"replace of a row born again", reborn, table.Replace, "first", no},
		{"replace of a counter row at another version", counter, table.Replace, "other", no},
		{"delete at the version read", stored, table.Delete, "first", nil},
		{"delete at another version", stored, table.Delete, "other", no},
		{"delete at a version since replaced", renewed, table.Delete, "first", no},
		{"delete of an absent row", nothing, table.Delete, "other", no},
		{"delete of a deleted row", removed, table.Delete, "first", no},
		{"delete of a row born again", reborn, table.Delete, "first", no},
		{"delete of a counter row", counter, table.Delete, "first", nil},
		{"delete of a counter row at another version", counter, table.Delete, "other", no},
		{"check of the version read", stored, table.Check, "first", nil},
		{"check of another version", stored, table.Check, "other", no},
		{"check of a version since replaced", renewed, table.Check, "first", no},
		{"check of a version of an absent row", nothing, table.Check, "other", no},
		{"check of absence of an absent row", nothing, table.Check, "", nil},
		{"check of absence of a deleted row", removed, table.Check, "", nil},
		{"check of absence of a stored row", stored, table.Check, "", no},
		{"check of absence of a counter row", counter, table.Check, "", no},
		{"check of a counter row", counter, table.Check, "first", nil},
		{"add to an absent row", nothing, table.Add, "", nil},
		{"add to a deleted row", removed, table.Add, "", nil},
		{"add to a counter row", counter, table.Add, "", nil},
		{"add to a stored row", stored, table.Add, "", no},
	}
	var out []scene
	for _, c := range tries {
		for _, alone := range []bool{true, false} {
			name := "precondition, alone: " + c.name
			if !alone {
				name = "precondition, among others: " + c.name
			}
			out = append(out, scene{name, func(s *stage) {
				s.precondition(c.before, c.kind, c.version, c.want, alone)
			}})
		}
	}
	return out
}

// precondition prepares a row, tries one write on it, and looks at what is stored after.
func (s *stage) precondition(st state, kind table.Kind, version string, want error, alone bool) {
	k, other := s.key("row", "ROOT"), s.key("other", "ROOT")
	first := s.prepare(k, st)
	if version == "first" {
		version = first
	}
	before := s.get(k)[0]
	w := table.Write{Kind: kind, Key: k, Version: version}
	switch kind {
	case table.Create, table.Replace:
		w.Data = []byte("new")
	case table.Add:
		w.Adds = map[string]int64{"n": 5}
	}
	writes := []table.Write{w}
	if !alone {
		writes = append(writes, create(other, "with it"))
	}
	if want != nil {
		s.refused(want, writes...)
		s.holds(k, before.Version, string(before.Data))
		if before.Counters != nil {
			s.counts(k, "n", before.Counters["n"])
		}
		s.absent(other)
		return
	}
	id := s.must(writes...)
	if !alone {
		s.holds(other, id, "with it")
	}
	switch kind {
	case table.Create, table.Replace:
		s.holds(k, id, "new")
	case table.Delete:
		s.absent(k)
	case table.Check:
		s.holds(k, before.Version, string(before.Data))
	case table.Add:
		s.counts(k, "n", before.Counters["n"]+5)
	}
}

// wholes are commits of which one write fails: nothing of the rest may stay.
func wholes() []scene {
	failing := map[string]func(s *stage) table.Write{
		"create":          func(s *stage) table.Write { return create(s.key("bad", "stored"), "x") },
		"replace":         func(s *stage) table.Write { return replace(s.key("bad", "stored"), "old", "x") },
		"delete":          func(s *stage) table.Write { return remove(s.key("bad", "stored"), "old") },
		"check":           func(s *stage) table.Write { return check(s.key("bad", "stored"), "old") },
		"check of absent": func(s *stage) table.Write { return check(s.key("bad", "stored"), "") },
		"add":             func(s *stage) table.Write { return add(s.key("bad", "stored"), "n", 1) },
	}
	var out []scene
	for _, kind := range []string{"create", "replace", "delete", "check", "check of absent", "add"} {
		for i, place := range []string{"first", "in the middle", "last"} {
			name := "all or nothing: a failing " + kind + " " + place
			out = append(out, scene{name, func(s *stage) { s.whole(failing[kind](s), 2*i) }})
		}
	}
	return append(out,
		scene{"all or nothing: one commit over many partitions", manyPartitions},
		scene{"all or nothing: two failing writes", func(s *stage) {
			s.must(create(s.key("bad", "stored"), "kept"))
			s.refused(table.ErrConflict, create(s.key("bad", "stored"), "x"),
				check(s.key("bad", "missing"), "old"), create(s.key("good", "a"), "x"))
			s.absent(s.key("good", "a"), s.key("bad", "missing"))
		}})
}

// whole puts the failing write among four good ones, in four partitions.
func (s *stage) whole(bad table.Write, at int) {
	stored, fresh := s.key("bad", "stored"), s.key("new", "row")
	kept, gone, sum := s.key("kept", "row"), s.key("gone", "row"), s.key("sum", "row")
	badVersion := s.must(create(stored, "bad"))
	version := s.must(create(kept, "kept"), create(gone, "gone"), add(sum, "n", 3))
	good := []table.Write{create(fresh, "x"), replace(kept, version, "y"), remove(gone, version), add(sum, "n", 1)}
	writes := append(append(append([]table.Write{}, good[:at]...), bad), good[at:]...)
	s.refused(table.ErrConflict, writes...)
	s.absent(fresh)
	s.holds(stored, badVersion, "bad")
	s.holds(kept, version, "kept")
	s.holds(gone, version, "gone")
	s.counts(sum, "n", 3)
	id := s.must(good...)
	s.holds(fresh, id, "x")
	s.holds(kept, id, "y")
	s.absent(gone)
	s.counts(sum, "n", 4)
}

func manyPartitions(s *stage) {
	var writes []table.Write
	var keys []table.Key
	for i := range 60 {
		k := s.key(string(rune('a'+i)), "row")
		keys = append(keys, k)
		writes = append(writes, create(k, "x"))
	}
	id := s.must(writes...)
	for _, k := range keys {
		s.holds(k, id, "x")
	}
}
