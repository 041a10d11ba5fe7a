package lambdalocal

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
)

// runnerKey is the access key of the runner itself, which may do everything.
const runnerKey = "runner"

// maxCall bounds a call of a function to a service, in bytes.
const maxCall = 16 << 20

var credential = regexp.MustCompile(`Credential=([^/]+)/`)

// caller is who signed a call: an access key here is the name of its function.
func caller(r *http.Request) string {
	m := credential.FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil {
		return ""
	}
	return m[1]
}

// actions lists what a call to DynamoDB needs of a role: a transaction needs what its parts
// need.
func actions(operation string, body []byte) (out []string) {
	if operation != "TransactWriteItems" {
		return []string{"dynamodb:" + operation}
	}
	var in struct{ TransactItems []map[string]json.RawMessage }
	if json.Unmarshal(body, &in) != nil {
		return []string{"dynamodb:" + operation}
	}
	names := map[string]string{"Put": "PutItem", "Delete": "DeleteItem", "Update": "UpdateItem", "ConditionCheck": "ConditionCheckItem"}
	for _, item := range in.TransactItems {
		for part, value := range item {
			if action := names[part]; action != "" && string(value) != "null" {
				out = append(out, "dynamodb:"+action)
			}
		}
	}
	return out
}

// dynamodb serves the table: it checks the caller's role, lets go wrong what was asked to,
// and has the stub answer.
func (r *Runner) dynamodb(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(io.LimitReader(q.Body, maxCall))
	if err != nil {
		return
	}
	_, operation, _ := strings.Cut(q.Header.Get("X-Amz-Target"), ".")
	who := caller(q)
	if who != runnerKey {
		for _, action := range actions(operation, body) {
			if err := r.allow(who, action, arn("dynamodb", "table/"+r.deployment.Tables[0])); err != nil {
				refuse(w, http.StatusBadRequest, "com.amazon.coral.service#AccessDeniedException", err.Error())
				return
			}
		}
	}
	r.faults.around(w, call{target: "store", function: who, invocation: q.Header.Get("Amz-Sdk-Invocation-Id"), operation: operation, body: body},
		func(w http.ResponseWriter) { r.table.ServeHTTP(w, again(q, body)) })
}

// again is a request with its body unread.
func again(q *http.Request, body []byte) *http.Request {
	c := q.Clone(q.Context())
	c.Body = io.NopCloser(bytes.NewReader(body))
	return c
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": message})
}

// discard is where an answer goes that nobody is to see.
func discard() http.ResponseWriter { return httptest.NewRecorder() }
