package help

import (
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Account is a registered account.
type Account struct {
	ID          string    `json:"id"`
	Handle      string    `json:"handle"`
	Description string    `json:"description"`
	CreatedAt   time.Time `json:"created_at"`
	Restricted  bool      `json:"restricted,omitempty"`
}

// Ref names an account in other records (help.md 4.3).
type Ref struct {
	ID     string `json:"id"`
	Handle string `json:"handle"`
}

func accountKey(id string) table.Key { return table.Key{PK: "help.ACCOUNT#" + id, SK: "ROOT"} }

func handleKey(handle string) table.Key { return table.Key{PK: "help.HANDLE#" + handle, SK: "ROOT"} }

// claim says who took a handle.
type claim struct {
	AccountID string `json:"account_id"`
}

// caller is the account that makes a call, as other records name it.
func caller(c *op.Call) (Ref, error) {
	a, _, err := op.Load[Account](c, accountKey(c.Caller.ID))
	return Ref{a.ID, a.Handle}, err
}

// AccountOut is an account on the wire.
type AccountOut struct {
	ID          string `json:"id"`
	Handle      string `json:"handle"`
	Description string `json:"description"`
	CreatedAt   Time   `json:"createdAt"`
}

func (a Account) out() AccountOut {
	return AccountOut{a.ID, a.Handle, a.Description, Time(a.CreatedAt)}
}

// recoveryKey is the secret an account shows when its API key is lost. It opens no door.
var recoveryKey = account.Kind{Name: "recovery", Context: "help"}

// Limits of an account (help.md H-G8).
const (
	minHandle = 3
	maxHandle = 40
)

// Refusals of accounts.
var (
	HandleTaken    = fault.New(fault.Conflict, "handle_taken", "Another account has or had that handle. Take another one.").At("handle")
	RecoveryFailed = fault.New(fault.Unauthorized, "recovery_failed", "The account or its recovery key is not right.")
)

// RegisterIn is a new account.
type RegisterIn struct {
	Handle      string `json:"handle" rule:"required,min=3,max=40" doc:"Public name: 3 to 40 of a-z, 0-9 and -. It can never be given again."`
	Description string `json:"description" rule:"max=1000" doc:"What others should know about you."`
}

// Validate implements op.Validator.
func (in RegisterIn) Validate() error {
	h := trim(in.Handle)
	if n := chars(h); n >= minHandle && n <= maxHandle && strings.Trim(h, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return FieldValue.At("handle").Say("handle consists of a-z, 0-9 and -.").With("detail", map[string]any{"allowed": "a-z 0-9 -"})
	}
	return screen(in)
}

// Rows implements op.Prefetcher.
func (in RegisterIn) Rows(string) []table.Key { return []table.Key{handleKey(trim(in.Handle))} }

// RegisterOut shows both secrets once.
type RegisterOut struct {
	Account     AccountOut `json:"account"`
	APIKey      string     `json:"apiKey,omitempty" secret:"true"`
	RecoveryKey string     `json:"recoveryKey,omitempty" secret:"true"`
}

// Register makes an account.
var Register = op.Declare(op.Meta{
	ID: "help.account.register", Method: "POST", Path: "/api/accounts", Tool: "help_register", Status: 201, Auth: op.Public,
	Idempotent: op.KeyOptional, MaxBody: MaxBody, Limit: &registrations, Summary: "Make an account; both keys are shown once.",
	Notes:  "Send apiKey as Authorization: Bearer. Keep recoveryKey elsewhere: it is the only way back. Handle and description are public.",
	Faults: append([]string{"handle_taken"}, textFaults...), Contract: "help.md 4.1 H17, H-G8",
}, register)

// textFaults are what every call with texts can answer.
var textFaults = []string{"field_required", "field_length", "field_type", "field_value", "unknown_field", "secret_detected"}

func register(c *op.Call, in RegisterIn) (out RegisterOut, err error) {
	a := Account{ID: c.NewID(), Handle: trim(in.Handle), Description: trim(in.Description), CreatedAt: c.Now}
	taken, err := c.Get(handleKey(a.Handle))
	if err != nil {
		return out, err
	}
	if taken.Found() {
		return out, HandleTaken
	}
	c.Create(handleKey(a.Handle), claim{a.ID})
	c.Create(accountKey(a.ID), a)
	out.Account = a.out()
	out.APIKey, out.RecoveryKey, err = keys(c, a.ID)
	return out, err
}

// keys stages a new pair of secrets; the old ones stop at this commit.
func keys(c *op.Call, accountID string) (api, recovery string, err error) {
	if err := c.Fetch(account.HelpKey.Row(accountID, ""), recoveryKey.Row(accountID, "")); err != nil {
		return "", "", err
	}
	if api, err = account.HelpKey.Issue(c, accountID, nil, time.Time{}); err != nil {
		return "", "", err
	}
	recovery, err = recoveryKey.Issue(c, accountID, nil, time.Time{})
	return api, recovery, err
}

// MeIn has nothing in it.
type MeIn struct{}

// Rows implements op.Prefetcher.
func (MeIn) Rows(accountID string) []table.Key {
	if accountID == "" {
		return nil
	}
	return []table.Key{accountKey(accountID)}
}

// MeOut is the caller's account.
type MeOut struct {
	Account AccountOut `json:"account"`
}

// Me reads the caller's account.
var Me = op.Declare(op.Meta{
	ID: "help.account.read", Method: "GET", Path: "/api/me", Tool: "help_me", Auth: op.Account, Limit: &reads,
	Summary: "Read your account.", Contract: "help.md 4.1 H17",
}, func(c *op.Call, _ MeIn) (MeOut, error) {
	a, _, err := op.Load[Account](c, accountKey(c.Caller.ID))
	return MeOut{a.out()}, err
})

// RotateIn has nothing in it.
type RotateIn struct{}

// RotateOut shows the new key once.
type RotateOut struct {
	APIKey string `json:"apiKey,omitempty" secret:"true"`
}

// RotateKey replaces the caller's API key.
var RotateKey = op.Declare(noted(write("key.rotate", "/api/me/key/rotate", "", "4.1 H17", 200, nil, "Replace your API key; the old one stops at once.", "unknown_field"),
	"The recovery key stays as it is."), func(c *op.Call, _ RotateIn) (out RotateOut, err error) {
	out.APIKey, err = account.HelpKey.Issue(c, c.Caller.ID, nil, time.Time{})
	return out, err
})

// RecoverIn is an account and its recovery key.
type RecoverIn struct {
	AccountID   string `json:"accountId" rule:"required,min=1,max=64"`
	RecoveryKey string `json:"recoveryKey" rule:"required,min=1,max=256"`
}

// Rows implements op.Prefetcher.
func (in RecoverIn) Rows(string) []table.Key {
	if !id.Valid(in.AccountID) {
		return nil
	}
	return []table.Key{accountKey(in.AccountID), recoveryKey.Row(in.AccountID, ""), account.HelpKey.Row(in.AccountID, "")}
}

// Recover trades the recovery key for a new pair.
var Recover = op.Declare(op.Meta{
	ID: "help.account.recover", Method: "POST", Path: "/api/accounts/recover", Auth: op.Public,
	Idempotent: op.KeyOptional, MaxBody: MaxBody, Limit: &recoveryDoor, Summary: "Trade the recovery key for a new pair of keys; the old pair stops at once.",
	Notes:    "5 tries per account, address and hour, right or wrong.",
	Faults:   []string{"recovery_failed", "field_required", "field_length", "field_type", "unknown_field"},
	Contract: "help.md 4.1 H17, H-G8",
}, recoverAccount)

func recoverAccount(c *op.Call, in RecoverIn) (out RegisterOut, err error) {
	if !id.Valid(in.AccountID) {
		return out, RecoveryFailed
	}
	if err := c.Charge(recoveries, in.AccountID+"#"+c.Address); err != nil {
		return out, err
	}
	t, ok := id.ParseToken(in.RecoveryKey)
	if !ok || t.Kind != recoveryKey.Name || t.Account != in.AccountID {
		return out, RecoveryFailed
	}
	if _, err := recoveryKey.Verify(c, t); err != nil {
		if f := fault.From(err); f.Kind == fault.Unauthorized {
			return out, RecoveryFailed
		}
		return out, err
	}
	a, _, err := op.Load[Account](c, accountKey(in.AccountID))
	if err != nil {
		return out, err
	}
	out.Account = a.out()
	out.APIKey, out.RecoveryKey, err = keys(c, a.ID)
	return out, err
}
