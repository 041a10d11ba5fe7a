package op_test

import (
	"strings"
	"testing"

	"guildhall/pkg/id"
	"guildhall/pkg/op"
)

type position struct {
	SK string `json:"sk"`
}

func TestACursorOpensOnlyAsItWasMade(t *testing.T) {
	x := newExchange(t)
	err := x.Run(t.Context(), x.time(), "test", func(c *op.Call) error {
		made := c.Cursor("things?shelf=s", position{"THING#7"})
		var p position
		if !c.ReadCursor("things?shelf=s", made, &p) || p.SK != "THING#7" {
			t.Fatalf("%s opens as %+v", made, p)
		}
		for _, list := range []string{"things?shelf=t", "things", "", "things?shelf=s "} {
			if c.ReadCursor(list, made, &p) {
				t.Errorf("a cursor of another list opens %q", list)
			}
		}
		for i := range made {
			for _, r := range []string{"A", "b", "0", "-", ".", "", "\x00"} {
				if bad := made[:i] + r + made[i+1:]; bad != made && c.ReadCursor("things?shelf=s", bad, &p) {
					t.Errorf("%q opens instead of %q", bad, made)
				}
			}
			if c.ReadCursor("things?shelf=s", made[:i], &p) {
				t.Errorf("the first %d bytes open", i)
			}
		}
		for _, bad := range []string{"", ".", "x", made + "0", made + made, strings.ToUpper(made), " " + made} {
			if c.ReadCursor("things?shelf=s", bad, &p) {
				t.Errorf("%q opens", bad)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestACursorSurvivesAChangeOfKeysAsLongAsTheOldOneIsKept(t *testing.T) {
	x := newExchange(t)
	open := func(made string, keys id.Keyring) (ok bool) {
		x.Keys = keys
		if err := x.Run(t.Context(), x.time(), "test", func(c *op.Call) error {
			var p position
			ok = c.ReadCursor("l", made, &p) && p.SK == "a"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return ok
	}
	first, second := []byte("first key"), []byte("second key")
	x.Keys = id.Keyring{Current: first}
	made := ""
	if err := x.Run(t.Context(), x.time(), "test", func(c *op.Call) error { made = c.Cursor("l", position{"a"}); return nil }); err != nil {
		t.Fatal(err)
	}
	if !open(made, id.Keyring{Current: second, Previous: [][]byte{first}}) {
		t.Error("a kept key does not open its cursor")
	}
	if open(made, id.Keyring{Current: second}) {
		t.Error("a dropped key still opens its cursor")
	}
}
