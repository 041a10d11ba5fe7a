package lambdalocal

import (
	"fmt"
	"regexp"
	"strings"
)

// The account everything stands in on this machine.
const (
	Region  = "eu-west-1"
	Account = "123456789012"
)

var pseudo = map[string]string{"AWS::Region": Region, "AWS::AccountId": Account, "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com"}

var (
	placeholder = regexp.MustCompile(`\$\{([^}]+)\}`)
	dynamic     = regexp.MustCompile(`\{\{resolve:secretsmanager:([^:}]+):SecretString:([^:}]*):[^:}]*:[^:}]*\}\}`)
)

// text resolves a value of a template to a string: references, imports, substitutions, and
// references to secrets.
func (l *loader) text(stack string, v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return l.secrets(stack, x)
	case map[string]any:
		for fn, arg := range x {
			return l.secrets(stack, l.intrinsic(stack, fn, arg))
		}
	}
	return fmt.Sprint(v)
}

func (l *loader) texts(stack string, v any) (out []string) {
	if list, ok := v.([]any); ok {
		for _, e := range list {
			out = append(out, l.text(stack, e))
		}
		return out
	}
	return []string{l.text(stack, v)}
}

func (l *loader) secrets(stack, s string) string {
	return dynamic.ReplaceAllStringFunc(s, func(ref string) string {
		m := dynamic.FindStringSubmatch(ref)
		value, ok := l.values[strings.TrimSuffix(m[1]+":"+m[2], ":")]
		if !ok {
			l.say(stack, "secrets", "nothing stands for %s", ref)
		}
		return value
	})
}

func (l *loader) intrinsic(stack, fn string, arg any) string {
	list, _ := arg.([]any)
	switch fn {
	case "Ref":
		return l.ref(stack, fmt.Sprint(arg))
	case "Fn::GetAtt":
		if len(list) == 2 {
			return l.attribute(stack, fmt.Sprint(list[0]), fmt.Sprint(list[1]))
		}
	case "Fn::ImportValue":
		if e, ok := l.exports[l.text(stack, arg)]; ok {
			return l.text(e.stack, e.value)
		}
	case "Fn::Join":
		if len(list) == 2 {
			return strings.Join(l.texts(stack, list[1]), fmt.Sprint(list[0]))
		}
	case "Fn::Sub":
		pattern, given := arg, map[string]any{}
		if len(list) == 2 {
			pattern = list[0]
			given, _ = list[1].(map[string]any)
		}
		return placeholder.ReplaceAllStringFunc(fmt.Sprint(pattern), func(p string) string {
			name := p[2 : len(p)-1]
			if v, ok := given[name]; ok {
				return l.text(stack, v)
			}
			if id, attribute, ok := strings.Cut(name, "."); ok {
				return l.attribute(stack, id, attribute)
			}
			return l.ref(stack, name)
		})
	}
	l.say(stack, fn, "%v is not understood here", arg)
	return ""
}

// named are the resources whose Ref is a name the template gives.
var named = map[string]string{"AWS::Lambda::Function": "FunctionName", "AWS::DynamoDB::Table": "TableName",
	"AWS::Logs::LogGroup": "LogGroupName", "AWS::S3::Bucket": "BucketName"}

// ref is what a Ref of a resource answers on AWS, as far as our templates ask.
func (l *loader) ref(stack, id string) string {
	if v, ok := pseudo[id]; ok {
		return v
	}
	r, ok := l.stacks[stack].Resources[id]
	if !ok {
		l.say(stack, id, "nothing of that name")
		return ""
	}
	if property, ok := named[r.Type]; ok {
		return l.text(stack, r.Properties[property])
	}
	return id
}

// attribute is what a GetAtt answers: our templates ask for ARNs.
func (l *loader) attribute(stack, id, name string) string {
	r, ok := l.stacks[stack].Resources[id]
	if !ok || name != "Arn" {
		l.say(stack, id, "no attribute %s", name)
		return ""
	}
	switch r.Type {
	case "AWS::Lambda::Function":
		return arn("lambda", "function:"+l.text(stack, r.Properties["FunctionName"]))
	case "AWS::SQS::Queue":
		return arn("sqs", l.text(stack, r.Properties["QueueName"]))
	}
	return arn("local", id)
}

func arn(service, what string) string {
	return "arn:aws:" + service + ":" + Region + ":" + Account + ":" + what
}

// target is the logical id a GetAtt or Ref names.
func target(v any) string {
	m, _ := v.(map[string]any)
	if list, ok := m["Fn::GetAtt"].([]any); ok && len(list) > 0 {
		return fmt.Sprint(list[0])
	}
	s, _ := m["Ref"].(string)
	return s
}
