// The time of an event, which whoever steps it gives to it.

package agent

// Stamp gives an event its time, in Unix milliseconds. The engine stamps each
// event when it steps it, so that there is one clock and it never depends on
// who made the event.
func Stamp(ev Event, at int64) Event {
	switch ev := ev.(type) {
	case Created:
		ev.At = At(at)
		return ev
	case UserMessage:
		ev.At = At(at)
		return ev
	case ModelQueued:
		ev.At = At(at)
		return ev
	case ModelReplied:
		ev.At = At(at)
		return ev
	case ModelFailed:
		ev.At = At(at)
		return ev
	case Compacted:
		ev.At = At(at)
		return ev
	case ToolStarted:
		ev.At = At(at)
		return ev
	case ToolFinished:
		ev.At = At(at)
		return ev
	case ApprovalNeeded:
		ev.At = At(at)
		return ev
	case ApprovalAnswered:
		ev.At = At(at)
		return ev
	case Consulted:
		ev.At = At(at)
		return ev
	case QuestionAnswered:
		ev.At = At(at)
		return ev
	case ChildEnded:
		ev.At = At(at)
		return ev
	case Charged:
		ev.At = At(at)
		return ev
	case AcceptanceDone:
		ev.At = At(at)
		return ev
	case Cancel:
		ev.At = At(at)
		return ev
	case Tick:
		ev.At = At(at)
		return ev
	case Recovered:
		ev.At = At(at)
		return ev
	case ToolAsked:
		ev.At = At(at)
		return ev
	case TaskAsks:
		ev.At = At(at)
		return ev
	case Extended:
		ev.At = At(at)
		return ev
	case WorkInspected:
		ev.At = At(at)
		return ev
	case WorkDecided:
		ev.At = At(at)
		return ev
	case Migrated:
		ev.At = At(at)
		return ev
	}
	return ev
}
