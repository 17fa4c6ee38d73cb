// Whether there can be a worktree of a folder.

package worktree

import (
	"context"
	"fmt"
)

// Check tells why no tree can be made of a folder: it is in no repository that
// Create could use, or git is missing or too old.
func Check(ctx context.Context, dir string) error {
	if err := checkVersion(ctx); err != nil {
		return err
	}
	if _, err := discover(ctx, dir); err != nil {
		return fmt.Errorf("there can be no worktree of %s: %w", dir, err)
	}
	return nil
}
