package pay

// Instrument is a card or a bank account by the processor's fingerprint of it, which is the
// same wherever the same card or account is used: to pay, or to be paid out to. It says who
// somebody is. So it is compared, and at most a keyed hash of it is kept: it prints as
// nothing and has no JSON form.
type Instrument struct{ fingerprint string }

// InstrumentOf is what an adapter makes of the processor's fingerprint; "" is unknown.
func InstrumentOf(fingerprint string) Instrument { return Instrument{fingerprint} }

// Known tells whether the processor named the instrument at all. Two unknown ones are equal
// and say nothing.
func (i Instrument) Known() bool { return i.fingerprint != "" }

// Fingerprint is the processor's word, to be hashed under a key.
func (i Instrument) Fingerprint() string { return i.fingerprint }

// String hides it from every log.
func (Instrument) String() string { return "(instrument)" }

// GoString hides it from %#v.
func (Instrument) GoString() string { return "(instrument)" }
