package text

var (
	credentialNouns = phrasesOf(
		"password", "passwords", "passcode", "passcodes", "passphrase", "otp", "otps", "2fa", "mfa", "totp", "your pin", "card pin", "the pin", "pin code", "pin number",
		"one time code", "one time codes", "one time password", "one time passwords", "one time passcode", "two factor code", "two factor codes",
		"authentication code", "authenticator code", "verification code", "verification codes", "security code", "security codes", "login code",
		"sign in code", "confirmation code", "sms code", "sms codes", "backup code", "backup codes", "recovery code", "recovery codes",
		"login", "logins", "login details", "login credentials", "credentials", "credential", "log in details", "sign in details",
		"username and password", "session cookie", "session cookies", "session token", "seed phrase", "recovery phrase", "private key", "cvv", "cvc",
	)
	askVerbs      = words("send share give tell provide supply enter paste type forward text hand email dm upload reveal disclose submit whatsapp reply")
	doers         = words("i we ill it its site page system app they students customers platform agent server shop they theyll")
	asYouPhrases  = phrasesOf("log in as you", "login as you", "sign in as you", "log on as you", "logged in as you", "logging in as you", "signed in as you", "log in to * * as you", "log into * * as you", "log into * as you", "sign into * * as you", "act inside your login", "use your login", "use your password", "using your password", "using your login", "with your password", "with your login", "share your login", "share your account")
	turnOffVerbs  = phrasesOf("disable", "turn off", "switch off", "deactivate", "remove", "bypass", "skip", "pause")
	secondFactors = phrasesOf("2fa", "mfa", "two factor", "two step", "multi factor", "authenticator")
	askedFor      = phrasesOf("what is your", "whats your", "what are your", "i need", "i will need", "ill need", "we need", "we will need", "i require", "requires your", "needs your", "let me have", "ask you for", "ask for your")
)

// askReach is how many words may stand between the asking verb and the thing asked for.
const askReach = 7

// CredentialRequest says whether s asks a person for a password, a one-time code or a login, or to switch a second factor
// off (bench contract 2.10, REJ-08). Promising never to ask, and telling a person to keep or reset a password, pass.
func CredentialRequest(s string) bool { return Read(s).CredentialRequest() }

// CredentialRequest is the function of this name on a text already read.
func (r Reading) CredentialRequest() bool {
	toks := r.toks
	for i := range toks {
		if asYouPhrases.at(toks, i) > 0 && !negated(toks, i, 6, nil) {
			return true
		}
		if credentialNouns.at(toks, i) > 0 && askedAt(toks, i) {
			return true
		}
		if n := turnOffVerbs.at(toks, i); n > 0 && followedBy(toks, i+n, 4, secondFactors) && !negated(toks, i, 6, nil) {
			return true
		}
	}
	return false
}

// askedAt looks back from a credential's name for what asks for it: a verb told to the reader, or "I need".
func askedAt(toks []string, i int) bool {
	if partOfName(toks, i) {
		return false
	}
	for j := i - 1; j >= 0 && j >= i-askReach && toks[j] != stop; j-- {
		told := askVerbs.has(toks[j]) && !before(toks, j, 3, doers)
		if (told || askedFor.at(toks, j) > 0) && !negated(toks, j, 6, nil) && !negated(toks, i, i-j, nil) {
			return true
		}
	}
	return false
}

// partOfName is a credential that belongs to another thing's name: a login page, a password manager, a password reset.
func partOfName(toks []string, i int) bool { return i+1 < len(toks) && partNames.has(toks[i+1]) }

var partNames = words("page pages screen button link form field box manager managers reset resets policy flow portal protected protection free less strength issue issues problem error wall hint design designs area test tests step")

func followedBy(toks []string, i, n int, p *phrases) bool {
	for j := i; j < len(toks) && j < i+n; j++ {
		if toks[j] == stop {
			return false
		}
		if p.at(toks, j) > 0 {
			return true
		}
	}
	return false
}
