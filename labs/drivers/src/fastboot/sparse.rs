//! Images of partitions as files, and how they are cut for devices that take less at once.

use android_sparse_image::split::{SplitError, split_image};
use android_sparse_image::{
    CHUNK_HEADER_BYTES_LEN, ChunkHeader, ChunkType, DEFAULT_BLOCKSIZE, FILE_HEADER_BYTES_LEN, FileHeader,
};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Largest piece of a cut image, bytes, however much the device would take: boot loaders count in 32 bits.
const LARGEST_PIECE: u64 = 1 << 30;

/// An image in a file: raw, or sparse in Android's format.
#[derive(Clone, Debug)]
pub struct Image {
    path: PathBuf,
    /// Bytes of the file.
    size: u64,
    /// Headers of a sparse one.
    sparse: Option<(FileHeader, Vec<ChunkHeader>)>,
}

/// Why an image cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The file cannot be read.
    #[error("cannot read the image {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is nothing in it.
    #[error("the image {} is empty", path.display())]
    Empty {
        /// Which.
        path: PathBuf,
    },
    /// It begins as a sparse image and does not go on as one.
    #[error("the sparse image {} is damaged: {detail}", path.display())]
    Sparse {
        /// Which.
        path: PathBuf,
        /// Where and what.
        detail: String,
    },
    /// The device takes less than the smallest piece.
    #[error("the image {} cannot be cut into pieces of {limit} bytes, which is all that the device takes at once", path.display())]
    Limit {
        /// Which.
        path: PathBuf,
        /// Bytes.
        limit: u64,
    },
}

