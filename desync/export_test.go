package desync

// Runs is how often Rerun runs the ticks.
func (r *Report) Runs() int { return r.runs() }
