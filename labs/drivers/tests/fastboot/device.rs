//! A fastboot device in memory, over TCP and UDP, with the faults of real ones.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinHandle;

/// What is wrong with a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    #[default]
    None,
    /// Never answers `flash`.
    HangFlash,
    /// Greets as something else.
    GarbageHandshake,
    /// Does not greet.
    NoHandshake,
    /// Closes in the middle of a download.
    DropData,
    /// Refuses `flash`.
    FailFlash,
    /// Announces one byte less than was asked for.
    ShortData,
    /// Says `TEXT` and `INFO` before `OKAY`.
    Chatty,
    /// Follows `reboot` and `boot` without an answer.
    LostOkay,
    /// Answers with a tag that does not exist.
    UnknownTag,
    /// Announces an answer of many gigabytes.
    EndlessFrame,
    /// Says `OKAY` to `set_active` and does nothing.
    StubSlots,
    /// Says `OKAY` where `DATA` is due.
    OkayForData,
    /// Says `INFO` for ever.
    EndlessInfo,
    /// Answers with garbage after a NUL, and numbers with blanks.
    Sloppy,
}

/// What the network does to a datagram of either direction, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weather {
    pub loss: u32,
    pub doubled: u32,
    pub late: u32,
}

/// What the device has seen and holds.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub variables: BTreeMap<String, String>,
    pub partitions: BTreeMap<String, Vec<u8>>,
    pub commands: Vec<String>,
    pub booted: Option<Vec<u8>>,
    memory: Vec<u8>,
    expected: usize,
    fault: Fault,
}

/// What the device does next.
enum Act {
    Say(Vec<u8>),
    Hang,
    Close,
}

/// A running device; it ends with the test.
pub(crate) struct Device {
    pub state: Arc<Mutex<State>>,
    pub address: SocketAddr,
    pub task: JoinHandle<()>,
}

impl Drop for Device {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) const MOST: usize = 0x10000;

impl State {
    pub(crate) fn new(fault: Fault) -> Arc<Mutex<Self>> {
        let variables = [
            ("version", "0.4"),
            ("product", "simboard"),
            ("serialno", "Value not set"),
            ("max-download-size", if fault == Fault::Sloppy { "  0x10000 " } else { "65536" }),
            ("current-slot", "a"),
            ("slot-count", "2"),
            ("has-slot:boot", "yes"),
            ("is-logical:boot_a", "no"),
            ("is-logical:boot_b", "no"),
            ("secure", ""),
        ];
        let partitions = ["boot_a", "boot_b"].map(|name| (name.to_owned(), vec![1; 1 << 20])).into();
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Arc::new(Mutex::new(Self { variables, partitions, fault, ..Self::default() }))
    }

    fn handle(&mut self, command: &str) -> Vec<Act> {
        self.commands.push(command.to_owned());
        let say = |text: &str| vec![Act::Say(text.as_bytes().to_vec())];
        if self.fault == Fault::UnknownTag {
            return say("MORE\x01");
        }
        let (word, argument) = command.split_once(':').unwrap_or((command, ""));
        match word {
            "getvar" => self.variable(argument),
            "download" => self.download(argument),
            "flash" => self.flash(argument),
            "erase" => {
                let Some(partition) = self.partitions.get_mut(argument) else {
                    return say("FAILno such partition");
                };
                partition.fill(0xff);
                say("OKAY")
            }
            "set_active" => {
                if self.fault != Fault::StubSlots {
                    self.variables.insert("current-slot".to_owned(), argument.to_owned());
                }
                say("OKAY")
            }
            "boot" | "reboot" | "reboot-bootloader" | "continue" => {
                if word == "boot" {
                    self.booted = Some(self.memory.clone());
                }
                if self.fault == Fault::LostOkay {
                    vec![Act::Close]
                } else {
                    vec![Act::Say(b"OKAY".to_vec()), Act::Close]
                }
            }
            _ if command.starts_with("oem ") => say("OKAY"),
            _ => say("FAILunknown command"),
        }
    }

    fn variable(&mut self, name: &str) -> Vec<Act> {
        let answer = match self.variables.get(name) {
            Some(value) => format!("OKAY{value}"),
            None => "FAILVariable not implemented".to_owned(),
        };
        let mut bytes = answer.into_bytes();
        match self.fault {
            Fault::Sloppy => bytes.extend(b"\0\xff\x07left over"),
            Fault::EndlessInfo => {
                let mut lines: Vec<Act> = (0..2_000).map(|_| Act::Say(b"INFOstill busy".to_vec())).collect();
                lines.push(Act::Hang);
                return lines;
            }
            _ => {}
        }
        vec![Act::Say(bytes)]
    }

