// Commands whose arguments are small languages: sed, awk, find, test, xxd.

package shell

import (
	"regexp"
	"slices"
	"strings"
)

// sedReads: without -e the first operand is the script.
func sedReads(p parsed) bool {
	scripts := slices.Concat(p.flags["e"], p.flags["expression"])
	if len(scripts) == 0 {
		if len(p.operands) == 0 {
			return false
		}
		scripts = p.operands[:1]
	}
	return !slices.ContainsFunc(scripts, func(w word) bool { return !w.static || !sedScriptReads(w.text) })
}

// sedAddress is a line, the last line, or a pattern between slashes without
// brackets that hide a slash.
var sedAddress = regexp.MustCompile(`^([0-9]+(~[0-9]+)?|\$|\+[0-9]+|/([^/\\\[\n]|\\[^\n]|\[[^]/\\\n]+\])*/I?)`)

// sedPlain are commands without arguments that touch no file.
var sedPlain = regexp.MustCompile(`^(q[0-9]*|Q[0-9]*|[pPdD=lnNgGhHxz])`)

// sedScriptReads parses a script of addresses, blocks, plain commands and
// substitutions. All else, above all w, W, e, r and R, is not known to it.
func sedScriptReads(s string) bool {
	for {
		s = strings.TrimLeft(s, " \t\n;{}")
		if s == "" {
			return true
		}
		for range 2 {
			s = s[len(sedAddress.FindString(s)):]
			s = strings.TrimLeft(s, " \t")
			if !strings.HasPrefix(s, ",") {
				break
			}
			s = strings.TrimLeft(s[1:], " \t")
		}
		s = strings.TrimLeft(s, " \t!")
		if strings.HasPrefix(s, "{") {
			continue
		}
		if m := sedPlain.FindString(s); m != "" {
			s = s[len(m):]
		} else if rest, ok := sedSubstitution(s); ok {
			s = rest
		} else {
			return false
		}
		s = strings.TrimLeft(s, " \t")
		if s != "" && !strings.ContainsRune(";\n}", rune(s[0])) {
			return false
		}
	}
}

// sedSubstitution takes one off the front: s or y with a usual delimiter, and
// without the flags w and e.
func sedSubstitution(s string) (rest string, ok bool) {
	if len(s) < 2 || s[0] != 's' && s[0] != 'y' || !strings.ContainsRune("/|#,:@!%", rune(s[1])) {
		return "", false
	}
	delimiter, i, found := s[1], 2, 0
	for ; i < len(s) && found < 2; i++ {
		switch s[i] {
		case '\n':
			return "", false
		case '\\':
			i++
		case '[':
			// Whether a delimiter in brackets counts depends on the sed.
			end := strings.IndexByte(s[i:], ']')
			next := strings.IndexByte(s[i:], delimiter)
			if end < 0 || next < end || next == end+1 && s[i+1] == ']' {
				return "", false
			}
		case delimiter:
			found++
		}
	}
	if found < 2 {
		return "", false
	}
	rest = s[min(i, len(s)):]
	if s[0] == 's' {
		rest = strings.TrimLeft(rest, "gpiI0123456789")
	}
	return rest, true
}

// awkProgram prints fields, for all lines or those of one number or pattern.
// Anything else in awk could be a redirection, a pipe or a call.
var awkProgram = regexp.MustCompile(`^\s*((NR|NF)\s*(==|!=|<=|>=|<|>)\s*[0-9]+|/[A-Za-z0-9_ .^$:-]+/)?\s*` +
	`(\{\s*print(\s+` + awkItem + `(\s*,?\s*` + awkItem + `)*)?\s*;?\s*\}\s*)?$`)

const awkItem = `(\$[0-9]+|\$NF|NR|NF|"[A-Za-z0-9_ .:,;/=\t-]*")`

func awkReads(p parsed) bool {
	if len(p.operands) == 0 || !p.operands[0].static {
		return false
	}
	// Some awks open connections by name.
	if slices.ContainsFunc(p.operands[1:], func(w word) bool {
		return strings.HasPrefix(w.prefix, "/inet") || !w.static && strings.HasPrefix("/inet", w.prefix)
	}) {
		return false
	}
	text := p.operands[0].text
	return strings.TrimSpace(text) != "" && awkProgram.MatchString(text)
}

