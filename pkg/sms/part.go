package sms

import (
	"strings"
	"unicode/utf16"
)

// Room of a part, in 7-bit characters of the GSM alphabet or in 16-bit units of UCS-2. A
// text of several parts gives up some of each for their numbers.
const (
	gsmAlone, gsmJoined = 160, 153
	ucsAlone, ucsJoined = 70, 67
)

// The GSM alphabet (3GPP TS 23.038): those of the extension take two characters.
const (
	gsmBasic = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmMore  = "^{}\\[~]|€"
)

// Parts is the number of parts a body is sent in: each is paid for like a text.
func Parts(body string) int {
	units := 0
	for _, r := range body {
		switch {
		case strings.ContainsRune(gsmBasic, r):
			units++
		case strings.ContainsRune(gsmMore, r):
			units += 2
		default:
			return parts(len(utf16.Encode([]rune(body))), ucsAlone, ucsJoined)
		}
	}
	return parts(units, gsmAlone, gsmJoined)
}

func parts(units, alone, joined int) int {
	if units <= alone {
		return 1
	}
	return (units + joined - 1) / joined
}
