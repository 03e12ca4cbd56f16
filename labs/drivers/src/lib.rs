//! Concrete board drivers.
