// What is done at every start and at every call must cost next to nothing.

package catalogue

import "testing"

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c := New(Options{Env: all.get})
		if _, _, err := c.Find("offline"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	c := New(Options{Env: all.get})
	if _, _, err := c.Find("sonnet"); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := c.Find("sonnet"); err != nil {
			b.Fatal(err)
		}
	}
}
