//! Judges raw trials: ok, noted, failed or void, and the sample.
