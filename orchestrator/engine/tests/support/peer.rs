//! The other end of the link: speaks as the agent does, in memory, with scripted trials.

use super::board::Fate;
use kab_board::{BootRequest, ExecChannel};
use kab_wire::{
    Arg, Decoder, ErrorCode, Exit, Frame, Identity, KernelLog, PROTOCOL, Stream, StreamInfo, Target, ToAgent,
    ToHost, TrialDone,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// How a trial goes.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialFate {
    Well,
    /// The kernel complained and went on.
    Noted,
    /// fio outlived its deadline.
    Hang,
    /// fio was killed, which no variant does.
    Killed,
    /// The kernel panics: the link breaks and the console tells.
    Panic,
    /// The agent ends and the machine is well.
    AgentLost,
    /// The link breaks and nobody answers any more.
    LinkLost,
    /// The connection breaks, and no new one can be had.
    CutOff,
    /// Something on the host ends the machine.
    MachineKilled,
    /// The link breaks amid the evidence.
    CutEvidence,
    /// The agent falls silent.
    Silence,
    /// The agent refuses.
    Refused(ErrorCode),
}

/// How the machine is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Condition {
    #[default]
    Well,
    Hung,
    CutOff,
    Panicked,
    Killed,
}

/// What a real fio wrote for [`ARGV`].
const OUTPUT: &[u8] = include_bytes!("../fixtures/fio-output.json");
const ARGV: [&str; 9] = [
    "fio",
    "--output-format=json+",
    "--name=w",
    "--rw=randread",
    "--bs=4k",
    "--runtime=2",
    "--time_based",
    "--numjobs=2",
    "--group_reporting",
];
const NOTE: &[u8] = b"4,7,1,-;INFO: task fio:411 blocked for more than 120 seconds.\n";

/// One boot's agent.
#[derive(Clone)]
pub struct Peer {
    identity: Identity,
    no_target: Option<ErrorCode>,
    trials: VecDeque<TrialFate>,
    condition: Arc<Mutex<Condition>>,
}

/// The link is to be broken.
struct Broken;

impl Peer {
    pub fn new(fate: &Fate, request: &BootRequest, boot: usize, condition: Arc<Mutex<Condition>>) -> Self {
        let kernel = request.image.file_name().unwrap().to_str().unwrap();
        let build_id = if *fate == Fate::OtherKernel { "id-other".into() } else { format!("id-{kernel}") };
        let cmdline =
            if *fate == Fate::NoStamp { "quiet".into() } else { format!("quiet {}", request.cmdline) };
        let boot_id = if *fate == Fate::OldBoot { boot - 1 } else { boot };
        let identity = Identity {
            boot_id: format!("boot-{boot_id}"),
            build_id: Some(build_id),
            cmdline,
            release: "6.15.0".into(),
            version: "#1".into(),
            machine: "x86_64".into(),
            cpus: 2,
            memory: 1 << 30,
            fio: (*fate != Fate::NoFio).then(|| "fio-3.33".into()),
        };
        let trials = if let Fate::Trials(trials) = fate { trials.clone().into() } else { VecDeque::new() };
        let no_target = if let Fate::NoTarget(code) = fate { Some(*code) } else { None };
        Self { identity, no_target, trials, condition }
    }

    /// Runs on a task of its own until the host goes or the link breaks.
    pub fn start(self) -> ExecChannel {
        let (stdin, input) = tokio::io::duplex(1 << 16);
        let (output, stdout) = tokio::io::duplex(1 << 16);
        tokio::spawn(self.serve(input, output));
        ExecChannel { stdin: Box::new(stdin), stdout: Box::new(stdout), stderr: Box::new(tokio::io::empty()) }
    }

    async fn serve(mut self, mut input: DuplexStream, mut output: DuplexStream) {
        let mut header = Vec::new();
        while let Ok(byte) = input.read_u8().await {
            if byte == b'\n' {
                break;
            }
            header.push(byte);
        }
        let digest = String::from_utf8(header).unwrap().split(' ').next().unwrap().to_owned();
        output.write_all(b"Welcome to the board\nkab have\n").await.unwrap();
        let hello = ToHost::Hello { protocol: PROTOCOL, digest, pid: 7 };
        if say(&mut output, &hello).await.is_err() {
            return;
        }
        let mut decoder = Decoder::new();
        let mut piece = [0; 4096];
        loop {
            while let Some(frame) = decoder.next_frame().unwrap() {
                if self.answer(&mut output, frame.message().unwrap()).await.is_err() {
                    return;
                }
            }
            match input.read(&mut piece).await {
                Ok(length @ 1..) => decoder.push(&piece[..length]),
                _ => return,
            }
        }
    }

