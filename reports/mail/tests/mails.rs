//! Mails in the shapes that lists and mail programs make of them.
#![allow(clippy::unwrap_used)]

use kab_mail::{Damage, Kind, Mail, Posted, Problem, read, series};
use std::io::Write;
use std::process::{Command, Stdio};

const DIFF: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-old = 1\n+new = 2\n keep\n";

fn one(text: &str) -> Mail {
    let Posted { kind, mut mails } = read(text.as_bytes()).unwrap();
    assert_eq!((kind, mails.len()), (Kind::Mail, 1));
    mails.remove(0)
}

fn texts(mail: &Mail) -> Vec<(usize, &str)> {
    mail.body.iter().map(|line| (line.number, line.text.as_str())).collect()
}

fn patch(brackets: &str, title: &str, id: &str, body: &str) -> String {
    format!(
        "From mboxrd@z Thu Jan  1 00:00:00 1970\nFrom: Ada <ada@lab.example>\nSubject: [{brackets}] {title}\n\
         Date: Tue, 1 Dec 2026 10:00:00 +0100\nMessage-ID: <{id}@lab.example>\n\n{body}\n"
    )
}

fn base64(text: &str, width: usize) -> String {
    let mut child = Command::new("base64")
        .arg(format!("-w{width}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn headers_are_decoded() {
    let mail = one(
        "\nFrom: =?iso-8859-1?Q?J=F6rg?= <jo@lab.example>\nTo: list@lists.example,\n \"B, C\" <b@lab.example>\nSubject: Re: \
         [PATCH v3 2/4] ufs:\n =?utf-8?b?w7xiZXI=?= all\nDate: Tue, 1 Dec 2026 10:00:00 +0100\nMessage-Id: <m@x>\n\
         In-Reply-To: <p@x>\nReferences: <r@x>\n <p@x>\n\nbody\n",
    );
    let from = mail.from.as_ref().unwrap();
    assert_eq!((from.name.as_deref(), from.address.as_str()), (Some("Jörg"), "jo@lab.example"));
    assert_eq!(mail.to.len(), 2);
    assert_eq!(mail.subject.title, "ufs: über all");
    assert!(mail.subject.reply);
    assert_eq!(mail.date.as_deref(), Some("2026-12-01T10:00:00+01:00"));
    assert_eq!(mail.timestamp, Some(1_796_115_600));
    assert_eq!((mail.message_id.as_deref(), mail.in_reply_to.as_deref()), (Some("m@x"), Some("p@x")));
    assert_eq!(mail.references, ["r@x", "p@x"]);
    assert_eq!((mail.first_line, texts(&mail)), (2, vec![(13, "body")]));
}

#[test]
fn quoted_printable_lines_know_their_place() {
    let mail = one(
        "From: a@lab.example\nContent-Type: text/plain; charset=\"utf-8\"\nContent-Transfer-Encoding: quoted-printable\n\n\
         one=20=\n two =\nthree\n=C3=BC=0Afour\n\nfive\n",
    );
    assert_eq!(texts(&mail), [(5, "one  two three"), (8, "ü"), (8, "four"), (9, ""), (10, "five")]);
}

#[test]
fn base64_lines_know_their_place() {
    let text: String = (0..40).map(|index| format!("{index} lines of text, über\n")).collect();
    let encoded = base64(&text, 76);
    let mail = one(&format!(
        "From: a@lab.example\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n{encoded}"
    ));
    let expected: Vec<&str> = text.lines().collect();
    assert_eq!(mail.body.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), expected);
    // Each line begins in the raw line that holds its first byte: 57 bytes of text in each.
    let mut at = 0;
    for (line, text) in mail.body.iter().zip(&expected) {
        assert_eq!(line.number, 5 + at / 57, "{}", line.text);
        at += text.len() + 1;
    }
}

#[test]
fn charsets_and_crlf() {
    let mut bytes =
        b"From: a@lab.example\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r\nM\xfcller\r\nb\r\n"
            .to_vec();
    let posted = read(&bytes).unwrap();
    assert_eq!(texts(&posted.mails[0]), [(4, "Müller"), (5, "b")]);
    assert!(posted.mails[0].for_git_am().ends_with(b"\n\nM\xfcller\nb\n"));
    bytes.truncate(bytes.len() - 3);
    bytes.extend_from_slice(b"c\nd\r\n");
    assert!(read(&bytes).unwrap().mails[0].for_git_am().ends_with(b"\r\nc\nd\r\n"));
    let gb = b"From: a@lab.example\nContent-Type: text/plain; charset=gb2312\n\n\xd6\xd0\n";
    assert_eq!(read(gb).unwrap().mails[0].body[0].text, "中");
}

#[test]
fn flowed_text_is_joined_at_the_same_depth() {
    let mail = one(
        "From: a@lab.example\nContent-Type: text/plain; format=flowed\n\nread: avg=5, \nstdev=3\n > quoted \n>> deeper\n>> x \n>> y\n-- \nA\n",
    );
    let expected = [
        (4, "read: avg=5, stdev=3"),
        (6, "> quoted "),
        (7, ">> deeper"),
        (8, ">> x y"),
        (10, "-- "),
        (11, "A"),
    ];
    assert_eq!(texts(&mail), expected);
    assert_eq!(mail.without_signature().len(), 4);
    let mail = one("From: a@lab.example\nContent-Type: text/plain; format=flowed; delsp=yes\n\nbro \nken\n");
    assert_eq!(texts(&mail), [(4, "broken")]);
}

#[test]
fn parts_and_attachments() {
    let mail = one(&format!(
        "From: a@lab.example\nSubject: [PATCH 1/1] x\nContent-Type: multipart/mixed; boundary=\"b\"\n\nignored\n--b\n\
         Content-Type: multipart/alternative; boundary=\"c\"\n\n--c\nContent-Type: text/plain\n\nplain\n--c\nContent-Type: text/html\n\n\
         <p>plain</p>\n--c--\n--b\nContent-Type: application/octet-stream; name=\"0001-x.patch\"\n\
         Content-Disposition: attachment; filename=\"0001-x.patch\"\nContent-Transfer-Encoding: base64\n\n{}--b\n\
         Content-Type: image/png; name=plot.png\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo=\n--b--\n",
        base64(DIFF, 76)
    ));
    assert_eq!(texts(&mail), [(12, "plain")]);
    let names: Vec<_> =
        mail.attachments.iter().map(|found| (found.name.as_deref().unwrap(), found.is_patch())).collect();
    assert_eq!(names, [("0001-x.patch", true), ("plot.png", false)]);
    assert_eq!(mail.attachments[0].lines[0].text, "diff --git a/x b/x");
    assert_eq!(mail.attachments[0].lines[0].number, 23);
    let mails = [mail];
    let problems = series(&mails)[0].problems();
    assert!(
        matches!(&problems[..], [Problem::Attached { name, .. }] if name == "0001-x.patch"),
        "{problems:?}"
    );
}

#[test]
fn html_alone_becomes_text() {
    let mail = one("From: a@lab.example\nContent-Type: text/html\n\n<p>bw 10 MB/s</p>\n");
    assert_eq!(texts(&mail), [(4, "bw 10 MB/s")]);
}

#[test]
fn forwarded_mail_is_read_as_an_attachment() {
    let mail = one(
        "From: a@lab.example\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nlook\n--b\nContent-Type: message/rfc822\n\n\
         From: b@lab.example\nSubject: s\n\ninner\n--b--\n",
    );
    assert_eq!(texts(&mail), [(6, "look")]);
    let inner = mail.attachments.last().unwrap();
    assert_eq!((inner.lines[0].number, inner.lines[0].text.as_str()), (13, "inner"));
}

#[test]
fn kinds_of_input() {
    let kind = |text: &str| read(text.as_bytes()).unwrap().kind;
    assert_eq!(kind(" \n\n"), Kind::Empty);
    assert_eq!(kind("<!DOCTYPE html>\n<title>Not found"), Kind::Html);
    assert_eq!(kind(DIFF), Kind::Diff);
    assert_eq!(kind("Re: speed\n\nBoard: a\n"), Kind::Text);
    assert_eq!(kind("Results: good\nFrom here it was faster\n"), Kind::Text);
    assert_eq!(kind(&patch("PATCH", "a", "1", "b")), Kind::Mbox);
    let text = read(b"one\ntwo\n").unwrap();
    assert_eq!(texts(&text.mails[0]), [(1, "one"), (2, "two")]);
}

#[test]
fn gzip_is_unpacked_and_its_damage_named() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(patch("PATCH", "a", "1", DIFF).as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    assert_eq!(read(&packed).unwrap().mails[0].subject.title, "a");
    assert!(matches!(read(&packed[..packed.len() / 2]), Err(kab_mail::ReadError::Gzip(_))));
}

#[test]
fn a_thread_holds_series_and_replies() {
    let mbox = [
        patch("PATCH v2 2/2", "second", "22", DIFF),
        patch("PATCH 1/1", "old", "11", DIFF),
        patch(
            "PATCH v2 0/2",
            "the whole",
            "20",
            "why\n\nbase-commit: 0123456789abcdef0123456789abcdef01234567\n",
        ),
        patch("PATCH v2 1/2", "first", "21", DIFF),
        patch("PATCH v2 1/2", "first", "21", DIFF),
        patch("x", "Re: y", "30", "fine").replace("[x] Re: y", "Re: [PATCH v2 1/2] first"),
    ]
    .concat();
    let posted = read(mbox.as_bytes()).unwrap();
    assert_eq!(posted.mails.len(), 6);
    let found = series(&posted.mails);
    assert_eq!(found.len(), 2);
    let last = &found[1];
    assert_eq!((last.version, last.total, last.title()), (2, Some(2), "the whole"));
    assert_eq!(last.message_id(), Some("20@lab.example"));
    assert_eq!(last.patches.iter().map(kab_mail::Patch::title).collect::<Vec<_>>(), ["first", "second"]);
    assert_eq!(last.base_commit(), Some("0123456789abcdef0123456789abcdef01234567"));
    assert_eq!(last.problems(), []);
}

#[test]
fn what_keeps_a_series_from_being_applied() {
    let cut = &DIFF[..DIFF.len() - 6];
    let mbox = [
        patch("PATCH 1/4", "a", "1", DIFF),
        patch("PATCH 1/4", "a again", "5", DIFF)
            .replace("\n\ndiff", "\nIn-Reply-To: <1@lab.example>\n\ndiff"),
        patch("PATCH 3/4", "c", "3", "no diff").replace("\n\nno", "\nReferences: <1@lab.example>\n\nno"),
        patch("PATCH 4/4", "d", "4", cut.trim_end())
            .replace("\n\ndiff", "\nReferences: <1@lab.example>\n\ndiff")
            .trim_end()
            .to_owned(),
    ]
    .concat();
    let posted = read(mbox.as_bytes()).unwrap();
    let found = series(&posted.mails);
    assert_eq!(found.len(), 1);
    let problems = found[0].problems();
    assert_eq!(problems.len(), 4, "{problems:?}");
    assert_eq!(problems[0], Problem::Missing { number: 2, total: 4 });
    assert_eq!(problems[1], Problem::Duplicate { number: 1, title: "a again".into() });
    assert_eq!(problems[2], Problem::NoDiff { number: 3, title: "c".into() });
    let Problem::Damaged { number: 4, source: Damage::Truncated { lacks: 1, .. }, .. } = &problems[3] else {
        panic!("{problems:?}");
    };
}

#[test]
fn resends_are_told_apart_by_their_threads() {
    let thread = |id: &str| {
        let second = patch("PATCH 2/2", "b", &format!("{id}2"), DIFF)
            .replace("\n\ndiff", &format!("\nIn-Reply-To: <{id}1@lab.example>\n\ndiff"));
        patch("PATCH 1/2", "a", &format!("{id}1"), DIFF) + &second
    };
    let posted = read((thread("x") + &thread("y")).as_bytes()).unwrap();
    let found = series(&posted.mails);
    assert_eq!(
        found.iter().map(|series| series.message_id().unwrap()).collect::<Vec<_>>(),
        ["x1@lab.example", "y1@lab.example"]
    );
    assert!(found.iter().all(|series| series.problems().is_empty()));
}

#[test]
fn patches_without_numbers_keep_their_order() {
    let posted = read((patch("PATCH", "b", "1", DIFF) + &patch("PATCH", "a", "2", DIFF)).as_bytes()).unwrap();
    let found = series(&posted.mails);
    let numbers: Vec<(u32, &str)> =
        found[0].patches.iter().map(|patch| (patch.number, patch.title())).collect();
    assert_eq!(numbers, [(1, "b"), (2, "a")]);
}

/// What git makes of a mail: author and subject, and the bytes of the file after `git am`.
fn git_am(mail: &[u8], old: &[u8]) -> (String, Vec<u8>) {
    let folder = std::env::temp_dir().join(format!("kab-mail-{}-{:p}", std::process::id(), mail.as_ptr()));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("x"), old).unwrap();
    std::fs::write(folder.join("mail"), mail).unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=kab", "-c", "user.email=kab@localhost"];
        let output =
            Command::new("git").current_dir(&folder).args(identity).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "--quiet"]);
    git(&["add", "x"]);
    git(&["commit", "--quiet", "--message=base"]);
    git(&["am", "--quiet", "--no-keep-cr", "mail"]);
    let result =
        (git(&["log", "-1", "--format=%an|%s"]).trim().to_owned(), std::fs::read(folder.join("x")).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    result
}

