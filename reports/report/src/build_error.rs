//! What a failed build says in one line, for a reader who has neither the tree nor the log.

/// Folder that holds the source tree in kab's cache.
const TREE: &str = "/tree/";

/// The first line of a compiler's or another tool's error, else the first line of all. Paths are relative to the source tree; of
/// others only the file's name stays, for a report is public.
pub(crate) fn cause(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let error = lines.iter().find(|line| line.contains("error:"));
    // What failed comes first and ends in a colon; the next line says why.
    let line = error.or_else(|| lines.iter().find(|line| !line.ends_with(':'))).or_else(|| lines.first());
    let line = line.copied().unwrap_or("no message");
    let words: Vec<String> = line.split(' ').map(relative).collect();
    words.join(" ").trim_end_matches([':', ' ']).to_owned()
}

/// A word, with any absolute path in it made relative.
fn relative(word: &str) -> String {
    let Some(start) =
        word.find('/').filter(|at| !word[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '-'))
    else {
        return word.to_owned();
    };
    // `../include/x.h` is relative already; a URL is no path.
    let (before, path) = word.split_at(start);
    if before.ends_with("..") && !path.contains(TREE) || before.ends_with(':') {
        return word.to_owned();
    }
    let before = before.trim_end_matches('.');
    match (path.rfind(TREE), path.rfind('/')) {
        (Some(at), _) => format!("{before}{}", &path[at + TREE.len()..]),
        (None, Some(at)) => format!("{before}{}", &path[at + 1..]),
        (None, None) => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compilers_line_is_told_relative_to_the_tree() {
        let failed = "make bzImage failed (exit status: 2), see /home/me/.cache/kab/logs/threaded-0123456789ab.log:\n\
                      /home/me/.cache/kab/tree/drivers/ufs/core/ufshcd.c: In function 'ufshcd_intr':\n\
                      /home/me/.cache/kab/tree/drivers/ufs/core/ufshcd.c:7002:9: error: 'x' undeclared\n";
        assert_eq!(cause(failed), "drivers/ufs/core/ufshcd.c:7002:9: error: 'x' undeclared");
    }

    #[test]
    fn without_a_compiler_the_reason_is_told_and_never_the_log() {
        let linker = "make bzImage failed (exit status: 2), see /home/me/log:\n\
                      ld: drivers/ufs/core/ufshcd.o: undefined reference to `ufshcd_foo'";
        assert_eq!(cause(linker), "ld: drivers/ufs/core/ufshcd.o: undefined reference to `ufshcd_foo'");
        assert_eq!(
            cause("make bzImage failed (signal 9), see /home/me/x.log:\n"),
            "make bzImage failed (signal 9), see x.log"
        );
        assert_eq!(cause(" \n"), "no message");
    }

    #[test]
    fn relative_paths_stay_and_private_ones_go() {
        assert_eq!(
            cause("a.c:1: error: \"/home/me/x.h\" and 'b/c.h' of ../d/e.h"),
            "a.c:1: error: \"x.h\" and 'b/c.h' of ../d/e.h"
        );
        assert_eq!(
            cause("fatal error: read/write, see https://kernel.org/x"),
            "fatal error: read/write, see https://kernel.org/x"
        );
    }
}
