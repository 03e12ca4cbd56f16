//! Child processes that cannot outlive their parent, however the parent dies.
