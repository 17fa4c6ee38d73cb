// Attending to what waits for the user during a run: in a terminal the person
// is asked and types the answer; where nobody can be asked, it is answered at
// once, and said so.

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

// attendance is who can be asked.
type attendance int

const (
	nobody attendance = iota // answered at once: denied, declined
	others                   // --wait: somebody answers from elsewhere
	person                   // the one at the terminal
)

// attend begins to look after the items of the chat that wait already.
func (s *session) attend(ctx context.Context) error {
	if err := s.readItems(ctx); err != nil {
		return err
	}
	if s.who == person && s.lines == nil {
		s.lines = readLines(s.cmd.InOrStdin())
	}
	return s.serve(ctx)
}

// readItems finds out what waits now.
func (s *session) readItems(ctx context.Context) error {
	items, err := s.host.inbox(ctx, s.chat)
	if err != nil {
		return fmt.Errorf("reading the inbox: %w", err)
	}
	for _, i := range items {
		s.noteItem(i)
	}
	return nil
}

// readLines sends the lines of a stream until it ends.
func readLines(in io.Reader) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		scan := bufio.NewScanner(in)
		scan.Buffer(nil, promptSize)
		for scan.Scan() {
			out <- scan.Text()
		}
	}()
	return out
}

// noteItem keeps what is known of an item.
func (s *session) noteItem(i store.Item) {
	k := slices.IndexFunc(s.items, func(x store.Item) bool { return x.ID == i.ID })
	switch open := i.Status == "open" && i.Kind != "worktree"; {
	case open && k < 0:
		s.items = append(s.items, i)
	case open:
		s.items[k] = i
	case k >= 0:
		s.items = slices.Delete(s.items, k, k+1)
	}
}

// serve asks for the next item, or answers those that nobody can be asked for.
func (s *session) serve(ctx context.Context) error {
	switch s.who {
	case others:
		return nil
	case person:
		return s.askNext()
	case nobody:
	}
	for _, i := range slices.Clone(s.items) {
		a := orchestrate.Answer{By: "cadre run", Refuse: true}
		if i.Kind == "approval" || i.Kind == "budget" {
			no := false
			a.Allow, a.Reason = &no, "nobody can be asked, as this run has no terminal"
		}
		if _, err := s.host.answer(ctx, i.ID, a); err != nil && !errors.Is(err, orchestrate.ErrAnswered) {
			return fmt.Errorf("answering %s: %w", i.ID, err)
		}
		s.items = slices.DeleteFunc(s.items, func(x store.Item) bool { return x.ID == i.ID })
		note := fmt.Sprintf("%s: %s\n  denied, as nobody can be asked here. Use --wait to answer from elsewhere, --permissions edits or trusted, or allow it in the configuration.", view.ItemHead(i), view.ItemLine(i))
		if i.Kind == "question" || i.Kind == "elicitation" {
			note = fmt.Sprintf("%s: %s\n  declined, as nobody can be asked here. Use --wait to answer from elsewhere.", view.ItemHead(i), view.ItemLine(i))
		}
		if err := s.out.note(note); err != nil {
			return err
		}
	}
	return nil
}

// askNext shows the item that has waited longest, once.
func (s *session) askNext() error {
	if s.asking != "" && !slices.ContainsFunc(s.items, func(i store.Item) bool { return i.ID == s.asking }) {
		if err := s.elsewhere(); err != nil {
			return err
		}
	}
	if s.asking != "" || len(s.items) == 0 {
		return nil
	}
	i := s.items[0]
	s.asking = i.ID
	text := view.Card(i, 0, time.Now()) + "  " + choices(i)
	if n := len(s.items) - 1; n > 0 {
		text += fmt.Sprintf("\n  (%d more wait)", n)
	}
	return s.out.ask(text)
}

// elsewhere tells how it came that what is asked no longer waits.
func (s *session) elsewhere() error {
	how := ""
	if i, err := s.host.item(s.cmd.Context(), s.asking); err == nil {
		how = strings.TrimSpace(strings.ReplaceAll(i.How, "_", " ") + " " + view.Clean(i.By))
	}
	if err := s.out.note(fmt.Sprintf("%s no longer waits: %s", s.asking, how)); err != nil {
		return err
	}
	s.asking = ""
	return s.out.ask("")
}

// choices says what can be typed.
func choices(i store.Item) string {
	switch i.Kind {
	case "approval":
		wider := allowed(i)
		if wider != "" {
			wider = "\n  agent, role, subtree, chat   allow for that, also later: " + wider
		}
		return "y           allow once" + wider + "\n  n [why]     deny\n  anything else is a message to the orchestrator"
	case "budget":
		return "y           as much again\n  n           end with what there is\n  anything else is a message to the orchestrator"
	}
	return "Type the answer, or the number of a choice; /skip declines, /say TEXT is a message to the orchestrator."
}

