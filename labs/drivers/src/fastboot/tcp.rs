//! fastboot over TCP: a handshake, then frames of a length in eight big-endian bytes and as many bytes.

use super::link::{LONGEST_REPLY, Link, LinkError};
use async_trait::async_trait;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Both sides send it; the version that is used is the smaller one.
const HANDSHAKE: &[u8; 4] = b"FB01";

/// Most that the peer may take to send its part of it.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(2);

/// A TCP connection to a device.
pub(super) struct Tcp {
    stream: TcpStream,
    address: String,
}

impl Tcp {
    /// Connects and shakes hands. The connect itself has no deadline here.
    pub(super) async fn connect(address: &str) -> Result<Self, LinkError> {
        let absent = |reason: String| LinkError::Absent { address: format!("tcp:{address}"), reason };
        let mut stream = TcpStream::connect(address).await.map_err(|error| absent(error.to_string()))?;
        // Commands are small and each waits for its answer.
        stream.set_nodelay(true).map_err(|error| absent(error.to_string()))?;
        let mut hello = [0; 4];
        let shaken = timeout(HANDSHAKE_LIMIT, async {
            stream.write_all(HANDSHAKE).await?;
            stream.read_exact(&mut hello).await
        });
        let wrong = |detail: String| LinkError::Protocol { address: format!("tcp:{address}"), detail };
        match shaken.await {
            Err(_) => return Err(wrong(format!("no handshake within {} s", HANDSHAKE_LIMIT.as_secs()))),
            Ok(Err(error)) => return Err(wrong(format!("no handshake: {error}"))),
            Ok(Ok(_)) => {}
        }
        let version =
            hello.strip_prefix(b"FB").and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        match version {
            Some(1_u8..) => Ok(Self { stream, address: format!("tcp:{address}") }),
            _ => Err(wrong(format!("its handshake is {:?}", String::from_utf8_lossy(&hello)))),
        }
    }

    async fn frame(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        let length = (bytes.len() as u64).to_be_bytes();
        let written = async {
            self.stream.write_all(&length).await?;
            self.stream.write_all(bytes).await
        };
        written.await.map_err(|error| lost(&self.address, &error))
    }
}

#[async_trait]
impl Link for Tcp {
    async fn send(&mut self, command: &[u8]) -> Result<(), LinkError> {
        self.frame(command).await
    }

    async fn send_data(&mut self, piece: &[u8]) -> Result<(), LinkError> {
        self.frame(piece).await
    }

    async fn receive(&mut self) -> Result<Vec<u8>, LinkError> {
        let length = self.stream.read_u64().await.map_err(|error| lost(&self.address, &error))?;
        let length =
            usize::try_from(length).ok().filter(|length| *length <= LONGEST_REPLY).ok_or_else(|| {
                let detail =
                    format!("it announces an answer of {length} bytes, and {LONGEST_REPLY} is the most");
                LinkError::Protocol { address: self.address.clone(), detail }
            })?;
        let mut packet = vec![0; length];
        self.stream.read_exact(&mut packet).await.map_err(|error| lost(&self.address, &error))?;
        Ok(packet)
    }
}

fn lost(address: &str, error: &std::io::Error) -> LinkError {
    LinkError::Lost { address: address.to_owned(), reason: error.to_string() }
}
