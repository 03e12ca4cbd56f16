//! The shared libraries of this host's own programs, as its loader finds them.

use crate::host::HostTools;
use kab_board::BootError;
use kab_images::Archive;
use kab_lifeline::Command;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For `ldd`, which loads a program's libraries, from a cold disk at worst.
const LDD: Duration = Duration::from_secs(20);

/// Libraries and the loader itself, by absolute path; none for a static program.
pub(super) fn of(host: &HostTools, program: &Path) -> Result<Vec<PathBuf>, BootError> {
    let failed = |cause: String| BootError::Lab {
        cause: format!("cannot list libraries of {}: {cause}", program.display()),
    };
    let command = Command::new("ldd").arg(program).env("LC_ALL", "C");
    let said = host.ask(command, LDD).map_err(|error| failed(format!("ldd: {error}")))?;
    // ldd fails on a static program; on which stream it says so differs between versions.
    if [&said.stdout, &said.stderr].iter().any(|text| text.contains("not a dynamic executable")) {
        return Ok(Vec::new());
    }
    if !said.ended.success() {
        return Err(failed(said.stderr.trim().to_owned()));
    }
    parse(&said.stdout).map_err(|missing| failed(format!("{missing} is missing")))
}

/// Paths out of ldd's listing; an error is the name of a library that was not found.
fn parse(listing: &str) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for line in listing.lines() {
        let (name, rest) = line.trim().split_once(" => ").unwrap_or(("", line.trim()));
        if rest.starts_with("not found") {
            return Err(name.to_owned());
        }
        // The kernel's own, linux-vdso.so, has no path; "statically linked" neither.
        let path = rest.rsplit_once(" (0x").map_or(rest, |(path, _)| path);
        if path.starts_with('/') {
            paths.push(PathBuf::from(path));
        }
    }
    Ok(paths)
}

/// Whether the archive holds a library outside the folders that the loader knows without its cache.
pub(super) fn need_cache(archive: &Archive) -> bool {
    let known = |folder: &str| {
        let below = folder.trim_start_matches("usr/");
        // Debian's multi-arch folders and what a run path reaches below them, and the plain ones of other distributions.
        below == "lib" || below == "lib64" || below.starts_with("lib/x86_64-linux-gnu")
    };
    archive.paths().filter(|path| path.contains(".so")).any(|path| {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        !known(folder)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn listing_is_read() {
        let listing = "\tlinux-vdso.so.1 (0x00007f68ebcac000)\n\
            \tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f68ebb51000)\n\
            \tlibodd (1).so => /opt/my libs/libodd (1).so (0x00007f68ebb51000)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f68ebcae000)\n";
        let expected =
            ["/lib/x86_64-linux-gnu/libz.so.1", "/opt/my libs/libodd (1).so", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(parse(listing).unwrap(), expected.map(PathBuf::from));
        assert_eq!(parse("\tstatically linked\n").unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn missing_library_is_named() {
        assert_eq!(parse("\tlibrbd.so.1 => not found\n").unwrap_err(), "librbd.so.1");
    }

    #[test]
    fn cache_goes_along_only_where_it_is_needed() {
        let mut archive = Archive::new();
        archive.file("lib/x86_64-linux-gnu/libz.so.1", 0o755, vec![]).unwrap();
        archive.file("usr/lib/x86_64-linux-gnu/ceph/libceph-common.so.2", 0o755, vec![]).unwrap();
        archive.file("lib64/ld-linux-x86-64.so.2", 0o755, vec![]).unwrap();
        assert!(!need_cache(&archive));
        archive.file("usr/local/lib/libmine.so", 0o755, vec![]).unwrap();
        assert!(need_cache(&archive));
    }
}
