//! Append-only run log with content-addressed blobs.
