// Package identity says who a peer is: an ed25519 key of its own, the pin that
// others know it by, and the one-time code that lets a stranger be pinned.
//
// There is no authority and no name. A peer shows a self-signed certificate of
// its key, TLS 1.3 proves that it holds the key, and the other side compares the
// key's [Pin] with the one that reached it another way. Both sides do so: a
// connection made with the configurations of this package is authenticated in
// both directions or does not exist. Sessions are never resumed.
//
// The package owns keys, their storage, pins, codes and the TLS configurations
// made from them. It refuses to own connections and to decide whom to admit. An
// [Identity] does not change after it was made, and any goroutine may use it; so
// may any goroutine use a [Pin] and a [Code], which are plain values.
package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// maxFile bounds what Load reads, in bytes. A key's file takes about 120.
const maxFile = 16 << 10

// keyType is the PEM type of a file that holds an identity: PKCS #8, which other
// tools read as well.
const keyType = "PRIVATE KEY"

// Identity is a peer's key and what follows from it.
type Identity struct {
	key         ed25519.PrivateKey
	certificate tls.Certificate
	pin         Pin
}

// Generate makes a new identity. Unless it is saved it ends with the process.
func Generate() (*Identity, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("identity: no key could be generated: %w", err)
	}
	return of(key)
}

// Open loads the identity in the file at path, or generates one and saves it
// there if the file does not exist.
func Open(path string) (*Identity, error) {
	id, err := Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	if id, err = Generate(); err != nil {
		return nil, err
	}
	return id, id.Save(path)
}

// Load reads an identity that [Identity.Save] wrote. It refuses a file that
// others than its owner may read or write, where the system says so.
func Load(path string) (*Identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, fmt.Errorf("identity: others may use the key in %s (its mode is %04o): make it 0600", path, mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("identity: %s: %w", path, err)
	}
	id, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("identity: %s holds no identity: %w", path, err)
	}
	return id, nil
}

// parse reads a PEM block of a PKCS #8 ed25519 key with nothing around it.
func parse(data []byte) (*Identity, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	block, rest := pem.Decode(data)
	if block == nil {
		return nil, errors.New("it is not in PEM form")
	}
	if block.Type != keyType {
		return nil, fmt.Errorf("its PEM block is %q, not %q", block.Type, keyType)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("something follows the key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("its key is a %T, not an ed25519 key", parsed)
	}
	return of(key)
}

// Save writes the identity to the file at path, readable by its owner alone. A
// file that is there already is replaced at once or not at all.
func (id *Identity) Save(path string) (err error) {
	der, err := x509.MarshalPKCS8PrivateKey(id.key)
	if err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	// CreateTemp makes the file 0600 from the start, so there is no moment at
	// which others could open it.
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
			err = fmt.Errorf("identity: %w", err)
		}
	}()
	if err = pem.Encode(f, &pem.Block{Type: keyType, Bytes: der}); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Pin returns the pin of the identity's key: what others know it by.
func (id *Identity) Pin() Pin { return id.pin }

// of makes the certificate for a key. Nobody looks at its dates, name or number,
// since the pin alone decides; they are constants so that a key has one
// certificate on every machine and whatever the clock says.
func of(key ed25519.PrivateKey) (*Identity, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // X.509's word for "never"
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	return &Identity{
		key:         key,
		certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf},
		pin:         pinOf(leaf),
	}, nil
}