// findTests are the expressions of find that only look, with the number of
// words that each takes.
var findTests = map[string]int{
	"-amin": 1, "-anewer": 1, "-atime": 1, "-cmin": 1, "-cnewer": 1, "-ctime": 1, "-daystart": 0, "-depth": 0, "-empty": 0,
	"-executable": 0, "-false": 0, "-follow": 0, "-fstype": 1, "-gid": 1, "-group": 1, "-ilname": 1, "-iname": 1, "-inum": 1,
	"-ipath": 1, "-iregex": 1, "-iwholename": 1, "-links": 1, "-lname": 1, "-ls": 0, "-maxdepth": 1, "-mindepth": 1, "-mmin": 1,
	"-mount": 0, "-mtime": 1, "-name": 1, "-newer": 1, "-newermt": 1, "-newerct": 1, "-nogroup": 0, "-noleaf": 0, "-not": 0, "-nouser": 0,
	"-o": 0, "-or": 0, "-a": 0, "-and": 0, "-path": 1, "-perm": 1, "-print": 0, "-print0": 0, "-printf": 1, "-prune": 0, "-quit": 0,
	"-readable": 0, "-regex": 1, "-regextype": 1, "-samefile": 1, "-size": 1, "-true": 0, "-type": 1, "-uid": 1, "-used": 1,
	"-user": 1, "-wholename": 1, "-writable": 0, "-xdev": 0, "-xtype": 1, "!": 0, "(": 0, ")": 0, ",": 0,
}

func findReads(args []word) bool {
	i := 0
	for i < len(args) && args[i].static && slices.Contains([]string{"-H", "-L", "-P"}, args[i].text) {
		i++
	}
	for i < len(args) && args[i].operand() && !strings.ContainsAny(args[i].prefix[:1], "(!,)") {
		i++
	}
	for i < len(args) {
		if !args[i].static {
			return false
		}
		name := args[i].text
		i++
		if name == "-exec" {
			end := i
			for end < len(args) && args[end].text != ";" && args[end].text != "+" {
				if !args[end].static {
					return false // it could end the command
				}
				end++
			}
			if end == len(args) || !appendable(args[i:end]) {
				return false
			}
			i = end + 1
			continue
		}
		values, ok := findTests[name]
		if !ok || i+values > len(args) || values == 1 && !args[i].oneField {
			return false
		}
		i += values
	}
	return true
}

// The operators of test that evaluate nothing: -v and -R look a variable up
// by a name that may hold a command.
var (
	testUnary  = set("-a -b -c -d -e -f -g -h -k -n -p -r -s -t -u -w -x -z -G -L -N -O -S")
	testBinary = set("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef")
)

func testReads(args []word) bool {
	if slices.ContainsFunc(args, func(w word) bool { return !w.oneField }) {
		return false
	}
	if len(args) > 0 && args[0].static && args[0].text == "!" {
		args = args[1:]
	}
	switch len(args) {
	case 0, 1:
		return true
	case 2:
		return args[0].static && testUnary[args[0].text]
	case 3:
		return args[1].static && testBinary[args[1].text]
	}
	return false
}

// xxdOption: xxd has long options with one dash, and -r writes.
var xxdOption = regexp.MustCompile(`^-(p|ps|plain|b|u|i|e|a|d|[clsgo][0-9]+)$`)

func xxdReads(args []word) bool {
	operands := 0
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case !w.oneField:
			return false
		case w.operand(), w.static && w.text == "-":
			operands++ // the second one is written
		case w.static && slices.Contains([]string{"-c", "-l", "-s", "-g", "-o"}, w.text):
			if i++; i >= len(args) || !args[i].static || !isNumber(args[i].text) {
				return false
			}
		case !w.static || !xxdOption.MatchString(w.text):
			return false
		}
	}
	return operands <= 1
}
