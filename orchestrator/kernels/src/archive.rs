//! A series from a public archive, by message-id or URL: through `b4` where that is installed, else as the archive serves the
//! thread. What was fetched is kept, so that a run goes on where there is no network.

use crate::kernels::Kernels;
use crate::patches::Patches;
use crate::process::capture;
use crate::progress::{Progress, Report};
use crate::resolve::ResolveError;
use crate::tools::clean;
use kab_lifeline::Command;
use kab_mail::LARGEST;
use kab_model::{SeriesSource, SeriesSpec};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// For a connection to an archive.
const CONNECT: Duration = Duration::from_secs(20);
/// Between two pieces of an answer: archives put large threads together while they answer.
const SILENCE: Duration = Duration::from_secs(60);

impl Kernels {
    /// The series that a message-id or URL names. The caller holds the lock of the mirror.
    pub(crate) async fn fetch_series(
        &self,
        spec: &SeriesSpec,
        report: Report<'_>,
        cancel: &CancellationToken,
    ) -> Result<Patches, ResolveError> {
        let (name, url) = match &spec.source {
            SeriesSource::MessageId(id) => (id, thread_url(&self.settings().archive, id)),
            SeriesSource::Url(url) => (url, mbox_url(url)),
            SeriesSource::Path(path) => return Ok(Patches::read(path, spec)?),
        };
        let kept = self.kept_thread(&url)?;
        report(Progress::Fetching { repo: url.clone(), percent: None });
        let fetched = match (&spec.source, self.b4()) {
            (SeriesSource::MessageId(id), Some(b4)) => self.by_b4(&b4, id, cancel).await,
            _ => tokio::select! {
                () = cancel.cancelled() => return Err(ResolveError::Cancelled),
                fetched = download(&url) => fetched,
            },
        };
        match fetched {
            Ok(bytes) => {
                let patches = Patches::fetched(name, &bytes, spec)?;
                keep(&kept, &bytes).map_err(|source| ResolveError::Cache { path: kept.clone(), source })?;
                Ok(patches)
            }
            Err(reason) => match std::fs::read(&kept) {
                Ok(bytes) => {
                    let mut patches = Patches::fetched(name, &bytes, spec)?;
                    patches.warnings.push(format!("{name} as it was fetched before: {reason}"));
                    Ok(patches)
                }
                Err(_) => Err(ResolveError::Fetch { name: name.clone(), reason }),
            },
        }
    }

    fn kept_thread(&self, url: &str) -> Result<PathBuf, ResolveError> {
        let folder = self.cache().join("threads");
        std::fs::create_dir_all(&folder)
            .map_err(|source| ResolveError::Cache { path: folder.clone(), source })?;
        Ok(folder.join(&blake3::hash(url.as_bytes()).to_hex()[..24]))
    }

    fn b4(&self) -> Option<PathBuf> {
        let folders = std::env::split_paths(&self.settings().search_path);
        folders.map(|folder| folder.join("b4")).find(|path| path.is_file())
    }

    /// The mbox and the cover letter that `b4 am` makes. The error is a sentence.
    async fn by_b4(&self, b4: &Path, id: &str, cancel: &CancellationToken) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let settings = self.settings();
        let command = Command::new(b4).args(["am", "--no-parent", "-o"]).arg(folder.path()).arg("--").arg(id);
        let command = clean(command, &settings.search_path).current_dir(folder.path());
        let finished =
            capture(&settings.lifeline, command, cancel).await.map_err(|error| error.to_string())?;
        if !finished.ended.success() {
            let last =
                finished.stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
            return Err(format!("b4 am: {last}"));
        }
        let mut bytes = Vec::new();
        for ending in ["cover", "mbx"] {
            for path in with_ending(folder.path(), ending).map_err(|error| error.to_string())? {
                let text = std::fs::read(&path).map_err(|error| error.to_string())?;
                if !text.starts_with(b"From ") {
                    bytes.extend_from_slice(b"From b4 Mon Sep 17 00:00:00 2001\n");
                }
                bytes.extend_from_slice(&text);
                bytes.extend_from_slice(b"\n\n");
            }
        }
        if bytes.is_empty() { Err("b4 am made no mbox".to_owned()) } else { Ok(bytes) }
    }
}

fn with_ending(folder: &Path, ending: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == ending) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Written whole or not at all.
fn keep(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let half = path.with_extension("half");
    std::fs::write(&half, bytes)?;
    std::fs::rename(&half, path)
}

/// What a URL serves. The error is a sentence that says what to do.
async fn download(url: &str) -> Result<Vec<u8>, String> {
    // A provider that somebody else has installed does as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .user_agent(concat!("kab/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .build()
        .map_err(|error| causes(&error))?;
    let mut answer = client.get(url).send().await.map_err(|error| causes(&error))?;
    match answer.status().as_u16() {
        200 => {}
        404 => return Err(format!("{url}: there is no such thread; check the message-id")),
        code => return Err(format!("{url} answers {code}; save the thread as an mbox and name that file")),
    }
    let mut bytes = Vec::new();
    while let Some(piece) =
        answer.chunk().await.map_err(|error| format!("{url}: cut off: {}", causes(&error)))?
    {
        bytes.extend_from_slice(&piece);
        if bytes.len() as u64 > LARGEST {
            return Err(format!("{url} serves more than {} MiB", LARGEST >> 20));
        }
    }
    Ok(bytes)
}

/// An error with its causes.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// The thread of a mail, compressed, as public-inbox archives serve it.
fn thread_url(archive: &str, id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~@+=!$&'()*,;:".contains(&byte);
    let escaped: String = id
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    format!("{}/{escaped}/t.mbox.gz", archive.trim_end_matches('/'))
}

/// The URL of a mail's page becomes that of its thread; one that names a file is left alone.
fn mbox_url(url: &str) -> String {
    let url = url.split('#').next().unwrap_or(url);
    let endings = [".mbox", ".mbox.gz", ".mbx", ".patch", ".diff", ".eml", "/raw"];
    if endings.iter().any(|ending| url.ends_with(ending)) {
        return url.to_owned();
    }
    let page = url.trim_end_matches('/');
    let page = ["/T", "/t"].iter().find_map(|view| page.strip_suffix(view)).unwrap_or(page);
    format!("{page}/t.mbox.gz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_an_archive_become_threads() {
        let thread = "https://lists.example/all/20250101-x@mail.example/t.mbox.gz";
        for url in ["", "/", "/T/", "/t/#u", "/T/#m12"] {
            assert_eq!(mbox_url(&format!("https://lists.example/all/20250101-x@mail.example{url}")), thread);
        }
        for url in ["https://lists.example/x/raw", "https://lists.example/s.mbox", thread] {
            assert_eq!(mbox_url(url), url);
        }
        assert_eq!(
            thread_url("http://a.example/all/", "a/b@c d"),
            "http://a.example/all/a%2Fb@c%20d/t.mbox.gz"
        );
    }
}
