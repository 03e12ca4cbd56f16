//! The bridge from stored evidence to a judgement, for the first time and again.

use kab_evidence::{RawTrial, derive};
use kab_model::{BlobId, Outcome, Sample, TrialRecord};
use kab_store::{BlobError, RunReader};

/// Where stored bytes come from.
pub trait BlobSource {
    /// The bytes of a blob, checked against its name.
    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, BlobError>;
}

impl BlobSource for RunReader {
    fn blob(&self, id: &BlobId) -> Result<Vec<u8>, BlobError> {
        RunReader::blob(self, id)
    }
}

/// Judges a stored trial again from its bytes alone: `kab runs verify`.
pub fn judge_again(
    record: &TrialRecord,
    blobs: &dyn BlobSource,
) -> Result<(Outcome, Option<Sample>), BlobError> {
    let output = blobs.blob(&record.output)?;
    let stdout = blobs.blob(&record.stdout)?;
    let stderr = blobs.blob(&record.stderr)?;
    let kernel_log = blobs.blob(&record.kernel_log)?;
    Ok(judge(record, [&output, &stdout, &stderr, &kernel_log]))
}

/// Judges a trial from its record and the bytes of output, stdout, stderr and kernel log.
pub(crate) fn judge(record: &TrialRecord, bytes: [&[u8]; 4]) -> (Outcome, Option<Sample>) {
    let [output, stdout, stderr, kernel_log] = bytes;
    let judgement = derive(&RawTrial { record, output, stdout, stderr, kernel_log });
    (judgement.outcome, judgement.sample)
}
