//! Everything besides a plain ref that a kernel's source can be: working trees, ranges, ladders, reverts, device trees, and series
//! as they come out of mailboxes and archives.
#![allow(clippy::unwrap_used)]

mod mini;

use kab_kernels::{Progress, ResolveError, Resolved};
use kab_model::{Applied, Base, Change, KernelSpec, SeriesSource, SeriesSpec};
use mini::Mini;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tokio_util::sync::CancellationToken;

async fn all(mini: &Mini, spec: &KernelSpec) -> Result<Vec<Resolved>, ResolveError> {
    mini.kernels().resolve(spec, &|_| {}, &CancellationToken::new()).await
}

async fn refusal(mini: &Mini, spec: &KernelSpec) -> String {
    let error = all(mini, spec).await.unwrap_err();
    let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
    format!("{error}{source}")
}

/// Three commits on `main`: ufs.c, nvme.c, ufs.c again.
fn three_commits(mini: &Mini) {
    mini.edit("ufs.c", "return 1;", "return 2;");
    mini.commit("ufs: two");
    mini.edit("nvme.c", "status ? 4", "status ? 5");
    mini.commit("nvme: five");
    mini.edit("ufs.c", "return 2;", "return 3;");
    mini.commit("ufs: three");
}

fn write(mini: &Mini, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = mini.root().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn with(mini: &Mini, path: &Path) -> KernelSpec {
    KernelSpec { changes: mini::patches(path.to_owned()), ..mini.spec() }
}

fn show(mini: &Mini, resolved: &Resolved, file: &str) -> String {
    mini.mirror(&["show", &format!("{}:{file}", resolved.commit)])
}

#[tokio::test]
async fn a_working_tree_is_taken_as_it_is_and_left_alone() {
    let mini = Mini::new();
    let spec = KernelSpec { base: Base::Tree, ..mini.spec() };
    let clean = mini.resolve(&spec).await.unwrap();
    assert_eq!((clean.commit.as_str(), clean.changes.len()), (clean.base_commit.as_str(), 0));

    std::fs::write(mini.repo().join(".gitignore"), "*.o\n").unwrap();
    mini.commit("ignore objects");
    mini.edit("ufs.c", "return 1;", "return 7;");
    mini.git(&["add", "ufs.c"]);
    mini.edit("nvme.c", "status ? 4", "status ? 8");
    std::fs::write(mini.repo().join("new file.c"), "int added;\n").unwrap();
    std::fs::write(mini.repo().join("junk.o"), "binary").unwrap();
    let before = mini.everything();
    let taken = mini.resolve(&spec).await.unwrap();
    let after = mini.everything();
    let touched: Vec<_> = after
        .iter()
        .filter(|(path, state)| before.get(*path) != Some(*state))
        .map(|(path, _)| path)
        .collect();
    assert!(after == before, "the user's repository was touched: {touched:?}");
    assert_eq!(taken.changes, [Applied::Uncommitted { files: 3 }]);
    assert_eq!(taken.base_commit, mini.git(&["rev-parse", "HEAD"]));
    assert!(show(&mini, &taken, "ufs.c").contains("return 7;"));
    assert!(show(&mini, &taken, "nvme.c").contains("? 8"));
    assert_eq!(show(&mini, &taken, "new file.c"), "int added;");
    assert!(!mini.mirror(&["ls-tree", "-r", "--name-only", &taken.commit]).contains("junk.o"));
    assert_eq!(mini.resolve(&spec).await.unwrap(), taken, "the same tree is the same commit");
}

#[tokio::test]
async fn a_working_tree_of_a_shallow_clone_and_a_worktree_are_read_too() {
    let mini = Mini::new();
    three_commits(&mini);
    let (shallow, linked) = (mini.root().join("shallow"), mini.root().join("linked"));
    let url = format!("file://{}", mini.repo().display());
    mini.git(&["clone", "--quiet", "--depth=1", &url, shallow.to_str().unwrap()]);
    mini.git(&["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap(), "HEAD~1"]);
    for (folder, wanted) in [(shallow, "return 3;"), (linked, "return 2;")] {
        std::fs::write(folder.join("nvme.c"), "int nvme;\n").unwrap();
        let repo = folder.to_str().unwrap().to_owned();
        let taken = mini.resolve(&KernelSpec { repo, base: Base::Tree, ..mini.spec() }).await.unwrap();
        assert_eq!(taken.changes, [Applied::Uncommitted { files: 1 }]);
        assert!(show(&mini, &taken, "ufs.c").contains(wanted));
        assert_eq!(show(&mini, &taken, "nvme.c"), "int nvme;");
    }
}

#[tokio::test]
async fn a_partial_clone_gets_what_it_lacks() {
    let mini = Mini::new();
    three_commits(&mini);
    let head = mini.git(&["rev-parse", "HEAD"]);
    mini.git(&["config", "uploadpack.allowFilter", "true"]);
    mini.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let url = format!("file://{}", mini.repo().display());
    let bare = mini.root().join("partial.git");
    mini.git(&["clone", "--quiet", "--bare", "--filter=blob:none", &url, bare.to_str().unwrap()]);
    let partial = |base: Base, changes| KernelSpec {
        repo: bare.to_str().unwrap().to_owned(),
        base,
        changes,
        ..mini.spec()
    };
    let named = mini.resolve(&partial(Base::Ref("main".into()), Vec::new())).await.unwrap();
    assert_eq!(named.commit, head);
    assert!(show(&mini, &named, "ufs.c").contains("return 3;"));
    let change = Change::Revert(vec!["main".into()]);
    let reverted = mini.resolve(&partial(Base::Ref("main".into()), vec![change])).await.unwrap();
    assert!(show(&mini, &reverted, "ufs.c").contains("return 2;"));
    // A working tree that has fetched only what is checked out.
    let tree = mini.root().join("partial");
    mini.git(&["clone", "--quiet", "--filter=blob:none", &url, tree.to_str().unwrap()]);
    std::fs::write(tree.join("nvme.c"), "int nvme;\n").unwrap();
    let repo = tree.to_str().unwrap().to_owned();
    let taken = mini.resolve(&KernelSpec { repo, base: Base::Tree, ..mini.spec() }).await.unwrap();
    assert!(show(&mini, &taken, "ufs.c").contains("return 3;"));
    assert_eq!(show(&mini, &taken, "nvme.c"), "int nvme;");
}

#[tokio::test]
async fn a_url_is_fetched_once_and_again_where_it_moved() {
    let mini = Mini::new();
    // Below a hundred objects git shows no progress of the transfer.
    for number in 0..120 {
        std::fs::write(mini.repo().join(format!("{number}.c")), format!("int x{number};\n")).unwrap();
    }
    mini.commit("many");
    let url = format!("file://{}", mini.repo().display());
    let spec = KernelSpec { repo: url.clone(), base: Base::Ref("main".into()), ..mini.spec() };
    let fetches = async || {
        let seen = Mutex::new(Vec::new());
        let report = |progress| seen.lock().unwrap().push(progress);
        let found = mini.kernels().resolve(&spec, &report, &CancellationToken::new()).await.unwrap();
        (found[0].commit.clone(), seen.into_inner().unwrap())
    };
    let (first, progress) = fetches().await;
    assert_eq!(progress[0], Progress::Fetching { repo: url.clone(), percent: None });
    assert!(progress.contains(&Progress::Fetching { repo: url.clone(), percent: Some(100) }), "{progress:?}");
    assert_eq!(fetches().await, (first.clone(), Vec::new()), "nothing is fetched twice");
    mini.edit("ufs.c", "return 1;", "return 2;");
    mini.commit("ufs: two");
    let (second, progress) = fetches().await;
    assert_eq!(second, mini.git(&["rev-parse", "HEAD"]));
    assert!(first != second && !progress.is_empty());
}

#[tokio::test]
async fn a_range_is_its_end_and_a_ladder_every_commit_of_it() {
    let mini = Mini::new();
    three_commits(&mini);
    let base = Base::Range { from: "HEAD~3".into(), to: "HEAD".into() };
    let spec = KernelSpec { base, ..mini.spec() };
    let end = mini.resolve(&spec).await.unwrap();
    assert_eq!(end.commit, mini.git(&["rev-parse", "HEAD"]));
    assert_eq!(end.base_commit, mini.git(&["rev-parse", "HEAD~3"]));
    assert_eq!(end.changes.len(), 3);
    let rungs = all(&mini, &KernelSpec { ladder: true, ..spec }).await.unwrap();
    let steps: Vec<_> = rungs
        .iter()
        .map(|rung| {
            let step = rung.step.as_ref().unwrap();
            (step.index, step.subject.as_deref(), rung.changes.len(), rung.commit.clone())
        })
        .collect();
    let commit = |name: &str| mini.git(&["rev-parse", name]);
    let wanted = [
        (0, None, 0, commit("HEAD~3")),
        (1, Some("ufs: two"), 1, commit("HEAD~2")),
        (2, Some("nvme: five"), 2, commit("HEAD~1")),
        (3, Some("ufs: three"), 3, commit("HEAD")),
    ];
    assert_eq!(steps, wanted);
    let backwards = Base::Range { from: "HEAD".into(), to: "HEAD~2".into() };
    let error = refusal(&mini, &KernelSpec { base: backwards, ..mini.spec() }).await;
    assert!(error.starts_with("there is no commit in HEAD..HEAD~2 of "), "{error}");
}

#[tokio::test]
async fn a_series_can_be_a_ladder_and_be_used_in_part() {
    let mini = Mini::new();
    three_commits(&mini);
    let folder = mini.series("three", 3);
    let series = |upto, pick: &[u32]| {
        let source = SeriesSource::Path(folder.clone());
        vec![Change::Series(SeriesSpec { source, upto, pick: pick.to_vec() })]
    };
    let rungs =
        all(&mini, &KernelSpec { ladder: true, changes: series(None, &[]), ..mini.spec() }).await.unwrap();
    let counts: Vec<usize> = rungs
        .iter()
        .map(|rung| match rung.changes.as_slice() {
            [Applied::Series(series)] => series.subjects.len(),
            _ => 0,
        })
        .collect();
    assert_eq!(counts, [0, 1, 2, 3]);
    assert!(show(&mini, &rungs[1], "ufs.c").contains("return 2;"));
    assert!(show(&mini, &rungs[2], "nvme.c").contains("? 5"));

    let two = mini.resolve(&KernelSpec { changes: series(Some(2), &[]), ..mini.spec() }).await.unwrap();
    let info = mini::applied(&two);
    assert_eq!(
        (info.subjects.as_slice(), info.of),
        (&["ufs: two".to_owned(), "nvme: five".to_owned()][..], Some(3))
    );
    let picked = mini.resolve(&KernelSpec { changes: series(None, &[2]), ..mini.spec() }).await.unwrap();
    assert_eq!(mini::applied(&picked).subjects, ["nvme: five"]);
    let error = refusal(&mini, &KernelSpec { changes: series(Some(4), &[]), ..mini.spec() }).await;
    assert_eq!(error, "three has 3 patches, and patch 4 is asked for");
}

#[tokio::test]
async fn reverts_undo_commits_in_order_and_refuse_merges() {
    let mini = Mini::new();
    three_commits(&mini);
    let hash = |name: &str| mini.git(&["rev-parse", "--short=12", name]);
    let revert = |names: &[String]| vec![Change::Revert(names.to_vec())];
    let one = mini.resolve(&KernelSpec { changes: revert(&[hash("HEAD~1")]), ..mini.spec() }).await.unwrap();
    assert!(show(&mini, &one, "nvme.c").contains("? 4") && show(&mini, &one, "ufs.c").contains("return 3;"));
    let [Applied::Revert(undone)] = one.changes.as_slice() else { panic!("{:?}", one.changes) };
    assert_eq!(
        (undone.subject.as_str(), &undone.commit),
        ("nvme: five", &mini.git(&["rev-parse", "HEAD~1"]))
    );
    let message = mini.mirror(&["log", "-1", "--format=%B", &one.commit]);
    assert_eq!(message, format!("Revert \"nvme: five\"\n\nThis reverts commit {}.", undone.commit));

    let names = [hash("HEAD"), hash("HEAD~2")];
    let two = mini.resolve(&KernelSpec { changes: revert(&names), ..mini.spec() }).await.unwrap();
    assert!(show(&mini, &two, "ufs.c").contains("return 1;"));
    assert_eq!(two.changes.len(), 2);

    let error = refusal(&mini, &KernelSpec { changes: revert(&names[1..]), ..mini.spec() }).await;
    assert!(error.contains("\"Revert \"ufs: two\"\", does not apply: ufs.c @@"), "{error}");
    mini.git(&["checkout", "--quiet", "-b", "side", "HEAD~2"]);
    std::fs::write(mini.repo().join("side.c"), "int side;\n").unwrap();
    mini.commit("side");
    mini.git(&["checkout", "--quiet", "main"]);
    mini.git(&["merge", "--quiet", "--no-ff", "-m", "merge side", "side"]);
    let error = refusal(&mini, &KernelSpec { changes: revert(&["HEAD".into()]), ..mini.spec() }).await;
    assert_eq!(error, "HEAD cannot be reverted: it is a merge, and git cannot tell which side to undo");
}

#[tokio::test]
async fn changes_go_on_top_of_each_other() {
    let mini = Mini::new();
    three_commits(&mini);
    let series = mini.series("three", 1);
    let changes = [mini::patches(series), vec![Change::Revert(vec!["HEAD".into()])]].concat();
    let both = mini.resolve(&KernelSpec { changes, ..mini.spec() }).await.unwrap();
    assert!(
        show(&mini, &both, "ufs.c").contains("return 3;") && show(&mini, &both, "nvme.c").contains("? 4")
    );
    assert!(matches!(both.changes.as_slice(), [Applied::Series(_), Applied::Revert(_)]));
}

#[tokio::test]
async fn device_tree_patches_touch_nothing_else() {
    let mini = Mini::new();
    let dts = mini.repo().join("arch/arm64/boot/dts/qcom");
    std::fs::create_dir_all(&dts).unwrap();
    std::fs::write(dts.join("board.dts"), "/dts-v1/;\n/ {\n\tufs {\n\t\tinterrupts = <1>;\n\t};\n};\n")
        .unwrap();
    mini.commit("dts: a board");
    mini.edit("arch/arm64/boot/dts/qcom/board.dts", "<1>", "<1 2 3>");
    mini.commit("dts: more interrupts");
    let good = mini.series("good", 1);
    mini.edit("arch/arm64/boot/dts/qcom/board.dts", "<1>", "<4>");
    mini.edit("ufs.c", "return 1;", "return 2;");
    mini.commit("dts and ufs");
    let bad = mini.series("bad", 1);
    let spec = |path| KernelSpec { changes: vec![Change::DeviceTree(path)], ..mini.spec() };
    let found = mini.resolve(&spec(good)).await.unwrap();
    assert_eq!(found.changes, [Applied::DeviceTree { source: "good".into() }]);
    assert!(show(&mini, &found, "arch/arm64/boot/dts/qcom/board.dts").contains("<1 2 3>"));
    let error = refusal(&mini, &spec(bad)).await;
    assert_eq!(error, "bad is to change device trees only, and touches ufs.c: write it as `series:`");
}

/// The three commits as mails, a cover letter before them.
fn mails(mini: &Mini, extra: &[&str]) -> Vec<String> {
    three_commits(mini);
    let folder = mini.root().join("mails");
    let mut args =
        vec!["format-patch", "-q", "--cover-letter", "--thread", "-v2", "-o", folder.to_str().unwrap()];
    args.extend(extra);
    args.push("-3");
    mini.git(&args);
    mini.git(&["reset", "--quiet", "--hard", "HEAD~3"]);
    let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
        .iter()
        .map(|name| {
            let text = std::fs::read_to_string(name).unwrap();
            text.replace("*** SUBJECT HERE ***", "ufs, nvme: bigger numbers")
                .replace("*** BLURB HERE ***", "Why.")
        })
        .collect()
}

#[tokio::test]
async fn a_compressed_thread_out_of_order_is_put_in_order() {
    use std::io::Write;
    let mini = Mini::new();
    let mails = mails(&mini, &[]);
    let reply = "From r@example.org Mon Sep 17 00:00:00 2001\nFrom: R <r@example.org>\nSubject: Re: [PATCH v2 2/3] nvme: five\n\
                 In-Reply-To: <x@example.org>\nMessage-Id: <r1@example.org>\n\n> - a\nLooks good.\n\n";
    let thread = [&mails[3], reply, &mails[0], &mails[2], &mails[1]].concat();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    packed.write_all(thread.as_bytes()).unwrap();
    let path = write(&mini, "t.mbox.gz", packed.finish().unwrap());
    let found = mini.resolve(&with(&mini, &path)).await.unwrap();
    let info = mini::applied(&found);
    assert_eq!(info.subjects, ["ufs: two", "nvme: five", "ufs: three"]);
    assert_eq!((info.title.as_deref(), info.version), (Some("ufs, nvme: bigger numbers"), Some(2)));
    assert!(info.message_id.is_some_and(|id| id.contains('@') && !id.contains('<')));
    assert!(show(&mini, &found, "ufs.c").contains("return 3;"));
}

#[tokio::test]
async fn what_keeps_a_series_from_being_applied_has_its_own_message() {
    let mini = Mini::new();
    let mails = mails(&mini, &[]);
    let missing = write(&mini, "missing.mbox", [mails[0].as_str(), &mails[1], &mails[3]].concat());
    let error = refusal(&mini, &with(&mini, &missing)).await;
    assert_eq!(error, "missing.mbox cannot be applied: patch 2 of 3 is missing");
    let page = write(&mini, "page.mbox", "<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n");
    let error = refusal(&mini, &with(&mini, &page)).await;
    assert!(error.starts_with("page.mbox is a web page: save the thread as an mbox"), "{error}");
    let empty = write(&mini, "empty.mbox", "\n\n");
    assert_eq!(refusal(&mini, &with(&mini, &empty)).await, "empty.mbox is empty: was its download cut off?");
    let packed = write(&mini, "cut.mbox.gz", [0x1f, 0x8b, 8, 0, 0]);
    assert!(refusal(&mini, &with(&mini, &packed)).await.starts_with("cannot read cut.mbox.gz"));
    let attached = "From: A <a@example.com>\nSubject: [PATCH] ufs: two\nMIME-Version: 1.0\n\
        Content-Type: multipart/mixed; boundary=\"x\"\n\n--x\nContent-Type: text/plain\n\nSee there.\n--x\n\
        Content-Type: text/x-patch; name=\"two.patch\"\nContent-Disposition: attachment; filename=\"two.patch\"\n\n\
        --- a/ufs.c\n+++ b/ufs.c\n@@ -1 +1 @@\n-a\n+b\n--x--\n";
    let error = refusal(&mini, &with(&mini, &write(&mini, "attached.eml", attached))).await;
    assert!(error.contains("has its diff in an attachment, two.patch"), "{error}");
    let cut = mails[1].split("\n@@").next().unwrap().to_owned() + "\n@@ -1,9 +1,9 @@\n /* A";
    let error = refusal(&mini, &with(&mini, &write(&mini, "cut.patch", cut))).await;
    assert!(error.starts_with("cut.patch cannot be applied: ") && error.contains("is damaged"), "{error}");
    // Without the blobs' ids git cannot see that the file goes by another name here.
    let no_ids = mails[1].lines().filter(|line| !line.starts_with("index ")).map(|line| format!("{line}\n"));
    let other = no_ids.collect::<String>().replace("a/ufs.c", "a/mmc.c").replace("b/ufs.c", "b/mmc.c");
    let error = refusal(&mini, &with(&mini, &write(&mini, "other.patch", other))).await;
    assert!(error.contains("mmc.c: does not exist in index"), "{error}");
}

#[tokio::test]
async fn a_patch_without_a_and_b_is_named() {
    let mini = Mini::new();
    let mails = mails(&mini, &["--no-prefix"]);
    let error = refusal(&mini, &with(&mini, &write(&mini, "p0.patch", &mails[1]))).await;
    assert!(error.contains("\"ufs: two\" of p0.patch lack the leading a/ and b/, such as ufs.c"), "{error}");
}

#[tokio::test]
async fn another_base_commit_is_said_aloud() {
    let mini = Mini::new();
    let base = mini.git(&["rev-parse", "HEAD"]);
    let mails = mails(&mini, &["--base=HEAD~3"]);
    let path = write(&mini, "based.mbox", mails.concat());
    assert_eq!(mini.resolve(&with(&mini, &path)).await.unwrap().warnings, Vec::<String>::new());
    std::fs::write(mini.repo().join("more.c"), "int more;\n").unwrap();
    mini.commit("more");
    let warnings = mini.resolve(&with(&mini, &path)).await.unwrap().warnings;
    assert!(
        warnings[0].contains(&base[..12]) && warnings[0].ends_with("which contains that"),
        "{warnings:?}"
    );
    let foreign = write(&mini, "foreign.mbox", mails.concat().replace(&base, &"ab".repeat(20)));
    let warnings = mini.resolve(&with(&mini, &foreign)).await.unwrap().warnings;
    assert!(warnings[0].contains("does not have"), "{warnings:?}");
}

#[tokio::test]
async fn an_old_day_of_linux_next_says_where_to_look() {
    let mini = Mini::new();
    let error = refusal(&mini, &KernelSpec { base: Base::Ref("next-20240101".into()), ..mini.spec() }).await;
    assert!(error.contains("next/linux-next-history.git"), "{error}");
}

/// Serves `(path, answer)` over HTTP on a loopback port until the test ends; its URL.
fn serve(answers: Vec<(&'static str, Vec<u8>)>) -> String {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map(Result::unwrap) {
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            let found = answers.iter().find(|(wanted, _)| *wanted == path);
            let answer = found
                .map_or(&b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"[..], |(_, answer)| answer);
            let _ = stream.write_all(answer);
        }
    });
    url
}

fn ok(body: &[u8], length: usize) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[tokio::test]
async fn a_series_comes_from_an_archive_by_its_message_id() {
    let mini = Mini::new();
    let thread = gzip(mails(&mini, &[]).concat().as_bytes());
    let moved =
        b"HTTP/1.1 302 Found\r\nLocation: /all/cover@mail.example/t.mbox.gz\r\nContent-Length: 0\r\n\r\n"
            .to_vec();
    let url = serve(vec![
        ("/all/cover@mail.example/t.mbox.gz", ok(&thread, thread.len())),
        ("/r/old@mail.example/t.mbox.gz", moved),
        ("/all/cut@mail.example/t.mbox.gz", ok(&thread[..thread.len() / 2], thread.len())),
        (
            "/all/page@mail.example/t.mbox.gz",
            ok(b"<html><body>Making sure you are no robot</body></html>", 54),
        ),
    ]);
    let spec = |source| {
        let series = SeriesSpec { source, upto: None, pick: Vec::new() };
        KernelSpec { changes: vec![Change::Series(series)], ..mini.spec() }
    };
    let id = |id: &str| spec(SeriesSource::MessageId(id.to_owned()));
    let resolve = async |url: &str, spec: &KernelSpec| {
        let archive = format!("{url}/all");
        mini.kernels_with(|settings| settings.archive = archive)
            .resolve(spec, &|_| {}, &CancellationToken::new())
            .await
    };
    let found = resolve(&url, &id("cover@mail.example")).await.unwrap().remove(0);
    let info = mini::applied(&found);
    assert_eq!((info.source.as_str(), info.subjects.len()), ("cover@mail.example", 3));
    let page = spec(SeriesSource::Url(format!("{url}/r/old@mail.example/T/#u")));
    assert_eq!(resolve(&url, &page).await.unwrap()[0].commit, found.commit);

    let refused = async |name: &str| resolve(&url, &id(name)).await.unwrap_err().to_string();
    let gone = refused("gone@mail.example").await;
    assert!(
        gone.ends_with("/all/gone@mail.example/t.mbox.gz: there is no such thread; check the message-id"),
        "{gone}"
    );
    let cut = refused("cut@mail.example").await;
    assert!(cut.contains("cut off"), "{cut}");
    let robot = refused("page@mail.example").await;
    assert!(robot.starts_with("page@mail.example is a web page"), "{robot}");

    // Without a network what was fetched before still serves.
    let later = resolve("http://127.0.0.1:9", &id("cover@mail.example")).await;
    assert!(matches!(later, Err(ResolveError::Fetch { .. })), "another archive is another thread");
    std::fs::write(mini.root().join("stubs/b4"), "").unwrap();
    mini.script(&mini.root().join("stubs/b4"), "echo 'no route' >&2; exit 1");
    let kept = resolve(&url, &id("cover@mail.example")).await.unwrap().remove(0);
    assert_eq!(kept.commit, found.commit);
    assert_eq!(kept.warnings, ["cover@mail.example as it was fetched before: b4 am: no route"]);
}

#[tokio::test]
async fn b4_is_asked_where_it_is_installed() {
    let mini = Mini::new();
    let mails = mails(&mini, &[]);
    let (cover, mbx) = (write(&mini, "c", &mails[0]), write(&mini, "m", mails[1..].concat()));
    let body = format!(
        "[ \"$1 $5 $6\" = 'am -- cover@mail.example' ] || exit 1\ncp '{}' \"$4/v2_x.cover\"; cp '{}' \"$4/v2_x.mbx\"",
        cover.display(),
        mbx.display()
    );
    mini.script(&mini.root().join("stubs/b4"), &body);
    let source = SeriesSource::MessageId("cover@mail.example".into());
    let series = SeriesSpec { source, upto: None, pick: Vec::new() };
    let found =
        mini.resolve(&KernelSpec { changes: vec![Change::Series(series)], ..mini.spec() }).await.unwrap();
    let info = mini::applied(&found);
    assert_eq!((info.title.as_deref(), info.subjects.len()), (Some("ufs, nvme: bigger numbers"), 3));
}
