//! What a boot loader answers.

use std::fmt::Write;

/// One answer of a device, cut at its first NUL: some boot loaders send garbage after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Done, or said to be; a value for `getvar`.
    Okay(String),
    /// Refused, with a reason.
    Fail(String),
    /// A line for the user; more follows.
    Info(String),
    /// A piece of text for the user, not a line; more follows.
    Text(String),
    /// So many bytes may come now.
    Data(u32),
}

/// An answer that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the device answers what is not fastboot: {hex}")]
pub struct ReplyError {
    /// Its first bytes, hexadecimal, with what is printable of them.
    pub hex: String,
}

impl Reply {
    /// Reads one packet.
    pub fn parse(packet: &[u8]) -> Result<Self, ReplyError> {
        let text = packet.split(|byte| *byte == 0).next().unwrap_or_default();
        let wrong = || ReplyError { hex: dump(packet) };
        let (tag, rest) = text.split_at_checked(4).ok_or_else(wrong)?;
        let said = || String::from_utf8_lossy(rest).trim_end_matches(['\r', '\n']).to_owned();
        match tag {
            b"OKAY" => Ok(Self::Okay(said())),
            b"FAIL" => Ok(Self::Fail(said())),
            b"INFO" => Ok(Self::Info(said())),
            b"TEXT" => Ok(Self::Text(String::from_utf8_lossy(rest).into_owned())),
            b"DATA" => {
                let digits = std::str::from_utf8(rest).map_err(|_| wrong())?.trim();
                // from_str_radix takes a sign.
                let plain = digits.len() <= 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                let size = u32::from_str_radix(digits, 16).ok().filter(|_| plain);
                size.map(Self::Data).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    }
}

/// A number as boot loaders write it: decimal or `0x…`, sometimes with blanks around it.
pub fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

/// The first bytes of a packet for an error message.
fn dump(packet: &[u8]) -> String {
    if packet.is_empty() {
        return "an empty packet".to_owned();
    }
    let first = &packet[..packet.len().min(16)];
    let mut out = String::new();
    for byte in first {
        // Writing to a string does not fail.
        let _ = write!(out, "{byte:02x} ");
    }
    let shown: String =
        first.iter().map(|byte| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '.' }).collect();
    format!("{out}({shown}), {} bytes in all", packet.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kind_is_read() {
        let parsed = |text: &str| Reply::parse(text.as_bytes()).unwrap();
        assert_eq!(parsed("OKAY0.4"), Reply::Okay("0.4".into()));
        assert_eq!(parsed("OKAY"), Reply::Okay(String::new()));
        assert_eq!(parsed("FAILdata too large\r\n"), Reply::Fail("data too large".into()));
        assert_eq!(parsed("INFOwriting 1/4"), Reply::Info("writing 1/4".into()));
        assert_eq!(parsed("TEXTline\n"), Reply::Text("line\n".into()));
        assert_eq!(parsed("DATA003ff028"), Reply::Data(0x003f_f028));
        assert_eq!(parsed("DATAFFFFFFFF"), Reply::Data(u32::MAX));
        assert_eq!(parsed("OKAYyes\0\u{1}garbage"), Reply::Okay("yes".into()));
        assert_eq!(Reply::parse(b"OKAYbad \xff name").unwrap(), Reply::Okay("bad \u{fffd} name".into()));
    }

    #[test]
    fn what_is_no_answer_is_shown() {
        let wrong = |packet: &[u8]| Reply::parse(packet).unwrap_err().to_string();
        assert_eq!(wrong(b""), "the device answers what is not fastboot: an empty packet");
        assert_eq!(
            wrong(b"MORE\x01"),
            "the device answers what is not fastboot: 4d 4f 52 45 01 (MORE.), 5 bytes in all"
        );
        for packet in ["DATA", "DATA-0000001", "DATA+0000001", "DATA000000000", "DATA0000000g", "okay", "OKA"]
        {
            wrong(packet.as_bytes());
        }
    }

    #[test]
    fn numbers_come_in_two_forms_and_with_blanks() {
        assert_eq!(number("0x400000"), Some(0x40_0000));
        assert_eq!(number(" 4194304 \n"), Some(4_194_304));
        assert_eq!(number("  0X10"), Some(16));
        for bad in ["", "0x", "0x-1", "+5", "yes", "Value not set", "0xfffffffffffffffff"] {
            assert_eq!(number(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_packet_is_read_or_refused(packet in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(Reply::Data(size)) = Reply::parse(&packet) {
                prop_assert!(u64::from(size) <= u64::from(u32::MAX));
                prop_assert!(packet.starts_with(b"DATA"));
            }
        }

        #[test]
        fn sizes_come_back(size in any::<u32>()) {
            prop_assert_eq!(Reply::parse(format!("DATA{size:08x}").as_bytes()).unwrap(), Reply::Data(size));
            prop_assert_eq!(number(&format!("0x{size:x}")), Some(u64::from(size)));
            prop_assert_eq!(number(&size.to_string()), Some(u64::from(size)));
        }
    }
}
