//! The initramfs of this host's own busybox, Dropbear and fio.
#![allow(clippy::unwrap_used, missing_docs)]

use kab_board::BootError;
use kab_drivers::{BoardKeys, HostTools, initramfs};
use kab_lifeline::Lifeline;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

fn host(folder: &Path) -> HostTools {
    HostTools {
        lifeline: Lifeline::from_program(env!("CARGO_BIN_EXE_board-probe")),
        cache_dir: folder.join("cache"),
        work_dir: folder.join("work"),
        search: HostTools::usual_search(),
    }
}

fn setup() -> (TempDir, HostTools, BoardKeys) {
    let folder = tempfile::tempdir().unwrap();
    let host = host(folder.path());
    let keys = BoardKeys::load_or_make(folder.path()).unwrap();
    (folder, host, keys)
}

#[test]
fn programs_libraries_and_keys_are_in_it() {
    let (_folder, host, keys) = setup();
    let archive = initramfs::archive(&host, &keys).unwrap();
    let paths: Vec<&str> = archive.paths().collect();
    let needed = [
        "init",
        "bin/sh",
        "bin/ip",
        "bin/busybox",
        "dev/console",
        "etc/start",
        "etc/inittab",
        "etc/dropbear/host_ed25519",
        "root/.ssh/authorized_keys",
        "usr/bin/fio",
        "usr/sbin/dropbear",
    ];
    for path in needed {
        assert!(paths.contains(&path), "{path} is missing");
    }
    // Dropbear and fio are dynamic programs on every distribution; both need at least these.
    for library in ["libc.so.6", "ld-linux-x86-64.so.2"] {
        assert!(paths.iter().any(|path| path.ends_with(library)), "{library} is missing");
    }
    let bytes = archive.to_bytes();
    let key = keys.authorized();
    assert!(bytes.windows(key.len()).any(|window| window == key.as_bytes()));
}

#[test]
fn the_cache_keeps_one_for_each_content() {
    let (_folder, host, keys) = setup();
    let first = initramfs::in_cache(&host, &keys).unwrap();
    let made = first.metadata().unwrap();
    assert_eq!(made.permissions().mode() & 0o777, 0o600);
    let second = initramfs::in_cache(&host, &keys).unwrap();
    assert_eq!(first, second);
    assert_eq!(second.metadata().unwrap().modified().unwrap(), made.modified().unwrap(), "written again");

    let others = tempfile::tempdir().unwrap();
    let other_keys = BoardKeys::load_or_make(others.path()).unwrap();
    assert_ne!(initramfs::in_cache(&host, &other_keys).unwrap(), first);

    // A torn file of that name, as a full disk may leave, is made anew.
    std::fs::write(&first, "torn").unwrap();
    assert_eq!(initramfs::in_cache(&host, &keys).unwrap(), first);
    assert_eq!(first.metadata().unwrap().len(), made.len());
}

#[test]
fn missing_programs_name_their_packages() {
    let (folder, usual, keys) = setup();
    let empty = HostTools { search: vec![folder.path().join("nothing")], ..usual };
    let Err(BootError::Lab { cause }) = initramfs::archive(&empty, &keys) else { panic!("found something") };
    assert_eq!(cause, "busybox is not installed on this host: install the package busybox-static");
}

#[test]
fn programs_that_fail_or_hang_are_reported() {
    let (folder, usual, keys) = setup();
    let busybox = folder.path().join("busybox");
    let mut search = vec![folder.path().to_owned()];
    search.extend(usual.search.clone());
    let host = HostTools { search, ..usual };
    let cause = |script: &str| {
        std::fs::write(&busybox, script).unwrap();
        std::fs::set_permissions(&busybox, std::fs::Permissions::from_mode(0o755)).unwrap();
        match initramfs::archive(&host, &keys) {
            Err(BootError::Lab { cause }) => cause.replace(folder.path().to_str().unwrap(), ""),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(cause("#!/bin/sh\nexit 3\n"), "cannot run /busybox --list: exit code 3");
    assert_eq!(cause("#!/bin/sh\necho sh\n"), "/busybox lacks `init`: install the package busybox-static");
    let hung = cause("#!/bin/sh\nexec sleep 1000\n");
    assert!(hung.starts_with("cannot run /busybox --list: it did not end within "), "{hung}");
}