impl Image {
    /// Opens and checks a file. Blocks while headers are read.
    pub fn open(path: &Path) -> Result<Self, ImageError> {
        let failed = |source| ImageError::Read { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        if size == 0 {
            return Err(ImageError::Empty { path: path.to_owned() });
        }
        let sparse = headers(&mut file, size).map_err(|error| match error {
            HeaderError::Read(source) => failed(source),
            HeaderError::Damaged(detail) => ImageError::Sparse { path: path.to_owned(), detail },
        })?;
        Ok(Self { path: path.to_owned(), size, sparse })
    }

    /// Bytes that it takes on the partition.
    pub fn expanded_size(&self) -> u64 {
        match &self.sparse {
            Some((header, _)) => u64::from(header.blocks) * u64::from(header.block_size),
            None => self.size,
        }
    }

    /// Bytes of the file, which is what goes over the wire when it is not cut.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The file as it is.
    pub fn whole(&self) -> Piece {
        Piece { path: self.path.clone(), parts: vec![Part::File { offset: 0, length: self.size }] }
    }

    /// The image in pieces of at most `limit` bytes: one, as it is, where that is enough; else sparse ones that together write the same.
    pub fn pieces(&self, limit: u64) -> Result<Vec<Piece>, ImageError> {
        if self.size <= limit {
            return Ok(vec![self.whole()]);
        }
        let limit = limit.min(LARGEST_PIECE);
        let too_little = || ImageError::Limit { path: self.path.clone(), limit };
        let size = u32::try_from(limit).expect("the largest piece is below");
        match &self.sparse {
            Some((header, chunks)) => {
                let splits =
                    split_image(header, chunks, size).map_err(|SplitError::TooSmall| too_little())?;
                let piece = |split: &android_sparse_image::split::Split| {
                    let chunks = split
                        .chunks
                        .iter()
                        .map(|chunk| (&chunk.header, chunk.offset as u64, chunk.size as u64));
                    self.piece(&split.header, chunks)
                };
                Ok(splits.iter().map(piece).collect())
            }
            None => self.raw_pieces(size).ok_or_else(too_little),
        }
    }

    /// A raw image as sparse ones: each skips what the ones before have written.
    fn raw_pieces(&self, limit: u32) -> Option<Vec<Piece>> {
        let headers = u32::try_from(FILE_HEADER_BYTES_LEN + 2 * CHUNK_HEADER_BYTES_LEN).ok()?;
        let most = limit.checked_sub(headers)? / DEFAULT_BLOCKSIZE;
        let blocks = u32::try_from(self.size.div_ceil(u64::from(DEFAULT_BLOCKSIZE))).ok()?;
        if most == 0 {
            return None;
        }
        let mut pieces = Vec::new();
        let mut done = 0;
        while done < blocks {
            let now = most.min(blocks - done);
            let offset = u64::from(done) * u64::from(DEFAULT_BLOCKSIZE);
            let length = u64::from(now) * u64::from(DEFAULT_BLOCKSIZE);
            let mut chunks = Vec::new();
            if done > 0 {
                chunks.push((ChunkHeader::new_dontcare(done), 0, 0));
            }
            chunks.push((ChunkHeader::new_raw(now, DEFAULT_BLOCKSIZE), offset, length));
            let header = FileHeader {
                block_size: DEFAULT_BLOCKSIZE,
                blocks: done + now,
                chunks: u32::try_from(chunks.len()).ok()?,
                checksum: 0,
            };
            pieces.push(
                self.piece(&header, chunks.iter().map(|(header, offset, length)| (header, *offset, *length))),
            );
            done += now;
        }
        Some(pieces)
    }

    /// Headers and the parts of the file that follow them. What a raw file lacks of its last block is zeros.
    fn piece<'a>(
        &self,
        header: &FileHeader,
        chunks: impl Iterator<Item = (&'a ChunkHeader, u64, u64)>,
    ) -> Piece {
        let mut parts = vec![Part::Bytes(header.to_bytes().to_vec())];
        for (header, offset, length) in chunks {
            parts.push(Part::Bytes(header.to_bytes().to_vec()));
            let there = length.min(self.size.saturating_sub(offset));
            if there > 0 {
                parts.push(Part::File { offset, length: there });
            }
            let padding = usize::try_from(length - there).expect("less than a block");
            if padding > 0 {
                parts.push(Part::Bytes(vec![0; padding]));
            }
        }
        Piece { path: self.path.clone(), parts }
    }
}

/// What one download sends.
#[derive(Clone, Debug)]
pub struct Piece {
    path: PathBuf,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Bytes(Vec<u8>),
    File { offset: u64, length: u64 },
}

impl Piece {
    /// Bytes.
    pub fn size(&self) -> u64 {
        let size = |part: &Part| match part {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::File { length, .. } => *length,
        };
        self.parts.iter().map(size).sum()
    }

