package detlint

// IsStd is isStd, for tests.
var IsStd = isStd
