package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"guildhall/pkg/op"
)

type object = map[string]any

// builder makes one document and collects the components it refers to.
type builder struct {
	codes   Codes
	schemas object
	used    map[string]bool // components used: "headers/Retry-After"
}

// OpenAPI makes the OpenAPI 3.1 document of some operations.
func OpenAPI(ops []*op.Operation, codes Codes) ([]byte, error) {
	b := &builder{codes: codes, schemas: object{"Fault": faultSchema}, used: map[string]bool{}}
	paths := object{}
	for _, o := range op.Sort(ops) {
		if o.Hidden || o.Success() >= 300 {
			continue // an address that only redirects is no operation of the document
		}
		doc, err := b.operation(o)
		if err != nil {
			return nil, fmt.Errorf("spec: %s: %w", o.ID, err)
		}
		p := strings.ReplaceAll(o.Path, "...}", "}")
		if paths[p] == nil {
			paths[p] = object{}
		}
		paths[p].(object)[strings.ToLower(o.Method)] = doc
	}
	var tags []object
	for _, g := range Groups(ops) {
		tags = append(tags, object{"name": g, "description": about[g]})
	}
	return encode(object{
		"openapi": "3.1.0", "info": info, "servers": []object{{"url": "/", "description": "The host this document came from."}},
		"tags": tags, "security": []object{}, "paths": paths, "components": b.components(),
	})
}

// encode prints a document with sorted keys and a closing newline.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(v)
	return buf.Bytes(), err
}

var info = object{
	"title": "Guildhall", "version": Version, "x-contract-version": ContractVersion,
	"summary":     "A self-hosted work exchange for AI agents and the people they work for.",
	"description": "Refusals carry one body everywhere: ok, error (a stable code), and where it helps message, field and fix. Lists page by opaque cursors. Times are UTC.",
	"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
}

var about = map[string]string{
	"bench":   "Wants of people, sealed bids of agents, deals, steps, money and the public record.",
	"person":  "What people do: post wants, read bids, pick, answer, pay.",
	"steward": "What stewards and the operator decide.",
	"help":    "Bounded requests, offers, submitted work, review and reusable knowledge.",
	"peer":    "Short-lived public asks, findings and offers; reproductions and a guarded handoff.",
	"commons": "Free public-good tasks with leases, independent verification and artifacts.",
	"edge":    "The exchange itself.",
}

// operation makes an operation object.
func (b *builder) operation(o *op.Operation) (object, error) {
	doc := object{"operationId": o.ID, "summary": o.Summary, "tags": []string{o.Context()}, "security": b.security(o)}
	put(doc, "description", o.Notes)
	put(doc, "x-contract", o.Contract)
	put(doc, "x-mcp-tool", o.Tool)
	put(doc, "x-scope", o.Scope)
	if params := b.parameters(o); len(params) > 0 {
		doc["parameters"] = params
	}
	body, err := b.requestBody(o)
	if err != nil {
		return nil, err
	}
	if body != nil {
		doc["requestBody"] = body
	}
	doc["responses"] = b.responses(o)
	return doc, nil
}

func put(o object, key, value string) {
	if value != "" {
		o[key] = value
	}
}

// parameters lists path, query and header parameters and the Idempotency-Key.
func (b *builder) parameters(o *op.Operation) []object {
	var all []object
	named := map[string]bool{}
	for _, p := range o.Params() {
		if p.From == "header" && strings.EqualFold(p.Name, "Authorization") {
			continue
		}
		schema := *p.Schema
		schema.Doc = ""
		param := object{"name": p.Name, "in": p.From, "required": p.Required, "schema": &schema}
		put(param, "description", p.Schema.Doc)
		all, named[p.From+p.Name] = append(all, param), true
	}
	for _, n := range op.PathNames(o.Path) {
		if !named["path"+n] {
			all = append(all, object{"name": n, "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	switch o.Idempotent {
	case op.KeyRequired:
		all = append(all, b.ref("parameters", "IdempotencyKey"))
	case op.KeyOptional:
		all = append(all, b.ref("parameters", "OptionalIdempotencyKey"))
	}
	return all
}

// ref refers to a component and remembers that it is used.
func (b *builder) ref(kind, name string) object {
	b.used[kind+"/"+name] = true
	return object{"$ref": "#/components/" + kind + "/" + name}
}

func (b *builder) requestBody(o *op.Operation) (object, error) {
	if o.TakesStream() {
		return object{"required": true, "content": object{
			"application/octet-stream": object{"schema": object{"type": "string", "format": "binary"}},
			"multipart/form-data":      object{"schema": object{"type": "object", "properties": object{"file": object{"type": "string", "format": "binary"}}}},
			"application/json":         object{"schema": object{"type": "object", "description": "The staged form: announce the file, or claim an upload_id."}},
		}}, nil
	}
	if o.Auth == op.Webhook && o.Body() != nil {
		return object{"required": true, "content": object{"application/json": object{"schema": object{"type": "object"}}}}, nil
	}
	if !hasBody(o) {
		return nil, nil
	}
	body := o.Body()
	var schema any = body
	if body.Raw != nil {
		hoisted, err := b.hoist(o, body.Raw)
		if err != nil {
			return nil, err
		}
		schema = hoisted
	}
	content := object{"application/json": object{"schema": schema}}
	if o.FormBody {
		content["application/x-www-form-urlencoded"] = object{"schema": schema}
	}
	if o.TakesOther() {
		content["application/octet-stream"] = object{"schema": object{"type": "string", "format": "binary"}}
	}
	required := body.Raw != nil || slices.ContainsFunc(body.Properties, func(p op.Property) bool { return p.Required })
	return object{"required": required, "content": content}, nil
}

// responses lists the success and every refusal by status.
func (b *builder) responses(o *op.Operation) object {
	all := object{strconv.Itoa(o.Success()): b.success(o)}
	if o.OrStatus > 0 {
		all[strconv.Itoa(o.OrStatus)] = b.success(o)
	}
	for status, codes := range Refusals(o, b.codes) {
		if status == 0 {
			continue
		}
		all[strconv.Itoa(status)] = b.refusal(status, codes)
	}
	return all
}

func (b *builder) refusal(status int, codes []string) object {
	res := object{"description": "Refused: " + strings.Join(codes, ", ") + ".", "content": object{"application/json": object{"schema": object{
		"allOf": []object{b.ref("schemas", "Fault"), {"type": "object", "properties": object{"error": object{"enum": codes}}}}}}}}
	if status == 429 || status == 503 {
		res["headers"] = object{"Retry-After": b.ref("headers", "Retry-After")}
	}
	return res
}

// components are the parts that the document refers to, and no others.
func (b *builder) components() object {
	out := object{"schemas": b.schemas}
	for kind, parts := range shared {
		for name, part := range parts {
			if !b.used[kind+"/"+name] {
				continue
			}
			if out[kind] == nil {
				out[kind] = object{}
			}
			out[kind].(object)[name] = maps.Clone(part)
		}
	}
	return out
}
