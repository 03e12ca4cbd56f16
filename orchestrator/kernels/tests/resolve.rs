//! Refs are pinned and series applied with a real git, and the user's repository is left alone.
#![allow(clippy::unwrap_used, missing_docs)]

mod mini;

use kab_kernels::{Progress, ResolveError, SeriesError};
use kab_model::{Base, KernelSpec};
use mini::Mini;
use std::sync::Mutex;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn a_ref_is_pinned_with_its_tree() {
    let mini = Mini::new();
    let before = mini.everything();
    for reference in ["main", "v6.0", "HEAD", &mini.git(&["rev-parse", "HEAD"])] {
        let resolved =
            mini.resolve(&KernelSpec { base: Base::Ref(reference.to_owned()), ..mini.spec() }).await.unwrap();
        assert_eq!(resolved.base_commit, mini.git(&["rev-parse", "HEAD"]));
        assert_eq!(resolved.commit, resolved.base_commit);
        assert_eq!(resolved.tree, mini.git(&["rev-parse", "HEAD^{tree}"]));
        assert_eq!(resolved.describe.as_deref(), Some("v6.0"));
        assert_eq!(resolved.changes, []);
    }
    assert!(mini.everything() == before);
}

#[tokio::test]
async fn a_moved_branch_leaves_the_old_commit_in_the_cache() {
    let mini = Mini::new();
    let old = mini.resolve(&mini.spec()).await.unwrap();
    mini.edit("ufs.c", "return 1;", "return 2;");
    mini.git(&["commit", "--quiet", "--amend", "-a", "-m", "mini: another beginning"]);
    let new = mini.resolve(&mini.spec()).await.unwrap();
    assert_ne!(old.commit, new.commit);
    std::fs::remove_dir_all(mini.repo()).unwrap();
    let changed = mini.kernels().changed_files(&old.commit, &new.commit, &CancellationToken::new()).await;
    assert_eq!(changed.unwrap(), ["ufs.c"]);
}

#[tokio::test]
async fn a_url_gives_what_the_path_gives() {
    let mini = Mini::new();
    let url = format!("file://{}", mini.repo().display());
    let remote = |reference: &str| KernelSpec {
        repo: url.clone(),
        base: Base::Ref(reference.to_owned()),
        ..mini.spec()
    };
    let local = mini.resolve(&mini.spec()).await.unwrap();
    std::fs::remove_dir_all(mini.cache()).unwrap();
    let tag = mini.resolve(&remote("v6.0")).await.unwrap();
    assert_eq!((tag.commit.as_str(), tag.describe.as_deref()), (local.commit.as_str(), Some("v6.0")));
    assert_eq!(mini.resolve(&remote("main")).await.unwrap().tree, local.tree);
    let error = mini.resolve(&remote("v6.1")).await.unwrap_err();
    assert!(error.to_string().ends_with("has no ref v6.1; did you mean v6.0?"), "{error}");
    assert!(matches!(mini.resolve(&remote("main~1")).await, Err(ResolveError::NotRemote { .. })));
}

#[tokio::test]
async fn an_unknown_ref_suggests_near_ones() {
    let mini = Mini::new();
    mini.git(&["branch", "ufs-next"]);
    let error =
        mini.resolve(&KernelSpec { base: Base::Ref("ufs-nxet".into()), ..mini.spec() }).await.unwrap_err();
    let ResolveError::UnknownRef { similar, .. } = &error else { panic!("{error}") };
    assert_eq!(similar, &["ufs-next"]);
    let nowhere = KernelSpec { repo: "/no/such/folder".into(), ..mini.spec() };
    assert!(matches!(mini.resolve(&nowhere).await, Err(ResolveError::Repository { .. })));
}

#[tokio::test]
async fn an_mbox_keeps_authors_and_messages() {
    let mini = Mini::new();
    let spec = KernelSpec { changes: mini::patches(mini::fixture("v2-ufs-depth.mbox")), ..mini.spec() };
    let seen = Mutex::new(Vec::new());
    let report = |progress| seen.lock().unwrap().push(progress);
    let mut resolved = mini.kernels().resolve(&spec, &report, &CancellationToken::new()).await.unwrap();
    let resolved = resolved.remove(0);
    let series = mini::applied(&resolved);
    assert_eq!(series.source, "v2-ufs-depth.mbox");
    assert_eq!(series.subjects, ["[RFT] ufs: count interrupts twice", "ufs: deepen the queue"]);
    let log = mini.mirror(&["log", "-2", "--reverse", "--format=%an <%ae>, %ad: %b", &resolved.commit]);
    assert!(
        log.contains("Žofia Müller <zofia@example.org>, Mon Nov 3 10:00:00 2025 +0100: Größer ist besser"),
        "{log}"
    );
    assert!(log.contains("Ravi Prakāś <ravi@example.com>"), "{log}");
    let applied = seen.into_inner().unwrap().into_iter().filter_map(|progress| match progress {
        Progress::Applying { done, total, .. } => Some((done, total)),
        _ => None,
    });
    assert_eq!(applied.collect::<Vec<_>>(), [(0, 2), (1, 2)]);
}

