// Which commands only read, and with which options. An option that is not
// listed counts as writing; so do abbreviations of long options, which GNU
// tools accept.

package shell

import (
	"regexp"
	"slices"
	"strings"
)

// anything lists commands that only read whatever their arguments are: none
// of their options names a file to write or a program to run.
var anything = set(`
	: true false echo pwd cat head tail tac rev wc nl od hexdump hd cut tr paste join fold fmt expand unexpand pr
	grep egrep fgrep ls dir vdir stat du df readlink realpath basename dirname comm cmp column numfmt tsort
	cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum seq sleep expr factor
	whoami id groups logname uname arch nproc uptime free ps printenv which whereis type locale tty cal jq lscpu`)

func set(names string) map[string]bool {
	out := map[string]bool{}
	for _, n := range strings.Fields(names) {
		out[n] = true
	}
	return out
}

// options describes the command line of a command, as getopt would parse it.
type options struct {
	short    string // letters; one before ":" takes a value, one before "?" may have one attached, one before "+" must
	long     string // names; one that ends in "=" takes a value, in "=?" may have one attached
	attached bool   // values of long options are known to be such only if attached
	numbers  bool   // -5 is an option
	operands int    // at most; -1: any number
	check    func(p parsed) bool
}

// parsed is a command line taken apart.
type parsed struct {
	flags    map[string][]word // by name without dashes, with all values
	operands []word
	dashes   bool // there was a --
}

func (p parsed) has(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { _, ok := p.flags[n]; return ok })
}

// parse fails for what is not listed and for words that could be options.
func (o options) parse(args []word) (parsed, bool) {
	p := parsed{flags: map[string][]word{}}
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w.static && w.text == "--":
			p.operands = append(p.operands, args[i+1:]...)
			p.dashes = true
			i = len(args)
		case w.operand(), w.static && (w.text == "-" || w.text == ""):
			p.operands = append(p.operands, w)
		case strings.HasPrefix(w.prefix, "--"):
			if !o.takeLong(w, args, &i, p) {
				return p, false
			}
		case w.static && o.numbers && isNumber(w.text[1:]):
		case w.static:
			if !o.takeShort(w.text[1:], args, &i, p) {
				return p, false
			}
		default:
			return p, false
		}
	}
	if o.operands >= 0 && (len(p.operands) > o.operands || slices.ContainsFunc(p.operands, func(w word) bool { return !w.oneField })) {
		return p, false
	}
	return p, o.check == nil || o.check(p)
}

// value takes the next word as the value of an option. It must be exactly
// one, whatever it is.
func value(args []word, i *int) (word, bool) {
	*i++
	if *i >= len(args) || !args[*i].oneField {
		return word{}, false
	}
	return args[*i], true
}

func (o options) takeLong(w word, args []word, i *int, p parsed) bool {
	name, attached, has := strings.Cut(w.prefix[2:], "=")
	if !has && !w.static || !w.oneField {
		return false
	}
	v := word{static: w.static, text: attached, prefix: attached, oneField: true}
	known := strings.Fields(o.long)
	switch {
	case slices.Contains(known, name+"=?"):
	case slices.Contains(known, name+"=") && !has:
		if o.attached {
			return false
		}
		var ok bool
		if v, ok = value(args, i); !ok {
			return false
		}
	case slices.Contains(known, name+"="):
	case slices.Contains(known, name) && !has:
	default:
		return false
	}
	p.flags[name] = append(p.flags[name], v)
	return true
}

func (o options) takeShort(letters string, args []word, i *int, p parsed) bool {
	for letters != "" {
		at := strings.Index(o.short, letters[:1])
		if at < 0 || strings.Contains(":?+", letters[:1]) {
			return false
		}
		name := letters[:1]
		letters = letters[1:]
		kind := o.short[at+1:]
		v := word{static: true, text: letters, prefix: letters, oneField: true}
		switch {
		case strings.HasPrefix(kind, "+") && letters == "":
			return false
		case strings.HasPrefix(kind, "?"), strings.HasPrefix(kind, "+"):
			letters = ""
		case strings.HasPrefix(kind, ":") && letters == "":
			var ok bool
			if v, ok = value(args, i); !ok {
				return false
			}
		case strings.HasPrefix(kind, ":"):
			letters = ""
		}
		p.flags[name] = append(p.flags[name], v)
	}
	return true
}

