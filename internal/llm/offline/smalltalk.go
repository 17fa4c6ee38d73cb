// Small talk and questions about the offline model itself.

package offline

import "regexp"

var (
	greeting = regexp.MustCompile(`(?i)^\W*(hi|hello|hey|hallo|good (morning|afternoon|evening|day)|greetings|howdy)\b`)
	thanks   = regexp.MustCompile(`(?i)^\W*(thanks|thank you|thx|cheers|great|nice|cool|ok|okay|bye|goodbye|see you)\b`)
	aboutMe  = regexp.MustCompile(`(?i)\b(who|what) are you\b|\bwhat can you do\b|\bhow are you\b|\bare you (an? )?(ai|model|llm|language model|claude|gpt|chatgpt|there)\b|^\W*(help|test|ping)\W*$|\bwhat do you do\b`)
)

// shortTalk is the length up to which a request can be small talk.
const shortTalk = 60

var smalltalkRule = rule{
	name: "small talk",
	fits: func(q query) bool {
		if len(q.whole) > shortTalk || len(q.paths)+len(q.quoted)+len(q.idents) > 0 {
			return false
		}
		if aboutMe.MatchString(q.whole) {
			return true
		}
		return (greeting.MatchString(q.whole) || thanks.MatchString(q.whole)) && q.verb == ""
	},
	next: func(t *task) step {
		switch {
		case aboutMe.MatchString(t.whole):
			return answer("I am Cadre's offline mode: a set of fixed rules that use tools. I do not understand language, and I cannot hold a conversation.\n\n" + abilities)
		case greeting.MatchString(t.whole):
			return answer("Hello. I am no conversationalist, but I can look things up in this folder.\n\n" + abilities)
		}
		return answer("Noted. There is nothing in this for me to look up; ask me about the files here.")
	},
}
