// Tests of messages that choose the model: one conversation that models of all
// formats have in turn, and names that are refused.

package main

import (
	"slices"
	"strings"
	"testing"
)

// TestModelOfAMessage: each message is answered by the model that it, or one
// before it, has chosen. The server refuses a history that is not valid in its
// format, with thinking that another model has signed above all.
func TestModelOfAMessage(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	url := f.serve("relay.yaml")
	file := f.write("relay-config.yaml", "providers:\n  house: {kind: openai-responses, base_url: '"+url+"/v1', key_env: OPENAI_API_KEY}\n")
	f.env = slices.Concat(anthropicAt(url), openaiAt(url), googleAt(url), []string{"CADRE_CONFIG=" + file})
	models := []string{"anthropic/claude-sonnet-4-5", "openai/gpt-4o", "house/gpt-5", "google/gemini-2.5-pro", "anthropic/claude-opus-4-1", "anthropic/claude-sonnet-4-5"}
	chat := ""
	for i, model := range models {
		args := []string{"run", "--json", "--model", model}
		if chat != "" {
			args = append(args, "--chat", chat)
		}
		r := f.run(0, append(args, "by "+model)...)
		d := done(t, r.out)
		chat = d.Chat
		if !strings.Contains(d.Result, "by "+model) {
			t.Errorf("message %d: %+v", i, d)
		}
		for _, c := range modelCalls(t, r.out) {
			if c.Status != "replied" || !strings.HasPrefix(c.Model, model) {
				t.Errorf("message %d is answered by %+v", i, c)
			}
		}
		if got := f.shown(chat).Chat.Model; !strings.HasPrefix(got, model) {
			t.Errorf("after message %d the model is said to be %s", i, got)
		}
	}
	r := f.run(0, "run", "--json", "--chat", chat, "without a choice")
	for _, c := range modelCalls(t, r.out) {
		if !strings.HasPrefix(c.Model, models[len(models)-1]) {
			t.Errorf("a message without a choice is answered by %s", c.Model)
		}
	}
	f.run(exitUsage, "run", "--chat", chat, "--model", "nobody/nothing", "hello").wants(t, "nobody")
	f.run(exitUsage, "run", "--resume", "--chat", chat, "--model", models[0]).wants(t, "--model is for a new message")
	f.sound()
}
