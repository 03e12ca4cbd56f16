//! Run to findings to one view to text.
