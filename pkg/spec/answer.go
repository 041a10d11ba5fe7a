package spec

import (
	"encoding/json"
	"reflect"

	"guildhall/pkg/op"
)

var rawerType = reflect.TypeFor[op.Rawer]()

// success makes the response of a success in the envelope of the operation's context.
func (b *builder) success(o *op.Operation) object {
	res := object{"description": o.Summary}
	headers := object{}
	if o.Limit != nil {
		for _, h := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
			headers[h] = b.ref("headers", h)
		}
	}
	if o.Success() >= 300 {
		headers["Location"] = b.ref("headers", "Location")
	}
	if len(headers) > 0 {
		res["headers"] = headers
	}
	if content := b.content(o); content != nil && o.Success() < 300 {
		res["content"] = content
	}
	return res
}

func (b *builder) content(o *op.Operation) object {
	schema := Answer(o)
	if !o.Out.Implements(rawerType) {
		return object{"application/json": object{"schema": schema}}
	}
	content := object{}
	if props, ok := schema["properties"].(object); ok && len(props) > 1 {
		content["application/json"] = object{"schema": schema}
	} else {
		content["application/octet-stream"] = object{"schema": object{"type": "string", "format": "binary"}}
	}
	return content
}

// Answer is the schema of an operation's success body over REST: the output in the
// envelope of its context.
func Answer(o *op.Operation) object {
	schema := outSchema(op.SchemaOf(o.Out))
	d := o.Dialect()
	if d.OK && schema["type"] == "object" && schema["additionalProperties"] == nil {
		props, _ := schema["properties"].(object)
		props["ok"] = object{"const": true}
		required, _ := schema["required"].([]string)
		schema["required"] = append([]string{"ok"}, required...)
	}
	if d.Data {
		return object{"type": "object", "properties": object{"data": schema}, "required": []string{"data"}}
	}
	return schema
}

// outSchema prints the schema of an output: members are required unless they are left out
// when empty, and more may be added later.
func outSchema(s *op.Schema) object {
	if s.Raw != nil {
		var m object
		if json.Unmarshal(s.Raw, &m) == nil {
			return m
		}
	}
	switch {
	case s.Type == "object" && s.Map:
		return described(s, object{"additionalProperties": outSchema(s.Of)})
	case s.Type == "object":
		props, required := object{}, []string{}
		for _, p := range s.Properties {
			props[p.Name] = outSchema(p.Schema)
			if !p.Optional {
				required = append(required, p.Name)
			}
		}
		m := object{"properties": props}
		if len(required) > 0 {
			m["required"] = required
		}
		return described(s, m)
	case s.Type == "array":
		return described(s, object{"items": outSchema(s.Of)})
	}
	m := object{}
	if b, err := json.Marshal(s); err == nil {
		_ = json.Unmarshal(b, &m)
	}
	return m
}

func described(s *op.Schema, m object) object {
	m["type"] = s.Type
	if s.Nullable {
		m["type"] = []string{s.Type, "null"}
	}
	put(m, "description", s.Doc)
	return m
}

// security names the credential of an operation.
func (b *builder) security(o *op.Operation) []object {
	need := func(scheme string) object {
		b.used["securitySchemes/"+scheme] = true
		return object{scheme: []string{}}
	}
	switch o.Auth {
	case op.Maker:
		return []object{need("agentToken")}
	case op.Person, op.Steward, op.Admin:
		return []object{need("personToken"), need("personCookie")}
	case op.Account:
		return []object{need("helpKey")}
	case op.Visitor:
		return []object{need("peerToken")}
	case op.Agent:
		return []object{need("commonsKey")}
	}
	return []object{}
}

func bearer(what string) object {
	return object{"type": "http", "scheme": "bearer", "description": what}
}

func header(schema object, what string) object {
	return object{"schema": schema, "description": what}
}

// shared are the components documents refer to.
var shared = map[string]map[string]object{
	"securitySchemes": {
		"agentToken":   bearer("The token of a bench agent, shown once at registration."),
		"personToken":  bearer("The token of a person's session."),
		"personCookie": {"type": "apiKey", "in": "cookie", "name": "__Host-guildhall", "description": "The session cookie of the pages."},
		"helpKey":      bearer("The key of a help account."),
		"peerToken":    bearer("The token of a peer client."),
		"commonsKey":   bearer("The key of a commons agent."),
	},
	"parameters": {
		"IdempotencyKey": {"name": "Idempotency-Key", "in": "header", "required": true, "schema": keySchema,
			"description": "Your name for this write. Send the same one when you retry: the first answer comes back."},
		"OptionalIdempotencyKey": {"name": "Idempotency-Key", "in": "header", "required": false, "schema": keySchema,
			"description": "Your name for this write. A retry under the same one gets the first answer."},
	},
	"headers": {
		"Retry-After":         header(object{"type": "integer", "minimum": 1}, "Seconds to wait before the same call."),
		"RateLimit-Limit":     header(object{"type": "integer"}, "Calls in the window of this limit."),
		"RateLimit-Remaining": header(object{"type": "integer"}, "Calls left now."),
		"RateLimit-Reset":     header(object{"type": "integer"}, "Seconds until the limit is fresh again."),
		"Location":            header(object{"type": "string"}, "Where it is."),
	},
}

var keySchema = object{"type": "string", "minLength": 1, "maxLength": op.MaxKeyLen}

// faultSchema is the one body of every refusal.
var faultSchema = object{
	"type": "object", "description": "A refusal. Further members say more where a code has more to say.",
	"required": []string{"ok", "error"},
	"properties": object{
		"ok":      object{"const": false},
		"error":   object{"type": "string", "description": "A stable code."},
		"message": object{"type": "string", "description": "One sentence for people."},
		"field":   object{"type": []string{"string", "null"}, "description": "The field at fault."},
		"fix":     object{"type": "string", "description": "The call that repairs it."},
	},
}
