//! The kernel command line of a virtual board: what the driver sets, then the board's, then the variant's.

/// Set by the driver: the console that it watches, and a panic that ends QEMU (which runs with `-no-reboot`).
const OWN: &str = "console=ttyS0 panic=-1";

/// Parameters that only the driver may set, and why.
const RESERVED: [(&str, &str); 3] = [
    ("console", "the driver watches the serial console"),
    ("panic", "a panic has to end the machine at once"),
    ("rdinit", "the driver's own initramfs brings the shell up"),
];

/// Why a command line is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CmdlineError {
    /// The driver sets it.
    #[error("`{parameter}` cannot be set on a virtual board: {reason}")]
    Reserved {
        /// As written.
        parameter: String,
        /// In words.
        reason: &'static str,
    },
    /// Set twice, to different values. Which one a kernel obeys depends on the parameter.
    #[error("the kernel command line sets both `{first}` and `{second}`")]
    Twice {
        /// As written.
        first: String,
        /// As written.
        second: String,
    },
}

/// Checks the command lines of a board and of a variant that would boot on it, taken together.
pub fn check_cmdline(board: Option<&str>, variant: Option<&str>) -> Result<(), CmdlineError> {
    let whole = [board, variant].map(Option::unwrap_or_default).join(" ");
    let parameters: Vec<Parameter> = words(&whole).into_iter().map(Parameter::new).collect();
    for (index, parameter) in parameters.iter().enumerate() {
        if let Some((_, reason)) = RESERVED.iter().find(|(name, _)| parameter.name == *name) {
            return Err(CmdlineError::Reserved { parameter: parameter.text.clone(), reason });
        }
        let earlier = parameters[..index].iter().find(|earlier| earlier.name == parameter.name);
        if let Some(earlier) = earlier
            && earlier.value != parameter.value
        {
            return Err(CmdlineError::Twice { first: earlier.text.clone(), second: parameter.text.clone() });
        }
    }
    Ok(())
}

/// The whole line. `variant` has the stamp in it.
pub(super) fn whole(board: Option<&str>, variant: &str) -> String {
    let parts = [OWN, board.unwrap_or_default().trim(), variant.trim()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

struct Parameter {
    text: String,
    /// The kernel takes dashes for underscores in names.
    name: String,
    value: Option<String>,
}

impl Parameter {
    fn new(text: String) -> Self {
        let (name, value) =
            text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        let (name, value) = (name.replace('-', "_"), value.map(|value| value.replace('"', "")));
        Self { text, name, value }
    }
}

/// Splits at blanks outside of double quotes, as the kernel does.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        quoted ^= c == '"';
        if c.is_whitespace() && !quoted {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refused(board: &str, variant: &str) -> String {
        check_cmdline(Some(board), Some(variant)).unwrap_err().to_string()
    }

    #[test]
    fn what_does_not_collide_passes() {
        assert_eq!(check_cmdline(None, None), Ok(()));
        assert_eq!(check_cmdline(Some("quiet loglevel=4"), Some("ufshcd_core.use_mcq_mode=0")), Ok(()));
        assert_eq!(check_cmdline(Some("quiet nohz=off"), Some("quiet nohz=\"off\"")), Ok(()));
        assert_eq!(check_cmdline(None, Some("dyndbg=\"file a.c +p; file b.c +p\" panic_on_warn=1")), Ok(()));
    }

    #[test]
    fn other_values_for_the_same_parameter_collide() {
        assert_eq!(
            refused("nohz=off", "loglevel=3 nohz=on"),
            "the kernel command line sets both `nohz=off` and `nohz=on`"
        );
        assert!(refused("", "a.b-c=1 a.b_c=2").contains("both `a.b-c=1` and `a.b_c=2`"));
        assert!(refused("quiet", "quiet=1").contains("both `quiet` and `quiet=1`"));
    }

    #[test]
    fn reserved_parameters_are_refused_everywhere() {
        assert!(refused("console=tty0", "").starts_with("`console=tty0` cannot be set"));
        assert!(refused("", "panic=10").starts_with("`panic=10` cannot be set"));
        assert!(refused("", "rdinit=/bin/sh").starts_with("`rdinit=/bin/sh` cannot be set"));
    }

    #[test]
    fn parts_are_joined_in_order() {
        assert_eq!(whole(None, "kab=12ab"), "console=ttyS0 panic=-1 kab=12ab");
        assert_eq!(whole(Some(" quiet "), "x=1 kab=12ab"), "console=ttyS0 panic=-1 quiet x=1 kab=12ab");
    }
}
