package pcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Types of blocks of pcapng (draft-ietf-opsawg-pcapng, section 11.1).
const (
	blockPacket   = 2 // obsolete
	blockSimple   = 3
	blockEnhanced = 6
	blockSection  = 0x0a0d0d0a
)

// maxBlock bounds a block in bytes: far beyond any frame and its options.
const maxBlock = 16 << 20

// A blocks reads a pcapng file block by block and hands on whole ones alone: the
// library takes the end of a file within a block for its regular end, and believes
// any length of a frame.
type blocks struct {
	r     io.Reader
	order binary.ByteOrder // of the section
	block []byte           // what is left of the one that was read
}

func (b *blocks) Read(p []byte) (int, error) {
	if len(b.block) == 0 {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.block)
	b.block = b.block[n:]
	return n, nil
}

// next reads a block. The error is io.EOF only between two.
func (b *blocks) next() error {
	head := make([]byte, 12) // type, length, and the byte order of a section
	if _, err := io.ReadFull(b.r, head); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(head) == blockSection {
		const magic = 0x1a2b3c4d
		b.order = binary.LittleEndian
		if binary.BigEndian.Uint32(head[8:]) == magic {
			b.order = binary.BigEndian
		}
	}
	if b.order == nil {
		return errors.New("the file does not begin with a section header")
	}
	length := b.order.Uint32(head[4:])
	if length < 12 || length > maxBlock || length%4 != 0 {
		return fmt.Errorf("a block has %d bytes: the file is damaged", length)
	}
	b.block = append(head, make([]byte, length-12)...)
	if _, err := io.ReadFull(b.r, b.block[12:]); err != nil {
		return io.ErrUnexpectedEOF
	}
	return b.check()
}

// check refuses a block of a frame that claims more bytes than it has, or has no
// time.
func (b *blocks) check() error {
	switch b.order.Uint32(b.block) {
	case blockSimple:
		return errors.New("it is in a simple packet block, which tells no time")
	case blockPacket, blockEnhanced:
		const before, around = 20, 32
		if len(b.block) < around || b.order.Uint32(b.block[before:]) > uint32(len(b.block)-around) {
			return errors.New("it is longer than its block: the file is damaged")
		}
	}
	return nil
}
