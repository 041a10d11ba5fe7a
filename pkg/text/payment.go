package text

import "strings"

var (
	periods      = words("month months week weeks year years quarter mo yr wk day")
	eachWords    = words("per a an each every / one")
	periodWords  = words("monthly weekly yearly annually quarterly")
	periodic     = words("monthly weekly yearly annual annually quarterly biweekly fortnightly recurring repeating ongoing rolling periodic automatic")
	feeWords     = words("fee fees charge charges payment payments retainer retainers dues subscription subscriptions membership memberships installment installments instalment instalments")
	priceWords   = words("bill bills billing billed cost costs price prices rate plan invoice invoices debit debits renewal renewals")
	payWords     = words("fee fees charge charges charged payment payments pay pays paid bill bills billing billed cost costs price prices priced retainer dues rate subscription membership installment installments instalment instalments debit dollars dollar usd eur euros cents bucks")
	chargeWords  = words("pay pays paid charge charges charged billed dollars dollar usd eur euros cents bucks")
	feeList      = words("monthly weekly yearly annual annually quarterly recurring hidden setup upfront extra ongoing fee fees charge charges payment payments cost costs subscription subscriptions contract contracts retainer retainers dues billing bills auto renew renewal renewals or and any of a the kind booking service commitment commitments membership memberships per month year week")
	subscription = words("subscription subscriptions subscribe")
	endings      = words("cancel cancels cancelled canceling cancelling end ends ending stop stops stopping avoid avoids drop drops dropping replace replaces replacing instead eliminate eliminates kill remove removes unlike beats ditch quit skip")
	harmless     = words("form forms page pages box boxes list lists button buttons link links confirmation feed count counts base business businesses model models numbers offer product products brand company audit tracker")
	audience     = words("newsletter email podcast youtube feed channel rss calendar customers customer their readers members")
)

// How far from "per month" money is looked for: an amount stands right beside it ("$30 a month"), a word for paying a little
// further off ("charged a little every month"). "$450 for three posts a week" is a price for work that repeats, not a payment
// that does.
const (
	amountReach = 2
	payReach    = 3
)

// RecurringPayment says whether s asks for money again and again: a fee per month, a subscription, a charge that renews
// itself (bench contract 2.10, REJ-06). Saying that there is none ("zero monthly fees", "no subscription", "subscription-free")
// passes, and so does work that merely repeats ("two posts per month").
func RecurringPayment(s string) bool { return Read(s).RecurringPayment() }

// RecurringPayment is the function of this name on a text already read.
func (r Reading) RecurringPayment() bool {
	toks := r.toks
	for i, w := range toks {
		found := false
		switch {
		case periodic.has(w) && feeSoon(toks, i):
			found = true
		case periodWords.has(w):
			found = moneyNear(toks, i, i)
		case eachWords.has(w) && i+1 < len(toks) && periods.has(toks[i+1]):
			found = moneyNear(toks, i, i+1)
		case subscription.has(w):
			found = !freeOf(toks, i) && !(i+1 < len(toks) && harmless.has(toks[i+1])) && !(i > 0 && audience.has(toks[i-1])) && (w != "subscribe" || moneyNear(toks, i, i))
		case renewals.at(toks, i) > 0:
			found = !(i+1 < len(toks) && harmless.has(toks[i+1]))
		}
		if found && !negated(toks, i, 8, feeList) && !before(toks, i, 4, endings) && !followedBy(toks, i+1, 4, offAfter) {
			return true
		}
	}
	return false
}

// feeSoon is a fee right behind "monthly". A price word says too little ("your monthly bills") unless money stands by it.
func feeSoon(toks []string, i int) bool {
	for j := i + 1; j < len(toks) && j <= i+3 && toks[j] != stop && toks[j] != comma; j++ {
		if feeWords.has(toks[j]) {
			return !freeOf(toks, j)
		}
		if priceWords.has(toks[j]) {
			return amountNear(toks, i, j+1)
		}
	}
	return false
}

func freeOf(toks []string, i int) bool {
	return i+1 < len(toks) && (toks[i+1] == "free" || toks[i+1] == "less")
}

// moneyNear says whether money stands beside the period at toks[from..to].
func moneyNear(toks []string, from, to int) bool {
	if amountNear(toks, from, to) {
		return true
	}
	for j := from - 1; j >= 0 && j >= from-payReach && toks[j] != stop; j-- {
		if payWords.has(toks[j]) && !before(toks, j, 2, negators) {
			return true
		}
	}
	for j := to + 1; j < len(toks) && j <= to+payReach && toks[j] != stop; j++ {
		if chargeWords.has(toks[j]) && !before(toks, j, 2, negators) {
			return true
		}
	}
	return false
}

