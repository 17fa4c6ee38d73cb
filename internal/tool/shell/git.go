// What git only reads. Its own options are judged like those of any command.
// A repository's configuration can make git run programs (a file monitor, a
// diff driver, a filter): they are not in the words of the line, so that they
// are left to the sandbox, which a reading command always runs in; the
// environment turns off those that it can, see readingEnv.

package shell

import (
	"slices"
	"strings"
)

const (
	gitDiffShort = "abDpqRsuwWzS:G:U+C?M?B?"
	gitDiffLong  = `patch no-patch stat=? numstat shortstat summary name-only name-status raw cached staged merge-base word-diff=? word-diff-regex=
		color=? no-color color-words=? color-moved=? ignore-all-space ignore-space-change ignore-space-at-eol ignore-blank-lines ignore-cr-at-eol diff-filter= find-renames=? find-copies=?
		exit-code quiet full-index binary text no-ext-diff no-textconv no-renames minimal patience histogram diff-algorithm= unified= check
		relative=? no-relative compact-summary dirstat=? no-prefix submodule=? ignore-submodules=? inter-hunk-context= function-context no-index pickaxe-regex pickaxe-all
		patch-with-stat abbrev=? src-prefix= dst-prefix= line-prefix= no-indent-heuristic`
	gitLogShort = gitDiffShort + "cEFgimPn:L:"
	gitLogLong  = gitDiffLong + ` oneline graph decorate=? no-decorate decorate-refs= all branches=? tags=? remotes=? glob= exclude= author= committer= grep= all-match invert-grep
		regexp-ignore-case extended-regexp fixed-strings perl-regexp max-count= skip= since= until= after= before= since-as-filter=
		merges no-merges min-parents= max-parents= first-parent reverse follow date= format= pretty=? abbrev-commit no-abbrev-commit no-abbrev
		topo-order date-order author-date-order left-right cherry-pick cherry-mark cherry left-only right-only boundary simplify-by-decoration full-history
		ancestry-path=? walk-reflogs reflog source parents children no-notes notes=? no-expand-tabs expand-tabs=? count relative-date show-pulls
		diff-merges= no-diff-merges cc clear-decorations no-walk=? stdin use-mailmap no-mailmap mailmap`
	gitRefLong = "contains=? no-contains=? merged=? no-merged=? points-at=? sort= format= color=? no-color ignore-case column=? no-column omit-empty"
)

