//! Posted mail: an mbox, one mail or plain text is split and decoded; patch series are put together. Bytes in, text out.
//!
//! [`read`] takes the bytes of an mbox (also compressed with gzip, as mailing list archives serve threads), of one mail (a file of
//! a maildir, or what a mail program pipes out), of a bare diff or of plain text, and says which it was. MIME is decoded:
//! quoted-printable, base64, charsets, encoded words, `format=flowed`, several parts, attachments. Every decoded [`Line`]
//! keeps the number of the line of the input that it came from, so that a finding can point there.
//!
//! [`series()`] finds the patch series among mails: patches in the order of their numbers, cover letter, version, what is
//! missing, and what else would keep `git am` from taking them. [`Mail::for_git_am`] gives a mail as `git am` reads it.
//!
//! [`Draft`] is a reply that a person may send.
//!
//! ```
//! let bytes = b"From: =?utf-8?q?Zo=C3=AB?= <zoe@lab.example>\n\
//! Subject: [PATCH RFC v2 1/2] scsi: demo: count =3D\n\
//! Message-ID: <a1@lab.example>\n\
//! Content-Transfer-Encoding: quoted-printable\n\
//! \n\
//! One line that is=\n broken.\n\
//! ---\n\
//! diff --git a/x b/x\n\
//! --- a/x\n\
//! +++ b/x\n\
//! @@ -1 +1 @@\n\
//! -a\n\
//! +b=3D\n\
//! -- \n\
//! 2.39\n";
//! let posted = kab_mail::read(bytes).unwrap();
//! assert_eq!(posted.kind, kab_mail::Kind::Mail);
//! let mail = &posted.mails[0];
//! assert_eq!(mail.from.as_ref().unwrap().name.as_deref(), Some("Zoë"));
//! assert_eq!(mail.body[0].text, "One line that is broken.");
//! assert_eq!((mail.body[1].number, mail.body[1].text.as_str()), (8, "---"));
//!
//! let found = kab_mail::series(&posted.mails);
//! let series = found.last().unwrap();
//! assert_eq!((series.version, series.total, series.missing()), (2, Some(2), vec![2]));
//! assert_eq!(series.patches[0].title(), "scsi: demo: count =3D");
//! assert_eq!(series.problems()[0].to_string(), "patch 2 of 2 is missing");
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod decode;
mod diff;
mod draft;
mod mail;
mod mbox;
mod read;
mod series;
mod subject;

pub use diff::{Damage, check as check_diff, has_diff};
pub use draft::{Draft, WIDTH};
pub use mail::{Attachment, Line, Mail, Person};
pub use read::{Kind, LARGEST, Posted, ReadError, kind, read};
pub use series::{Patch, Problem, Series, series};
pub use subject::Subject;
