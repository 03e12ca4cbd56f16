//! How the agent gets onto a board: one constant shell command and a short exchange of lines with it.

use crate::LinkError;
use crate::agent::within;
use crate::channel::Channel;
use std::time::Duration;

/// The only command that is ever run on a board; everything else is told to the agent.
///
/// It reads `DIGEST SIZE` from standard input and answers `kab have` or `kab need`; after the latter it takes SIZE bytes.
/// Then it becomes the agent. Programs live under their digest in /run/kab, or in /tmp/kab-UID where that may not be written
/// or is mounted noexec (an empty file is run to find out). A half-pushed program never gets its name.
///
/// It needs a POSIX shell and `chmod head id mkdir mv rm tr wc`, as busybox has them. Neither `'` nor `!` nor a line break is in
/// it, so that the login shell may be any.
pub const BOOTSTRAP: &str = concat!(
    "exec sh -c '",
    "umask 077; ",
    "read -r digest size || exit 90; ",
    r#"if [ -z "$digest" ] || [ -z "$size" ] || [ -n "$(printf %s "$digest" | tr -d 0-9a-f)$(printf %s "$size" | tr -d 0-9)" ]; "#,
    "then echo malformed header >&2; exit 90; fi; ",
    r#"home=; for dir in /run/kab "/tmp/kab-$(id -u)"; do "#,
    r#"mkdir -p "$dir" 2>/dev/null; "#,
    r#"if [ -h "$dir" ]; then continue; fi; "#,
    r#"[ -d "$dir" ] && [ -O "$dir" ] && chmod 700 "$dir" && (: >"$dir/probe-$$") 2>/dev/null || continue; "#,
    r#"chmod 700 "$dir/probe-$$"; "$dir/probe-$$" 2>/dev/null && home=$dir; "#,
    r#"rm -f "$dir/probe-$$"; [ -n "$home" ] && break; done; "#,
    r#"if [ -z "$home" ]; then echo "neither /run/kab nor /tmp/kab-UID can hold a program" >&2; exit 91; fi; "#,
    r#"file=$home/$digest; "#,
    r#"if [ -f "$file" ] && [ -x "$file" ] && [ "$(wc -c <"$file")" -eq "$size" ]; then echo kab have; else "#,
    r#"part=$home/push-$$; trap "rm -f \"$part\"" 0 1 2 15; echo kab need; "#,
    r#"head -c "$size" >"$part"; "#,
    r#"if [ "$(wc -c <"$part")" -ne "$size" ]; then echo "the agent arrived incomplete" >&2; exit 92; fi; "#,
    r#"chmod 700 "$part" && mv -f "$part" "$file" || exit 93; fi; "#,
    r#"exec "$file" serve'"#,
);

/// Time for a shell to start and answer. A guest in emulation forks some twenty programs here at a tenth of a
/// second each; a slow host stretches that.
const ANSWER: Duration = Duration::from_secs(60);

/// Time to carry the agent over: a megabyte, at 10 kB/s.
const PUSH: Duration = Duration::from_secs(120);

/// A login shell's greeting may come before the answer; this much of it is passed over.
const GREETING_LINES: usize = 100;
const LINE: usize = 4096;

/// The program that is pushed.
#[derive(Clone)]
pub struct AgentBinary {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// BLAKE3 of them, 64 hexadecimal digits; the board keeps it under this name.
    pub digest: String,
}

impl AgentBinary {
    /// Takes a program and computes its digest.
    pub fn new(bytes: Vec<u8>) -> Self {
        let digest = blake3::hash(&bytes).to_hex().to_string();
        Self { bytes, digest }
    }
}

impl std::fmt::Debug for AgentBinary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AgentBinary({}, {} bytes)", self.digest, self.bytes.len())
    }
}

/// Talks to the command until it has become the agent.
pub(crate) async fn push(channel: &mut Channel, binary: &AgentBinary) -> Result<(), LinkError> {
    // The board's shell uses it as a file name.
    if binary.digest.len() != 64
        || !binary.digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    {
        return Err(LinkError::Push { cause: format!("{:?} is no digest", binary.digest) });
    }
    let header = format!("{} {}\n", binary.digest, binary.bytes.len());
    let asked = within("answer of the board's shell", ANSWER, ask(channel, &header)).await;
    let pushed = match asked {
        Ok(Answer::Have) => Ok(()),
        Ok(Answer::Need) => within("end of the agent's push", PUSH, channel.write(&binary.bytes)).await,
        Err(error) => Err(error),
    };
    pushed.map_err(|error| match error {
        LinkError::Closed { stderr } if stderr.is_empty() => {
            LinkError::Push { cause: "the board's shell ended without a word".to_owned() }
        }
        LinkError::Closed { stderr } => LinkError::Push { cause: stderr },
        other => other,
    })
}

enum Answer {
    Have,
    Need,
}

async fn ask(channel: &mut Channel, header: &str) -> Result<Answer, LinkError> {
    channel.write(header.as_bytes()).await?;
    for _ in 0..GREETING_LINES {
        match channel.line(LINE).await?.as_str() {
            "kab have" => return Ok(Answer::Have),
            "kab need" => return Ok(Answer::Need),
            _ => {}
        }
    }
    Err(LinkError::Push { cause: format!("no answer within {GREETING_LINES} lines") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_one_quoted_line_for_any_login_shell() {
        let script = BOOTSTRAP.strip_prefix("exec sh -c '").and_then(|rest| rest.strip_suffix('\''));
        assert!(script.is_some_and(|script| !script.contains(['\'', '!', '\n'])));
    }
}
