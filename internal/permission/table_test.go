// The decision table: a policy, a request, what follows.

package permission

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cadre-dev/cadre/internal/tool"
)

// split gives the simple commands of a line in the form of the shell tool:
// words without quotes, joined by spaces, and "> file" for a redirection that
// writes; none if the name of one is not written out.
func split(line string) []string {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	var commands []string
	unknown := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			if w := readWord(n.Word); n.Op != syntax.DplOut && w.text != "/dev/null" {
				commands = append(commands, "> "+w.text)
			}
		case *syntax.CallExpr:
			var words []string
			for _, w := range readCall(n).words {
				words = append(words, w.text)
			}
			commands = append(commands, strings.Join(words, " "))
			unknown = unknown || len(n.Args) > 0 && !readWord(n.Args[0]).plain
		}
		return true
	})
	if unknown {
		return nil
	}
	return commands
}

// request reads "Bash go test", "Edit a.go b.go", "web_fetch example.com",
// "mcp__x__y". A leading reads: or net: changes the class of a command.
func request(text string) Request {
	req := Request{Agent: "k3.1.2", Chat: "k3", Role: "coder", Depth: 2}
	text, reads := strings.CutPrefix(text, "reads:")
	text, network := strings.CutPrefix(text, "net:")
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	req.Tool = name
	a := &req.Action
	a.Shown = rest
	switch canonical(name) {
	case "bash":
		a.Class, a.Command, a.Commands = tool.Executes, rest, split(rest)
		if reads {
			a.Class = tool.Reads
		}
		if network {
			a.Hosts = []string{"*"}
		}
	case "read", "ls":
		a.Class, a.Paths = tool.Reads, strings.Fields(rest)
	case "edit":
		a.Class, a.Paths = tool.Writes, strings.Fields(rest)
	case "webfetch":
		a.Class, a.Hosts = tool.Network, strings.Fields(rest)
	case "spawnagents":
		a.Class = tool.Delegates
	default:
		a.Class = tool.Executes
	}
	return req
}

// rules reads "allow Bash(go test *) + deny Edit(x)".
func rules(t interface {
	Helper()
	Fatal(args ...any)
}, text string,
) []Rule {
	t.Helper()
	var list []Rule
	for one := range strings.SplitSeq(text, " + ") {
		one = strings.TrimSpace(one)
		if one == "" || one == "-" {
			continue
		}
		effect, short, _ := strings.Cut(one, " ")
		short, more, _ := strings.Cut(short, " where ")
		fields := map[string]string{effect: short}
		for field := range strings.SplitSeq(more, " and ") {
			if key, value, ok := strings.Cut(field, " "); ok {
				fields[key] = value
			}
		}
		rule, err := ParseFields("", fields)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rule)
	}
	return list
}

