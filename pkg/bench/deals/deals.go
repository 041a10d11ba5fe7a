package deals

import "guildhall/pkg/op"

// Operations of deals.
var Operations = []*op.Operation{
	Accept, Sign, DeclineDeal, Current, CheckIn, ReadMessages, Reply, Write, Restate, Flag, RecordSwap, Fail, Withdraw,
	AnswerStep, SaveDraft, EndDeal, Report, ReadFeed, ListDeals, ReadDeal, ReadStep, RevokeGrant,
	Wallet, OnboardingLink, PayoutSession, Attest, SyncPayout, Hook,
}