    /// The file that most of it comes from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it from start to end, in chunks of `chunk` bytes and a last one, until `take` has enough. Blocks. Ends with an error where the file
    /// has become shorter.
    pub(super) fn read(&self, chunk: usize, mut take: impl FnMut(Vec<u8>) -> bool) -> io::Result<()> {
        let mut file = File::open(&self.path)?;
        let mut buffer = Vec::with_capacity(chunk);
        for part in &self.parts {
            let mut left = match part {
                Part::Bytes(bytes) => bytes.len() as u64,
                Part::File { offset, length } => {
                    file.seek(SeekFrom::Start(*offset))?;
                    *length
                }
            };
            let mut bytes: &[u8] = if let Part::Bytes(bytes) = part { bytes } else { &[] };
            while left > 0 {
                let want = left.min((chunk - buffer.len()) as u64);
                let read = match part {
                    Part::Bytes(_) => (&mut bytes).take(want).read_to_end(&mut buffer)?,
                    Part::File { .. } => (&mut file).take(want).read_to_end(&mut buffer)?,
                } as u64;
                if read < want {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file has become shorter"));
                }
                left -= read;
                if buffer.len() == chunk && !take(std::mem::replace(&mut buffer, Vec::with_capacity(chunk))) {
                    return Ok(());
                }
            }
        }
        if !buffer.is_empty() {
            take(buffer);
        }
        Ok(())
    }
}

enum HeaderError {
    Read(io::Error),
    Damaged(String),
}

impl From<io::Error> for HeaderError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// The headers of a sparse image, or nothing for a raw one.
fn headers(file: &mut File, size: u64) -> Result<Option<(FileHeader, Vec<ChunkHeader>)>, HeaderError> {
    let mut start = [0; FILE_HEADER_BYTES_LEN];
    if size < start.len() as u64 {
        return Ok(None);
    }
    file.read_exact(&mut start)?;
    if !start.starts_with(&android_sparse_image::HEADER_MAGIC.to_le_bytes()) {
        return Ok(None);
    }
    let damaged = |detail: String| Err(HeaderError::Damaged(detail));
    let header = match FileHeader::from_bytes(&start) {
        Ok(header) if header.block_size >= 4 && header.block_size.is_multiple_of(4) => header,
        Ok(header) => return damaged(format!("blocks of {} bytes", header.block_size)),
        Err(error) => return damaged(error.to_string()),
    };
    let mut chunks = Vec::new();
    let mut at = start.len() as u64;
    let mut blocks = 0_u64;
    for number in 1..=header.chunks {
        let mut bytes = [0; CHUNK_HEADER_BYTES_LEN];
        if at + bytes.len() as u64 > size {
            return damaged(format!("it ends before chunk {number} of {}", header.chunks));
        }
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut bytes)?;
        let chunk = match ChunkHeader::from_bytes(&bytes) {
            Ok(chunk) if fits(&chunk, &header) => chunk,
            Ok(chunk) => {
                return damaged(format!(
                    "chunk {number} has {} bytes for {} blocks",
                    chunk.total_size, chunk.chunk_size
                ));
            }
            Err(error) => return damaged(format!("chunk {number}: {error}")),
        };
        at += u64::from(chunk.total_size);
        blocks += u64::from(chunk.chunk_size);
        if at > size {
            return damaged(format!("it ends within chunk {number} of {}", header.chunks));
        }
        chunks.push(chunk);
    }
    if blocks != u64::from(header.blocks) {
        return damaged(format!("its chunks have {blocks} blocks, its header {}", header.blocks));
    }
    Ok(Some((header, chunks)))
}

