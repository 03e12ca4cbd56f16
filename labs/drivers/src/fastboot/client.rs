//! The protocol: commands, answers and data, with a deadline on each.

use super::address::Address;
use super::command::{Command, CommandError, Partition, Slot};
use super::link::{Link, LinkError};
use super::reply::{Reply, ReplyError, number};
use super::sparse::{Image, ImageError, Piece};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Most that finding a device and the greeting may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Bytes read from an image at once. Two such chunks wait between disk and device, no more.
const CHUNK: usize = 1 << 20;

/// Slowest download that is waited for, bytes in a second. UDP to a boot loader with packets of 1 KiB makes some 5 MB/s.
const SLOWEST: u64 = 1_000_000;

/// How long one exchange may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most silence; every line that the device says starts it anew.
    pub idle: Duration,
    /// Most in all.
    pub total: Duration,
}

impl Limits {
    /// A question.
    pub const GETVAR: Self = Self::of(5, 5);
    /// A command of unknown nature.
    pub const COMMAND: Self = Self::of(30, 600);
    /// A write to flash; boot loaders may be silent while they write.
    pub const FLASH: Self = Self::of(60, 600);
    /// An erase of a large partition.
    pub const ERASE: Self = Self::of(180, 180);
    /// A command after which the device is gone.
    pub const LEAVE: Self = Self::of(30, 30);

    const fn of(idle: u64, total: u64) -> Self {
        Self { idle: Duration::from_secs(idle), total: Duration::from_secs(total) }
    }

    /// A download of so many bytes.
    pub fn download(size: u64) -> Self {
        let total = Duration::from_secs((size / SLOWEST).max(30));
        Self { idle: Duration::from_secs(30), total }
    }
}

/// One thing that went over the wire, images apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Since the link was opened.
    pub at: Duration,
    /// What it is.
    pub kind: MessageKind,
    /// Its text, as it was said.
    pub text: String,
}

/// Kinds of [`Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A command of ours.
    Command,
    /// Bytes of an image, sent by us: the text is their number.
    Sent,
    /// A line for the user.
    Info,
    /// Text for the user.
    Text,
    /// Done.
    Okay,
    /// Refused.
    Fail,
    /// Ready for data: the text is how many bytes.
    Data,
}

/// Sees every message as it comes.
pub type Observer = Arc<dyn Fn(&Message) + Send + Sync>;

/// What a device said to a command that it did not refuse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// After `OKAY`.
    pub value: String,
    /// `INFO` lines and `TEXT`, in order.
    pub said: Vec<String>,
}

/// What became of a command after which a device is gone.
#[derive(Debug)]
pub enum Ack {
    /// It said `OKAY`.
    Said(Answer),
    /// It said nothing: a reset may overtake the answer. Whether the command was followed shows in what comes up.
    Lost(FastbootError),
}

/// Why an exchange did not end well.
#[derive(Debug, thiserror::Error)]
pub enum FastbootError {
    /// The device refuses. The link goes on.
    #[error("the device refuses {command:?}: {reason}")]
    Refused {
        /// What was asked.
        command: String,
        /// What it said, or that it said nothing.
        reason: String,
        /// `INFO` lines and `TEXT` before that.
        said: Vec<String>,
    },
    /// The image is larger than the device takes. Nothing was sent.
    #[error("the image has {size} bytes, and the device takes {limit} at once")]
    TooLarge {
        /// Bytes.
        size: u64,
        /// `max-download-size`, bytes.
        limit: u64,
    },
    /// The device fell silent. The link is closed.
    #[error("no answer to {command:?} within {} s", waited.as_secs())]
    Silent {
        /// What was asked.
        command: String,
        /// For how long it was silent.
        waited: Duration,
    },
    /// The device goes on and on. The link is closed.
    #[error("{command:?} took more than {} s", limit.as_secs())]
    TooSlow {
        /// What was asked.
        command: String,
        /// The limit.
        limit: Duration,
    },
    /// The device breaks the protocol. The link is closed.
    #[error("unexpected answer to {command:?}: {detail}")]
    Unexpected {
        /// What was asked.
        command: String,
        /// What is wrong.
        detail: String,
    },
    /// The answer is none. The link is closed.
    #[error("cannot read the answer to {command:?}")]
    Reply {
        /// What was asked.
        command: String,
        /// What came.
        source: ReplyError,
    },
    /// The link is gone, or there was none.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// An earlier error has closed the link.
    #[error("the connection to the device was closed after an error: connect anew")]
    Closed,
    /// A command that cannot be sent. Nothing was sent.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// An image that cannot be sent. Nothing was sent.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The image became unreadable while it was sent. The link is closed.
    #[error("cannot read the image any more")]
    Read(#[source] io::Error),
}

impl FastbootError {
    /// Whether the device may have done what was asked and only the answer is missing.
    fn may_have_worked(&self) -> bool {
        matches!(self, Self::Silent { .. } | Self::TooSlow { .. } | Self::Link(LinkError::Lost { .. }))
    }
}

/// A device that is talked to.
pub struct Fastboot {
    /// Taken out for each exchange and put back when it ended in order: whatever else happens, and be it that its future is
    /// dropped, closes the link.
    link: Option<Box<dyn Link>>,
    observer: Observer,
    opened: Instant,
    /// `max-download-size` once asked for; `None` within where the device does not say.
    most: Option<Option<u64>>,
}

impl Fastboot {
    /// Connects to the device that is there now.
    pub async fn connect(address: &Address, observer: Observer) -> Result<Self, FastbootError> {
        match timeout(CONNECT, address.connect()).await {
            Ok(link) => Ok(Self::over(link?, observer)),
            Err(_) => {
                let reason = format!("no connection within {} s", CONNECT.as_secs());
                Err(LinkError::Absent { address: address.to_string(), reason }.into())
            }
        }
    }