const decisions = `
# presets alone
read-only | - | Read a.go                    | allow
read-only | - | reads:Bash ls                | allow
read-only | - | Edit a.go                    | deny
read-only | - | Write a.go                   | deny
read-only | - | Bash go test                 | deny
read-only | - | web_fetch example.com        | deny
read-only | - | mcp__github__list            | deny
read-only | - | spawn_agents                 | allow
read-only | - | Read .env                    | ask
ask       | - | Read a.go                    | allow
ask       | - | reads:Bash ls -la            | allow
ask       | - | Edit a.go                    | ask
ask       | - | Bash go test                 | ask
ask       | - | web_fetch example.com        | ask
ask       | - | mcp__github__list            | ask
ask       | - | spawn_agents                 | allow
edits     | - | Read a.go                    | allow
edits     | - | Edit a.go                    | allow
edits     | - | Write src/deep/a.go          | allow
edits     | - | Edit ../a.go                 | ask
edits     | - | Edit /etc/passwd             | ask
edits     | - | Edit a.go ../b.go            | ask
edits     | - | Edit a/../../b.go            | ask
edits     | - | Write                        | ask
edits     | - | Bash go test                 | ask
edits     | - | web_fetch example.com        | ask
trusted   | - | Edit a.go                    | allow
trusted   | - | Bash rm -rf build            | allow
trusted   | - | Bash $X                      | allow
trusted   | - | web_fetch example.com        | allow
trusted   | - | mcp__github__list            | allow
# built-in rules
trusted   | - | Edit .git/config             | deny
trusted   | - | Write .git/hooks/pre-commit  | deny
trusted   | - | Edit sub/.git/config         | deny
trusted   | - | Edit .GIT/config             | deny
trusted   | - | Write .git                   | deny
trusted   | - | Edit .gitignore              | allow
trusted   | - | Read .git/config             | allow
trusted   | - | Bash rm -rf .git             | ask
trusted   | - | Bash git status              | allow
trusted   | - | Edit .cadre/config.yaml      | ask
trusted   | - | Read .cadre/config.yaml      | allow
trusted   | - | Read .env                    | ask
trusted   | - | Edit .env                    | ask
trusted   | - | Read deploy/.env.production  | ask
trusted   | - | Read .env.example            | allow
trusted   | - | Read server.PEM              | ask
trusted   | - | Read keys/id_rsa             | ask
trusted   | - | Bash cat .env                | ask
trusted   | - | Bash cat $F                  | allow
trusted   | - | Bash cat *.go                | allow
trusted   | - | reads:Bash cat $F            | allow
trusted   | - | Bash cat .e*                 | allow
ask       | - | reads:Bash cat .env          | ask
ask       | - | reads:Bash cat ./.env        | ask
ask       | - | reads:Bash cat '.e'nv        | ask
ask       | - | reads:Bash cat .e*           | ask
ask       | - | reads:Bash cat .e?v          | ask
ask       | - | reads:Bash cat $F            | ask
ask       | - | reads:Bash cat < .env        | ask
ask       | - | reads:Bash git show HEAD:.env | ask
ask       | - | reads:Bash grep x --file=.env | ask
ask       | - | reads:Bash cat ~/.ssh/id_rsa | ask
ask       | - | reads:Bash cat /home/me/.aws/credentials | ask
ask       | - | reads:Bash cat a.go *.go     | allow
ask       | - | reads:Bash cat *.p*          | ask
ask       | allow Read(.env)              | Read .env          | allow
ask       | allow Read                    | Read .env          | ask
ask       | allow *                       | Read .env          | ask
ask       | allow Read(*.pem)             | Read .env          | ask
ask       | allow Bash(cat *)             | reads:Bash cat .env | ask
ask       | allow Bash(cat *)             | reads:Bash cat $F  | allow
ask       | allow Edit(.git/**)           | Edit .git/config   | deny
ask       | allow Edit(.cadre/**)         | Edit .cadre/a.md   | allow
# commands
ask | allow Bash                          | Bash go test && rm -rf /     | allow
ask | allow Bash(*)                       | Bash $X                      | allow
ask | allow *                             | Bash eval $X                 | allow
ask | allow Bash(go test *)               | Bash go test                 | allow
ask | allow Bash(go test *)               | Bash go test ./...           | allow
ask | allow Bash(go test *)               | Bash go   test  ./...        | allow
ask | allow Bash(go test *)               | Bash go "test" ./...         | allow
ask | allow Bash(go test *)               | Bash go testify              | ask
ask | allow Bash(go test *)               | Bash go vet                  | ask
ask | allow Bash(go test *)               | Bash gofmt                   | ask
ask | allow Bash(go test *)               | Bash go                      | ask
ask | allow Bash(go test *)               | Bash Go test                 | ask
ask | allow Bash(go test:*)               | Bash go test -run X          | allow
ask | allow Bash(go test:*)               | Bash go testify              | ask
ask | allow Bash(go test*)                | Bash go testify now          | allow
ask | allow Bash(go test ./...)           | Bash go test ./...           | allow
ask | allow Bash(go test ./...)           | Bash go test ./... -v        | ask
ask | allow Bash(git log --format=* -1)   | Bash git log --format=%H -1  | allow
ask | allow Bash(git log --format=* -1)   | Bash git log --format=%H -2  | ask
ask | allow Bash(git * main)              | Bash git push main           | allow
ask | allow Bash(git * main)              | Bash git push origin main    | ask
ask | allow Bash(./scripts/*)             | Bash ./scripts/a.sh x        | allow
ask | allow Bash(./scripts/*)             | Bash ./scripts/sub/a.sh      | ask
ask | allow Bash(./scripts/*)             | Bash ./scripts/*             | ask
ask | allow Bash(A=* *)                   | Bash A=1 rm x                | ask
ask | allow Bash(A* go test)              | Bash A=1 go test             | ask
ask | allow Bash(*=x go test)             | Bash PATH=x go test          | ask
ask | allow Bash(cat src/*)               | Bash cat src/../../x         | ask
ask | allow Bash(go test *) + allow Bash(go vet *) | Bash go vet && go test | allow
ask | allow Bash(go test *) + allow Bash(tail *)   | Bash go test 2>&1 | tail -5 | allow
ask | allow Bash(go test *)               | Bash go test >/dev/null 2>&1 | allow
ask | allow Bash(go test *)               | Bash go test > out.txt       | ask
ask | allow Bash(echo *)                  | Bash echo 'a > b; c'         | allow
ask | allow Bash(git commit *)            | Bash git commit -m "it's (a; rm) > b" | allow
trusted | deny Bash(rm *)                 | Bash git commit -m "x; rm y" | allow
ask | allow Bash(echo *)                  | Bash echo $HOME              | allow
ask | allow Bash(echo *)                  | Bash echo $(date)            | ask
ask | allow Bash(echo *) + allow Bash(date) | Bash echo $(date)          | allow
ask | allow Bash(echo $)                  | Bash echo                    | error
ask | allow Bash(GOOS=* go build *)       | Bash GOOS=linux go build     | allow
ask | allow Bash(GOOS=* go build *)       | Bash PATH=x go build         | ask
ask | allow Bash(go build *)              | Bash GOOS=linux go build     | ask
ask | allow Bash(go test *)               | net:Bash go test             | ask
ask | allow Bash(go test *) where host *  | net:Bash go test             | allow
ask | allow Bash(go test *) where host example.com | net:Bash go test    | ask
ask | allow Bash(go test *) where host *  | Bash go test                 | allow
trusted | deny Bash(rm *)                 | Bash rm                      | deny
trusted | deny Bash(rm *)                 | Bash rm -rf x                | deny
trusted | deny Bash(rm)                   | Bash rm -rf x                | deny
trusted | deny Bash(rm *)                 | Bash RM x                    | deny
trusted | deny Bash(rm *)                 | Bash ls; rm x                | deny
trusted | deny Bash(rm *)                 | Bash echo $(rm x)            | deny
trusted | deny Bash(rm *)                 | Bash X=1 rm x                | deny
trusted | deny Bash(rm *)                 | Bash /bin/rm x               | deny
trusted | deny Bash(rm *)                 | Bash \rm x                   | deny
trusted | deny Bash(rm *)                 | Bash r'm' x                  | deny
trusted | deny Bash(rm *)                 | Bash sudo rm x               | deny
trusted | deny Bash(rm *)                 | Bash env A=b rm x            | deny
trusted | deny Bash(rm *)                 | Bash ls | xargs rm           | deny
trusted | deny Bash(rm *)                 | Bash find . -exec rm {} +    | deny
trusted | deny Bash(rm *)                 | Bash bash -c 'rm x'          | deny
trusted | deny Bash(rm *)                 | Bash sudo sh -c "cd x; rm x" | deny
trusted | deny Bash(rm *)                 | Bash eval rm x               | deny
trusted | deny Bash(rm *)                 | Bash sh -c "sh -c 'rm x'"    | deny
trusted | deny Bash(rm *)                 | Bash f() { rm x; }; f        | deny
trusted | deny Bash(rm *)                 | Bash for f in *; do rm $f; done | deny
trusted | deny Bash(rm *)                 | Bash $X -rf                  | ask
trusted | deny Bash(rm *)                 | Bash sh -c "$X"              | ask
trusted | deny Bash(rm *)                 | Bash r? x                    | ask
trusted | deny Bash(rm *)                 | Bash {rm,-rf,x}              | ask
trusted | deny Bash(rm *)                 | Bash $'\x72m' x              | ask
trusted | deny Bash(rm *)                 | Bash if then                 | ask
trusted | deny Bash(rm *)                 | Bash ls rm                   | allow
trusted | deny Bash(rm *)                 | Bash rmdir x                 | allow
trusted | deny Bash(rm *)                 | Bash echo 'rm x'             | allow
trusted | deny Bash(rm -rf *)             | Bash rm $X                   | ask
trusted | deny Bash(git push *)           | Bash git push                | deny
trusted | deny Bash(git push *)           | Bash git $X                  | ask
trusted | deny Bash(git push *)           | Bash git -C x push           | ask
trusted | deny Bash(git push *)           | Bash git commit -m push      | allow
trusted | deny Bash(git push *)           | Bash git add *.go            | allow
trusted | deny Bash(git * --force)        | Bash git push a b --force    | deny
trusted | ask Bash(git push *)            | Bash git push                | ask
trusted | ask Bash(git push *)            | Bash git pull                | allow
ask | ask Bash(git push *) + allow Bash(git *) | Bash git push           | ask
ask | ask Bash(git push *) + allow Bash(git *) | Bash git pull           | allow
ask | deny Bash(git push *) + allow Bash  | Bash git push                | deny
trusted | deny Bash                       | Bash ls                      | deny
trusted | deny bash                       | Bash ls                      | deny
trusted | deny Shell                      | Bash ls                      | deny
trusted | deny *                          | Bash ls                      | deny
trusted | deny *                          | Read a                       | deny
trusted | deny spawn_agents where depth >=2 | spawn_agents               | deny
# paths
ask | allow Edit(src/**)                  | Edit src/a.go                | allow
ask | allow Edit(src/**)                  | Edit src/b/c.go              | allow
ask | allow Edit(src/**)                  | Write src/a.go               | allow
ask | allow Edit(src/**)                  | Edit src/a.go other.go       | ask
ask | allow Edit(src/**)                  | Edit srcs/a.go               | ask
ask | allow Edit(src/**)                  | Edit SRC/a.go                | ask
ask | allow Edit(src/**)                  | Edit src/../x.go             | ask
ask | allow Edit(src/**)                  | mcp__fs__edit                | ask
ask | allow Edit(src/**) + allow Edit(*.md) | Edit src/a.go README.md    | allow
ask | allow Write(*.md)                   | Write README.md              | allow
ask | allow Write(*.md)                   | Write docs/deep/a.md         | allow
ask | allow Write(./*.md)                 | Write README.md              | allow
ask | allow Write(./*.md)                 | Write docs/a.md              | ask
ask | allow Edit(docs/)                   | Edit docs/a.md               | allow
ask | allow Edit                          | Edit anything/at/all         | allow
ask | allow Edit(src)                     | Edit src/a.go                | ask
edits | deny Edit(src/gen/**)             | Edit src/gen/a.go            | deny
edits | deny Edit(src/gen/**)             | Write src/GEN/a.go           | deny
edits | deny Edit(src/gen/**)             | Edit ok.go src/gen/a.go      | deny
edits | deny Edit(src/gen/**)             | Edit src/x/../gen/a.go       | deny
edits | deny Edit(src/gen/**)             | Read src/gen/a.go            | allow
edits | deny Edit(secrets)                | Edit secrets/a               | deny
edits | ask Edit(*.sql)                   | Edit db/a.sql                | ask
ask | ask Edit(*.sql) + allow Edit(db/**) | Edit db/a.sql                | ask
edits | deny Read(secret.txt)             | Read secret.txt              | deny
edits | deny Read(secret.txt)             | Edit secret.txt              | deny
edits | deny Read(secret.txt)             | LS secret.txt                | deny
edits | deny Read(secret.txt)             | reads:Bash cat secret.txt    | deny
edits | deny Read(secret.txt)             | reads:Bash cat s*            | ask

# what decides over the agents themselves
edits   | - | Write .mcp.json                 | ask
edits   | - | Write .cadre/config.yaml        | ask
trusted | - | Write .mcp.json                 | ask
trusted | - | Bash echo x > .mcp.json         | ask
edits   | allow Edit(.mcp.json) | Write .mcp.json | allow
ask     | - | Read .mcp.json                  | allow

# git keeps what a file held
ask | deny Read(priv/**) | reads:Bash git log -p | ask
ask | deny Read(priv/**) | reads:Bash git log --patch | ask
ask | deny Read(priv/**) | reads:Bash git log -p -- a.txt | ask
ask | deny Read(priv/**) | reads:Bash git log -S secret | ask
ask | deny Read(priv/**) | reads:Bash git log -Gsecret | ask
ask | deny Read(priv/**) | reads:Bash git log -U3 | ask
ask | deny Read(priv/**) | reads:Bash git log --pat | ask
ask | deny Read(priv/**) | reads:Bash git log -L1,3:a.txt | ask
ask | deny Read(priv/**) | reads:Bash git log --oneline -p | ask
ask | deny Read(priv/**) | reads:Bash git log --cc | ask
ask | deny Read(priv/**) | reads:Bash git show | ask
ask | deny Read(priv/**) | reads:Bash git show HEAD | ask
ask | deny Read(priv/**) | reads:Bash git show --stat 1234abc | ask
ask | deny Read(priv/**) | reads:Bash git grep x | ask
ask | deny Read(priv/**) | reads:Bash git grep x HEAD~3 | ask
ask | deny Read(priv/**) | reads:Bash git diff | ask
ask | deny Read(priv/**) | reads:Bash git diff HEAD~1 | ask
ask | deny Read(priv/**) | reads:Bash git diff --cached | ask
ask | deny Read(priv/**) | reads:Bash git diff --stat -p | ask
ask | deny Read(priv/**) | reads:Bash git diff --word-diff --name-only | ask
ask | deny Read(priv/**) | reads:Bash git status -v | ask
ask | deny Read(priv/**) | reads:Bash git blame a.txt | ask
ask | deny Read(priv/**) | reads:Bash git cat-file -p 1234abc | ask
ask | deny Read(priv/**) | reads:Bash git cat-file --batch | ask
ask | deny Read(priv/**) | reads:Bash git stash show -p | ask
ask | deny Read(priv/**) | reads:Bash git reflog -p | ask
ask | deny Read(priv/**) | reads:Bash git whatchanged | ask
ask | deny Read(priv/**) | reads:Bash git diff-tree -p HEAD | ask
ask | deny Read(priv/**) | reads:Bash git -C sub log -p | ask
ask | deny Read(priv/**) | reads:Bash git --no-pager -c a.b=c log -p | ask
ask | deny Read(priv/**) | reads:Bash /usr/bin/git show | ask
ask | deny Read(priv/**) | reads:Bash ls && git show HEAD | ask
ask | deny Read(priv/**) | reads:Bash echo HEAD | xargs git show | ask
ask | deny Read(priv/**) | reads:Bash git log $X | ask
ask | deny Read(priv/**) | reads:Bash git $X | ask
ask | deny Read(priv/**) | reads:Bash git range-diff a b c | ask
ask | deny Read(priv/**) | reads:Bash git annotate a.txt | ask
ask | deny Read(priv/**) | reads:Bash git log -- a.txt | head; git show x | ask
ask | deny Read(priv/**) | reads:Bash git log | allow
ask | deny Read(priv/**) | reads:Bash git log --oneline -5 | allow
ask | deny Read(priv/**) | reads:Bash git log --stat | allow
ask | deny Read(priv/**) | reads:Bash git log -n 3 --format=%s | allow
ask | deny Read(priv/**) | reads:Bash git log --graph --all | allow
ask | deny Read(priv/**) | reads:Bash git status | allow
ask | deny Read(priv/**) | reads:Bash git status -sb | allow
ask | deny Read(priv/**) | reads:Bash git diff --stat | allow
ask | deny Read(priv/**) | reads:Bash git diff --name-only HEAD~1 | allow
ask | deny Read(priv/**) | reads:Bash git diff --cached --numstat | allow
ask | deny Read(priv/**) | reads:Bash git ls-files | allow
ask | deny Read(priv/**) | reads:Bash git branch -a | allow
ask | deny Read(priv/**) | reads:Bash git rev-parse HEAD | allow
ask | deny Read(priv/**) | reads:Bash git ls-tree -r HEAD | allow
ask | deny Read(priv/**) | reads:Bash git log --oneline -- -p | allow
ask | deny Read(priv/**) | reads:Bash cat a.txt | allow
ask | deny Read(priv/**) | reads:Bash echo git show | allow
ask | deny Read(priv/**) | reads:Bash git show HEAD:priv/x.txt | deny
trusted | deny Read(priv/**) | Bash sh -c 'git show HEAD' | ask
trusted | deny Read(priv/**) | Bash git archive HEAD | ask
trusted | deny Read(priv/**) | Bash git commit -m x | allow
ask | ask Read(priv/**) | reads:Bash git log -p | ask
ask | deny Edit(priv/**) | reads:Bash git log -p | allow
ask | - | reads:Bash git log -p | allow
ask | - | reads:Bash git diff | allow
ask | deny Read(priv/**) where role tester | reads:Bash git log -p | allow
ask | deny Read(priv/**) + allow Bash(git show *) | reads:Bash git show HEAD | ask
trusted | deny Edit(gen.go)               | Bash sed -i s/a/b/ gen.go    | ask
trusted | deny Edit(gen.go)               | reads:Bash cat gen.go        | allow
ask | allow Read(/etc/passwd)             | Read x                       | error
ask | allow Read(~/x)                     | Read x                       | error
ask | allow Read(../x)                    | Read x                       | error
# hosts
ask | allow web_fetch(example.com)        | web_fetch example.com        | allow
ask | allow WebFetch(domain:example.com)  | web_fetch example.com        | allow
ask | allow web_fetch(example.com)        | web_fetch EXAMPLE.com.       | allow
ask | allow web_fetch(example.com)        | web_fetch www.example.com    | ask
ask | allow web_fetch(example.com)        | web_fetch example.com.evil.org | ask
ask | allow web_fetch(example.com)        | web_fetch badexample.com     | ask
ask | allow web_fetch(*.example.com)      | web_fetch www.example.com    | allow
ask | allow web_fetch(*.example.com)      | web_fetch example.com        | ask
ask | allow web_fetch(*.example.com)      | web_fetch badexample.com     | ask
ask | allow web_fetch(example.com)        | web_fetch example.com evil.org | ask
ask | allow web_fetch(example.com)        | web_fetch *                  | ask
ask | allow web_fetch(*)                  | web_fetch *                  | allow
ask | allow web_fetch(*.com) + allow web_fetch(*.org) | web_fetch a.com b.org | allow
trusted | deny web_fetch(evil.org)        | web_fetch ok.com evil.org    | deny
trusted | deny web_fetch(evil.org)        | web_fetch *                  | ask
trusted | deny web_fetch(evil.org)        | web_fetch ok.com             | allow
# MCP, roles, depth
ask | allow mcp__github__*                | mcp__github__list            | allow
ask | allow mcp__github                   | mcp__github__list            | allow
ask | allow mcp__github__*                | mcp__gitlab__list            | ask
ask | allow mcp__git_hub__list            | mcp__github__list            | ask
ask | allow mcp__git                      | mcp__github__list            | ask
trusted | deny mcp__git_hub__list         | mcp__github__list            | deny
trusted | deny mcp__GitHub__*             | mcp__github__list            | deny
ask | allow Bash(go *) where role coder   | Bash go test                 | allow
ask | allow Bash(go *) where role Coder   | Bash go test                 | allow
ask | allow Bash(go *) where role tester  | Bash go test                 | ask
ask | allow Bash(go *) where depth 2      | Bash go test                 | allow
ask | allow Bash(go *) where depth <2     | Bash go test                 | ask
ask | allow Bash(go *) where depth <=2    | Bash go test                 | allow
trusted | deny Bash where depth >1        | Bash go test                 | deny
trusted | deny Bash where depth >2        | Bash go test                 | allow
trusted | deny Bash where role coder and depth >=1 | Bash ls             | deny
`

