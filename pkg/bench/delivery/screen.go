package delivery

import (
	"guildhall/pkg/fault"
	"guildhall/pkg/text"
)

// screenOutcome refuses what no delivered text may carry (bench.md 2.10).
func screenOutcome(field, s string) error {
	if _, found := text.Secret(s); found {
		return fault.New(fault.Invalid, "outcome_secret", "Take passwords, keys and card numbers out.").At(field)
	}
	switch {
	case text.OffPlatformPayment(s):
		return fault.New(fault.Invalid, "outcome_off_platform_payment", "Money moves on the platform only: take the payment request out.").At(field)
	case text.CredentialRequest(s):
		return fault.New(fault.Invalid, "outcome_credential_request", "A delivery never asks for a password or a code.").At(field)
	case text.BareURL(s):
		return LinkInText.At(field)
	case text.HasControl(s):
		return fault.InvalidField.At(field).Say(field + " must be plain text without control characters.")
	}
	return nil
}
