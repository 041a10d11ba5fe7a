package stub

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// expressions are the parts of a request that give expressions their meaning.
type expressions struct {
	ConditionExpression       string
	KeyConditionExpression    string
	UpdateExpression          string
	ProjectionExpression      string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]value
}

// test is a parsed condition.
type test func(item) bool

// parser reads the part of DynamoDB's expression language the adapter uses: AND, OR, NOT,
// parentheses, comparisons, BETWEEN, attribute_exists, attribute_not_exists, and in updates
// SET with if_not_exists and +.
type parser struct {
	expressions
	tokens []string
	err    error
}

func (e expressions) parser(text string) *parser {
	for _, mark := range []string{"(", ")", ",", "<=", ">=", "<>"} {
		text = strings.ReplaceAll(text, mark, " "+mark+" ")
	}
	return &parser{expressions: e, tokens: strings.Fields(text)}
}

// condition parses text; no text is always true.
func (e expressions) condition(text string) (test, *refusal) {
	if text == "" {
		return func(item) bool { return true }, nil
	}
	p := e.parser(text)
	t := p.or()
	if p.err == nil && len(p.tokens) > 0 {
		p.fail("unexpected %q", p.tokens[0])
	}
	if p.err != nil {
		return nil, invalid("Invalid expression: %v in %q", p.err, text)
	}
	return t, nil
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
	p.tokens = nil
}

func (p *parser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *parser) next() string {
	t := p.peek()
	if t == "" {
		p.fail("unexpected end")
		return ""
	}
	p.tokens = p.tokens[1:]
	return t
}

func (p *parser) accept(token string) bool {
	if strings.EqualFold(p.peek(), token) {
		p.tokens = p.tokens[1:]
		return true
	}
	return false
}

func (p *parser) expect(token string) {
	if !p.accept(token) {
		p.fail("expected %q, found %q", token, p.peek())
	}
}

func (p *parser) or() test {
	t := p.and()
	for p.accept("OR") {
		a, b := t, p.and()
		t = func(i item) bool { return a(i) || b(i) }
	}
	return t
}

func (p *parser) and() test {
	t := p.not()
	for p.accept("AND") {
		a, b := t, p.not()
		t = func(i item) bool { return a(i) && b(i) }
	}
	return t
}

func (p *parser) not() test {
	if p.accept("NOT") {
		t := p.not()
		return func(i item) bool { return !t(i) }
	}
	if p.accept("(") {
		t := p.or()
		p.expect(")")
		return t
	}
	switch {
	case p.accept("attribute_exists"):
		name := p.argument()
		return func(i item) bool { return i[name] != nil }
	case p.accept("attribute_not_exists"):
		name := p.argument()
		return func(i item) bool { return i[name] == nil }
	}
	return p.comparison()
}

func (p *parser) argument() string {
	p.expect("(")
	name := p.name()
	p.expect(")")
	return name
}

func (p *parser) comparison() test {
	left := p.operand()
	op := p.next()
	right := p.operand()
	if strings.EqualFold(op, "BETWEEN") {
		p.expect("AND")
		high := p.operand()
		if c, ok := compare(right(nil), high(nil)); ok && c > 0 {
			p.fail("the BETWEEN operator requires upper bound to be greater than or equal to lower bound")
		}
		return func(i item) bool {
			lo, okLo := compare(left(i), right(i))
			hi, okHi := compare(left(i), high(i))
			return okLo && okHi && lo >= 0 && hi <= 0
		}
	}
	holds, known := map[string]func(int) bool{
		"=": func(c int) bool { return c == 0 }, "<>": func(c int) bool { return c != 0 },
		"<": func(c int) bool { return c < 0 }, "<=": func(c int) bool { return c <= 0 },
		">": func(c int) bool { return c > 0 }, ">=": func(c int) bool { return c >= 0 },
	}[op]
	if !known {
		p.fail("unknown operator %q", op)
	}
	return func(i item) bool {
		c, ok := compare(left(i), right(i))
		return ok && holds(c)
	}
}

// operand is a name, a value, or if_not_exists of both, possibly a sum.
func (p *parser) operand() func(item) value {
	if p.accept("if_not_exists") {
		p.expect("(")
		name := p.name()
		p.expect(",")
		otherwise := p.operand()
		p.expect(")")
		return func(i item) value {
			if v := i[name]; v != nil {
				return v
			}
			return otherwise(i)
		}
	}
	if token := p.peek(); strings.HasPrefix(token, ":") {
		v, ok := p.ExpressionAttributeValues[p.next()]
		if !ok {
			p.fail("an undefined value %q", token)
		}
		return func(item) value { return v }
	}
	name := p.name()
	return func(i item) value { return i[name] }
}

func (p *parser) name() string {
	token := p.next()
	if !strings.HasPrefix(token, "#") {
		return token
	}
	name, ok := p.ExpressionAttributeNames[token]
	if !ok {
		p.fail("an undefined name %q", token)
	}
	return name
}

// update parses "SET a = x, b = y + z" into a function that changes an item.
func (e expressions) update() (func(item) item, *refusal) {
	p := e.parser(e.UpdateExpression)
	type change struct {
		name string
		to   func(item) value
	}
	var changes []change
	p.expect("SET")
	for p.err == nil {
		name := p.name()
		p.expect("=")
		to := p.operand()
		if p.accept("+") {
			a, b := to, p.operand()
			to = func(i item) value { return sum(a(i), b(i)) }
		}
		changes = append(changes, change{name, to})
		if !p.accept(",") {
			break
		}
	}
	if p.err == nil && len(p.tokens) > 0 {
		p.fail("unexpected %q", p.tokens[0])
	}
	if p.err != nil {
		return nil, invalid("Invalid UpdateExpression: %v in %q", p.err, e.UpdateExpression)
	}
	return func(old item) item {
		changed := old.clone()
		for _, c := range changes {
			changed[c.name] = c.to(old)
		}
		return changed
	}, nil
}

func (e expressions) projection() []string {
	if e.ProjectionExpression == "" {
		return nil
	}
	var names []string
	for _, n := range strings.Split(e.ProjectionExpression, ",") {
		n = strings.TrimSpace(n)
		if full, ok := e.ExpressionAttributeNames[n]; ok {
			n = full
		}
		names = append(names, n)
	}
	return names
}

// compare orders two values of one type.
func compare(a, b value) (int, bool) {
	if x, ok := a.text("S"); ok {
		y, ok := b.text("S")
		return cmp.Compare(x, y), ok
	}
	x, okX := a.number()
	y, okY := b.number()
	return cmp.Compare(x, y), okX && okY
}

func (v value) number() (int64, bool) {
	s, ok := v.text("N")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func sum(a, b value) value {
	x, _ := a.number()
	y, _ := b.number()
	return value{"N": strconv.FormatInt(x+y, 10)}
}