// allowed words what an answer for more than once allows, "" if that is nothing.
func allowed(i store.Item) string {
	var a orchestrate.Approval
	if i.Kind != "approval" || json.Unmarshal(i.Detail, &a) != nil {
		return ""
	}
	return shownRules(a.Allows)
}

// mostRules and ruleLength bound what is shown of what an answer would allow.
const (
	mostRules  = 6
	ruleLength = 100
)

// shownRules words rules on one line each of whatever is in them: a model has
// a say in them, and the whole of the action stands above.
func shownRules(rules []string) string {
	var shown []string
	for n, r := range rules {
		if n == mostRules {
			shown = append(shown, fmt.Sprintf("and %d more", len(rules)-n))
			break
		}
		shown = append(shown, view.Cut(strings.Join(strings.Fields(view.Visible(r)), " "), ruleLength))
	}
	return strings.Join(shown, ", ")
}

// typed handles a line of the person at the terminal: an answer to what is
// asked, or a message to the orchestrator.
func (s *session) typed(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil
	}
	if name, ok := ordered(line, "/stop"); ok {
		return s.stopNamed(ctx, name)
	}
	if name, ok := ordered(line, "/model"); ok {
		said, err := s.useModel(ctx, name)
		if err != nil {
			return err
		}
		return s.out.note(said)
	}
	if text, ok := ordered(line, "/say"); ok && text != "" {
		return s.say(ctx, text)
	}
	k := slices.IndexFunc(s.items, func(i store.Item) bool { return i.ID == s.asking })
	if k < 0 {
		return s.say(ctx, line)
	}
	if named, err := s.names(ctx, line); err != nil {
		return err
	} else if named {
		return s.say(ctx, line)
	}
	item := s.items[k]
	a, ok, err := readAnswer(item, line)
	if err != nil {
		return s.out.note(err.Error())
	}
	if !ok {
		return s.say(ctx, line)
	}
	a.By = localUser().Name
	said, err := s.host.answer(ctx, item.ID, a)
	switch {
	case errors.Is(err, orchestrate.ErrAnswer):
		return s.out.note(err.Error())
	case errors.Is(err, orchestrate.ErrAnswered):
		said = err.Error()
	case err != nil:
		return fmt.Errorf("answering %s: %w", item.ID, err)
	}
	if err := s.out.note(said); err != nil {
		return err
	}
	s.asking, s.items = "", nil // the answer may have been one to others, too
	if err := s.out.ask(""); err != nil {
		return err
	}
	if err := s.readItems(ctx); err != nil {
		return err
	}
	return s.askNext()
}

// ordered tells whether a line is an order, and returns what stands behind it.
func ordered(line, order string) (rest string, ok bool) {
	word, rest, _ := strings.Cut(line, " ")
	return strings.TrimSpace(rest), word == order
}

// names tells whether a line is for an agent that it names: then it is no
// answer to what is asked.
func (s *session) names(ctx context.Context, line string) (bool, error) {
	agents, err := s.host.Tree(ctx, s.chat)
	if err != nil {
		return false, fmt.Errorf("reading the agents of the chat: %w", err)
	}
	to, _, _, _ := orchestrate.Addressed(agents, line) // why it cannot be told is said when it is sent
	return to.ID != "", nil
}

// stopNamed stops an agent by its name or id, or, without one, the chat.
func (s *session) stopNamed(ctx context.Context, name string) error {
	agents, err := s.host.Tree(ctx, s.chat)
	if err != nil {
		return fmt.Errorf("reading the agents of the chat: %w", err)
	}
	a := agents[0] // the orchestrator
	if name != "" {
		if a, err = orchestrate.Find(agents, name); err != nil {
			return s.out.note(err.Error())
		}
	}
	said, err := stopAgent(ctx, s.host, a, localUser().Name)
	if err != nil {
		return err
	}
	return s.out.note(said)
}

// post sends a message: to the orchestrator, or to the agent that it names. An
// *unsentError says why it was not taken.
func (s *session) post(ctx context.Context, text string) error {
	model := s.model
	if model != "" {
		named, err := s.names(ctx, text)
		if err != nil {
			return err
		}
		if named {
			model = "" // the choice waits for a message to the orchestrator
		}
	}
	to, err := s.host.send(ctx, s.chat, newMessageID(), text, model)
	if model != "" {
		s.model = ""
	}
	switch {
	case err != nil:
		return fmt.Errorf("sending the message: %w", err)
	case to != s.chat && s.tree.Agent(to) != nil:
		return s.out.note("sent to " + s.tree.Agent(to).Path)
	}
	return nil
}