    fn download(&mut self, size: &str) -> Vec<Act> {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size > MOST {
            return vec![Act::Say(b"FAILdata too large".to_vec())];
        }
        if self.fault == Fault::OkayForData {
            return vec![Act::Say(b"OKAY".to_vec())];
        }
        self.memory.clear();
        self.expected = size;
        let said = if self.fault == Fault::ShortData { size - 1 } else { size };
        vec![Act::Say(format!("DATA{said:08x}").into_bytes())]
    }

    fn flash(&mut self, name: &str) -> Vec<Act> {
        let say = |text: &str| Act::Say(text.as_bytes().to_vec());
        match self.fault {
            Fault::HangFlash => return vec![Act::Hang],
            Fault::FailFlash => {
                return vec![say("INFOchecking"), say("FAILFlashing is not allowed in Lock State")];
            }
            _ => {}
        }
        let Some(partition) = self.partitions.get_mut(name) else {
            return vec![say("FAILno such partition")];
        };
        write(&self.memory, partition);
        match self.fault {
            Fault::Chatty => {
                vec![say("TEXTerasing "), say("TEXTdone\n"), say("INFOwriting 1/1"), say("OKAY")]
            }
            _ => vec![say("OKAY")],
        }
    }

    /// Takes data; whether it was the last of it.
    fn data(&mut self, bytes: &[u8]) -> bool {
        self.memory.extend_from_slice(bytes);
        assert!(self.memory.len() <= self.expected, "more data than announced");
        self.memory.len() == self.expected
    }
}

/// Writes a raw or sparse image over a partition.
fn write(image: &[u8], partition: &mut [u8]) {
    if !image.starts_with(&0xed26_ff3a_u32.to_le_bytes()) {
        partition[..image.len()].copy_from_slice(image);
        return;
    }
    let word = |at: usize| u32::from_le_bytes(image[at..at + 4].try_into().unwrap()) as usize;
    let (block, chunks) = (word(12), word(20));
    let (mut at, mut out) = (28, 0);
    for _ in 0..chunks {
        let (kind, length, total) = (word(at) & 0xffff, word(at + 4) * block, word(at + 8));
        match kind {
            0xcac1 => partition[out..out + length].copy_from_slice(&image[at + 12..at + 12 + length]),
            0xcac3 => {}
            other => panic!("chunk of kind {other:x}"),
        }
        out += length;
        at += total;
    }
}

impl Device {
    pub(crate) async fn tcp(fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = State::new(fault);
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                // A client that leaves ends its session, not the device.
                let _ = tcp_session(stream, &shared).await;
            }
        });
        Self { state, address, task }
    }

    pub(crate) async fn udp(fault: Fault, weather: Weather, seed: u64) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let state = State::new(fault);
        let mut session = UdpSession::new(Arc::clone(&state));
        let task = tokio::spawn(async move {
            let mut sky = Pcg64Mcg::seed_from_u64(seed);
            let mut held: VecDeque<Vec<u8>> = VecDeque::new();
            let mut buffer = vec![0; 65536];
            loop {
                let (length, peer) = socket.recv_from(&mut buffer).await.unwrap();
                if happens(&mut sky, weather.loss) {
                    continue;
                }
                let Some(answer) = session.packet(&buffer[..length]) else { continue };
                if happens(&mut sky, weather.late) {
                    held.push_back(answer);
                    continue;
                }
                if happens(&mut sky, weather.loss) {
                    continue;
                }
                socket.send_to(&answer, peer).await.unwrap();
                if happens(&mut sky, weather.doubled) {
                    socket.send_to(&answer, peer).await.unwrap();
                }
                if let Some(late) = held.pop_front() {
                    socket.send_to(&late, peer).await.unwrap();
                }
            }
        });
        Self { state, address, task }
    }
}

fn happens(sky: &mut impl Rng, percent: u32) -> bool {
    sky.random_range(0..100) < percent
}

