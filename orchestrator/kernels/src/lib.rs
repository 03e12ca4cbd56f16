//! Resolves variants from git, builds kernels, caches artifacts by content.