// say posts a message, and tells why if it was not taken.
func (s *session) say(ctx context.Context, text string) error {
	err := s.post(ctx, text)
	var unsent *unsentError
	if errors.As(err, &unsent) {
		return s.out.note(unsent.Error())
	}
	return err
}

// useModel tells which model the orchestrator answers with, or keeps the one
// that the next message to it chooses.
func (s *session) useModel(ctx context.Context, name string) (said string, err error) {
	if name == "" {
		c, err := s.host.Chat(ctx, s.chat)
		if err != nil {
			return "", err
		}
		said = "The model is " + c.Model + "."
		if s.model != "" {
			said += " From your next message on it is " + s.model + "."
		}
		return said, nil
	}
	if name, err = placedModels(name); err != nil {
		return err.Error(), nil
	}
	s.model = name
	return "From your next message on the model is " + name + ".", nil
}

// readAnswer reads what was typed as an answer to an item; ok is false for
// what is no answer to it.
func readAnswer(i store.Item, line string) (a orchestrate.Answer, ok bool, err error) {
	switch i.Kind {
	case "approval", "budget":
		word, rest, _ := strings.Cut(line, " ")
		yes, no := true, false
		switch strings.ToLower(word) {
		case "y", "yes", "allow", "once":
			return orchestrate.Answer{Allow: &yes, Scope: permission.Once}, rest == "", nil
		case "agent", "role", "subtree", "chat":
			return orchestrate.Answer{Allow: &yes, Scope: permission.Scope(strings.ToLower(word))}, rest == "" && i.Kind == "approval", nil
		case "n", "no", "deny":
			return orchestrate.Answer{Allow: &no, Reason: strings.TrimSpace(rest)}, true, nil
		}
		return a, false, nil
	}
	if line == "/skip" {
		return orchestrate.Answer{Refuse: true}, true, nil
	}
	if i.Kind == "elicitation" {
		text, err := fieldsOf(i.Action, line)
		return orchestrate.Answer{Text: text}, true, err
	}
	questions := view.Questions(i.Action)
	if _, err := strconv.Atoi(line); err == nil && len(questions) > 1 {
		return a, true, fmt.Errorf("it asks %d questions: answer each, with a semicolon between the answers", len(questions))
	}
	return orchestrate.Answer{Text: chosen(questions, line)}, true, nil
}

// chosen turns the numbers of choices into their labels. Several questions are
// answered by one number or text each, separated by semicolons.
func chosen(questions []view.Question, line string) string {
	parts := []string{line}
	if len(questions) > 1 {
		parts = strings.Split(line, ";")
	}
	if len(parts) != len(questions) {
		return line
	}
	var out []string
	for n, part := range parts {
		q, text := questions[n], strings.TrimSpace(part)
		var labels []string
		for word := range strings.SplitSeq(text, ",") {
			k, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil || k < 1 || k > len(q.Options) || len(labels) > 0 && !q.Multiple {
				labels = nil
				break
			}
			labels = append(labels, q.Options[k-1].Label)
		}
		if len(labels) > 0 {
			text = strings.Join(labels, ", ")
		}
		if len(questions) > 1 {
			text = q.Question + " " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

// fieldsOf makes the object that a tool server asked for: from JSON as it is,
// or, where one field is wanted, from its value.
func fieldsOf(action, line string) (string, error) {
	if json.Valid([]byte(line)) && strings.HasPrefix(line, "{") {
		return line, nil
	}
	var in struct {
		Schema struct {
			Properties map[string]struct {
				Type string `json:"type"`
			} `json:"properties"`
		} `json:"schema"`
	}
	if json.Unmarshal([]byte(action), &in) != nil || len(in.Schema.Properties) == 0 {
		return line, nil
	}
	var names []string
	for name := range in.Schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > 1 {
		return "", fmt.Errorf("it asks for several values: type them as JSON, {%q: …}, with %s", names[0], strings.Join(names, ", "))
	}
	var value any = line
	switch in.Schema.Properties[names[0]].Type {
	case "integer", "number":
		n, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return "", fmt.Errorf("%s must be a number", names[0])
		}
		value = n
	case "boolean":
		value = slices.Contains([]string{"y", "yes", "true", "1"}, strings.ToLower(line))
	}
	b, err := json.Marshal(map[string]any{names[0]: value})
	if err != nil {
		return "", fmt.Errorf("wording the answer: %w", err)
	}
	return string(b), nil
}
