package text

var (
	blanketPhrases = phrasesOf(
		"100% guaranteed", "100 % guaranteed", "100 percent guaranteed", "100% guarantee", "fully guaranteed", "totally guaranteed", "absolutely guaranteed",
		"guaranteed results", "guaranteed result", "guaranteed success", "guaranteed outcome", "guaranteed win", "guaranteed sale", "guaranteed sales", "guaranteed to work", "guaranteed to succeed", "guaranteed to get", "guaranteed to win",
		"results guaranteed", "results are guaranteed", "success guaranteed", "success is guaranteed", "outcome guaranteed", "outcome is guaranteed", "result is guaranteed", "satisfaction guaranteed", "money back guarantee",
		"guarantee success", "guarantee results", "guarantee the result", "guarantee the results", "guarantee the outcome", "guarantee the finish line", "guarantee the sale", "guarantee your success", "guarantee this will", "guarantee it will", "guarantee that it will", "guarantee that this will",
		"guarantee you", "guarantee that you", "guarantee your want", "guarantees you", "guarantees that you", "guaranteed you", "you are guaranteed", "youre guaranteed", "you will be guaranteed",
		"promise you will get", "promise you will win", "promise that you will", "promise you will have", "promise you success",
		"you will definitely", "you will certainly", "you will surely", "you will absolutely", "you will undoubtedly", "you definitely will", "you will 100%",
		"cannot fail", "cant fail", "can not fail", "impossible to fail", "no way this fails", "no chance of failure", "zero risk", "risk free", "success is certain", "success is assured", "certain to succeed", "sure to win",
	)
	youVerbs = words("get win receive end have land succeed earn make find sell reach be see love pass become")
)

// BlanketGuarantee says whether s promises the end result outright: "I guarantee you will …", "100% guaranteed", "you will
// definitely get" (bench contract 5.12, REJ-19). An honest commitment about one's own step ("I guarantee the draft arrives
// on Friday") and a denial ("I cannot guarantee a reply") pass.
func BlanketGuarantee(s string) bool { return Read(s).BlanketGuarantee() }

// BlanketGuarantee is the function of this name on a text already read.
func (r Reading) BlanketGuarantee() bool {
	toks := r.toks
	for i := range toks {
		n := blanketPhrases.at(toks, i)
		if n == 0 {
			continue
		}
		// The phrases that begin with a denial are not undone by their own word.
		if !negated(toks, i, 5, nil) && (toks[i+n-1] != "definitely" && toks[i+n-1] != "certainly" && toks[i+n-1] != "surely" || after(toks, i+n-1, 3, youVerbs)) {
			return true
		}
	}
	return false
}
