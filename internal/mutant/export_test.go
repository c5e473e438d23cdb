package mutant

import "testing"

// Run is what Find does for each.
func (m Mutant) Run(t *testing.T, root, folder string, flags []string) (output, checker string, failed bool) {
	t.Helper()
	return m.run(t, root, folder, flags)
}
