//! Frames: one type byte, a length (unsigned, 32 bit, big endian), that many bytes.
//!
//! Type 1 is a control frame, a JSON document. Type 2 is a chunk: one byte that names the stream, then its raw bytes.

use crate::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Largest JSON document of a control frame, bytes.
pub const MAX_CONTROL: usize = 16 << 20;

/// Most raw bytes of one chunk.
pub const MAX_CHUNK: usize = 1 << 20;

const CONTROL: u8 = 1;
const CHUNK: u8 = 2;
const HEADER: usize = 5;

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A JSON document: [`crate::ToAgent`] or [`crate::ToHost`].
    Control(Vec<u8>),
    /// A piece of a stream.
    Chunk {
        /// Which stream.
        stream: Stream,
        /// Its next bytes, at most [`MAX_CHUNK`].
        bytes: Vec<u8>,
    },
}

/// Bytes that are no frame, or a frame that may not be sent.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A type byte that does not exist.
    #[error("unknown frame type {0}")]
    UnknownType(u8),
    /// A length beyond the limit of its type.
    #[error("a frame of {length} bytes exceeds the limit of {limit}")]
    TooLong {
        /// Announced or actual length.
        length: usize,
        /// [`MAX_CONTROL`], or [`MAX_CHUNK`] and one.
        limit: usize,
    },
    /// A chunk without or with an unknown stream byte.
    #[error("a chunk of an unknown stream")]
    UnknownStream,
    /// A chunk where a message belongs.
    #[error("a chunk of stream {} where a message belongs", .0.name())]
    NotControl(Stream),
    /// A control frame that holds no such message.
    #[error("not a message of this protocol")]
    Message(#[source] serde_json::Error),
    /// The decoder met an error before; where the next frame begins is unknown.
    #[error("the stream of frames is broken")]
    Broken,
}

impl Frame {
    /// The control frame of a message.
    pub fn control<M: Serialize>(message: &M) -> Result<Self, FrameError> {
        serde_json::to_vec(message).map(Self::Control).map_err(FrameError::Message)
    }

    /// The message of a control frame.
    pub fn message<M: DeserializeOwned>(&self) -> Result<M, FrameError> {
        match self {
            Self::Control(json) => serde_json::from_slice(json).map_err(FrameError::Message),
            Self::Chunk { stream, .. } => Err(FrameError::NotControl(*stream)),
        }
    }

    /// The frame's bytes; an error where it exceeds a limit.
    pub fn encode(&self) -> Result<Vec<u8>, FrameError> {
        let (kind, stream, body) = match self {
            Self::Control(json) => (CONTROL, None, json),
            Self::Chunk { stream, bytes } => (CHUNK, Some(stream.code()), bytes),
        };
        let length = body.len() + usize::from(stream.is_some());
        let announced = check_length(kind, length)?;
        let mut out = Vec::with_capacity(HEADER + length);
        out.push(kind);
        out.extend_from_slice(&announced.to_be_bytes());
        out.extend(stream);
        out.extend_from_slice(body);
        Ok(out)
    }

    fn decode(kind: u8, body: &[u8]) -> Result<Self, FrameError> {
        if kind == CONTROL {
            return Ok(Self::Control(body.to_vec()));
        }
        let (code, bytes) = body.split_first().ok_or(FrameError::UnknownStream)?;
        let stream = Stream::from_code(*code).ok_or(FrameError::UnknownStream)?;
        Ok(Self::Chunk { stream, bytes: bytes.to_vec() })
    }
}

/// Cuts bytes, in whatever pieces they arrive, into frames.
///
/// It holds at most one incomplete frame and what was pushed last: a length is checked as soon as it is there, and no
/// memory is taken on its word.
#[derive(Debug, Default)]
pub struct Decoder {
    pending: Vec<u8>,
    broken: bool,
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.broken {
            self.pending.extend_from_slice(bytes);
        }
    }

    /// The next complete frame, `None` where more bytes are needed. After an error there is only
    /// [`FrameError::Broken`].
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        if self.broken {
            return Err(FrameError::Broken);
        }
        let result = self.cut();
        if result.is_err() {
            self.broken = true;
            self.pending = Vec::new();
        }
        result
    }

    /// Whether the bytes so far end within a frame.
    pub fn is_mid_frame(&self) -> bool {
        !self.pending.is_empty()
    }

    fn cut(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some((header, rest)) = self.pending.split_first_chunk::<HEADER>() else {
            return self.pending.first().map_or(Ok(None), |kind| limit_of(*kind).map(|_| None));
        };
        let [kind, length @ ..] = *header;
        let length = u32::from_be_bytes(length) as usize;
        check_length(kind, length)?;
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let frame = Frame::decode(kind, body)?;
        self.pending.drain(..HEADER + length);
        Ok(Some(frame))
    }
}

fn check_length(kind: u8, length: usize) -> Result<u32, FrameError> {
    let limit = limit_of(kind)?;
    u32::try_from(length).ok().filter(|_| length <= limit).ok_or(FrameError::TooLong { length, limit })
}

fn limit_of(kind: u8) -> Result<usize, FrameError> {
    match kind {
        CONTROL => Ok(MAX_CONTROL),
        // The stream's byte comes on top.
        CHUNK => Ok(MAX_CHUNK + 1),
        other => Err(FrameError::UnknownType(other)),
    }
}
