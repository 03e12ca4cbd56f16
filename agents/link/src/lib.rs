//! Host side of the agent protocol over any byte stream.
