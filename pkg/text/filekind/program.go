package filekind

import (
	"bytes"
	"path"
	"strings"
)

// Endings that are refused whatever the file holds. What a computer runs when it is opened,
// what installs something, and source code: code-shaped payloads are told by their ending,
// since a program in a text file begins like any text.
var endings = map[string]string{}

func init() {
	for reason, list := range map[string]string{
		Program: "exe com scr pif cpl dll sys drv ocx so dylib elf app run class dex odex wasm pyc pyo pyd beam swf ko efi xll chm hlp gadget",
		Installer: "msi msp mst msix msixbundle appx appxbundle appinstaller dmg pkg mpkg apk aab xapk apks ipa jar war ear deb rpm snap flatpak appimage " +
			"crx xpi vsix whl egg gem nupkg iso img vhd vhdx vmdk ova ovf qcow2 cab inf reg lnk url webloc desktop scf msc application jnlp library-ms search-ms settingcontent-ms diagcab wsb",
		Script: "bat cmd ps1 psm1 psd1 ps1xml sh bash zsh fish csh ksh command tool workflow vbs vbe vb wsf wsh wsc sct hta js jse mjs cjs scpt scptd applescript " +
			"ahk au3 action osascript",
		Code: "py pyw pyi ipynb rb pl pm php phtml phar lua tcl r jl go rs c cc cpp cxx h hh hpp hxx m java kt kts scala groovy gradle cs fs swift dart zig nim " +
			"hs ml mli ex exs erl clj cljs lisp el scm asm s ts tsx jsx vue svelte coffee css scss sass less html htm xhtml shtml mht mhtml xht asp aspx jsp cgi sql wat sol",
		Macros: "docm dotm xlsm xltm xlam xla xlm pptm potm ppam ppsm sldm iqy slk",
		Opaque: "7z rar xz bz2 tbz tbz2 txz zst lz lz4 lzma z arj lzh lha ace sit sitx zipx uue",
	} {
		for e := range strings.FieldsSeq(list) {
			endings["."+e] = reason
		}
	}
}

// named is the reason for which a name is refused: its last ending counts. Dots, spaces
// and the colon of a second stream behind it do not hide an ending.
func named(name string) string {
	name = strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	if before, _, cut := strings.Cut(name, ":"); cut {
		name = before
	}
	name = strings.TrimRight(name, ". \u00a0\t")
	return endings[path.Ext(name)]
}

// beginnings of what runs, installs or hides.
var beginnings = []struct {
	begin, reason string
}{
	{"\x7fELF", Program}, {"\xfe\xed\xfa\xce", Program}, {"\xfe\xed\xfa\xcf", Program}, {"\xce\xfa\xed\xfe", Program}, {"\xcf\xfa\xed\xfe", Program},
	{"\xca\xfe\xba\xbe", Program}, {"\xca\xfe\xba\xbf", Program}, {"\xbe\xba\xfe\xca", Program}, {"\xbf\xba\xfe\xca", Program}, // Mach-O and Java
	{"dex\n", Program}, {"dey\n", Program}, {"cdex", Program}, {"\x00asm", Program}, {"\x1bLua", Program}, {"BC\xc0\xde", Program}, {"CWS", Program}, {"FWS", Program},
	{"!<arch>\n", Installer}, {"\xed\xab\xee\xdb", Installer}, {"xar!", Installer}, {"Cr24", Installer}, {"MSCF", Installer}, {"ISc(", Installer},
	{"L\x00\x00\x00\x01\x14\x02\x00", Installer}, {"KDMV", Installer}, {"QFI\xfb", Installer}, {"conectix", Installer}, {"vhdxfile", Installer}, {"hsqs", Installer},
	{"7z\xbc\xaf\x27\x1c", Opaque}, {"Rar!\x1a\x07", Opaque}, {"\xfd7zXZ\x00", Opaque}, {"BZh", Opaque}, {"\x28\xb5\x2f\xfd", Opaque}, {"\x04\x22\x4d\x18", Opaque},
	{"LZIP", Opaque}, {"\x1f\x9d", Opaque}, {"\x1f\xa0", Opaque}, {"\x60\xea", Opaque}, {"**ACE**", Opaque}, {"StuffIt", Opaque}, {"SIT!", Opaque},
}

// isoMark stands at this place of a disc image.
const isoPlace, isoMark = 0x8001, "CD001"

// runs is the reason for which a beginning is refused.
func runs(head []byte) string {
	for _, b := range beginnings {
		if bytes.HasPrefix(head, []byte(b.begin)) {
			return textual(b.begin, b.reason, head)
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("MZ")) && !isText(head), bytes.HasPrefix(head, []byte("ZM")) && !isText(head):
		return Program
	case opensWith(head, "#!"), opensWith(head, "@echo off"):
		return Script
	case bytes.HasPrefix(head, []byte("-lh")) || len(head) > 6 && head[2] == '-' && head[3] == 'l' && (head[4] == 'h' || head[4] == 'z') && head[6] == '-':
		return Opaque
	}
	for _, word := range []string{"<!doctype html", "<html", "<script", "<?php", "<head", "<body", "<iframe", "mime-version:"} {
		if opensWith(head, word) {
			return Code
		}
	}
	if lower := bytes.ToLower(head); isText(head) && (bytes.Contains(lower, []byte("<script")) || bytes.Contains(lower, []byte("javascript:"))) && opensWith(head, "<") {
		return Code
	}
	return ""
}

// textual lets a text through that merely begins with letters some format begins with.
func textual(begin, reason string, head []byte) string {
	if isText([]byte(begin)) && !strings.Contains(begin, "\n") && isText(head) {
		return ""
	}
	return reason
}
