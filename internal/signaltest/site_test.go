package signaltest_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/internal/signaltest"
	"github.com/driftback/driftback/signalling/server"
)

func TestASiteIsThereAgainAtTheSameAddress(t *testing.T) {
	s := signaltest.New(t, server.Config{})
	url := s.URL()
	health := func() error {
		answer, err := http.Get(url + "/healthz")
		if err != nil {
			return err
		}
		require.Equal(t, http.StatusOK, answer.StatusCode)
		return answer.Body.Close()
	}
	require.NoError(t, health())
	s.Stop()
	s.Stop()
	require.Error(t, health())
	s.Start()
	require.NoError(t, health())
	s.Restart()
	require.NoError(t, health())
	s.Await(0)
}
