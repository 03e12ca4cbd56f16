//! Reading YAML: every problem of a file at once, each with its place and a hint.