// listed are the commands of which some options write or execute.
var listed = map[string]options{
	"sort":     {short: "bcCdfghik:mMnrst:uVz", long: "numeric-sort reverse unique key= field-separator= ignore-case human-numeric-sort version-sort general-numeric-sort stable check=? zero-terminated month-sort", operands: -1},
	"uniq":     {short: "cdDf:is:uw:z", long: "count repeated all-repeated=? skip-fields= ignore-case skip-chars= unique check-chars= zero-terminated", operands: 1},
	"shuf":     {short: "ei:n:rz", long: "echo input-range= head-count= repeat zero-terminated", operands: -1},
	"base64":   {short: "diw:", long: "decode ignore-garbage wrap=", operands: 1},
	"diff":     {short: "abBcC:dEiI:NqrstTuU:wW:x:X:yZ", long: "brief unified=? context=? recursive new-file ignore-all-space ignore-space-change ignore-blank-lines ignore-case text side-by-side width= color=? exclude= report-identical-files minimal no-dereference suppress-common-lines strip-trailing-cr label= normal", operands: 2},
	"tree":     {short: "adfiL:psugDhtrI:P:CnNFJXvxlA", long: "noreport dirsfirst prune gitignore matchdirs du si inodes", operands: -1},
	"file":     {short: "bikLhNrs0F:", long: "brief mime mime-type mime-encoding dereference no-pad keep-going separator= extension", operands: -1},
	"strings":  {short: "afn:t:e:w", long: "all bytes= radix= encoding=", numbers: true, operands: -1},
	"date":     {short: "d:I?Rr:u", long: "date= iso-8601=? rfc-3339= rfc-email utc universal reference=", operands: 1, check: plusOperand},
	"hostname": {short: "s", long: "short", operands: 0},
	"env":      {operands: 0},
	"cd":       {short: "LP", operands: 1},
	"gofmt":    {short: "ldes", operands: -1},
	"unzip":    {short: "lv", operands: -1, check: func(p parsed) bool { return p.has("l", "v") }},
	"rg": {
		short:    "abcFhHiIlLnNoPpqsSuUvVwx.0A:B:C:d:e:E:f:g:j:m:M:r:t:T:",
		long:     "after-context= before-context= binary block-buffered byte-offset case-sensitive color= colors= column context= context-separator= count count-matches crlf encoding= engine= field-context-separator= field-match-separator= file= files files-with-matches files-without-match fixed-strings follow glob= glob-case-insensitive heading no-heading help hidden no-hidden iglob= ignore-case ignore-file= include-zero invert-match json line-buffered line-number no-line-number line-regexp max-columns= max-columns-preview max-count= max-depth= max-filesize= mmap no-mmap multiline multiline-dotall no-config no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-parent no-ignore-vcs no-messages no-require-git no-unicode null null-data one-file-system only-matching passthru path-separator= pcre2 pcre2-version pretty quiet regex-size-limit= regexp= replace= smart-case sort= sortr= stats text threads= trace trim type= type-list type-not= unrestricted version vimgrep with-filename no-filename word-regexp",
		operands: -1,
	},
	"fd":     {short: "HIgFse:t:d:paL0E:S:1qui", long: "hidden no-ignore no-ignore-vcs glob fixed-strings extension= type= max-depth= min-depth= exact-depth= full-path absolute-path follow print0 exclude= size= max-results= changed-within= changed-before= color= quiet ignore-case case-sensitive", operands: -1},
	"sed":    {short: "nErsuze:", long: "quiet silent regexp-extended expression= separate null-data", operands: -1, check: sedReads},
	"awk":    {short: "F:", operands: -1, check: awkReads},
	"read":   {short: "r", operands: -1, check: plainNames},
	"exit":   {operands: 1, check: numberOperands},
	"return": {operands: 1, check: numberOperands},
	"break":  {operands: 1, check: numberOperands},
	"continue": {
		operands: 1, check: numberOperands,
	},
	"wait": {operands: 0},
	"set":  {short: "eux", operands: 0},
}

// versions are programs that may be asked which they are, and how.
var versions = map[string][]string{
	"go": {"version"}, "node": {"--version", "-v"}, "python": {"--version", "-V"}, "python3": {"--version", "-V"},
	"ruby": {"--version", "-v"}, "perl": {"--version", "-v"}, "java": {"-version", "--version"}, "gcc": {"--version"}, "g++": {"--version"}, "clang": {"--version"},
	"cc": {"--version"}, "make": {"--version"}, "cmake": {"--version"}, "bash": {"--version"}, "sh": {"--version"},
	"docker": {"--version"}, "sqlite3": {"--version", "-version"}, "psql": {"--version"}, "curl": {"--version"}, "sed": {"--version"}, "awk": {"--version"},
}

