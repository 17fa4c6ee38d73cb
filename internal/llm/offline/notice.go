// What the offline model says about itself.

package offline

// notice ends every answer of the orchestrator.
const notice = "---\n*This answer comes from Cadre's offline mode: fixed rules, not a language model. " +
	"To use one, set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, or choose one with `--model provider/name`: " +
	"`cadre models` lists them, those of local servers such as Ollama too.*"

// abilities is what it can do.
const abilities = `What I can do without a model:

- find code and text, and show what stands there: "where is parseConfig defined", "find 'connection refused'"
- list files and folders: "list the Go files in internal"
- count files, lines or occurrences: "how many lines are in main.go"
- summarise a file, a folder or the project: "summarise README.md"
- draft a plan that names real files: "plan how to add retries to the client"
- split a request into parts and give each to a sub-agent: "summarise a.go, b.go and c.go"`
