//! fastboot over UDP, version 1: every packet of ours is answered by one of the device's with the same number, and sent again until it is.
//!
//! A packet is an id, flags, a big-endian sequence number and data. Commands are acknowledged by empty packets; an
//! answer is fetched by sending an empty one. What does not fit into a packet is cut, all but the last piece marked as to be continued.

use super::link::{LONGEST_REPLY, Link, LinkError};
use async_trait::async_trait;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;

const ERROR: u8 = 0;
const QUERY: u8 = 1;
const INIT: u8 = 2;
const FASTBOOT: u8 = 3;

/// More of the same message follows.
const CONTINUED: u8 = 1;

const HEADER: usize = 4;
const VERSION: u16 = 1;

/// Largest packet that we take; the device names its own, and the smaller one counts.
const OUR_LARGEST: u16 = 8192;

/// Least that a device has to take.
const LEAST_LARGEST: u16 = 512;

/// Silence after which a packet counts as lost.
const RESEND: Duration = Duration::from_millis(500);

/// Packets that may be lost before nobody counts as there.
const QUERY_TRIES: u32 = 4;

/// The same within a session: a minute, for a device that is busy with its flash.
const TRIES: u32 = 120;

/// Pause before an answer that is not there yet is asked for again.
const NOT_YET: Duration = Duration::from_millis(20);

/// A session with a device.
pub(super) struct Udp {
    socket: UdpSocket,
    address: String,
    sequence: u16,
    /// Data that fits into a packet, bytes.
    room: usize,
}

impl Udp {
    /// Asks the device for its sequence number and begins a session.
    pub(super) async fn connect(address: &str) -> Result<Self, LinkError> {
        let name = format!("udp:{address}");
        let absent = |reason: String| LinkError::Absent { address: name.clone(), reason };
        let mut found = tokio::net::lookup_host(address).await.map_err(|error| absent(error.to_string()))?;
        let peer = found.next().ok_or_else(|| absent("the name has no address".to_owned()))?;
        let any = if peer.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let bound = async {
            let socket = UdpSocket::bind(any).await?;
            socket.connect(peer).await?;
            std::io::Result::Ok(socket)
        };
        let socket = bound.await.map_err(|error| absent(error.to_string()))?;
        let mut udp = Self { socket, address: name.clone(), sequence: 0, room: 0 };
        let sequence = match udp.packet(QUERY, 0, &[], QUERY_TRIES).await {
            Err(LinkError::Lost { reason, .. }) => return Err(absent(reason)),
            answer => two_bytes(&answer?.1, 0)
                .ok_or_else(|| udp.wrong("its answer to a query has no sequence number"))?,
        };
        udp.sequence = sequence;
        udp.begin().await?;
        Ok(udp)
    }

    /// Agrees on a version and a size.
    async fn begin(&mut self) -> Result<(), LinkError> {
        let ours = [VERSION.to_be_bytes(), OUR_LARGEST.to_be_bytes()].concat();
        let (_, theirs) = self.numbered(INIT, 0, &ours).await?;
        let (version, largest) = (two_bytes(&theirs, 0), two_bytes(&theirs, 2));
        match (version, largest) {
            (Some(VERSION..), Some(LEAST_LARGEST..)) => {
                let largest = OUR_LARGEST.min(largest.unwrap_or(LEAST_LARGEST));
                self.room = usize::from(largest) - HEADER;
                Ok(())
            }
            _ => Err(self.wrong(&format!("it offers version {version:?} and packets of {largest:?} bytes"))),
        }
    }

    /// Sends one message, in as many packets as it needs, and returns what was answered.
    async fn message(&mut self, data: &[u8]) -> Result<Vec<u8>, LinkError> {
        let mut answer = Vec::new();
        let mut rest = data;
        loop {
            let (piece, after) = rest.split_at(rest.len().min(self.room));
            rest = after;
            let flags = if rest.is_empty() { 0 } else { CONTINUED };
            let (their_flags, part) = self.numbered(FASTBOOT, flags, piece).await?;
            answer.extend_from_slice(&part);
            if answer.len() > LONGEST_REPLY {
                return Err(self.wrong(&format!("its answer has more than {LONGEST_REPLY} bytes")));
            }
            if rest.is_empty() && their_flags & CONTINUED == 0 {
                return Ok(answer);
            }
        }
    }

    /// One packet with the next sequence number, and its answer.
    async fn numbered(&mut self, id: u8, flags: u8, data: &[u8]) -> Result<(u8, Vec<u8>), LinkError> {
        let answer = self.packet(id, flags, data, TRIES).await?;
        self.sequence = self.sequence.wrapping_add(1);
        Ok(answer)
    }

    /// Sends a packet until it is answered. Flags and data of the answer.
    async fn packet(&self, id: u8, flags: u8, data: &[u8], tries: u32) -> Result<(u8, Vec<u8>), LinkError> {
        let number = self.sequence.to_be_bytes();
        let packet = [&[id, flags], &number[..], data].concat();
        let mut reason = "no answer".to_owned();
        for _ in 0..tries {
            // Where nobody listens (yet), the kernel says so here or below, at once: that is one lost packet.
            if let Err(error) = self.socket.send(&packet).await {
                reason = error.to_string();
                tokio::time::sleep(RESEND).await;
                continue;
            }
            if let Ok(answer) = timeout(RESEND, self.answer(id, number)).await {
                return answer;
            }
        }
        let reason = format!("{reason} to {tries} packets");
        Err(LinkError::Lost { address: self.address.clone(), reason })
    }

    /// Waits for the answer with this number; what is late or doubled has another one.
    async fn answer(&self, id: u8, number: [u8; 2]) -> Result<(u8, Vec<u8>), LinkError> {
        let mut buffer = vec![0; usize::from(u16::MAX)];
        loop {
            // A refusal by the network is no answer, and the next try may find somebody.
            let Ok(length) = self.socket.recv(&mut buffer).await else {
                tokio::time::sleep(RESEND).await;
                continue;
            };
            let Some((&[their_id, flags, high, low], data)) = buffer[..length].split_first_chunk() else {
                continue;
            };
            // A query is answered with whatever number the device is at.
            if [high, low] != number && id != QUERY {
                continue;
            }
            if their_id == ERROR {
                return Err(self.wrong(&format!("it reports an error: {:?}", String::from_utf8_lossy(data))));
            }
            if their_id == id {
                return Ok((flags, data.to_vec()));
            }
        }
    }

    fn wrong(&self, detail: &str) -> LinkError {
        LinkError::Protocol { address: self.address.clone(), detail: detail.to_owned() }
    }

    async fn write(&mut self, data: &[u8]) -> Result<(), LinkError> {
        let answer = self.message(data).await?;
        if answer.is_empty() {
            return Ok(());
        }
        Err(self.wrong(&format!("it answers {} bytes where an empty packet is due", answer.len())))
    }
}

#[async_trait]
impl Link for Udp {
    async fn send(&mut self, command: &[u8]) -> Result<(), LinkError> {
        self.write(command).await
    }

    async fn send_data(&mut self, piece: &[u8]) -> Result<(), LinkError> {
        self.write(piece).await
    }

    async fn receive(&mut self) -> Result<Vec<u8>, LinkError> {
        loop {
            let answer = self.message(&[]).await?;
            if !answer.is_empty() {
                return Ok(answer);
            }
            tokio::time::sleep(NOT_YET).await;
        }
    }
}

fn two_bytes(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*data.get(at..)?.first_chunk()?))
}
