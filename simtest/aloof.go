package simtest

// checkAloof plays a scenario once more without those who watch, in place of just once more:
// those who play must have done the same.
func checkAloof[S any, I comparable](g Game[S, I], s Scenario, first Report) (Report, error) {
	second, err := Play(g, s.unwatched())
	switch {
	case err != nil:
		return first, err
	case first.players == second.players && second.Violation == nil:
		return first, nil
	}
	// Either it is because of them, or something draws from outside the scenario.
	again, err := Play(g, s)
	switch {
	case err != nil:
		return first, err
	case again.Trace != first.Trace:
		first.Violation = replayed(first, again)
	case second.Violation != nil:
		first.Violation = second.Violation
	default:
		first.Violation = &Violation{
			Rule: RuleAloof, Event: min(first.Events, second.Events) - 1, Time: min(first.Simulated, second.Simulated),
			Detail: "played without those who watch, the match is another",
		}
	}
	return first, nil
}

// replayed says that two plays of a scenario differ.
func replayed(first, second Report) *Violation {
	return &Violation{
		Rule: RuleReplay, Event: min(first.Events, second.Events) - 1, Time: min(first.Simulated, second.Simulated),
		Detail: "two plays differ, and neither breaks another rule: something draws from outside the scenario, such as a Predict that draws or counts",
	}
}