// simple judges one command with its arguments.
func (c *classifier) simple(name string, args []word) {
	base := name
	for _, dir := range []string{"/bin/", "/usr/bin/"} {
		if rest, ok := strings.CutPrefix(name, dir); ok {
			base = rest
		}
	}
	if !c.reads(base, args) {
		c.refuse("%s may write, execute or reach the network, as far as can be told", shownName(name))
	}
}

func shownName(name string) string {
	if len(name) > 40 {
		return name[:40] + "…"
	}
	return name
}

func (c *classifier) reads(name string, args []word) bool {
	if how, ok := versions[name]; ok && len(args) == 1 && args[0].static && slices.Contains(how, args[0].text) {
		return true
	}
	switch name {
	case "fdfind":
		name = "fd"
	case "gawk", "mawk":
		name = "awk"
	case "git":
		return gitReads(args)
	case "find":
		return findReads(args)
	case "test":
		return testReads(args)
	case "[":
		n := len(args) - 1
		return n >= 0 && args[n].static && args[n].text == "]" && testReads(args[:n])
	case "printf":
		return printfReads(args)
	case "command":
		return commandReads(c, args)
	case "xargs":
		if rest, ok := wrapped(args); ok {
			return len(rest) == 0 || appendable(rest)
		}
		return false
	case "xxd":
		return xxdReads(args)
	case "set":
		if len(args) == 2 && args[0].static && args[1].static && args[1].text == "pipefail" {
			return slices.Contains([]string{"-o", "-eo", "-euo", "-euxo", "-uo", "-exo"}, args[0].text)
		}
	}
	if anything[name] {
		return true
	}
	o, ok := listed[name]
	if !ok {
		return false
	}
	_, ok = o.parse(args)
	return ok
}

// xargsAttached are options of xargs with their value.
var xargsAttached = regexp.MustCompile(`^-([nLPs][0-9]+|I.+|d.+)$`)

// wrapped returns the command that xargs is to run, without xargs's options.
func wrapped(args []word) ([]word, bool) {
	for i := 0; i < len(args); i++ {
		w := args[i]
		if !w.static {
			return nil, false
		}
		switch {
		case !strings.HasPrefix(w.text, "-"):
			return args[i:], true
		case slices.Contains([]string{"-0", "-r", "-t", "-x", "--null", "--no-run-if-empty"}, w.text):
		case slices.Contains([]string{"-n", "-L", "-I", "-d", "-P", "-s"}, w.text):
			if i++; i < len(args) && !args[i].static {
				return nil, false
			}
		case !xargsAttached.MatchString(w.text):
			return nil, false
		}
	}
	return nil, true
}

// appendable: it stays a command that only reads whatever is appended to it
// or put into it.
func appendable(args []word) bool {
	return len(args) > 0 && args[0].static && anything[args[0].text]
}

func commandReads(c *classifier, args []word) bool {
	if len(args) == 0 || !args[0].static {
		return false
	}
	switch first := args[0].text; {
	case first == "-v" || first == "-V":
		return true
	case strings.HasPrefix(first, "-"):
		return false
	default:
		return c.reads(first, args[1:])
	}
}

// printfCounts is a conversion that sets a variable, as the option -v does.
var printfCounts = regexp.MustCompile(`%[-+ #'0-9.*hlLjztq]*n`)

func printfReads(args []word) bool {
	if len(args) > 0 && args[0].static && args[0].text == "--" {
		args = args[1:]
	} else if len(args) > 0 && !args[0].operand() {
		return false
	}
	return len(args) > 0 && args[0].static && !printfCounts.MatchString(args[0].text)
}

func plusOperand(p parsed) bool {
	return len(p.operands) == 0 || strings.HasPrefix(p.operands[0].prefix, "+")
}

func numberOperands(p parsed) bool {
	return !slices.ContainsFunc(p.operands, func(w word) bool { return !w.static || !isNumber(w.text) })
}

func plainNames(p parsed) bool {
	return !slices.ContainsFunc(p.operands, func(w word) bool { return !w.static || !plainVariable.MatchString(w.text) || w.text == "_" })
}
