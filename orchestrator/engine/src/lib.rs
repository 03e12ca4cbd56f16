//! Carries a plan out on boards; owns all run state.
