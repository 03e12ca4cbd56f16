//! Blobs: bytes named by the BLAKE3 digest of their uncompressed content.

use kab_model::BlobId;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Largest blob that is read back, bytes; a corrupt length must not fill the memory.
const MAX_BLOB: u64 = 1 << 30;

/// Why a blob cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The file cannot be read or is no zstd stream.
    #[error("cannot read blob {id} at {}", path.display())]
    Read {
        /// The blob.
        id: BlobId,
        /// Its file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The bytes are not the ones that were stored.
    #[error("blob {id} at {} holds other bytes: their digest is {found}", path.display())]
    Corrupt {
        /// The blob.
        id: BlobId,
        /// Its file.
        path: PathBuf,
        /// Digest of what is there.
        found: BlobId,
    },
}

/// The digest that names these bytes.
pub(crate) fn name(bytes: &[u8]) -> BlobId {
    BlobId(blake3::hash(bytes).to_hex().to_string())
}

/// Stores bytes; they are synced, the folder too, when this returns. Storing the same bytes again is cheap, and repairs
/// a blob that was damaged meanwhile.
pub(crate) fn put(folder: &Path, bytes: &[u8]) -> io::Result<BlobId> {
    let id = name(bytes);
    let path = folder.join(&id.0);
    if path.exists() && get(folder, &id).is_ok() {
        // Whoever put it there may have died before the folder was synced.
        File::open(folder)?.sync_all()?;
        return Ok(id);
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&zstd::encode_all(bytes, 3)?)?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()?;
    Ok(id)
}

/// Reads bytes back and checks them against their name.
pub(crate) fn get(folder: &Path, id: &BlobId) -> Result<Vec<u8>, BlobError> {
    let path = folder.join(&id.0);
    let bytes = named(id).and_then(|()| read(&path)).map_err(|source| BlobError::Read {
        id: id.clone(),
        path: path.clone(),
        source,
    })?;
    let found = name(&bytes);
    if &found == id { Ok(bytes) } else { Err(BlobError::Corrupt { id: id.clone(), path, found }) }
}

/// A log that was tampered with must not make kab read elsewhere.
fn named(id: &BlobId) -> io::Result<()> {
    let digest = id.0.len() == 64 && id.0.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if digest { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no blob's name")) }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    zstd::Decoder::new(File::open(path)?)?.take(MAX_BLOB).read_to_end(&mut bytes)?;
    Ok(bytes)
}
