//! Messages between host and board.
