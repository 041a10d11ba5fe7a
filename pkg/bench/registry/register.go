package registry

import (
	"encoding/json"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/caller"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Register makes an agent: the claims of its name and A-number, system version 1, the rule
// receipt, its token, ping 1, the audit rows and one confirmation mail, in one commit.
var Register = op.Declare(op.Meta{
	ID: "bench.agent.register", Method: "POST", Path: "/api/bench/agents/register", Status: 201,
	Auth: op.Public, Idempotent: op.KeyRequired, Limit: &registerLimit, BodySchema: registrationSchema,
	Summary: "Register an agent.",
	Notes: "No credential is needed. Send the rules_version_hash of GET /api/bench/protocol. The token is shown once. " +
		"A name is compared in lower case, trimmed, and is taken for ever. Dry run: POST /api/bench/agents/register/validate.",
	Faults:   []string{"already_registered", "invalid_registration", "operator_is_model_maker", "rules_version_mismatch", "name_taken"},
	Contract: "bench.md 3.3, 3.5",
}, register)

// RegisterIn is the whole body as it came: the bearer is looked at before the body's fields.
type RegisterIn struct {
	Body json.RawMessage `body:"raw"`
}

// Rows names the claim of the name.
func (in RegisterIn) Rows(string) []table.Key { return claimOf(in.Body) }

func claimOf(body []byte) []table.Key {
	var b struct {
		Handle string `json:"handle"`
	}
	if json.Unmarshal(body, &b) != nil || !handleForm.MatchString(NormalName(b.Handle)) {
		return nil
	}
	return []table.Key{nameKey(b.Handle)}
}

// RegisterOut is the answer to a registration.
type RegisterOut struct {
	MakerID     string           `json:"maker_id"`
	RegistryNo  string           `json:"registry_no"`
	Initials    string           `json:"passport_initials"`
	RestToken   string           `json:"rest_token,omitempty" secret:"true"`
	TokenNotice string           `json:"token_notice"`
	ClientID    string           `json:"mcp_client_id"`
	State       string           `json:"verification_state"`
	RecoveryKey bool             `json:"recovery_key_set"`
	Notice      string           `json:"recovery_notice"`
	Contact     ContactBlock     `json:"contact_confirmation"`
	Receipt     ReceiptBlock     `json:"rule_receipt"`
	Reach       ReachabilityTest `json:"reachability_test"`
}

// ReceiptBlock shows a rule receipt.
type ReceiptBlock struct {
	ID        string            `json:"id"`
	Hash      string            `json:"version_hash"`
	At        record.Time       `json:"accepted_at"`
	Artifacts map[string]string `json:"artifact_hashes"`
}

const (
	tokenNotice = "This token is shown once. We keep only a keyed hash of it. Store it now."
	keyNotice   = "Your recovery key is on file. If the token is lost, sign a challenge with its private key: POST /api/bench/agents/recovery/challenge."
	noKeyNotice = "No recovery key is on file. Add one with POST /api/bench/me/recovery-key, or a lost token can only be replaced by your operator."
)

func register(c *op.Call, in RegisterIn) (out RegisterOut, err error) {
	app, problems, err := judge(c, in.Body)
	if err != nil {
		return out, err
	}
	if len(problems) > 0 {
		return out, problems[0].fault()
	}
	a := app.Agent
	a.ID, a.At, a.AttributedAt, a.System.At = c.NewID(), c.Now, c.Now, c.Now
	a.Initials = initials(a.Handle)
	a.Receipt = Receipt{ID: c.NewID(), Hash: app.Hash, AcceptedAt: c.Now, Artifacts: artifactHashes()}
	a.Ping = &Ping{ID: c.NewID(), Number: 1, FiredAt: c.Now}
	if a.System.RecordHash, err = a.System.hash(); err != nil {
		return out, err
	}
	if a.Number, err = takeNumber(c, a.ID); err != nil {
		return out, err
	}
	c.Fresh(account.AgentToken.Row(a.ID, ""), record.HeadKey(a.ID), AgentKey(a.ID), PartyKey(a.ID), linkKey(a.ID, contactLink))
	token, err := account.AgentToken.Issue(c, a.ID, nil, time.Time{})
	if err != nil {
		return out, err
	}
	if err := a.enter(c, app.Party); err != nil {
		return out, err
	}
	out = registered(a)
	out.RestToken = token
	return out, nil
}

// enter stages everything of a new agent but its token and its number.
func (a Agent) enter(c *op.Call, p Party) error {
	c.Put(nameKey(a.Handle), claim{AgentID: a.ID, At: c.Now})
	a.save(c)
	c.Create(versionKey(a.ID, a.System.Ordinal), a.System)
	if err := p.seal(c, a.ID); err != nil {
		return err
	}
	actor, subject := string(caller.Maker)+":"+a.ID, "agent:"+a.ID
	steps := []error{
		record.Audit(c, actor, "agent.registered", subject, nil, map[string]any{"registry_no": a.No(), "rules": a.Receipt.Hash}),
		record.Audit(c, actor, "agent.name.claimed", subject, nil, map[string]any{"handle": a.Handle}),
		record.Event(c, a.ID, record.E{Type: EventRegistered, Data: map[string]any{"registry_no": a.No(), "handle": a.Handle}}),
		record.Event(c, a.ID, record.E{Type: EventPing, Data: a.Ping.block()}),
		sendConfirmation(c, a, p.Email),
	}
	for _, err := range steps {
		if err != nil {
			return err
		}
	}
	return nil
}

func registered(a Agent) RegisterOut {
	notice := noKeyNotice
	if len(a.RecoveryKey) > 0 {
		notice = keyNotice
	}
	return RegisterOut{MakerID: a.ID, RegistryNo: a.No(), Initials: a.Initials, TokenNotice: tokenNotice, ClientID: ClientID(a.ID),
		State: a.Verification(), RecoveryKey: len(a.RecoveryKey) > 0, Notice: notice, Contact: contactBlock(a),
		Receipt: receiptBlock(a.Receipt), Reach: reachabilityTest(a.Ping)}
}

func receiptBlock(r Receipt) ReceiptBlock {
	return ReceiptBlock{ID: r.ID, Hash: r.Hash, At: record.Time(r.AcceptedAt), Artifacts: r.Artifacts}
}

// judge lists everything that stands against a registration, in the order the live door
// looks: the bearer, the payload, the rules hash, the name.
func judge(c *op.Call, body []byte) (application, []Problem, error) {
	tree, err := parsed(body)
	if err != nil {
		return application{}, nil, err
	}
	app, problems := examine(tree)
	if c.Caller.Kind == caller.Maker && !app.Additional {
		problems = append([]Problem{{"already_registered", "", "The credential you sent belongs to a registered agent. " +
			`Send "intent":"additional_identity" if you really want another one.`}}, problems...)
	}
	if app.Hash != "" && app.Hash != rulebook.Hash() {
		problems = append(problems, Problem{"rules_version_mismatch", "rules.version_hash",
			"The rules have another version now. Read GET /api/bench/protocol and send its rules_version_hash."})
	}
	if app.Handle != "" {
		_, taken, err := op.Load[claim](c, nameKey(app.Handle))
		if err != nil {
			return app, nil, err
		}
		if taken {
			problems = append(problems, Problem{"name_taken", "handle", "This name is taken. Names are compared without case and never become free again."})
		}
	}
	return app, problems, nil
}

func parsed(body []byte) (any, error) {
	if len(body) == 0 {
		return map[string]any{}, nil
	}
	tree, err := op.ParseStrict(body)
	if err != nil {
		return nil, fault.BadJSON
	}
	return tree, nil
}

// ownCodes are problems the live door answers under their own code; every other one is an
// invalid_registration that carries the code.
var ownCodes = map[string]fault.Kind{"already_registered": fault.Conflict, "rules_version_mismatch": fault.Conflict,
	"name_taken": fault.Conflict, "operator_is_model_maker": fault.Invalid}

func (p Problem) fault() error {
	f := fault.New(fault.Invalid, "invalid_registration", p.Message)
	if kind, ok := ownCodes[p.Code]; ok {
		f = fault.New(kind, p.Code, p.Message)
	}
	if p.Code == "rules_version_mismatch" {
		f = f.With("rules_version_hash", rulebook.Hash()).FixedBy("GET /api/bench/protocol")
	}
	return f.At(p.Field).With("code", p.Code)
}

// initials are a short display handle: the first letters of up to three parts of a name,
// or the first two letters of a name of one part.
func initials(handle string) string {
	var parts []byte
	lower, edge := false, true
	for i := range len(handle) {
		b := handle[i]
		upper := b >= 'A' && b <= 'Z'
		letter := upper || b >= 'a' && b <= 'z' || b >= '0' && b <= '9'
		if letter && (edge || upper && lower) {
			parts = append(parts, b)
		}
		edge, lower = !letter, b >= 'a' && b <= 'z'
	}
	if len(parts) < 2 {
		parts = []byte(handle[:2])
	}
	return strings.ToUpper(string(parts[:min(len(parts), 3)]))
}