var (
	gitDiff = options{short: gitDiffShort, long: gitDiffLong, numbers: true, operands: -1}
	gitLog  = options{short: gitLogShort, long: gitLogLong, numbers: true, operands: -1, check: plainFormat}

	gitCommands = map[string]options{
		"status":       {short: "sbvzu?", long: "short branch porcelain=? untracked-files=? ignored=? long verbose show-stash ahead-behind no-ahead-behind no-renames find-renames=? column=? no-column", operands: -1},
		"diff":         gitDiff,
		"diff-tree":    {short: gitDiffShort + "rtcm", long: gitDiffLong + " root cc no-commit-id stdin pretty=? format=", operands: -1, check: plainFormat},
		"diff-index":   gitDiff,
		"diff-files":   gitDiff,
		"log":          gitLog,
		"show":         gitLog,
		"whatchanged":  gitLog,
		"rev-list":     gitLog,
		"range-diff":   {short: gitDiffShort, long: gitDiffLong + " creation-factor= no-dual-color left-only right-only", operands: -1},
		"shortlog":     {short: "nsecw?", long: gitLogLong + " numbered summary email group=", numbers: true, operands: -1, check: plainFormat},
		"cherry":       {short: "v", operands: -1},
		"branch":       {short: "arvi", long: gitRefLong + " all remotes verbose list show-current abbrev=? no-abbrev", operands: -1, check: listing},
		"tag":          {short: "lin?", long: gitRefLong + " list", operands: -1, check: listing},
		"for-each-ref": {long: gitRefLong + " count= shell stdin include-root-refs exclude=", operands: -1, check: plainFormat},
		"show-ref":     {short: "ds?q", long: "head heads branches tags dereference hash=? verify quiet abbrev=? exists", operands: -1},
		"symbolic-ref": {short: "q", long: "short quiet", operands: 1},
		"merge-base":   {short: "a", long: "all is-ancestor octopus independent fork-point", operands: -1},
		"describe":     {long: "tags always long abbrev= match= exclude= all contains first-parent exact-match candidates=", operands: -1},
		"name-rev":     {long: "tags name-only refs= all always no-undefined", operands: -1},
		"rev-parse":    {short: "q", long: "verify quiet short=? abbrev-ref=? show-toplevel show-prefix show-cdup show-superproject-working-tree git-dir git-common-dir absolute-git-dir is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository symbolic symbolic-full-name all branches=? tags=? remotes=? revs-only no-revs flags no-flags path-format= since= until= show-object-format=?", operands: -1},
		"ls-files":     {short: "cdmoistuvkzfx:X:", long: "cached deleted modified others ignored stage directory no-empty-directory unmerged killed exclude= exclude-from= exclude-per-directory= exclude-standard error-unmatch full-name recurse-submodules abbrev=? debug eol deduplicate format= sparse", operands: -1},
		"ls-tree":      {short: "drtlz", long: "long name-only name-status object-only full-name full-tree abbrev=? format=", operands: -1},
		"cat-file":     {short: "tspe", long: "batch=? batch-check=? batch-all-objects unordered buffer follow-symlinks allow-unknown-type", operands: -1},
		"blame":        {short: "bceflnpstwL:M?C?", long: "porcelain line-porcelain date= since= root show-email show-name show-number show-stats score-debug abbrev= ignore-rev= incremental first-parent color-lines color-by-age", operands: -1},
		"annotate":     {short: "blstwL:M?C?", operands: -1},
		"grep":         {short: "niIlLcwEFGPvhHqoWpzaA:B:C:e:m:", long: "line-number ignore-case files-with-matches files-without-match name-only count word-regexp extended-regexp fixed-strings basic-regexp perl-regexp invert-match no-color color=? heading break cached untracked no-index recursive no-recursive and or not all-match quiet only-matching column after-context= before-context= context= show-function function-context max-depth= max-count= exclude-standard no-exclude-standard text full-name null threads= recurse-submodules", numbers: true, operands: -1},
		"count-objects": {
			short: "vH", long: "verbose human-readable", operands: 0,
		},
		"check-ignore": {short: "qvnz", long: "quiet verbose non-matching no-index stdin", operands: -1},
		"check-attr":   {short: "az", long: "all cached stdin source=", operands: -1},
		"version":      {long: "build-options", operands: 0},
		"config":       {short: "lz", long: "list get get-all get-regexp get-urlmatch global local system worktree show-origin show-scope name-only null includes no-includes type= bool int bool-or-int path", operands: 2, check: func(p parsed) bool { return p.has("list", "l", "get", "get-all", "get-regexp", "get-urlmatch") }},
	}

	// gitNested have commands of their own, of which only these read.
	gitNested = map[string]map[string]options{
		"remote":   {"": {short: "v", long: "verbose", operands: 0}, "get-url": {long: "push all", operands: 1}},
		"stash":    {"list": gitLog, "show": gitDiff},
		"worktree": {"list": {short: "vz", long: "porcelain verbose", operands: 0}},
		"reflog":   {"": {short: gitLogShort, long: gitLogLong, numbers: true, operands: 0, check: plainFormat}, "show": gitLog, "exists": {operands: 1}},
		"notes":    {"list": {operands: 1}, "show": {operands: 1}},
		"bisect":   {"log": {operands: 0}},
	}
)

// gitReads judges the arguments of git.
func gitReads(args []word) bool {
	i := 0
	for ; i < len(args) && args[i].static; i++ {
		switch args[i].text {
		case "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs", "--icase-pathspecs", "--no-replace-objects", "--no-lazy-fetch", "--no-advice":
			continue
		case "-C":
			if i++; i >= len(args) || !args[i].oneField {
				return false
			}
			continue
		case "--version", "-v":
			return i+1 == len(args)
		}
		break
	}
	if i >= len(args) || !args[i].static {
		return false
	}
	name, rest := args[i].text, args[i+1:]
	if nested, ok := gitNested[name]; ok {
		sub := ""
		if len(rest) > 0 && rest[0].static && !strings.HasPrefix(rest[0].text, "-") {
			sub, rest = rest[0].text, rest[1:]
		}
		o, ok := nested[sub]
		if !ok {
			return false
		}
		o.attached = true
		_, ok = o.parse(rest)
		return ok
	}
	o, ok := gitCommands[name]
	if !ok {
		return false
	}
	o.attached = true
	_, ok = o.parse(rest)
	return ok
}

// plainFormat refuses formats that make git check signatures, which runs the
// program for it.
func plainFormat(p parsed) bool {
	for _, name := range []string{"format", "pretty"} {
		if slices.ContainsFunc(p.flags[name], func(v word) bool {
			return !v.static || strings.Contains(v.text, "%G") || strings.Contains(v.text, "signature")
		}) {
			return false
		}
	}
	return true
}

// listing: a name makes a branch or a tag, unless an option says that it is a
// pattern.
func listing(p parsed) bool {
	if !plainFormat(p) {
		return false
	}
	if len(p.operands) == 0 {
		return true
	}
	return !p.dashes && p.has("list", "l", "contains", "no-contains", "merged", "no-merged", "points-at")
}