/// Whether a chunk has the size that its kind says.
fn fits(chunk: &ChunkHeader, header: &FileHeader) -> bool {
    let data = match chunk.chunk_type {
        ChunkType::Raw => u64::from(chunk.chunk_size) * u64::from(header.block_size),
        ChunkType::Fill | ChunkType::Crc32 => 4,
        ChunkType::DontCare => 0,
    };
    u64::from(chunk.total_size) == CHUNK_HEADER_BYTES_LEN as u64 + data
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file_of(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    fn bytes_of(piece: &Piece, chunk: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let take = |bytes: Vec<u8>| {
            out.extend(bytes);
            true
        };
        piece.read(chunk, take).unwrap();
        assert_eq!(out.len() as u64, piece.size());
        out
    }

    /// Writes a sparse image over a partition, independently of the code that made it.
    fn write_sparse(image: &[u8], partition: &mut [u8]) {
        let word = |at: usize| u32::from_le_bytes(image[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(word(0), 0xed26_ff3a);
        let (block, chunks) = (word(12), word(20));
        let (mut at, mut out) = (28, 0);
        for _ in 0..chunks {
            let (kind, blocks, total) = (word(at) & 0xffff, word(at + 4), word(at + 8));
            let length = blocks * block;
            match kind {
                0xcac1 => partition[out..out + length].copy_from_slice(&image[at + 12..at + 12 + length]),
                0xcac2 => partition[out..out + length]
                    .chunks_mut(4)
                    .for_each(|four| four.copy_from_slice(&image[at + 12..at + 16])),
                0xcac3 => {}
                other => panic!("{other:x}"),
            }
            out += length;
            at += total;
        }
        assert_eq!((at, out), (image.len(), word(16) * block));
    }

    /// A sparse image of a fill, a gap and raw blocks, and what it writes to a partition of ones.
    fn sparse_sample() -> (Vec<u8>, Vec<u8>) {
        let raw: Vec<u8> = (0..20 * 4096_u32).map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[1]).collect();
        let header = FileHeader { block_size: 4096, blocks: 27, chunks: 3, checksum: 0 };
        let image = [
            &header.to_bytes()[..],
            &ChunkHeader::new_fill(4).to_bytes(),
            &[7; 4],
            &ChunkHeader::new_dontcare(3).to_bytes(),
            &ChunkHeader::new_raw(20, 4096).to_bytes(),
            &raw,
        ]
        .concat();
        let written = [&vec![7; 4 * 4096][..], &[1; 3 * 4096], &raw].concat();
        (image, written)
    }

    proptest! {
        #[test]
        fn cut_raw_images_write_the_same(size in 1_usize..200_000, limit in 4148_u64..60_000, chunk in 1_usize..9_000) {
            let content: Vec<u8> = (0..size).map(|n| (n * 31 % 251) as u8).collect();
            let file = file_of(&content);
            let image = Image::open(file.path()).unwrap();
            let pieces = image.pieces(limit).unwrap();
            let mut partition = vec![1; size.next_multiple_of(4096)];
            for piece in &pieces {
                prop_assert!(piece.size() <= limit);
                let bytes = bytes_of(piece, chunk);
                if pieces.len() == 1 && size as u64 <= limit {
                    partition[..size].copy_from_slice(&bytes);
                } else {
                    write_sparse(&bytes, &mut partition);
                }
            }
            prop_assert_eq!(&partition[..size], &content[..]);
        }

        #[test]
        fn cut_sparse_images_write_the_same(limit in 4200_u64..100_000) {
            let (bytes, written) = sparse_sample();
            let file = file_of(&bytes);
            let image = Image::open(file.path()).unwrap();
            prop_assert_eq!(image.expanded_size(), written.len() as u64);
            let mut partition = vec![1; written.len()];
            for piece in image.pieces(limit).unwrap() {
                prop_assert!(piece.size() <= limit);
                write_sparse(&bytes_of(&piece, 4096), &mut partition);
            }
            prop_assert_eq!(partition, written);
        }

        #[test]
        fn damaged_sparse_images_are_told_or_sent_as_they_are(at in 0_usize..70, to in any::<u8>()) {
            let (mut bytes, _) = sparse_sample();
            bytes[at] = to;
            let file = file_of(&bytes);
            if let Ok(image) = Image::open(file.path()) {
                for piece in image.pieces(50_000).unwrap() {
                    bytes_of(&piece, 4096);
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_sent_is_told() {
        let empty = file_of(b"");
        assert!(matches!(Image::open(empty.path()), Err(ImageError::Empty { .. })));
        assert!(matches!(Image::open(Path::new("/nowhere/boot.img")), Err(ImageError::Read { .. })));
        let (bytes, _) = sparse_sample();
        for cut in [28, 40, 60, bytes.len() - 1] {
            let file = file_of(&bytes[..cut]);
            let error = Image::open(file.path()).unwrap_err().to_string();
            assert!(error.contains("is damaged: it ends "), "{error}");
        }
        let file = file_of(&bytes);
        let error = Image::open(file.path()).unwrap().pieces(4000).unwrap_err().to_string();
        assert!(error.contains("pieces of 4000 bytes"), "{error}");
    }

    #[test]
    fn a_file_that_shrinks_is_noticed() {
        let file = file_of(&[5; 10_000]);
        let piece = Image::open(file.path()).unwrap().whole();
        std::fs::write(file.path(), [5; 9_999]).unwrap();
        let error = piece.read(4096, |_| true).unwrap_err();
        assert_eq!(error.to_string(), "the file has become shorter");
    }
}
