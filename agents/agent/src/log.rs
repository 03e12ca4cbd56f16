//! The log: standard error.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a line. Where the channel has gone nobody reads it, and that must not end the program before it has cleaned
/// up.
pub(crate) fn note(line: Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "kab-agent: {line}");
}
