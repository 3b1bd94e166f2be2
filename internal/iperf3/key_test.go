package iperf3

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writePEM(t *testing.T, kind string, der []byte, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// keyFiles are aKey in the form that openssl gives it today.
func keyFiles(t *testing.T) (public, private string) {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&aKey().PublicKey)
	public = writePEM(t, "PUBLIC KEY", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(aKey())
	return public, writePEM(t, "PRIVATE KEY", der, err)
}

func TestKeysOfEveryForm(t *testing.T) {
	pkix, pkcs8 := keyFiles(t)
	for _, path := range []string{pkix, writePEM(t, "RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&aKey().PublicKey), nil)} {
		if key, err := ReadPublicKey(path); err != nil || !key.Equal(&aKey().PublicKey) {
			t.Error(err)
		}
	}
	for _, path := range []string{pkcs8, writePEM(t, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(aKey()), nil)} {
		if key, err := ReadPrivateKey(path); err != nil || !key.Equal(aKey()) {
			t.Error(err)
		}
	}
}

func TestKeysThatAreNone(t *testing.T) {
	pkix, pkcs8 := keyFiles(t)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&curve.PublicKey)
	curvePublic := writePEM(t, "PUBLIC KEY", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(curve)
	curvePrivate := writePEM(t, "PRIVATE KEY", der, err)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("ssh-rsa AAAA"), 0o600); err != nil {
		t.Fatal(err)
	}
	public := func(path string) error { _, err := ReadPublicKey(path); return err }
	private := func(path string) error { _, err := ReadPrivateKey(path); return err }
	for _, c := range []struct {
		read func(string) error
		path string
		want string
	}{
		{public, text, "no PEM in it: it has to hold an RSA public key"},
		{private, text, "no PEM in it: it has to hold an RSA private key"},
		{public, pkcs8, "it holds a PRIVATE KEY, and an RSA public key is needed"},
		{private, pkix, "it holds a PUBLIC KEY, and an RSA private key is needed"},
		{public, curvePublic, "is no RSA key"},
		{private, curvePrivate, "is no RSA key"},
		{private, writePEM(t, "ENCRYPTED PRIVATE KEY", []byte{1}, nil), "pass phrase"},
		{private, writePEM(t, "PRIVATE KEY", []byte{1}, nil), "asn1"},
		{public, text + "x", "no such file"},
	} {
		if err := c.read(c.path); err == nil || !strings.Contains(err.Error(), c.path) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
