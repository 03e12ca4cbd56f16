//! Messages of the kernel in a trial's window.

/// What the kernel itself said, in order. Records that user space wrote into the log are left out: they prove
/// nothing about the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelLog {
    messages: Vec<String>,
}

impl KernelLog {
    /// Reads records of /dev/kmsg, whose continuation lines begin with a space, or lines of dmesg.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        Self { messages: text.lines().filter_map(message).map(|m| m.trim().to_owned()).collect() }
    }

    /// The messages in order.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().map(String::as_str)
    }
}

fn message(line: &str) -> Option<&str> {
    if line.is_empty() || line.starts_with(' ') {
        return None;
    }
    match kmsg(line) {
        Some((prio, text)) => (prio >> 3 == 0).then_some(text),
        None => Some(without_stamp(line)),
    }
}

/// `prio,seq,usec,flags[,…];text`
fn kmsg(line: &str) -> Option<(u32, &str)> {
    let (head, text) = line.split_once(';')?;
    let mut fields = head.split(',');
    let prio = fields.next()?.parse().ok()?;
    let numbers = fields.by_ref().take(2).filter(|field| field.parse::<u64>().is_ok()).count();
    (numbers == 2 && fields.next().is_some()).then_some((prio, text))
}

/// `<4>[   12.345678][  T12] text` to `text`.
fn without_stamp(line: &str) -> &str {
    let mut rest = line;
    if let Some((level, text)) = rest.strip_prefix('<').and_then(|r| r.split_once('>'))
        && level.bytes().all(|b| b.is_ascii_digit())
    {
        rest = text;
    }
    while let Some((stamp, text)) = rest.trim_start().strip_prefix('[').and_then(|r| r.split_once(']')) {
        if !stamp.trim_start().starts_with(|c: char| c.is_ascii_digit() || matches!(c, 'T' | 'C')) {
            break;
        }
        rest = text;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(log: &str) -> Vec<String> {
        KernelLog::parse(log.as_bytes()).messages.clone()
    }

    #[test]
    fn records_of_the_kernel_are_read() {
        let log = "4,1201,93821733,-;WARNING: CPU: 0 PID: 7 at a.c:1 f+0x1/0x2\n SUBSYSTEM=scsi\n DEVICE=+scsi:0\n\
                   6,1202,93821734,-,caller=T7;two; parts\n";
        assert_eq!(messages(log), ["WARNING: CPU: 0 PID: 7 at a.c:1 f+0x1/0x2", "two; parts"]);
    }

    #[test]
    fn records_of_user_space_are_not() {
        assert_eq!(
            messages("12,1,2,-;WARNING: CPU: 0 PID: 7 at a.c:1 f\n30,3,4,-;systemd[1]: Oops: no\n"),
            [""; 0]
        );
    }

    #[test]
    fn lines_of_dmesg_lose_their_stamps() {
        let log = "[   12.345678] one\n<6>[    1.000000][    T1] two\n[    2.0] [drm] three\nfour; five\n";
        assert_eq!(messages(log), ["one", "two", "[drm] three", "four; five"]);
    }
}
