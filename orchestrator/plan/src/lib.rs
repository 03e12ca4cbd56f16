//! Pure planner: what will be done, in which order, and what comes next.
