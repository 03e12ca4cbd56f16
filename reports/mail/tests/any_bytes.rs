//! No bytes make the reader panic, and every line keeps a place inside of the input.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

/// Pieces that mails are made of, so that the interesting branches are reached.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = [
        "From mboxrd@z Thu Jan  1 00:00:00 1970\n",
        "From: A <a@lab.example>\n",
        "Subject: [PATCH v2 1/3] x\n",
        "Date: Tue, 99 Dec 2026 10:00:00 +9900\n",
        "Content-Type: multipart/mixed; boundary=b\n",
        "Content-Type: text/plain; charset=utf-16; format=flowed; delsp=yes\n",
        "Content-Type: message/rfc822\n",
        "Content-Transfer-Encoding: base64\n",
        "Content-Transfer-Encoding: quoted-printable\n",
        "Content-Length: 99999999999999999999\n",
        "Content-Length: 7\n",
        "\n",
        "\r\n",
        "--b\n",
        "--b--\n",
        "=0A=\n",
        "> \n",
        "-- \n",
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n",
        "@@ -1,99999999999 +1 @@\n",
        "YWJj\nZGVm\n",
    ];
    prop_oneof![
        4 => proptest::sample::select(known.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
    ]
}

proptest! {
    #[test]
    fn nothing_panics(pieces in proptest::collection::vec(piece(), 0..40)) {
        let bytes = pieces.concat();
        let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
        let Ok(posted) = kab_mail::read(&bytes) else { return Ok(()) };
        for mail in &posted.mails {
            prop_assert!(mail.for_git_am().len() <= 2 * bytes.len() + 200);
            let attached = mail.attachments.iter().flat_map(|attachment| &attachment.lines);
            for line in mail.body.iter().chain(attached) {
                prop_assert!((1..=lines).contains(&line.number), "{line:?} of {lines}");
                prop_assert!(!line.text.contains('\n'));
            }
            let _ = (mail.without_signature(), mail.base_commit());
        }
        for series in kab_mail::series(&posted.mails) {
            let _ = (series.problems(), series.title(), series.message_id());
        }
    }

    #[test]
    fn plain_text_keeps_every_line(lines in proptest::collection::vec("[ -9;-~]{0,40}", 1..20)) {
        let text = lines.join("\n");
        let posted = kab_mail::read(text.as_bytes()).unwrap();
        if posted.kind == kab_mail::Kind::Text {
            let expected: Vec<&str> = text.lines().collect();
            let got: Vec<&str> = posted.mails[0].body.iter().map(|line| line.text.as_str()).collect();
            prop_assert_eq!(got, expected);
        }
    }
}
