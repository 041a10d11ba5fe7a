package text

import "testing"

func judge(t *testing.T, name string, screen func(string) bool, bad, good []string) {
	t.Helper()
	for _, s := range bad {
		if !screen(s) {
			t.Errorf("%s(%q) = false", name, s)
		}
	}
	for _, s := range good {
		if screen(s) {
			t.Errorf("%s(%q) = true", name, s)
		}
	}
}

func TestCredentialRequestsAreFound(t *testing.T) {
	judge(t, "CredentialRequest", CredentialRequest, []string{
		"Send me your password", "Please share your password with me.", "Tell me the one-time code from your phone", "Give me your login details",
		"Forward the verification code", "I will need your password for the shop.", "What is your PIN?", "Text me the 2FA code", "enter your password here",
		"I will log in as you and change it", "Share your login so I can post", "Turn off 2FA for a day", "Disable two-factor authentication", "Paste your recovery codes",
		"Provide the username and password of the account", "SEND ME YOUR PASSWORD", "send me your p\u200bassword", "send me your pаssword", "\uff53\uff45\uff4e\uff44 me your password",
		"Reply with the security code you receive", "hand over the credentials", "I'll need your one time passcode", "Please email me your seed phrase", "using your login I post daily", "I need two photos and your password", "Tell me your PIN", "We will need the verification code", "I want you to share your password", "Log in and send the code: I need the security code at once",
	}, []string{
		"", "please reset your password", "I will never ask for your password.", "Do not send your password to anyone.", "You keep your password; I use the connection.",
		"No password needed: tap Connect.", "I work without your password.", "The page has a login button.", "Send me the login page design", "Choose a strong password yourself.",
		"Never share your login.", "A booking page with a password reset link.", "I will send you a draft. Your password stays yours.", "Send me the class list", "I pin the list to the wall",
		"Share your calendar with the connection", "Please don't send any passwords or codes", "Share the pins on the map", "The students want a simple login", "The site will text customers a verification code", "I will provide the login for the new page", "I need the login page design from you",
	})
}

func TestRecurringPaymentsAreFound(t *testing.T) {
	judge(t, "RecurringPayment", RecurringPayment, []string{
		"It costs $30 per month", "You pay 30 dollars each month", "a monthly fee of $9", "There is a subscription of $20.", "This needs a paid subscription", "$9/mo after the first week",
		"recurring charge", "recurring payments apply", "It auto-renews", "The plan renews automatically each year", "auto renewal is on", "billed annually", "a weekly fee", "monthly retainer",
		"MONTHLY FEE", "month\u200bly fee", "\uff4donthly fee", "Pay $5 every week", "an annual membership fee", "no setup fee, but a monthly subscription", "no less than $20 per month", "The monthly cost is $3", "You are charged a little every month", "every month you pay $30", "monthly: $99", "You pay weekly", "€15 a month for hosting",
		"quarterly payments of $100", "Cost: $99 monthly",
	}, []string{
		"", "zero monthly fees", "No monthly booking service, no back-and-forth texts", "with zero monthly subscription fees", "no subscription", "subscription-free", "Without any recurring charges",
		"no hidden, monthly or recurring fees", "two posts per month", "a recurring calendar event", "I write one letter each week", "never a subscription", "Cancel your old subscription",
		"a subscription is not needed", "You pay once.", "meets every month at the library", "a monthly newsletter", "The monthly class calendar", "the newsletter subscription form", "There are no monthly fees, ever", "$0 per month", "A weekly plan for dinners",
		"replaces the monthly fee you pay today", "It doesn't auto-renew", "not a subscription", "For $450 I write three posts a week", "The price includes two calls a week", "I post once a week at no cost to you", "I sort your monthly invoices", "I compare your monthly bills", "a weekly newsletter for $50",
	})
}

func TestBlanketGuaranteesAreFound(t *testing.T) {
	judge(t, "BlanketGuarantee", BlanketGuarantee, []string{
		"I guarantee you will get the job", "100% guaranteed", "You will definitely get a reply", "Success is guaranteed.", "Guaranteed results!", "We guarantee results", "I guarantee that you will win",
		"You are guaranteed a table", "I guarantee success", "This cannot fail", "I promise you will get the flat", "I GUAR\u200bANTEE you a sale", "risk free", "results guaranteed", "I guarantee the outcome", "you will certainly win",
	}, []string{
		"", "I will bring three places with a free table.", "I guarantee the draft arrives by Friday", "I cannot guarantee a reply.", "No guarantee that you win", "I do not guarantee results", "There are no guaranteed results",
		"I will not promise you will get it", "The guarantee card of the washing machine", "I will definitely send the file on Monday", "You will definitely want a coat", "results are not guaranteed",
	})
}

func TestOffPlatformPaymentsAreFound(t *testing.T) {
	judge(t, "OffPlatformPayment", OffPlatformPayment, []string{
		"pay me directly", "Venmo me @quill", "my PayPal is quill@example.com", "Send it through Cash App to $quill", "I will invoice you for the rest", "wire the money to my bank account",
		"send 0.1 BTC to bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "0x52908400098527886E0F7030069857D2E4169EE7", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "paypal.me/quill", "pay me outside the platform", "Buy a gift card for me", "my IBAN is DE00", "PAY ME DIRE\u200bCTLY", "zelle me the rest", "please pay the attached invoice",
	}, []string{
		"", "You pay the restaurant at the table.", "I add a PayPal button to your shop", "never pay me directly", "The shop takes cards and PayPal.", "Ten invoices sorted by date", "I will not invoice you", "A wallet made of leather", "Do not send money outside the platform.", "the venue accepts venmo",
	})
}

func TestPersonIdentityIsFound(t *testing.T) {
	for s, want := range map[string]string{
		"write to ann@example.com": IdentityEmail, "ann [at] example [dot] com": IdentityEmail, "ANN@EXAMPLE.COM": IdentityEmail, "ann\u200b@example.com": IdentityEmail, "ann.b+x@mail.example.co.uk": IdentityEmail,
		"call (415) 555-0100": IdentityPhone, "415-555-0100": IdentityPhone, "+49 30 1234567": IdentityPhone, "my number is 5550100": IdentityPhone, "020 7946 0958": IdentityPhone, "4155550100": IdentityPhone, "+1 415 555 0100.": IdentityPhone, "415.555.0100": IdentityPhone, "01 23 45 67 89": IdentityPhone,
		"I live at 12 Oak Street": IdentityAddress, "221b Baker St, London": IdentityAddress, "1600 Pennsylvania Avenue NW": IdentityAddress, "Hauptstraße 5, Berlin": IdentityAddress, "P.O. Box 123": IdentityAddress, "12 rue de Rivoli": IdentityAddress, "44 elm drive": IdentityAddress, "Via Roma 12": IdentityAddress, "7 Old Mill Way": IdentityAddress,
	} {
		if got, _ := PersonIdentity(s); got != want {
			t.Errorf("PersonIdentity(%q) = %q; want %q", s, got, want)
		}
	}
	for _, s := range []string{
		"", "a table for nine", "on 2026-07-28 at 19:00", "between 10 and 12", "$1,200.50", "it takes a 5 minute drive", "two way street", "3 best places on the main road", "room 12", "nine people, 30 minutes", "the code is 42",
		"order #1234567890", "a @handle", "from 2019-2024", "version 1.2.3.4", "10 30 40", "1 way to go", "12 eggs and 3 lemons", "I can meet at 5 in the square", "20 to 30 people",
	} {
		if got, found := PersonIdentity(s); found {
			t.Errorf("PersonIdentity(%q) found a %s", s, got)
		}
	}
}