#[test]
fn git_takes_every_encoding() {
    let head = "From: =?utf-8?q?Zo=C3=AB?= Z <zoe@lab.example>\nDate: Tue, 1 Dec 2026 10:00:00 +0100\nSubject: [PATCH]\n =?utf-8?q?=C3=BCber?= all\n";
    let old = b"old = 1\nkeep\n";
    let body = format!("Why.\n---\n{DIFF}-- \n2.39\n");
    let quoted = body.replace('=', "=3D").replace("new ", "ne=\nw ");
    let bodies = [
        format!("\n{body}"),
        format!("Content-Transfer-Encoding: quoted-printable\n\n{quoted}"),
        format!("Content-Transfer-Encoding: base64\n\n{}", base64(&body, 76)),
        format!("Content-Transfer-Encoding: base64\n\n{}", base64(&body.replace('\n', "\r\n"), 76)),
        format!(
            "Content-Type: text/plain; format=flowed; charset=utf-8\n\n{}",
            body.replace("\n keep", "\n  keep")
        ),
        format!(
            "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\n{body}\n--b\nContent-Type: text/html\n\n<p>\n--b--\n"
        ),
    ];
    for body in bodies {
        for crlf in [false, true] {
            let mut text = format!("{head}{body}");
            if crlf {
                text = text.replace('\n', "\r\n");
            }
            let mail = &read(text.as_bytes()).unwrap().mails[0];
            let (line, new) = git_am(mail.for_git_am(), old);
            assert_eq!((line.as_str(), &new[..]), ("Zoë Z|über all", &b"new = 2\nkeep\n"[..]), "{text}");
        }
    }
}

#[test]
fn git_keeps_the_bytes_of_files_in_other_charsets() {
    let mut mail = b"From: a@lab.example\nSubject: [PATCH] x\nDate: Tue, 1 Dec 2026 10:00:00 +0100\nContent-Type: text/plain; charset=iso-8859-1\n\nM\xfc\n---\n".to_vec();
    mail.extend_from_slice(b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\xfc\n+\xf6\n");
    let posted = read(&mail).unwrap();
    assert_eq!(git_am(posted.mails[0].for_git_am(), b"\xfc\n").1, b"\xf6\n");
}