    /// Speaks over a link that is open.
    pub fn over(link: Box<dyn Link>, observer: Observer) -> Self {
        Self { link: Some(link), observer, opened: Instant::now(), most: None }
    }

    /// A variable. Nothing where the device does not know it: it may refuse, or answer nothing, or say that there is no value.
    pub async fn get(&mut self, variable: &str) -> Result<Option<String>, FastbootError> {
        let command = Command::new(format!("getvar:{variable}"))?;
        match self.run(&command, Limits::GETVAR).await {
            Ok(answer) => {
                let value = answer.value.trim();
                Ok((!value.is_empty() && value != "Value not set").then(|| value.to_owned()))
            }
            Err(FastbootError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Runs a command that takes and gives no data.
    pub async fn run(&mut self, command: &Command, limits: Limits) -> Result<Answer, FastbootError> {
        let mut exchange = self.begin(command, limits)?;
        let answer = exchange.within(async |link| link.command_to_end().await).await;
        self.end(exchange, answer)
    }

    /// Sends data into the device's memory, for the command that follows.
    pub async fn download(&mut self, piece: &Piece) -> Result<(), FastbootError> {
        let size = piece.size();
        let limit = self.most().await?.unwrap_or(u64::from(u32::MAX)).min(u64::from(u32::MAX));
        if size > limit {
            return Err(FastbootError::TooLarge { size, limit });
        }
        let command = Command::new(format!("download:{size:08x}"))?;
        let mut exchange = self.begin(&command, Limits::download(size))?;
        let piece = piece.clone();
        let answer = exchange.within(async |link| link.download(piece).await).await;
        self.end(exchange, answer).map(drop)
    }

    /// Writes an image to a partition, in pieces where the device takes less at once.
    pub async fn flash(&mut self, partition: &Partition, image: &Image) -> Result<(), FastbootError> {
        let command = Command::new(format!("flash:{partition}"))?;
        let limit = self.most().await?.unwrap_or(u64::from(u32::MAX));
        for piece in image.pieces(limit)? {
            self.download(&piece).await?;
            self.run(&command, Limits::FLASH).await?;
        }
        Ok(())
    }

    /// Boots an image from memory: nothing is written, and the next reset leads back to what is flashed. It cannot be cut.
    pub async fn boot(&mut self, image: &Image) -> Result<Ack, FastbootError> {
        self.download(&image.whole()).await?;
        self.leave(&Command::new("boot")?).await
    }

    /// Erases a partition.
    pub async fn erase(&mut self, partition: &Partition) -> Result<(), FastbootError> {
        self.run(&Command::new(format!("erase:{partition}"))?, Limits::ERASE).await.map(drop)
    }

    /// Makes a slot the one to boot, and asks whether it became that: some boot loaders say `OKAY` and do nothing. The answer is the slot that is
    /// current now, where the device knows.
    pub async fn set_active(&mut self, slot: Slot) -> Result<Option<Slot>, FastbootError> {
        self.run(&Command::new(format!("set_active:{slot}"))?, Limits::COMMAND).await?;
        let current = self.get("current-slot").await?;
        Ok(current.and_then(|current| Slot::new(&current).ok()))
    }

    /// Runs a command after which the device is gone: `boot`, `continue`, `reboot` and its variants, `powerdown`. Closes the link.
    pub async fn leave(&mut self, command: &Command) -> Result<Ack, FastbootError> {
        match self.run(command, Limits::LEAVE).await {
            Ok(answer) => {
                self.link = None;
                Ok(Ack::Said(answer))
            }
            Err(error) if error.may_have_worked() => Ok(Ack::Lost(error)),
            Err(error) => Err(error),
        }
    }

    /// `max-download-size` in bytes; absent where the device does not say.
    pub async fn most(&mut self) -> Result<Option<u64>, FastbootError> {
        if let Some(most) = self.most {
            return Ok(most);
        }
        let most =
            self.get("max-download-size").await?.and_then(|value| number(&value)).filter(|most| *most > 0);
        self.most = Some(most);
        Ok(most)
    }

    fn begin(&mut self, command: &Command, limits: Limits) -> Result<Exchange, FastbootError> {
        let link = self.link.take().ok_or(FastbootError::Closed)?;
        Ok(Exchange {
            link,
            observer: Arc::clone(&self.observer),
            opened: self.opened,
            command: command.clone(),
            limits,
            said: Vec::new(),
        })
    }

    /// Keeps the link where the device is known to wait for the next command.
    fn end(
        &mut self,
        exchange: Exchange,
        answer: Result<Answer, FastbootError>,
    ) -> Result<Answer, FastbootError> {
        if matches!(answer, Ok(_) | Err(FastbootError::Refused { .. })) {
            self.link = Some(exchange.link);
        }
        answer
    }
}

/// One command and everything up to its last answer.
struct Exchange {
    link: Box<dyn Link>,
    observer: Observer,
    opened: Instant,
    command: Command,
    limits: Limits,
    said: Vec<String>,
}

impl Exchange {
    /// Runs a part of it within the total limit.
    async fn within(
        &mut self,
        part: impl AsyncFnOnce(&mut Self) -> Result<Answer, FastbootError>,
    ) -> Result<Answer, FastbootError> {
        let limit = self.limits.total;
        match timeout(limit, part(self)).await {
            Ok(answer) => answer,
            Err(_) => Err(FastbootError::TooSlow { command: self.command.to_string(), limit }),
        }
    }

    async fn command_to_end(&mut self) -> Result<Answer, FastbootError> {
        self.send().await?;
        match self.last_reply().await? {
            Reply::Okay(value) => Ok(Answer { value, said: std::mem::take(&mut self.said) }),
            reply => Err(self.unexpected(&reply)),
        }
    }

    async fn download(&mut self, piece: Piece) -> Result<Answer, FastbootError> {
        let size = piece.size();
        self.send().await?;
        match self.last_reply().await? {
            Reply::Data(room) if u64::from(room) == size => {}
            Reply::Data(room) => {
                return Err(self.wrong(format!("it takes {room} bytes where {size} are to come")));
            }
            reply => return Err(self.unexpected(&reply)),
        }
        self.data(piece).await?;
        self.observe(MessageKind::Sent, size.to_string());
        match self.last_reply().await? {
            Reply::Okay(value) => Ok(Answer { value, said: std::mem::take(&mut self.said) }),
            reply => Err(self.unexpected(&reply)),
        }
    }

    /// Sends a piece while the next chunk of it is read.
    async fn data(&mut self, piece: Piece) -> Result<(), FastbootError> {
        let (to_link, mut chunks) = mpsc::channel(1);
        let reader = tokio::task::spawn_blocking(move || {
            // Nobody listens any more where the link broke.
            piece.read(CHUNK, |chunk| to_link.blocking_send(chunk).is_ok())
        });
        while let Some(chunk) = chunks.recv().await {
            let sent = timeout(self.limits.idle, self.link.send_data(&chunk)).await;
            sent.map_err(|_| self.silent())??;
        }
        match reader.await {
            Ok(read) => read.map_err(FastbootError::Read),
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }

    async fn send(&mut self) -> Result<(), FastbootError> {
        self.observe(MessageKind::Command, self.command.to_string());
        let bytes = self.command.as_str().to_owned();
        match timeout(self.limits.idle, self.link.send(bytes.as_bytes())).await {
            Ok(sent) => Ok(sent?),
            Err(_) => Err(self.silent()),
        }
    }

    /// The next answer after which the device says no more by itself. A refusal is an error.
    async fn last_reply(&mut self) -> Result<Reply, FastbootError> {
        loop {
            let packet = match timeout(self.limits.idle, self.link.receive()).await {
                Ok(packet) => packet?,
                Err(_) => return Err(self.silent()),
            };
            let failed = |source| FastbootError::Reply { command: self.command.to_string(), source };
            match Reply::parse(&packet).map_err(failed)? {
                Reply::Info(line) => self.hear(MessageKind::Info, line),
                Reply::Text(text) => self.hear(MessageKind::Text, text),
                Reply::Fail(reason) => {
                    self.observe(MessageKind::Fail, reason.clone());
                    return Err(self.refused(&reason));
                }
                Reply::Okay(value) => {
                    self.observe(MessageKind::Okay, value.clone());
                    return Ok(Reply::Okay(value));
                }
                Reply::Data(size) => {
                    self.observe(MessageKind::Data, size.to_string());
                    return Ok(Reply::Data(size));
                }
            }
        }
    }

    fn hear(&mut self, kind: MessageKind, text: String) {
        self.observe(kind, text.clone());
        self.said.push(text);
    }

    fn observe(&self, kind: MessageKind, text: String) {
        (self.observer)(&Message { at: self.opened.elapsed(), kind, text });
    }

    fn refused(&mut self, reason: &str) -> FastbootError {
        let reason = match reason.trim() {
            "" => "it gives no reason".to_owned(),
            reason => reason.to_owned(),
        };
        FastbootError::Refused {
            command: self.command.to_string(),
            reason,
            said: std::mem::take(&mut self.said),
        }
    }

    fn silent(&self) -> FastbootError {
        FastbootError::Silent { command: self.command.to_string(), waited: self.limits.idle }
    }

    fn unexpected(&self, reply: &Reply) -> FastbootError {
        self.wrong(format!("{reply:?} is not due here"))
    }

    fn wrong(&self, detail: String) -> FastbootError {
        FastbootError::Unexpected { command: self.command.to_string(), detail }
    }
}
