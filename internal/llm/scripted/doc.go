// Package scripted is a model that plays a script: a YAML file that says what
// each agent of a tree answers, turn by turn. Tests and demonstrations of
// whole trees run on it, with delays, failures and cut streams as a real
// vendor has them, and with the same outcome every time.
//
// It keeps no state. Which turn is due follows from the request alone: turn n
// answers a history that holds n-1 assistant messages. A script therefore
// goes on after a crash, in a retry and over the wire (see modelserver) as if
// nothing had happened. It must not know agents, engines or stores.
//
// # A whole script
//
//	name: hundred readers
//	model: reader-1                  # what the reply says answered; default: the model asked for
//	defaults:
//	  delay: 20ms                    # before the first chunk
//	  chunk: 12                      # runes per chunk; 0 or none: a part is one chunk
//	  chunk_delay: 5ms               # between chunks
//	agents:                          # the first block whose match fits the caller answers
//	  - match: {role: main}
//	    turns:
//	      - thinking: A hundred parts, all independent.
//	        text: I'll split this.
//	        calls:
//	          - tool: spawn_agents
//	            input: {wait: all}
//	            repeat:
//	              key: tasks         # the copies are appended to input.tasks
//	              count: 100
//	              template: {task: "read part {{i}}", role: general}
//	      - text: "All done: {{last_result}}"
//	      - when: {user: status}     # not numbered: plays when the user just said so
//	        text: Nothing is running.
//	  - match: {role: general, task_re: 'part (\d+)'}
//	    turns:
//	      - calls: [{tool: LS, input: {path: .}}]
//	        fault: {status: 529, retry_after: 2s, times: 1}
//	      - calls: [{tool: submit_result, input: {result: "part {{task.1}} is fine"}}]
//	  - match: {}                    # everyone else
//	    turns: [{text: ok}]
//	    after: last
//
// # Blocks
//
// The keys of match all have to hold: role and name without regard to case,
// agent (the id), task (a part of the task's text), task_re (a regular
// expression over it), depth. A block behind one that matches everyone is an
// error, as it would never be played.
//
// after says what follows the last numbered turn: last plays the last one
// again, repeat begins with the first, error fails. Without it a last turn of
// plain text is played again, and anything else is an error that names the
// turn and the agent.
//
// # Turns
//
// Turns without when are numbered from 1 in the order of the file. A turn with
// when has no number: it is played instead of the numbered one whenever all
// its conditions hold. user and result are parts of what the user said and of
// what tools or sub-agents returned since the last reply; turn is the number
// of the turn that is due.
//
// A turn has:
//
//	text, thinking   what is said; text: "" is an empty reply
//	calls            tool calls: tool, input, and optionally id and repeat
//	stop             end, tools, length, refusal or filter; by default tools
//	                 where there are calls, else end
//	usage            input, output, cache_read, cache_write, reasoning; by
//	                 default estimated, four bytes to a token
//	delay, chunk, chunk_delay
//	fault            how the turn fails
//
// Ids of calls are call_<turn>_<n> unless given, so they are unique within an
// agent's history.
//
// repeat with key appends one copy of template for each value of i to that
// list of the input. Without key it repeats the call itself, so its id, if it
// has one, must contain {{i}}. i runs from `from` (default 1) for count
// values; or instead of count, each names a list of texts, which {{item}}
// stands for.
//
// # Faults
//
// A fault has one of
//
//	status: 429      an HTTP error, its kind following from the status
//	kind: quota      an error of that llm.ErrorKind; may stand next to status
//	overflow: true   the context is too long
//	cut: true        the stream ends early: a network error
//	stall: true      the stream stops until the context ends
//
// and optionally message, retry_after, after (the number of chunks sent
// before it strikes; by default none, and half of them for cut and stall),
// idle (a stall gives up after this, as a client with an idle limit does) and
// times: the number of tries of the turn that fail before it is played.
// Without times every try fails.
//
// # Templates
//
// Texts, inputs and ids may contain {{i}}, {{item}}, {{agent}}, {{name}},
// {{role}}, {{depth}}, {{task}}, {{task.N}} (the groups of task_re, 0 being
// the whole match), {{turn}}, {{try}}, {{user}} (the last user message),
// {{last_result}} (the newest tool results) and {{result.N}} (one of them,
// from 1). A value that is nothing but {{number i}} becomes a number instead
// of a text. An unknown name is an error of the script. YAML reads a bare
// {{i}} as a mapping: quote such values.
package scripted
