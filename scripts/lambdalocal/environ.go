package lambdalocal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"guildhall/pkg/wire/loopback"
)

// functionSecret is what every function signs with.
const functionSecret = "of-this-machine"

// environment is what a function's process gets: the template's variables, then what is
// different on this machine. Of the machine's own environment it sees nothing.
func (r *Runner) environment(f *Function, instance string) []string {
	env := maps.Clone(f.Env)
	maps.Copy(env, map[string]string{
		"GUILDHALL_BASE_URL":              r.URL,
		"GUILDHALL_DEV_CLOCK_URL":         r.inside + "/clock",
		loopback.Variable:                 r.inside,
		"AWS_ENDPOINT_URL_DYNAMODB":       r.inside + "/dynamodb",
		"AWS_ENDPOINT_URL_SQS":            r.inside + "/sqs",
		"AWS_ENDPOINT_URL_S3":             r.inside + s3Path,
		"AWS_REGION":                      Region,
		"AWS_ACCESS_KEY_ID":               f.Name, // says who calls: see caller
		"AWS_SECRET_ACCESS_KEY":           functionSecret,
		"AWS_SESSION_TOKEN":               functionSecret,
		"AWS_LAMBDA_RUNTIME_API":          strings.TrimPrefix(r.inside, "http://") + "/p/" + instance,
		"AWS_LAMBDA_FUNCTION_NAME":        f.Name,
		"AWS_LAMBDA_FUNCTION_VERSION":     "$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": fmt.Sprint(f.MemoryMB),
		"PATH":                            "/usr/bin:/bin",
		"TZ":                              "UTC",
	})
	for name, here := range map[string]string{"GUILDHALL_MAIL": "box:", "GUILDHALL_SMS": "box:", "GUILDHALL_PAYMENTS": "simulated:", "GUILDHALL_BLOBS": "memory:"} {
		if name == "GUILDHALL_BLOBS" && r.objects != nil {
			continue // S3 is served here too
		}
		if env[name] != "" {
			env[name] = here
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}
