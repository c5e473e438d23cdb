// Command hunt plays seeds of the witness until one breaks a rule, shrinks what it
// found, and says all of it as JSON. The test of planted engine faults compiles it with
// one of them in the engine.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/driftback/driftback/simtest"
)

// broke is what playing one scenario came to.
type broke struct {
	Rule  simtest.Rule
	Event int
	Says  string
}

type found struct {
	// Kept has two plays of the scenario that was kept, if there is one.
	Kept []broke
	// Found says whether a seed breaks a rule, Seed which was the first.
	Found        bool
	Seed         uint64
	First        broke
	Whole, Small simtest.Scenario
	Shrunk       broke
}

func main() {
	seeds := flag.Uint64("seeds", 1000, "how many seeds are played")
	budget := flag.Int("budget", simtest.DefaultBudget, "how many plays shrinking may take")
	kept := flag.String("kept", "", "a scenario that is played twice first")
	var shape simtest.Shape
	flag.BoolVar(&shape.Returns, "returns", false, "have peers come back")
	flag.BoolVar(&shape.Adapt, "adapt", false, "have input delays adapt and peers keep pace")
	flag.Parse()
	f, err := hunt(shape, *seeds, *budget, *kept)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func of(r simtest.Report) broke {
	if r.Violation == nil {
		return broke{}
	}
	return broke{r.Violation.Rule, r.Violation.Event, r.Violation.Error()}
}

func hunt(shape simtest.Shape, seeds uint64, budget int, kept string) (f found, err error) {
	g := simtest.Witness()
	if kept != "" {
		b, err := os.ReadFile(kept)
		if err != nil {
			return f, err
		}
		s, err := simtest.Parse(b)
		if err != nil {
			return f, err
		}
		for range 2 {
			r, err := simtest.Play(g, s)
			if err != nil {
				return f, err
			}
			f.Kept = append(f.Kept, of(r))
		}
	}
	for ; f.Seed < seeds; f.Seed++ {
		f.Whole = shape.Generate(f.Seed)
		r, err := simtest.Play(g, f.Whole)
		if err != nil {
			return f, err
		}
		if r.Violation == nil && len(f.Whole.Watchers) > 0 { // it may be that they influence who plays
			r, err = simtest.CheckAgain(g, f.Whole, r)
		}
		if err != nil {
			return f, err
		}
		if r.Violation == nil {
			continue
		}
		f.Found, f.First = true, of(r)
		f.Small, r, err = simtest.Shrink(g, f.Whole, budget)
		f.Shrunk = of(r)
		return f, err
	}
	return f, nil
}
