package spec

import (
	"cmp"
	"slices"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// Codes tells the kinds under which an operation answers a code.
type Codes func(o *op.Operation, code string) []fault.Kind

// common are the refusals of the operations layer that an operation can answer besides
// those it declares, by the code's fault.
func common(o *op.Operation) []*fault.Fault {
	all := []*fault.Fault{fault.BodyTooLarge, fault.BusyNow, fault.Unavailable, fault.Wrap(nil)}
	if o.Body() != nil && o.Auth != op.Webhook { // an empty body is fine for many, a broken one for none
		all = append(all, fault.BadMediaType, fault.BadJSON)
		if !o.LooseBody {
			all = append(all, worded(o, "unknown"))
		}
	}
	if hasBody(o) {
		all = append(all, worded(o, "type"), worded(o, "missing"))
	} else if len(o.Params()) > 0 {
		all = append(all, worded(o, "type"))
	}
	if o.Dialect().StrictQuery && !hasBody(o) {
		all = append(all, worded(o, "unknown"))
	}
	if o.MaxQuery > 0 {
		all = append(all, fault.QueryTooLong)
	}
	switch o.Auth {
	case op.Public, op.Webhook:
	case op.Steward, op.Admin:
		all = append(all, fault.NoCredential, fault.BareNotFound)
	default:
		all = append(all, fault.NoCredential)
		if !o.Reads() && !o.Restricted {
			all = append(all, o.RestrictedFault())
		}
	}
	if sealed(o) {
		all = append(all, fault.BareNotFound)
	}
	switch o.Idempotent {
	case op.KeyRequired, op.KeyOptional:
		all = append(all, fault.KeyRequired, fault.KeyConflict)
	}
	if o.Limit != nil {
		all = append(all, fault.TooManyCalls)
	}
	return all
}

// sealed tells whether an operation names a row of its caller's own in its path: another's
// answers like one that does not exist (bench.md 2.6).
func sealed(o *op.Operation) bool {
	return (o.Auth == op.Maker || o.Auth == op.Person) && len(op.PathNames(o.Path)) > 0
}

// worded is what an operation's context answers to a field problem.
func worded(o *op.Operation, keyword string) *fault.Fault {
	return fault.From(o.Word(&op.Problem{Field: "field", Name: "field", Keyword: keyword}))
}

// hasBody tells whether an operation reads a JSON body with anything in it.
func hasBody(o *op.Operation) bool {
	s := o.Body()
	return s != nil && o.Auth != op.Webhook && (s.Raw != nil || s.Type == "" || len(s.Properties) > 0)
}

// Refusals lists the codes of an operation by status, sorted. A declared code whose kind
// is not known stands under status 0.
func Refusals(o *op.Operation, codes Codes) map[int][]string {
	all := map[int][]string{}
	add := func(k fault.Kind, code string) {
		if s := k.Status(); !slices.Contains(all[s], code) {
			all[s] = append(all[s], code)
		}
	}
	for _, f := range common(o) {
		add(f.Kind, f.Code)
	}
	for _, code := range o.Faults {
		kinds := codes(o, code)
		for _, k := range kinds {
			add(k, code)
		}
		if len(kinds) == 0 && !slices.ContainsFunc(common(o), func(f *fault.Fault) bool { return f.Code == code }) {
			all[0] = append(all[0], code)
		}
	}
	for _, list := range all {
		slices.Sort(list)
	}
	return all
}

// Code is one line of docs/FAULTS.md: a code, a status and who answers it.
type Code struct {
	Code       string
	Status     int
	Operations []string
	Everywhere bool // every operation of its shape answers it
}

// List collects the codes of all operations.
func List(ops []*op.Operation, codes Codes) []Code {
	type key struct {
		code   string
		status int
	}
	by := map[key]*Code{}
	for _, o := range op.Sort(ops) {
		for status, list := range Refusals(o, codes) {
			for _, c := range list {
				k := key{c, status}
				if by[k] == nil {
					by[k] = &Code{Code: c, Status: status}
				}
				by[k].Operations = append(by[k].Operations, o.ID)
				by[k].Everywhere = by[k].Everywhere || slices.ContainsFunc(common(o), func(f *fault.Fault) bool { return f.Code == c })
			}
		}
	}
	var all []Code
	for _, c := range by {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Code) int { return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Status, b.Status)) })
	return all
}
