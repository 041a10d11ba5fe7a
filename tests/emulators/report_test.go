package emulators

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// ran collects which adapter met which emulator; the run prints it at its end.
var ran []string

// met notes one pair, and what was left out because the emulator differs from AWS.
func met(adapter, emulator string, leftOut ...string) {
	line := fmt.Sprintf("%-9s on %s", adapter, emulator)
	for _, name := range leftOut {
		line += fmt.Sprintf("\n          without %q", name)
	}
	ran = append(ran, line)
}

func TestMain(m *testing.M) {
	code := m.Run()
	fmt.Println("adapters met emulators:\n  " + strings.Join(ran, "\n  "))
	os.Exit(code)
}
