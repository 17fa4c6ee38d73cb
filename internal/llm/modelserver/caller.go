// Who calls: what the wire shows of the agent behind a request.

package modelserver

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// Cadre's system prompts contain lines such as "Role: coder".
var (
	roleLine  = regexp.MustCompile(`(?m)^Role: (\S+)`)
	nameLine  = regexp.MustCompile(`(?m)^Name: (\S+)`)
	agentLine = regexp.MustCompile(`(?m)^Agent: (\S+)`)
	depthLine = regexp.MustCompile(`(?m)^Depth: (\d+)`)
)

// mainRole is the role of a caller that does not tell its own.
const mainRole = "main"

// callerOf derives the caller from the system prompt and the history: role,
// name, id and depth from lines of the prompt, the task from the first user
// message, the turn by counting replies. Without such lines the role is main,
// the name that of the role, and the depth 0 for main and 1 for others.
func callerOf(req *llm.Request) llm.Caller {
	c := llm.Caller{Role: found(roleLine, req.System), Turn: 1}
	if c.Role == "" {
		c.Role = mainRole
	}
	if c.Name = found(nameLine, req.System); c.Name == "" {
		c.Name = c.Role
	}
	if c.Agent = found(agentLine, req.System); c.Agent == "" {
		c.Agent = c.Name
	}
	if depth, err := strconv.Atoi(found(depthLine, req.System)); err == nil {
		c.Depth = depth
	} else if c.Role != mainRole {
		c.Depth = 1
	}
	for _, m := range req.Messages {
		switch {
		case m.Role == message.Assistant:
			c.Turn++
		case m.Role == message.User && c.Task == "":
			c.Task = m.Text()
		}
	}
	return c
}

func found(re *regexp.Regexp, s string) string {
	if m := re.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}

// userMessages are the messages that one of the wire stands for. Clients merge
// what is one message each in Cadre into one of several blocks; every text
// begins one anew here, and an image belongs to the text before it.
func userMessages(parts []message.Part) []message.Message {
	var msgs []message.Message
	for _, p := range parts {
		text, isText := p.(message.TextPart)
		if !isText && len(msgs) > 0 {
			last := &msgs[len(msgs)-1]
			last.Parts = append(last.Parts, p)
			continue
		}
		m := message.Message{Role: message.User, Kind: message.KindUser, Parts: []message.Part{p}}
		if strings.Contains(text.Text, `"sub_agent_results"`) {
			m.Kind = message.KindResults
		}
		msgs = append(msgs, m)
	}
	return msgs
}

// resultMessage is a tool's result as a message.
func resultMessage(r message.ToolResult) message.Message {
	return message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{r}}
}
