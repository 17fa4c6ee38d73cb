// Requests the offline model cannot meet: it changes nothing, runs nothing,
// and does not know what no rule recognises.

package offline

var cannotRule = rule{
	name: "cannot",
	fits: func(q query) bool { return verbs[q.verb] == asksChange },
	next: func(t *task) step {
		return answer("I cannot do this: to " + t.verb + " something takes a language model, and I only have rules for looking at files. Nothing was changed.\n\n" +
			"I can draft a plan for it, though: ask \"plan how to " + t.text + "\".")
	},
}

var unknownRule = rule{
	name: "unknown",
	fits: func(query) bool { return true },
	next: func(*task) step {
		return answer("I cannot answer this: it fits none of my rules, and I do not understand language beyond them.\n\n" + abilities)
	},
}
