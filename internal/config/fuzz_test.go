// Whatever a file contains, it is read, warned of or refused.

package config

import "testing"

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		everything, "", "- a", "a: &x [*x]", "a: &x {<<: *x}", "? {a: b}\n: c", "tiers: !!map {fast: x}", "model: |\n  a", "<<: {model: a}",
		"providers: {a: {models: {m: {price: {input: 1e400}}}}}", "providers:\n  ? [a]\n  : b\n", "limits: {a: 99999999999999999999M}", "trust: [[a]]",
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, trusted bool) {
		c := &Config{Limits: map[string]Limit{}, where: map[string]string{}}
		r := &reader{config: c, file: "f", env: func(string) string { return "v" }, trusted: trusted, isUser: trusted}
		r.parse([]byte(text))
		for _, p := range append(r.problems, c.Warnings...) {
			if p.Text == "" || p.Line < 0 {
				t.Errorf("%+v", p)
			}
		}
		if trusted {
			return
		}
		for _, p := range c.Providers {
			if p.BaseURL != "" || p.Key.Set() || p.KeyEnv != "" || len(p.Headers)+len(p.Query) > 0 {
				t.Errorf("an untrusted file decided %v", p)
			}
		}
	})
}