func amountNear(toks []string, from, to int) bool {
	for j := max(0, from-amountReach); j < len(toks) && j <= to+amountReach; j++ {
		if isAmount(toks[j]) && sameSentence(toks, from, j) {
			return true
		}
	}
	return false
}

func sameSentence(toks []string, i, j int) bool {
	for k := min(i, j); k <= max(i, j); k++ {
		if toks[k] == stop {
			return false
		}
	}
	return true
}

// isAmount reads $30, 30€ or us$30; $0 is no money.
func isAmount(w string) bool {
	digits := strings.Trim(w, "$€£us")
	return strings.ContainsAny(w, "$€£") && digits != "" && strings.Trim(digits, "0.") != "" && isDigit(digits[0])
}

var (
	renewals = phrasesOf("auto renew", "auto renews", "auto renewal", "auto renewing", "autorenew", "autorenews", "autorenewal", "renews automatically", "renew automatically",
		"automatically renews", "automatically renew", "automatically renewed", "renews itself", "billed every", "charged every", "charged again each", "pay every month", "pay each month", "pay monthly", "billed monthly", "billed annually", "on a retainer", "monthly retainer")
	offAfter = phrasesOf("not needed", "not required", "not necessary", "is optional", "isnt needed", "isnt required", "ends", "goes away", "is gone")
)

var (
	payBrands  = words("venmo paypal zelle cashapp revolut wise bizum swish bitcoin btc eth ethereum usdc usdt crypto cryptocurrency")
	sendMoney  = words("pay send transfer wire deposit tip zelle venmo paypal settle reimburse")
	ours       = words("me us my our mine")
	payOutside = phrasesOf("pay me directly", "pay us directly", "pay directly to me", "paid directly to me", "pay me outside", "pay outside", "payment outside", "pay me separately", "pay off platform", "off platform payment",
		"pay me in cash", "pay in cash to me", "wire me", "wire the money", "wire transfer to my", "send me money", "send money to me", "send the money to", "transfer to my account", "my bank account", "my bank details", "my iban", "my wallet", "my paypal", "my venmo", "my cash app", "my zelle",
		"i will invoice you", "ill invoice you", "invoice you", "send you an invoice", "send an invoice", "send you my invoice", "my invoice", "pay my invoice", "pay the invoice", "pay this invoice", "invoice attached", "attached invoice", "gift card", "gift cards", "western union")
)

// OffPlatformPayment says whether s asks for money past the exchange: "pay me directly", a payment handle, a wallet
// address, an invoice (bench contract 2.10).
func OffPlatformPayment(s string) bool {
	if hasWallet(Fold(s)) {
		return true
	}
	toks := tokens(s)
	for i, w := range toks {
		if payOutside.at(toks, i) > 0 && !negated(toks, i, 5, nil) {
			return true
		}
		brand := payBrands.has(w) || w == "cash" && i+1 < len(toks) && toks[i+1] == "app"
		if brand && !negated(toks, i, 6, nil) && handleNear(toks, i) {
			return true
		}
	}
	folded := foldWords(s)
	return strings.Contains(folded, "paypal.me") || strings.Contains(folded, "cash.app/$")
}

// handleNear looks for a handle (@name, $name, an address) or a "me" beside a payment brand.
func handleNear(toks []string, i int) bool {
	for j := max(0, i-4); j < len(toks) && j <= i+4; j++ {
		w := toks[j]
		if j == i || !sameSentence(toks, i, j) {
			continue
		}
		if len(w) > 1 && strings.Contains(w, "@") || len(w) > 2 && w[0] == '$' && lower(w[1]) {
			return true
		}
		if ours.has(w) && (j < i && (before(toks, j+1, 3, sendMoney) || w == "my" || w == "our") || j > i && (before(toks, i, 4, sendMoney) || payBrands.has(toks[i]) && j == i+1)) {
			return true
		}
	}
	return false
}

// hasWallet finds Bitcoin and Ethereum addresses.
func hasWallet(s string) bool {
	for i := 0; i < len(s); {
		if !alnum(s[i]) {
			i++
			continue
		}
		n := run(s[i:], alnum, len(s))
		if n >= 26 && n <= 90 && walletWord(s[i:i+n]) {
			return true
		}
		i += n
	}
	return false
}

func walletWord(w string) bool {
	switch {
	case strings.HasPrefix(w, "0x"):
		return len(w) == 42 && run(w[2:], hexByte, 40) == 40
	case strings.HasPrefix(w, "bc1"):
		return len(w) >= 42 && strings.ToLower(w) == w
	case w[0] == '1' || w[0] == '3':
		return len(w) <= 35 && !strings.ContainsAny(w, "0OIl") && strings.ToLower(w) != w && strings.ToUpper(w) != w
	}
	return false
}
