//! A series from a public archive, by message-id or URL.

use crate::kernels::Kernels;
use crate::patches::Patches;
use crate::progress::Report;
use crate::resolve::ResolveError;
use kab_model::SeriesSpec;
use tokio_util::sync::CancellationToken;

impl Kernels {
    pub(crate) async fn fetch_series(
        &self,
        name: &str,
        _spec: &SeriesSpec,
        _report: Report<'_>,
        _cancel: &CancellationToken,
    ) -> Result<Patches, ResolveError> {
        Err(ResolveError::Fetch { name: name.to_owned(), reason: "save the thread as an mbox".to_owned() })
    }
}
