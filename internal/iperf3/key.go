package iperf3

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
)

// ReadPublicKey reads a file of iperf3's --rsa-public-key-path: PEM, PKIX or
// PKCS #1.
func ReadPublicKey(path string) (*rsa.PublicKey, error) {
	return readKey[*rsa.PublicKey](path, "public", map[string]parser{
		"PUBLIC KEY":     x509.ParsePKIXPublicKey,
		"RSA PUBLIC KEY": func(der []byte) (any, error) { return x509.ParsePKCS1PublicKey(der) },
	})
}

// ReadPrivateKey reads a file of iperf3's --rsa-private-key-path: PEM, PKCS #8
// or PKCS #1, without a pass phrase.
func ReadPrivateKey(path string) (*rsa.PrivateKey, error) {
	return readKey[*rsa.PrivateKey](path, "private", map[string]parser{
		"PRIVATE KEY":     x509.ParsePKCS8PrivateKey,
		"RSA PRIVATE KEY": func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) },
	})
}

type parser func(der []byte) (any, error)

// readKey reads the first PEM block of a file by its type.
func readKey[Key any](path, kind string, parsers map[string]parser) (key Key, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return key, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return key, fmt.Errorf("%s: no PEM in it: it has to hold an RSA %s key", path, kind)
	}
	parse, known := parsers[block.Type]
	if _, encrypted := block.Headers["DEK-Info"]; encrypted || block.Type == "ENCRYPTED PRIVATE KEY" {
		return key, fmt.Errorf("%s: the key has a pass phrase: take it off with openssl pkey", path)
	}
	if !known {
		return key, fmt.Errorf("%s: it holds a %s, and an RSA %s key is needed", path, block.Type, kind)
	}
	parsed, err := parse(block.Bytes)
	if err != nil {
		return key, fmt.Errorf("%s: %w", path, err)
	}
	key, ok := parsed.(Key)
	if !ok {
		return key, fmt.Errorf("%s: the key is no RSA key, and iperf3's login needs one", path)
	}
	return key, nil
}
