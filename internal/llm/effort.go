// How much a model is to think.

package llm

import "slices"

// Effort says how much a model is to think before it answers. Vendors have
// these words or fewer of them, and some count in tokens instead; each wire
// format says it in its vendor's way. The empty Effort leaves it to the model.
type Effort string

// The efforts, in order.
const (
	EffortNone    Effort = "none"
	EffortMinimal Effort = "minimal"
	EffortLow     Effort = "low"
	EffortMedium  Effort = "medium"
	EffortHigh    Effort = "high"
	EffortXHigh   Effort = "xhigh"
	EffortMax     Effort = "max"
)

var efforts = []Effort{EffortNone, EffortMinimal, EffortLow, EffortMedium, EffortHigh, EffortXHigh, EffortMax}

// Valid tells whether e is one of the efforts.
func (e Effort) Valid() bool { return slices.Contains(efforts, e) }

// Within returns the effort among levels that is nearest to e: the highest of
// those that are no higher, else the lowest there is. With no levels it is e.
func (e Effort) Within(levels []Effort) Effort {
	want := slices.Index(efforts, e)
	if want < 0 || len(levels) == 0 {
		return e
	}
	best, lowest := -1, len(efforts)
	for _, l := range levels {
		at := slices.Index(efforts, l)
		if at < 0 {
			continue
		}
		lowest = min(lowest, at)
		if at <= want {
			best = max(best, at)
		}
	}
	switch {
	case best >= 0:
		return efforts[best]
	case lowest < len(efforts):
		return efforts[lowest]
	}
	return e
}

// Tokens is what an effort comes to where a vendor counts in tokens; 0 for
// none.
func (e Effort) Tokens() int64 {
	switch e {
	case EffortNone:
		return 0
	case EffortMinimal, EffortLow:
		return 2048
	case EffortMedium:
		return 8192
	case EffortHigh:
		return 24576
	case EffortXHigh, EffortMax:
		return 32768
	}
	return 0
}

// EffortOf is the effort that req asks for where a vendor has words only: a
// number of tokens is the lowest effort that has as many.
func EffortOf(req *Request) Effort {
	if req.Effort != "" || req.ThinkingTokens <= 0 {
		return req.Effort
	}
	for _, e := range []Effort{EffortLow, EffortMedium, EffortHigh} {
		if req.ThinkingTokens <= e.Tokens() {
			return e
		}
	}
	return EffortMax
}