#[tokio::test]
async fn the_same_series_gives_the_same_commit_anywhere() {
    let (one, other) = (Mini::new(), Mini::new());
    let changes = mini::patches(mini::fixture("v2-ufs-depth.mbox"));
    let a = one.resolve(&KernelSpec { changes: changes.clone(), ..one.spec() }).await.unwrap();
    let again = one.resolve(&KernelSpec { changes: changes.clone(), ..one.spec() }).await.unwrap();
    assert_eq!(a, again);
    let b = other.resolve(&KernelSpec { changes, ..other.spec() }).await.unwrap();
    assert_eq!(a.tree, b.tree);
    // The bases were committed at different times, so the commits may differ; on the same base they must not.
    std::fs::remove_dir_all(one.cache()).unwrap();
    let changes = mini::patches(mini::fixture("v2-ufs-depth.mbox"));
    assert_eq!(one.resolve(&KernelSpec { changes, ..one.spec() }).await.unwrap().commit, a.commit);
}

#[tokio::test]
async fn a_folder_is_applied_in_the_order_of_names_and_one_patch_alone() {
    let mini = Mini::new();
    for depth in ["64", "128", "256"] {
        let text = std::fs::read_to_string(mini.repo().join("ufs.c")).unwrap();
        let line = text.lines().find(|line| line.starts_with("int ufs_depth")).unwrap();
        mini.edit("ufs.c", line, &format!("int ufs_depth = {depth};"));
        mini.commit(&format!("ufs: depth {depth}"));
    }
    let folder = mini.series("three patches", 3);
    std::fs::write(folder.join("README"), "no patch").unwrap();
    let all =
        mini.resolve(&KernelSpec { changes: mini::patches(folder.clone()), ..mini.spec() }).await.unwrap();
    assert_eq!(mini::applied(&all).subjects, ["ufs: depth 64", "ufs: depth 128", "ufs: depth 256"]);
    let first = folder.join("0001-ufs-depth-64.patch");
    let one = mini.resolve(&KernelSpec { changes: mini::patches(first), ..mini.spec() }).await.unwrap();
    assert_eq!(mini::applied(&one).subjects, ["ufs: depth 64"]);
}

#[tokio::test]
async fn a_bare_diff_is_a_patch_too() {
    let mini = Mini::new();
    mini.edit("ufs.c", "return 1;", "return 3;");
    let diff = mini.root().join("irq.diff");
    std::fs::write(&diff, mini.git(&["diff"]) + "\n").unwrap();
    mini.git(&["checkout", "--quiet", "."]);
    let resolved = mini.resolve(&KernelSpec { changes: mini::patches(diff), ..mini.spec() }).await.unwrap();
    assert_eq!(mini::applied(&resolved).subjects, ["irq.diff"]);
    assert!(mini.mirror(&["show", &format!("{}:ufs.c", resolved.commit)]).contains("return 3;"));
}

#[tokio::test]
async fn patches_against_another_base_are_merged_three_ways() {
    let mini = Mini::new();
    mini.edit("ufs.c", "return 1;", "return 2;");
    mini.commit("ufs: count twice");
    let folder = mini.series("moved", 1);
    // A line among those that the patch shows around its change: plain `git apply` would refuse.
    mini.edit("ufs.c", "{\n\tif (!status)", "{\n\t/* Nothing to do? */\n\tif (!status)");
    mini.commit("ufs: explain");
    let resolved = mini.resolve(&KernelSpec { changes: mini::patches(folder), ..mini.spec() }).await.unwrap();
    let merged = mini.mirror(&["show", &format!("{}:ufs.c", resolved.commit)]);
    assert!(merged.contains("Nothing to do?") && merged.contains("return 2;"), "{merged}");
}

#[tokio::test]
async fn encoded_mails_are_merged_like_others() {
    let mini = Mini::new();
    mini.edit("nvme.c", "status ? 4", "status ? 5");
    mini.commit("nvme: five");
    let diff = mini.git(&["diff", "HEAD~"]) + "\n";
    mini.git(&["reset", "--quiet", "--hard", "HEAD~"]);
    mini.edit("nvme.c", "int nvme_irq(int status)\n", "/* Rarely called. */\nint nvme_irq(int status)\n");
    mini.commit("nvme: explain");
    let mail = mini.root().join("encoded.eml");
    let head = "From: A <a@example.com>\nSubject: [PATCH] nvme: five\nContent-Type: text/plain; charset=UTF-8\n\
                Content-Transfer-Encoding: base64\n\n";
    std::fs::write(&mail, format!("{head}{}", base64(&diff))).unwrap();
    let resolved = mini.resolve(&KernelSpec { changes: mini::patches(mail), ..mini.spec() }).await.unwrap();
    let merged = mini.mirror(&["show", &format!("{}:nvme.c", resolved.commit)]);
    assert!(merged.contains("Rarely") && merged.contains("? 5"), "{merged}");
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for (count, chunk) in text.as_bytes().chunks(3).enumerate() {
        let bits =
            chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        let digit = |place: usize| char::from(DIGITS[(bits >> (18 - 6 * place)) as usize & 63]);
        encoded.extend((0..4).map(|place| if place <= chunk.len() { digit(place) } else { '=' }));
        if count % 19 == 18 {
            encoded.push('\n');
        }
    }
    encoded + "\n"
}