    async fn answer(&mut self, output: &mut DuplexStream, message: ToAgent) -> Result<(), Broken> {
        match message {
            ToAgent::Hello { .. } => Ok(()),
            ToAgent::Identify => say(output, &ToHost::Identity { identity: self.identity.clone() }).await,
            ToAgent::FindTarget { listed } => {
                if let Some(code) = self.no_target {
                    return refuse(output, code).await;
                }
                let (path, size) = ("/dev/nvme0n1".into(), listed.size());
                let target = Target { path, size, model: None, logical_block: Some(512), block: true };
                say(output, &ToHost::Target { target }).await
            }
            ToAgent::RunTrial { request } => {
                assert!(request.args.contains(&Arg::Text("--bs=4k".into())), "{request:?}");
                let fate = self.trials.pop_front().unwrap_or(TrialFate::Well);
                self.trial(output, fate).await
            }
            ToAgent::Cancel | ToAgent::Bye => Err(Broken),
        }
    }

    async fn trial(&mut self, output: &mut DuplexStream, fate: TrialFate) -> Result<(), Broken> {
        if let TrialFate::Refused(code) = fate {
            return refuse(output, code).await;
        }
        say(output, &ToHost::Progress { elapsed_ms: 1000 }).await?;
        match fate {
            TrialFate::Noted => done(output, Exit::Code(0), OUTPUT, NOTE).await,
            TrialFate::Hang => done(output, Exit::Deadline, b"", b"").await,
            TrialFate::Killed => done(output, Exit::Signal(9), b"", b"").await,
            TrialFate::AgentLost => Err(Broken),
            TrialFate::LinkLost => self.broken(Condition::Hung),
            TrialFate::CutOff => self.broken(Condition::CutOff),
            TrialFate::Panic => self.broken(Condition::Panicked),
            TrialFate::MachineKilled => self.broken(Condition::Killed),
            TrialFate::CutEvidence => {
                let stream = StreamInfo { stream: Stream::Output, length: 10, total: 10 };
                announce(output, Exit::Code(0), vec![stream]).await?;
                chunk(output, Stream::Output, b"half").await?;
                Err(Broken)
            }
            TrialFate::Silence => std::future::pending().await,
            TrialFate::Well | TrialFate::Refused(_) => done(output, Exit::Code(0), OUTPUT, b"").await,
        }
    }

    fn broken(&self, condition: Condition) -> Result<(), Broken> {
        *self.condition.lock().unwrap() = condition;
        Err(Broken)
    }
}

async fn done(output: &mut DuplexStream, exit: Exit, fio: &[u8], kernel_log: &[u8]) -> Result<(), Broken> {
    let parts = [(Stream::Output, fio), (Stream::KernelLog, kernel_log)];
    let info = |(stream, bytes): (Stream, &[u8])| {
        let length = bytes.len() as u64;
        StreamInfo { stream, length, total: length }
    };
    announce(output, exit, parts.map(info).to_vec()).await?;
    for (stream, bytes) in parts.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
        chunk(output, stream, bytes).await?;
    }
    Ok(())
}

async fn announce(output: &mut DuplexStream, exit: Exit, streams: Vec<StreamInfo>) -> Result<(), Broken> {
    let done = TrialDone {
        argv: ARGV.map(str::to_owned).to_vec(),
        exit,
        wall_ms: 2636,
        proc_stat: Some(("cpu  100 0 100 1000 0 0 0 0 0 0".into(), "cpu  200 0 200 1200 0 0 0 0 0 0".into())),
        kernel_log: KernelLog::Complete,
        streams,
    };
    say(output, &ToHost::TrialDone { done }).await
}

async fn refuse(output: &mut DuplexStream, code: ErrorCode) -> Result<(), Broken> {
    say(output, &ToHost::Error { code, message: format!("refused: {code:?}") }).await
}

async fn say(output: &mut DuplexStream, message: &ToHost) -> Result<(), Broken> {
    send(output, &Frame::control(message).unwrap()).await
}

async fn chunk(output: &mut DuplexStream, stream: Stream, bytes: &[u8]) -> Result<(), Broken> {
    send(output, &Frame::Chunk { stream, bytes: bytes.to_vec() }).await
}

async fn send(output: &mut DuplexStream, frame: &Frame) -> Result<(), Broken> {
    output.write_all(&frame.encode().unwrap()).await.map_err(|_| Broken)
}
