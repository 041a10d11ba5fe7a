package site

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// Typed is what the visitor typed: it goes back into its input as it came, and nowhere else.
type Typed string

// plain shows the characters that could make a text look like something it is not: control
// characters, and those that turn the direction of what follows.
func plain(s string) string {
	if strings.IndexFunc(s, deceives) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if deceives(r) {
			fmt.Fprintf(&b, "[U+%04X]", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func deceives(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r), r == unicode.ReplacementChar:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // overrides, embeddings, isolates
		return true
	}
	return r == 0x2028 || r == 0x2029 || r == 0xfeff || r >= 0xfff9 && r <= 0xfffb || r >= 0xe0000 && r <= 0xe007f
}

// cleaned is a copy of a view's data with every text made plain. It is done here, once, so
// that no template can forget it. Unexported members are left out of the copy.
func cleaned(v any) any {
	if v == nil {
		return nil
	}
	return clean(reflect.ValueOf(v)).Interface()
}

var typed = reflect.TypeFor[Typed]()

func clean(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == typed {
			return v
		}
		return reflect.ValueOf(plain(v.String())).Convert(v.Type())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		if v.Kind() == reflect.Pointer {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(clean(v.Elem()))
			return out
		}
		out.Set(clean(v.Elem()))
		return out
	case reflect.Struct:
		return cleanStruct(v)
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(clean(v.Index(i)))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, k := range v.MapKeys() {
			out.SetMapIndex(clean(k), clean(v.MapIndex(k)))
		}
		return out
	}
	return v
}

// cleanStruct copies a struct whole and then replaces what it exports: a time keeps its
// insides.
func cleanStruct(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			out.Field(i).Set(clean(v.Field(i)))
		}
	}
	return out
}