#[tokio::test]
async fn a_conflict_names_patch_file_and_hunk_and_touches_nothing() {
    let mini = Mini::new();
    mini.edit("nvme.c", "4", "5");
    mini.commit("nvme: five");
    mini.edit("ufs.c", "return -1;", "return -2;");
    mini.edit("nvme.c", "5", "6");
    mini.commit("ufs: another error");
    let folder = mini.series("late", 2);
    mini.edit("ufs.c", "return -1;", "return -22;");
    mini.commit("ufs: a real error");
    let before = mini.everything();
    let spec = KernelSpec { changes: mini::patches(folder), ..mini.spec() };
    let error = mini.resolve(&spec).await.unwrap_err();
    let ResolveError::Conflict(conflict) = &error else { panic!("{error}") };
    assert_eq!((conflict.number, conflict.total), (2, 2));
    assert_eq!((conflict.series.as_str(), conflict.file.as_str()), ("late", "0002-ufs-another-error.patch"));
    assert_eq!(conflict.subject, "ufs: another error");
    assert_eq!(conflict.rejects.len(), 1);
    assert_eq!(conflict.rejects[0].file, "ufs.c");
    assert_eq!(conflict.rejects[0].hunk.as_deref(), Some("@@ -13,6 +13,6 @@ int ufs_irq(int status)"));
    let wanted = "patch 2 of 2 in late, \"ufs: another error\", does not apply: ufs.c @@ -13,6 +13,6 @@ int ufs_irq(int status)";
    assert_eq!(error.to_string(), wanted);
    assert!(mini.everything() == before);
    assert_eq!(std::fs::read_dir(mini.cache().join("tmp-am")).unwrap().count(), 0);
    // And the next attempt starts afresh.
    assert!(matches!(mini.resolve(&spec).await, Err(ResolveError::Conflict(_))));
}

#[tokio::test]
async fn what_is_no_patch_is_said_to_be_none() {
    let mini = Mini::new();
    let write = |name: &str, text: &str| {
        let path = mini.root().join(name);
        std::fs::write(&path, text).unwrap();
        KernelSpec { changes: mini::patches(path), ..mini.spec() }
    };
    let letter = write("letter", "From: A <a@example.com>\nSubject: hello\n\nNo patch here.\n");
    let error = mini.resolve(&letter).await.unwrap_err();
    assert!(matches!(error, ResolveError::Series(SeriesError::NoPatch { .. })), "{error:?}");
    let error = mini.resolve(&write("empty", "")).await.unwrap_err();
    assert!(matches!(error, ResolveError::Series(_)), "{error:?}");
    let cut = "From: A <a@example.com>\nSubject: cut\n\n---\ndiff --git a/ufs.c b/ufs.c\n--- a/ufs.c\n+++ b/ufs.c\n@@ -1,5 +1,5 @@\n /* A";
    let error = mini.resolve(&write("cut", cut)).await.unwrap_err();
    assert!(matches!(error, ResolveError::Series(SeriesError::Unusable { .. })), "{error:?}");
    let missing = KernelSpec { changes: mini::patches(mini.root().join("absent")), ..mini.spec() };
    assert!(matches!(mini.resolve(&missing).await, Err(ResolveError::Series(SeriesError::File { .. }))));
}

#[tokio::test]
async fn hooks_and_settings_of_the_user_do_not_run() {
    let mini = Mini::new();
    let proof = mini.root().join("a hook ran");
    let hooks = mini.repo().join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in
        ["post-checkout", "applypatch-msg", "pre-applypatch", "post-applypatch", "reference-transaction"]
    {
        mini.script(&hooks.join(hook), &format!("echo {hook} >> '{}'; exit 1", proof.display()));
    }
    for (name, value) in [
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("commit.gpgSign", "true"),
        ("gpg.program", "/bin/false"),
        ("am.threeWay", "false"),
        ("core.autocrlf", "true"),
        ("user.name", "Somebody Else"),
    ] {
        mini.git(&["config", name, value]);
    }
    let spec = KernelSpec { changes: mini::patches(mini::fixture("v2-ufs-depth.mbox")), ..mini.spec() };
    let resolved = mini.resolve(&spec).await.unwrap();
    assert!(!proof.exists(), "{}", std::fs::read_to_string(&proof).unwrap());
    assert_eq!(mini.mirror(&["log", "-1", "--format=%cn %ct", &resolved.commit]), "kab 1700000000");
}
