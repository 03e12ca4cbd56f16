//! Placeholder during bring-up.
fn main() {}
