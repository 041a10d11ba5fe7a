package hostile

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
)

// refusals are the codes that the document lists: path, method, status.
type refusals map[string]map[string]map[string][]string

// documented reads the refusals of the OpenAPI document that the exchange serves.
func (w *world) documented() refusals {
	w.t.Helper()
	rec := httptest.NewRecorder()
	w.next.ServeHTTP(rec, httptest.NewRequest("GET", "/openapi.json", nil))
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct {
					Schema struct {
						AllOf []struct {
							Properties map[string]struct{ Enum []string }
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
		w.t.Fatal(err)
	}
	all := refusals{}
	for path, methods := range doc.Paths {
		all[path] = map[string]map[string][]string{}
		for method, o := range methods {
			codes := map[string][]string{}
			for status, r := range o.Responses {
				codes[status] = append(codes[status], "")
				for _, part := range r.Content["application/json"].Schema.AllOf {
					codes[status] = append(codes[status], part.Properties["error"].Enum...)
				}
			}
			all[path][strings.ToUpper(method)] = codes
		}
	}
	return all
}

// routers are codes of the router and of the edge, which belong to no operation.
var routers = []string{"not found", "invalid_query", "method_not_allowed", "cross_origin", "body_incomplete"}

// undocumented is the refusal of a call as "status code" if the document does not list it.
func (r refusals) undocumented(c *thrown) string {
	codes, listed := r[c.o.Path][c.o.Method]
	var body struct{ Error string }
	if c.rec.Code < 400 || c.r.Method != c.o.Method || !listed || json.Unmarshal(c.rec.Body.Bytes(), &body) != nil || slices.Contains(routers, body.Error) {
		return ""
	}
	if slices.Contains(codes[strconv.Itoa(c.rec.Code)], body.Error) {
		return ""
	}
	return strconv.Itoa(c.rec.Code) + " " + body.Error
}