func TestDecisions(t *testing.T) {
	t.Parallel()
	count := 0
	for row := range strings.SplitSeq(decisions, "\n") {
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		count++
		cells := strings.SplitN(row, "|", 3)
		i := strings.LastIndex(cells[2], "|")
		preset, list, text, want := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2][:i]), strings.TrimSpace(cells[2][i+1:])
		if want == "error" {
			effect, short, _ := strings.Cut(list, " ")
			if _, err := ParseRule(Effect(effect), short); err == nil {
				t.Errorf("%s: the rule was accepted", row)
			}
			continue
		}
		p := Policy{Preset: Preset(preset), Rules: rules(t, list)}
		if got := p.Decide(request(text), nil); string(got.Effect) != want {
			t.Errorf("%s: %s by %s", row, got.Effect, got.By)
		}
	}
	if count < 150 {
		t.Errorf("the table has %d rows", count)
	}
}

// Lines that try to run more than go test under the name of go test. The naive
// split is what a tool would give that does not see through them.
var bypasses = []string{
	"go test; rm -rf x", "go test && rm x", "go test || rm x", "go test | sh", "go test & rm x", "go test |& sh",
	"go test\nrm x", "go test `rm x`", "go test $(rm x)", "go test \"$(rm x)\"", "go test <(rm x)", "go test >(rm x)",
	"go test > main.go", "go test >> main.go", "go test >| main.go", "go test &> main.go", "go test 2> main.go", "go test <> main.go",
	"go test >& main.go", "go test < main.go", "go test <<< $(rm x)", "go test <<EOF\n$(rm x)\nEOF", "go test {fd}> main.go",
	"PATH=/tmp/x go test", "LD_PRELOAD=x go test", "PATH=x; go test", "export PATH=x; go test", "declare PATH=x; go test", "readonly PATH=x; go test",
	"GOFLAGS=-exec=x go test", "PATH+=:x go test", "unset PATH; go test", "alias go=rm; go test", "go() { rm x; }; go test", "function go { rm x; }; go test",
	"for PATH in x; do go test; done", "while rm x; do go test; done", "until rm x; do go test; done", "if rm x; then go test; fi",
	"case x in x) rm x;; esac; go test", "select x in a; do go test; done", "(rm x); go test", "{ rm x; }; go test", "go test; (cd /; rm x)",
	"! rm x; go test", "time rm x; go test", "coproc rm x; go test", "eval 'rm x'; go test", "eval go test", "exec go test; rm x", "command go test", "env go test",
	"sudo go test", "nohup go test", "xargs go test", "sh -c 'go test; rm x'", "bash -c 'go test'", ". ./go test", "source go test",
	"go test ${PATH:=x}", "go test ${x@P}", "go test ${!x}", "go test $((PATH=1))", "go test ${x[$(rm x)]}", "go test $[1+1]", "let PATH=1; go test", "[[ -f x ]] && go test",
	"((x=1)); go test", "go $X", "$GO test", "{go,vet} test", "go{,} test", "go t?st", "go te*t", "g\"$X\"o test", "./go test", "/tmp/go test", "go\ttest;rm x",
	"go test # x\nrm x", "go 'test; rm x'", "'go test'", "go test;rm${IFS}x", "go testx", "trap 'rm x' EXIT; go test", "set -x; go test", "go test &\nrm x",
	"printf x | go test", "cd /tmp && go test", "go $'test'$X", "go test ; : > main.go", "test go; rm x", "go test (", "",
}

