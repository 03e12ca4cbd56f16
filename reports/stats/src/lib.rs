//! Intervals, tests, corrections and verdicts. Numbers only.
