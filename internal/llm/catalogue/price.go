// Prices, and what a call costs.

package catalogue

import (
	"encoding/json"
	"math"

	"charm.land/catwalk/pkg/catwalk"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/message"
)

// Rates are what a million tokens cost, in millionths of a dollar.
type Rates struct {
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64
}

// Price is what a model's tokens cost. A price that is not known is not zero:
// Known says which it is.
type Price struct {
	Known bool
	Rates

	// Above is the number of tokens of input above which a whole request is
	// charged at Long instead; 0: there is no such number.
	Above int64
	Long  Rates
}

func free() Price { return Price{Known: true} }

// Cost prices a call in millionths of a dollar, rounded up; false if the price
// is not known. Tokens read from and written to the cache have prices of their
// own.
func (p Price) Cost(u message.Usage) (micros int64, known bool) {
	if !p.Known {
		return 0, false
	}
	r := p.Rates
	if p.Above > 0 && u.Prompt() > p.Above {
		r = p.Long
	}
	sum := u.Input*r.Input + u.Output*r.Output + u.CacheRead*r.CacheRead + u.CacheWrite*r.CacheWrite
	return (sum + 999_999) / 1_000_000, true
}

// MarshalJSON writes dollars per million tokens, as the configuration has them;
// null if the price is not known.
func (p Price) MarshalJSON() ([]byte, error) {
	if !p.Known {
		return []byte("null"), nil
	}
	out := struct {
		ratesJSON
		Long *longJSON `json:"long,omitempty"`
	}{ratesJSON: p.Rates.dollars()}
	if p.Above > 0 {
		out.Long = &longJSON{p.Above, p.Long.dollars()}
	}
	return json.Marshal(out)
}

type (
	ratesJSON struct {
		Input      float64 `json:"input"`
		Output     float64 `json:"output"`
		CacheRead  float64 `json:"cache_read"`
		CacheWrite float64 `json:"cache_write"`
	}
	longJSON struct {
		Above int64 `json:"above"`
		ratesJSON
	}
)

func (r Rates) dollars() ratesJSON {
	dollars := func(n int64) float64 { return float64(n) / 1e6 }
	return ratesJSON{dollars(r.Input), dollars(r.Output), dollars(r.CacheRead), dollars(r.CacheWrite)}
}

// override returns p with what is configured. A price of which only a part is
// said, and the rest not known, stays unknown. Where nothing is said about the
// cache, its tokens cost what others do; where nothing is said about long
// requests, they keep their ratio to the others.
func (p Price) override(x config.Price) Price {
	if !x.Said() {
		return p
	}
	before := p
	if !p.Known {
		if x.Input == nil || x.Output == nil {
			return p
		}
		p = Price{Known: true, Rates: Rates{Input: *x.Input, Output: *x.Output, CacheRead: *x.Input, CacheWrite: *x.Input}}
	} else if x.Input != nil && (x.CacheRead == nil || x.CacheWrite == nil) {
		// The known prices of the cache belong to the old price of the input.
		p.CacheRead, p.CacheWrite = scaled(p.CacheRead, p.Input, *x.Input), scaled(p.CacheWrite, p.Input, *x.Input)
	}
	p.take(x.Input, x.Output, x.CacheRead, x.CacheWrite)
	switch {
	case x.Long == nil && p.Above > 0:
		p.Long = p.Rates.times(before.Long, before.Rates)
	case x.Long != nil && x.Long.Above == 0:
		p.Above, p.Long = 0, Rates{}
	case x.Long != nil:
		p.Above = x.Long.Above
		p.Long = Rates{
			CacheRead:  scaled(p.CacheRead, p.Input, *x.Long.Input),
			CacheWrite: scaled(p.CacheWrite, p.Input, *x.Long.Input),
		}
		p.Long.take(x.Long.Input, x.Long.Output, x.Long.CacheRead, x.Long.CacheWrite)
	}
	return p
}

// take replaces what is said.
func (r *Rates) take(input, output, cacheRead, cacheWrite *int64) {
	for _, f := range []struct{ to, from *int64 }{
		{&r.Input, input}, {&r.Output, output}, {&r.CacheRead, cacheRead}, {&r.CacheWrite, cacheWrite},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
}

// times returns r changed as from was into to.
func (r Rates) times(to, from Rates) Rates {
	return Rates{
		Input: scaled(r.Input, from.Input, to.Input), Output: scaled(r.Output, from.Output, to.Output),
		CacheRead: scaled(r.CacheRead, from.CacheRead, to.CacheRead), CacheWrite: scaled(r.CacheWrite, from.CacheWrite, to.CacheWrite),
	}
}

// scaled keeps the ratio of a price to that of the input.
func scaled(price, from, to int64) int64 {
	if from == 0 {
		return to
	}
	return int64(math.Round(float64(price) * float64(to) / float64(from)))
}

// priceOf reads the prices of the built-in list. In it CostPer1MInCached is
// meant to be the price of writing to the cache and CostPer1MOutCached that of
// reading from it, but some vendors have them the other way round, or the
// reading price in both, or only in the first. Since writing never costs less
// than the input and reading never more, the numbers themselves tell. Where no
// price for the cache is listed, its tokens count as input: a budget may be too
// careful, never too careless.
func priceOf(m catwalk.Model) Price {
	if m.CostPer1MIn <= 0 || m.CostPer1MOut <= 0 {
		return Price{}
	}
	in := micros(m.CostPer1MIn)
	p := Price{Known: true, Rates: Rates{Input: in, Output: micros(m.CostPer1MOut), CacheRead: in, CacheWrite: in}}
	write, read := micros(m.CostPer1MInCached), micros(m.CostPer1MOutCached)
	for _, n := range []int64{write, read} { // the proper column last: it wins
		if n > 0 && n <= in {
			p.CacheRead = n
		}
	}
	for _, n := range []int64{read, write} {
		if n > in {
			p.CacheWrite = n
		}
	}
	return p
}

func micros(dollars float64) int64 { return int64(math.Round(dollars * 1e6)) }
