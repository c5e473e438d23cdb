package identity

import (
	"crypto/ed25519"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAKeyHasThePinOfItsCertificate(t *testing.T) {
	id := generate(t)
	require.Equal(t, id.Pin(), id.Key().Pin())
	require.NotEqual(t, id.Pin(), generate(t).Key().Pin())
}

func TestASignatureHoldsForItsKeyItsPurposeAndItsMessageAlone(t *testing.T) {
	id, other := generate(t), generate(t)
	signature := id.Sign("greeting", []byte("hello"))
	require.Equal(t, signature, id.Sign("greeting", []byte("hello")))
	require.Len(t, signature, SignatureSize)
	require.True(t, id.Key().Verify("greeting", []byte("hello"), signature))
	require.False(t, other.Key().Verify("greeting", []byte("hello"), signature))
	require.False(t, id.Key().Verify("parting", []byte("hello"), signature))
	require.False(t, id.Key().Verify("greeting", []byte("hallo"), signature))
	require.False(t, id.Key().Verify("greeting", []byte("hello"), signature[1:]))
	require.False(t, id.Key().Verify("greeting", []byte("hello"), nil))
	key := id.Key()
	require.False(t, ed25519.Verify(key[:], []byte("hello"), signature), "it is none for TLS")
	require.Panics(t, func() { id.Sign("", []byte("hello")) }, "without a purpose it would be one for TLS")
}
