package filekind

import (
	"bytes"
	"path"
	"strings"
	"unicode"
)

// Endings that are refused whatever the file holds. What a computer runs when it is opened,
// what installs something, and source code: code-shaped payloads are told by their ending,
// since a program in a text file begins like any text.
var endings = map[string]string{}

func init() {
	for reason, list := range map[string]string{
		Program: "exe com scr pif cpl dll sys drv ocx so dylib elf app run class dex odex wasm pyc pyo pyd beam swf ko efi xll wll chm hlp gadget kext saver prefpane",
		Installer: "msi msp mst msix msixbundle appx appxbundle appinstaller dmg pkg mpkg apk aab xapk apks ipa jar war ear deb rpm snap flatpak appimage " +
			"crx xpi vsix whl egg gem nupkg iso img vhd vhdx vmdk ova ovf qcow2 cab inf reg lnk url webloc desktop scf msc application jnlp library-ms search-ms settingcontent-ms diagcab wsb terminal inetloc fileloc mobileconfig rdp appref-ms xbap themepack deskthemepack " +
			"wim esd sfs squashfs toast oxt air mcpb",
		Script: "bat cmd ps1 psm1 psd1 ps1xml sh bash zsh fish csh ksh command tool workflow vbs vbe vb wsf wsh wsc sct hta js jse mjs cjs scpt scptd applescript " +
			"ahk au3 action osascript shb shs msh msh1 ws psc1 mad maf mag mam wlua",
		Code: "py pyw pyi pyz pyzw ipynb rb pl pm php phtml phar lua tcl r jl go rs c cc cpp cxx h hh hpp hxx m java kt kts scala groovy gradle cs fs swift dart zig nim " +
			"hs ml mli ex exs erl clj cljs lisp el scm asm s ts tsx jsx vue svelte coffee css scss sass less html htm xhtml shtml mht mhtml xht asp aspx jsp cgi sql wat sol",
		Macros: "docm dotm xlsm xltm xlam xla xlm pptm potm ppam ppsm sldm iqy oqy dqy rqy slk otm accde accdb mdb mde mda ade adp",
		Opaque: "7z rar xz bz2 tbz tbz2 txz zst lz lz4 lzma z arj lzh lha ace sit sitx zipx uue onepkg onetoc2",
	} {
		for e := range strings.FieldsSeq(list) {
			endings["."+e] = reason
		}
	}
}

// named is the reason for which a name is refused: its last ending counts. Characters that
// print nothing, dots, spaces and the colon of a second stream do not hide an ending.
func named(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/"))))
	for part := range strings.SplitSeq(name, ":") {
		if reason := endings[path.Ext(strings.TrimRight(part, ". "))]; reason != "" {
			return reason
		}
	}
	return ""
}

// beginnings of what runs, installs or hides.
var beginnings = []struct {
	begin, reason string
}{
	{"\x7fELF", Program}, {"\xfe\xed\xfa\xce", Program}, {"\xfe\xed\xfa\xcf", Program}, {"\xce\xfa\xed\xfe", Program}, {"\xcf\xfa\xed\xfe", Program},
	{"\xca\xfe\xba\xbe", Program}, {"\xca\xfe\xba\xbf", Program}, {"\xbe\xba\xfe\xca", Program}, {"\xbf\xba\xfe\xca", Program}, // Mach-O and Java
	{"dex\n", Program}, {"dey\n", Program}, {"cdex", Program}, {"\x00asm", Program}, {"\x1bLua", Program}, {"BC\xc0\xde", Program}, {"CWS", Program}, {"FWS", Program}, {"ZWS", Program}, {"\x03\xf3\r\n", Program},
	{"ITSF", Program}, {"?_\x03\x00", Program}, {"FasdUAS ", Script}, {"ActiveMime", Macros},
	{"\x00\x01\x00\x00Standard Jet DB", Macros}, {"\x00\x01\x00\x00Standard ACE DB", Macros},
	{"sqsh", Installer}, {"MSWIM\x00\x00\x00", Installer}, {"encrcdsa", Installer}, {"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", Installer}, // images
	{"!<arch>\n", Installer}, {"\xed\xab\xee\xdb", Installer}, {"xar!", Installer}, {"Cr24", Installer}, {"MSCF", Installer}, {"ISc(", Installer},
	{"L\x00\x00\x00\x01\x14\x02\x00", Installer}, {"KDMV", Installer}, {"QFI\xfb", Installer}, {"conectix", Installer}, {"vhdxfile", Installer}, {"hsqs", Installer},
	{"7z\xbc\xaf\x27\x1c", Opaque}, {"Rar!\x1a\x07", Opaque}, {"\xfd7zXZ\x00", Opaque}, {"BZh", Opaque}, {"\x28\xb5\x2f\xfd", Opaque}, {"\x04\x22\x4d\x18", Opaque},
	{"LZIP", Opaque}, {"\x1f\x9d", Opaque}, {"\x1f\xa0", Opaque}, {"\x60\xea", Opaque}, {"**ACE**", Opaque}, {"StuffIt", Opaque}, {"SIT!", Opaque},
	{"070701", Opaque}, {"070702", Opaque}, {"070707", Opaque}, {"\xc7\x71", Opaque}, {"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d", Opaque}, // cpio, OneNote
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
	case compiled(head):
		return Program
	case boots(head):
		return Installer
	}
	switch words := narrow(head); {
	case bytes.HasPrefix(head, []byte("MZ")) && !isText(head), bytes.HasPrefix(head, []byte("ZM")) && !isText(head):
		return Program
	case opensWith(words, "#!"), opensWith(words, "@echo off"):
		return Script
	case opensWith(words, "[desktop entry]"), opensWith(words, "[internetshortcut]"), opensWith(words, "regedit4"), opensWith(words, "windows registry editor"):
		return Installer
	case bytes.HasPrefix(head, []byte("-lh")) || len(head) > 6 && head[2] == '-' && head[3] == 'l' && (head[4] == 'h' || head[4] == 'z') && head[6] == '-':
		return Opaque
	}
	return page(narrow(head))
}

// boots tells a disk by its first block.
func boots(head []byte) bool {
	const block, second = 512, "EFI PART"
	if len(head) < block || string(head[block-2:block]) != "\x55\xaa" {
		return false
	}
	return head[0] == 0xeb && head[2] == 0x90 || head[0] == 0xe9 || head[0] == 0x33 && head[1] == 0xc0 || bytes.HasPrefix(head[block:], []byte(second))
}

// compiled tells a compiled Python file: a version, a line end, and flags.
func compiled(head []byte) bool {
	const first, last = 0x0b, 0x0f // second bytes of the versions
	return len(head) >= 16 && head[1] >= first && head[1] <= last && head[2] == '\r' && head[3] == '\n' && head[4] <= 3 && string(head[5:8]) == "\x00\x00\x00"
}

// page is the reason for which markup is refused that a browser would run.
func page(head []byte) string {
	for _, word := range []string{"<!doctype html", "<html", "<script", "<?php", "<head", "<body", "<iframe", "mime-version:"} {
		if opensWith(head, word) {
			return Code
		}
	}
	lower := bytes.ToLower(head)
	if (bytes.Contains(lower, []byte("<script")) || bytes.Contains(lower, []byte("javascript:"))) && opensWith(head, "<") {
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