func TestNarrowAllowIsNotFooled(t *testing.T) {
	t.Parallel()
	if len(bypasses) < 60 {
		t.Fatalf("%d lines", len(bypasses))
	}
	p := Policy{Preset: PresetAsk, Rules: rules(t, "allow Bash(go test *)")}
	if got := p.Decide(request("Bash go test ./..."), nil); got.Effect != Allow {
		t.Fatalf("the honest line: %+v", got)
	}
	for _, commands := range [][]string{nil, {"go test", "rm x"}} {
		req := request("Bash go test")
		req.Action.Commands = commands
		if got := p.Decide(req, nil); got.Effect != Ask {
			t.Errorf("the tool sees %q: %+v", commands, got)
		}
	}
	grants := request("Bash go test ./...").Grants(Chat, "i1", "alice")
	for _, text := range bypasses {
		for how, commands := range map[string][]string{"split": split(text), "naive": {"go test"}, "whole": {text}, "none": nil} {
			req := request("Bash go test")
			req.Action.Command, req.Action.Commands = text, commands
			if text == "" {
				req.Action.Commands = []string{""}
			}
			if got := p.Decide(req, nil); got.Effect != Ask {
				t.Errorf("%q, commands %s: %s by %s", text, how, got.Effect, got.By)
			}
			ask := Policy{}
			if got := ask.Decide(req, grants); got.Effect != Ask {
				t.Errorf("%q, commands %s, granted: %s by %s", text, how, got.Effect, got.By)
			}
		}
	}
}