async fn tcp_session(mut stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let fault = state.lock().unwrap().fault;
    stream.set_nodelay(true)?;
    let mut hello = [0; 4];
    stream.read_exact(&mut hello).await?;
    assert_eq!(&hello, b"FB01");
    match fault {
        Fault::GarbageHandshake => stream.write_all(b"SSH-").await?,
        Fault::NoHandshake => tokio::time::sleep(Duration::from_secs(3600)).await,
        _ => stream.write_all(b"FB01").await?,
    }
    loop {
        let length = stream.read_u64().await?;
        assert!(length <= 64, "a command of {length} bytes");
        let mut command = vec![0; length as usize];
        stream.read_exact(&mut command).await?;
        let acts = state.lock().unwrap().handle(std::str::from_utf8(&command).unwrap());
        for act in acts {
            match act {
                Act::Say(_) if fault == Fault::EndlessFrame => stream.write_u64(u64::MAX / 2).await?,
                Act::Say(bytes) => {
                    let data = bytes.starts_with(b"DATA") && fault != Fault::ShortData;
                    frame(&mut stream, &bytes).await?;
                    if data {
                        tcp_data(&mut stream, state, fault).await?;
                    }
                }
                Act::Hang => tokio::time::sleep(Duration::from_secs(3600)).await,
                Act::Close => return Ok(()),
            }
        }
    }
}

/// An answer in two writes, so that it arrives in parts.
async fn frame(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let whole = [&(bytes.len() as u64).to_be_bytes()[..], bytes].concat();
    let (first, second) = whole.split_at(5);
    stream.write_all(first).await?;
    stream.flush().await?;
    stream.write_all(second).await
}

async fn tcp_data(stream: &mut TcpStream, state: &Mutex<State>, fault: Fault) -> std::io::Result<()> {
    loop {
        let length = stream.read_u64().await? as usize;
        let mut bytes = vec![0; length];
        stream.read_exact(&mut bytes).await?;
        if fault == Fault::DropData {
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        if state.lock().unwrap().data(&bytes) {
            return frame(stream, b"OKAY").await;
        }
    }
}

/// The device's side of version 1 over UDP.
struct UdpSession {
    state: Arc<Mutex<State>>,
    sequence: u16,
    /// The answer to the packet before, for who did not get it.
    last: Vec<u8>,
    command: Vec<u8>,
    downloading: bool,
    to_say: VecDeque<Vec<u8>>,
    silent: bool,
}

const LARGEST: u16 = 1024;

impl UdpSession {
    fn new(state: Arc<Mutex<State>>) -> Self {
        // Close to the wrap, so that every session passes it.
        let (last, command, to_say) = Default::default();
        Self { state, sequence: 0xfffd, last, command, downloading: false, to_say, silent: false }
    }

    fn packet(&mut self, packet: &[u8]) -> Option<Vec<u8>> {
        let &[id, flags, high, low, ref data @ ..] = packet else { panic!("a packet without a header") };
        assert!(packet.len() <= usize::from(LARGEST) || id == 2, "{} bytes", packet.len());
        let number = u16::from_be_bytes([high, low]);
        if id == 1 {
            let theirs = self.sequence.to_be_bytes();
            return Some([&[1, 0, high, low][..], &theirs].concat());
        }
        if number == self.sequence.wrapping_sub(1) && !self.last.is_empty() {
            return (!self.silent).then(|| self.last.clone());
        }
        if number != self.sequence || self.silent {
            return None;
        }
        let answer = match id {
            2 => [&[2, 0, high, low, 0, 1][..], &LARGEST.to_be_bytes()].concat(),
            _ => [&[3, 0, high, low][..], &self.fastboot(flags, data)].concat(),
        };
        self.sequence = self.sequence.wrapping_add(1);
        self.last = answer;
        (!self.silent).then(|| self.last.clone())
    }

    /// Data of the answer.
    fn fastboot(&mut self, flags: u8, data: &[u8]) -> Vec<u8> {
        if data.is_empty() {
            return self.to_say.pop_front().unwrap_or_default();
        }
        let mut state = self.state.lock().unwrap();
        if self.downloading {
            if state.data(data) {
                self.downloading = false;
                self.to_say.push_back(b"OKAY".to_vec());
            }
            return Vec::new();
        }
        self.command.extend_from_slice(data);
        if flags & 1 == 0 {
            let command = String::from_utf8(std::mem::take(&mut self.command)).unwrap();
            for act in state.handle(&command) {
                match act {
                    Act::Say(bytes) => {
                        self.downloading = bytes.starts_with(b"DATA");
                        self.to_say.push_back(bytes);
                    }
                    Act::Hang => {}
                    Act::Close => self.silent = state.fault == Fault::LostOkay,
                }
            }
        }
        Vec::new()
    }
}
