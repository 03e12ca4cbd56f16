//! The subject of a mail, and what the brackets of a patch say.

/// A subject, taken apart: `Re: [PATCH RFC v2 03/12] scsi: demo: title`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// As it stood, decoded and on one line.
    pub text: String,
    /// Begins with `Re:` or the like.
    pub reply: bool,
    /// Has `[PATCH]`, `[RFC]` or a number of a total in its brackets.
    pub patch: bool,
    /// 1 where none is said.
    pub version: u32,
    /// The patch's number; 0 is the cover letter.
    pub number: Option<u32>,
    /// How many patches the series has.
    pub total: Option<u32>,
    /// Sent again, unchanged.
    pub resend: bool,
    /// What else the brackets hold: `RFC`, a tree's name.
    pub tags: Vec<String>,
    /// What follows the brackets.
    pub title: String,
}

impl Subject {
    /// Takes a decoded subject apart.
    ///
    /// ```
    /// let subject = kab_mail::Subject::parse("[PATCH RFC v2 03/12] scsi: demo: title");
    /// assert_eq!((subject.version, subject.number, subject.total), (2, Some(3), Some(12)));
    /// assert_eq!((subject.tags[0].as_str(), subject.title.as_str()), ("RFC", "scsi: demo: title"));
    /// ```
    pub fn parse(text: &str) -> Self {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut subject = Self { version: 1, ..Self::default() };
        let mut rest = text.as_str();
        while let Some(after) = without_reply(rest) {
            subject.reply = true;
            rest = after;
        }
        while let Some((inside, after)) = bracket(rest) {
            // Brackets behind the patch's own belong to the title: git am keeps them.
            if subject.patch && !is_patch(inside) {
                break;
            }
            subject.bracket(inside);
            rest = after;
        }
        subject.title = rest.to_owned();
        subject.text = text;
        subject
    }

    /// Number 0 of a series.
    pub fn is_cover(&self) -> bool {
        self.patch && self.number == Some(0)
    }

    fn bracket(&mut self, inside: &str) {
        self.patch |= is_patch(inside);
        let words: Vec<&str> = words(inside).collect();
        let mut index = 0;
        while let Some(word) = words.get(index) {
            index += 1;
            let upper = word.to_ascii_uppercase();
            let glued = upper.strip_prefix("PATCH").unwrap_or(&upper);
            if let Some((number, total)) = fraction(word) {
                (self.number, self.total) = (Some(number), Some(total));
            } else if let [Ok(number), Ok(total)] =
                [word.parse(), words.get(index + 1).unwrap_or(&"").parse()]
                && words[index].eq_ignore_ascii_case("of")
            {
                (self.number, self.total) = (Some(number), Some(total));
                index += 2;
            } else if let Some(version) =
                glued.trim_start_matches('-').strip_prefix('V').and_then(|digits| digits.parse().ok())
            {
                self.version = version;
            } else if upper == "RESEND" || upper == "REPOST" {
                self.resend = true;
            } else if upper != "PATCH" && upper != "PATCHES" {
                self.tags.push((*word).to_owned());
            }
        }
    }
}

fn words(inside: &str) -> impl Iterator<Item = &str> {
    inside.split([' ', ',', ';']).filter(|word| !word.is_empty())
}

fn fraction(word: &str) -> Option<(u32, u32)> {
    let (number, total) = word.split_once('/')?;
    Some((number.parse().ok()?, total.parse().ok()?))
}

fn is_patch(inside: &str) -> bool {
    words(inside).any(|word| {
        let upper = word.to_ascii_uppercase();
        upper.starts_with("PATCH") || upper == "RFC" || upper == "RFT" || fraction(word).is_some()
    })
}

fn without_reply(text: &str) -> Option<&str> {
    const PREFIXES: [&str; 8] = ["re", "aw", "sv", "fwd", "fw", "antw", "回复", "答复"];
    let (word, rest) = text.split_once([':', '：'])?;
    let word = word.trim().to_lowercase();
    let word = word.split_once('[').map_or(word.as_str(), |(word, _)| word); // Re[2]:
    PREFIXES.contains(&word).then(|| rest.trim_start())
}

fn bracket(text: &str) -> Option<(&str, &str)> {
    let (inside, rest) = text.strip_prefix('[')?.split_once(']')?;
    Some((inside, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (bool, u32, Option<u32>, Option<u32>, String, String) {
        let subject = Subject::parse(text);
        (subject.patch, subject.version, subject.number, subject.total, subject.tags.join(" "), subject.title)
    }

    #[test]
    fn brackets_of_patches() {
        let title = || "scsi: demo: x".to_owned();
        let none = String::new;
        for (text, patch, version, number, total, tags) in [
            ("[PATCH] scsi: demo: x", true, 1, None, None, none()),
            ("[PATCH v3 00/12] scsi: demo: x", true, 3, Some(0), Some(12), none()),
            ("[PATCH RFC v2 03/12] scsi: demo: x", true, 2, Some(3), Some(12), "RFC".into()),
            ("[RFC PATCH net-next V4 3/12] scsi: demo: x", true, 4, Some(3), Some(12), "RFC net-next".into()),
            ("[RFC 1/2] scsi: demo: x", true, 1, Some(1), Some(2), "RFC".into()),
            ("[PATCHv2 1/2] scsi: demo: x", true, 2, Some(1), Some(2), none()),
            ("[PATCH-v5,1/2] scsi: demo: x", true, 5, Some(1), Some(2), none()),
            ("[PATCH 1 of 2] scsi: demo: x", true, 1, Some(1), Some(2), none()),
            ("[some-list] [PATCH] scsi: demo: x", true, 1, None, None, "some-list".into()),
            ("[PATCH][v2] scsi: demo: x", true, 1, None, None, none()),
        ] {
            let got = parsed(text);
            if text.contains("][v2]") {
                assert_eq!(got.5, "[v2] scsi: demo: x");
                continue;
            }
            assert_eq!(got, (patch, version, number, total, tags, title()), "{text}");
        }
    }

    #[test]
    fn replies_resends_and_other_subjects() {
        assert!(Subject::parse("Re: RE: [PATCH] a").reply);
        assert!(Subject::parse("AW: a").reply);
        assert!(!Subject::parse("regression: a").reply);
        assert!(Subject::parse("[PATCH RESEND v2] a").resend);
        assert!(Subject::parse("[PATCH v2 0/3] a").is_cover());
        let plain = Subject::parse("[GIT PULL] a\n b");
        assert_eq!(
            (plain.patch, plain.title.as_str(), plain.text.as_str()),
            (false, "a b", "[GIT PULL] a b")
        );
    }
}
