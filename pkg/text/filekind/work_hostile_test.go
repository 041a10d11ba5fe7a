package filekind_test

import (
	"runtime"
	"strings"
	"testing"

	"guildhall/pkg/text/filekind"
)

// TestMarkupIsReadWithinBounds: neither nesting nor one endless piece fills the memory.
func TestMarkupIsReadWithinBounds(t *testing.T) {
	for _, c := range []struct {
		what, body, reason string
		room               uint64 // bytes of the heap
	}{
		{"elements inside elements", strings.Repeat("<a>", 5<<20), filekind.TooMuch, 4 << 20},
		{"a piece without an end", "<a b='" + strings.Repeat("x", 30<<20) + "'/>", filekind.TooMuch, 200 << 20},
		{"a remark without an end", "<!--" + strings.Repeat("x", 30<<20), filekind.TooMuch, 200 << 20},
		{"entities in entities", `<!DOCTYPE a [<!ENTITY b "xx"><!ENTITY c "&b;&b;">]><a>&c;</a>`, filekind.Code, 4 << 20},
		{"many small elements", "<x>" + strings.Repeat("<a/>", 1<<20) + "</x>", "", 1 << 30},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v := check(t, "a.xml", c.body)
		runtime.ReadMemStats(&after)
		if spent := after.TotalAlloc - before.TotalAlloc; v.Refused != c.reason || spent > c.room {
			t.Errorf("%s: refused for %q with %d bytes allocated", c.what, v.Refused, spent)
		}
	}
}

// TestLongMarkupIsReadToItsEndAllTheSame: behind what is read piece by piece, words count.
func TestLongMarkupIsReadToItsEndAllTheSame(t *testing.T) {
	long := "<x>" + strings.Repeat("<a>"+strings.Repeat("x", 1<<16)+"</a>", 550)
	for _, c := range []struct{ end, reason string }{{"</x>", ""}, {`<s:script xmlns:s="http://www.w3.org/2000/svg"/></x>`, filekind.Code}} {
		if v := check(t, "a.xml", long+c.end); v.Refused != c.reason {
			t.Errorf("%q at the end: refused for %q", c.end, v.Refused)
		}
	}
}

// TestManyPagesAreOneFile: the bound counts all members of an archive together, and what comes after it is only searched.
func TestManyPagesAreOneFile(t *testing.T) {
	page := "<x>" + strings.Repeat("<a>"+strings.Repeat("x", 1<<16)+"</a>", 300) + "</x>"
	page = strings.Replace(page, "<x>", `<x xmlns="http://example.com/rows" a="one&#10;two">`, 1)
	broken := "<x></y></x><z b=" + strings.Repeat("x", filekind.HeadBytes)
	ok := zipOf(t, member{"a.xml", page}, member{"b.xml", page}, member{"c.xml", page}, member{"d.xml", broken})
	if v := check(t, "a.zip", ok); !v.OK() {
		t.Errorf("refused for %q in %q", v.Refused, v.Member)
	}
	numbers := page + strings.Repeat(" ", filekind.HeadBytes) + "<h:g xmlns:h='http://www.w3.org/1999/xhtm&#108;' onload='x'/>"
	if v := check(t, "a.zip", zipOf(t, member{"a.xml", page}, member{"b.xml", page}, member{"c.xml", numbers})); v.Refused != filekind.Code {
		t.Errorf("refused for %q in %q", v.Refused, v.Member)
	}
	late := page + "<!--" + strings.Repeat("x", filekind.HeadBytes) + "--><h:script xmlns:h='http://www.w3.org/1999/xhtml'/>"
	if v := check(t, "a.zip", zipOf(t, member{"a.xml", page}, member{"b.xml", page}, member{"c.xml", late})); v.Refused != filekind.Code || v.Member != "c.xml" {
		t.Errorf("refused for %q in %q", v.Refused, v.Member)
	}
}
