package transfer

import (
	"fmt"
	"io"
)

// blockSize is by how many bytes a blob grows.
const blockSize = 64 << 10

// Blob is what was handed over, in blocks: it grows as bytes arrive, and never copies
// those that are there. It is read in any portions, so that a large state can be decoded
// over several ticks.
type Blob struct {
	blocks [][]byte // all full but the last
	size   int
	state  int // where the log begins
}

// append takes the next bytes of a blob that will have at most end.
func (b *Blob) append(p []byte, end int) {
	for len(p) > 0 {
		used := b.size % blockSize
		if used == 0 {
			b.blocks = append(b.blocks, make([]byte, 0, min(blockSize, end-b.size)))
		}
		last := &b.blocks[len(b.blocks)-1]
		n := min(len(p), blockSize-used)
		*last = append(*last, p[:n]...)
		p = p[n:]
		b.size += n
	}
}

// Size returns how many bytes there are.
func (b *Blob) Size() int { return b.size }

// ReadAt fills p with the bytes from at on, as io.ReaderAt has it. It allocates nothing.
func (b *Blob) ReadAt(p []byte, at int64) (n int, err error) {
	if at < 0 {
		return 0, fmt.Errorf("transfer: the blob begins at byte 0, and was read at %d", at)
	}
	for n < len(p) && at < int64(b.size) {
		m := copy(p[n:], b.blocks[at/blockSize][at%blockSize:])
		n += m
		at += int64(m)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// State returns a reader of the state's bytes.
func (b *Blob) State() *io.SectionReader { return io.NewSectionReader(b, 0, int64(b.state)) }

// Log returns a reader of the log's bytes.
func (b *Blob) Log() *io.SectionReader {
	return io.NewSectionReader(b, int64(b.state), int64(b.size-b.state))
}
