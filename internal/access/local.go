// The files in a data folder by which programs of the same machine and person
// find the server and come in: `token` and `server.json`.

package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cadre-dev/cadre/internal/store"
)

const (
	tokenFile  = "token"
	serverFile = "server.json"
)

// LocalToken returns the token of the data folder's owner. It is made at the
// first start, and again if it was revoked or its file is lost.
func (g *Gate) LocalToken(ctx context.Context, dir string) (string, error) {
	name := filepath.Join(dir, tokenFile)
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the local token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token != "" {
		_, err := g.Identify(ctx, store.KeyToken, token)
		if err == nil {
			return token, os.Chmod(name, 0o600)
		}
		if !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrExpired) {
			return "", err
		}
	}
	_, token, err = g.NewToken(ctx, LocalUser, "this machine", Admin, 0)
	if err != nil {
		return "", err
	}
	return token, writePrivate(name, []byte(token+"\n"))
}

// ReadLocalToken reads what LocalToken has kept.
func ReadLocalToken(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, tokenFile))
	if err != nil {
		return "", fmt.Errorf("reading the local token: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Server is where a running server is found.
type Server struct {
	Address string `json:"address"` // http://127.0.0.1:7777
	PID     int    `json:"pid"`
	Cert    string `json:"cert,omitempty"` // the SHA-256 of its certificate, in hex
}

// WriteServer tells where the server is, and returns what takes that back.
func WriteServer(dir string, s Server) (func() error, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, serverFile)
	return func() error { return os.Remove(name) }, writePrivate(name, append(b, '\n'))
}

// FindServer reads what WriteServer wrote: fs.ErrNotExist if there is no
// server. A server that died has left its file, so that the address may not
// answer.
func FindServer(dir string) (Server, error) {
	var s Server
	b, err := os.ReadFile(filepath.Join(dir, serverFile))
	if err != nil {
		return s, fmt.Errorf("looking for a running server: %w", err)
	}
	if err := json.Unmarshal(b, &s); err != nil || s.Address == "" {
		return s, fmt.Errorf("%s is not readable; remove it if no server runs: %w", filepath.Join(dir, serverFile), fs.ErrNotExist)
	}
	return s, nil
}

// writePrivate replaces a file at once by one that only its owner can read.
func writePrivate(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*") // 0600
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", name, err), os.Remove(f.Name()))
	}
	return nil
}
