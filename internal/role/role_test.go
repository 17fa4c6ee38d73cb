package role

import (
	"strings"
	"testing"
)

func TestBuiltin(t *testing.T) {
	roles, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRegistry(roles...)
	if err != nil {
		t.Fatal(err)
	}
	main, ok := r.Get("MAIN")
	if !ok || main.Name != "main" || len(main.Prompt) < 200 || len(main.Delegates) == 0 {
		t.Errorf("main: %+v", main)
	}
	general, ok := r.Get("general")
	if !ok || general.MaxTurns != DefaultTurns || general.MaxDuration != DefaultDuration {
		t.Errorf("general: %+v", general)
	}
}

func TestRegistryRefuses(t *testing.T) {
	for want, roles := range map[string][]Role{
		"no name":             {{}},
		`two roles named "A"`: {{Name: "a"}, {Name: "A"}},
		`delegate to "b"`:     {{Name: "a", Delegates: []string{"b"}}},
	} {
		if _, err := NewRegistry(roles...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
