// What git shows of files that are not named: their contents are in its
// objects, and no sandbox can hide those of one file. So where a rule keeps
// agents from reading a path, a git command that prints contents may show it.

package permission

import (
	"regexp"
	"slices"
	"strings"
)

// gitPrinting are the commands of git that print or write out what its objects
// hold. Those that are true do so unless their options say otherwise.
var gitPrinting = map[string]bool{
	"show": false, "cat-file": false, "blame": false, "annotate": false, "grep": false, "whatchanged": false,
	"range-diff": false, "stash": false, "archive": false, "format-patch": false, "fast-export": false, "bundle": false,
	"difftool": false, "request-pull": false, "checkout-index": false, "unpack-file": false, "send-email": false,
	"diff": true, "diff-tree": true, "diff-index": true, "diff-files": true, "log": true, "reflog": true, "status": true,
}

var (
	// gitNaming are options with which names and numbers are printed, or
	// messages, but no contents.
	gitNaming = regexp.MustCompile(`^(-[0-9]+|-n[0-9]*|-[sbz]+|--(stat|numstat|shortstat|name-only|name-status|summary|compact-summary|dirstat|quiet|no-patch|` +
		`short|branch|porcelain|untracked-files|ignored|long|` +
		`oneline|graph|decorate|no-decorate|all|branches|tags|remotes|author|committer|grep|max-count|skip|since|until|after|before|merges|no-merges|` +
		`first-parent|reverse|follow|date|format|pretty|abbrev-commit|abbrev|cached|staged|no-color|color|no-renames|find-renames|diff-filter|exit-code|` +
		`topo-order|date-order|left-right|cherry-pick|count|relative|no-ext-diff|no-textconv|ignore-submodules)(=.*)?)$`)
	// gitOnlyNames are those without which a diff is printed.
	gitOnlyNames = regexp.MustCompile(`^(-s|--(stat|numstat|shortstat|name-only|name-status|summary|compact-summary|dirstat|quiet|no-patch)(=.*)?)$`)
	// gitValued are options of git itself whose value is the next word.
	gitValued = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"}
)

// printsHistory tells whether a git command among those that are seen may
// print contents without naming their file.
func (s sight) printsHistory() bool {
	return slices.ContainsFunc(slices.Concat(s.calls, s.nested), call.printsHistory)
}

func (c call) printsHistory() bool {
	from := c.name
	if c.runsOthers() { // git may be what it runs
		for from++; from < len(c.words) && base(c.words[from].text) != "git"; from++ {
		}
	}
	if from >= len(c.words) || base(c.words[from].text) != "git" {
		return false
	}
	words := c.words[from+1:]
	for len(words) > 0 && words[0].plain && strings.HasPrefix(words[0].text, "-") {
		skip := 1
		if slices.Contains(gitValued, words[0].text) {
			skip = min(2, len(words))
		}
		words = words[skip:]
	}
	if len(words) == 0 {
		return false
	}
	byOptions, known := gitPrinting[words[0].text]
	if !known || !byOptions {
		return known || !words[0].plain
	}
	onlyNames := !strings.HasPrefix(words[0].text, "diff")
	for _, w := range words[1:] {
		if w.plain && w.text == "--" {
			break
		}
		option := !w.plain && !w.glob || strings.HasPrefix(w.text, "-")
		if option && (!w.plain || !gitNaming.MatchString(w.text)) {
			return true
		}
		onlyNames = onlyNames || w.plain && gitOnlyNames.MatchString(w.text)
	}
	return !onlyNames
}
