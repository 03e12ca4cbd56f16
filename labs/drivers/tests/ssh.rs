//! The SSH client against a real Dropbear on the loopback interface.
//!
//! Dropbear reads `authorized_keys` from the home folder of the user who runs it, so it lives in a mount name space of its
//! own, with a temporary folder in the home's place. That takes root, or a kernel that lets users make name spaces.
#![allow(clippy::unwrap_used, missing_docs)]

use kab_drivers::{BoardKeys, Ssh, SshError, SshTarget};
use kab_lifeline::{Child, Command, Lifeline};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

struct Server {
    /// Killed with its sessions when dropped.
    process: Child,
    target: SshTarget,
    _folder: TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = BoardKeys::load_or_make(&folder.path().join("keys")).unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::write(home.join(".ssh/authorized_keys"), keys.authorized()).unwrap();
        let private = |path: &Path| {
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        };
        private(&home);
        private(&home.join(".ssh"));
        let host_key = folder.path().join("host_key");
        std::fs::write(&host_key, keys.host_for_dropbear()).unwrap();

        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let user = stdout_of("id", &["-un"]);
        let passwd = stdout_of("getent", &["passwd", &user]);
        let real_home = passwd.split(':').nth(5).unwrap();
        let name_space: &[&str] = if user == "root" {
            &["--mount"]
        } else {
            &["--user", "--map-current-user", "--keep-caps", "--mount"]
        };
        let script = "mount --bind \"$1\" \"$2\" && exec dropbear -F -E -s -m -p \"127.0.0.1:$3\" -r \"$4\" -P \"$1/pid\"";
        let command = Command::new("unshare")
            .args(name_space)
            .args(["sh", "-c", script, "sh"])
            .args([home.as_os_str(), real_home.as_ref(), port.to_string().as_ref(), host_key.as_os_str()])
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let process = Lifeline::from_program(env!("CARGO_BIN_EXE_board-probe")).spawn(command).unwrap();
        let target = SshTarget {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            user,
            key: keys.client.clone(),
            host_key: keys.host_public(),
            keepalive: SshTarget::KEEPALIVE,
            start: SshTarget::START,
        };
        Self { process, target, _folder: folder }
    }

    /// Waits until the server is up.
    async fn connect(&mut self) -> Ssh {
        self.connect_to(&self.target.clone()).await
    }

    async fn connect_to(&mut self, target: &SshTarget) -> Ssh {
        let end = Instant::now() + PATIENCE;
        loop {
            match Ssh::connect(target).await {
                Ok(ssh) => return ssh,
                Err(error @ SshError::Connect { .. }) => assert!(Instant::now() < end, "{error:?}"),
                Err(error) => panic!("{error:?}"),
            }
            let ended = self.process.wait_timeout(Duration::from_millis(20)).unwrap();
            assert_eq!(ended, None, "Dropbear, or the name space for it, did not start");
        }
    }
}

fn stdout_of(program: &str, args: &[&str]) -> String {
    let output = std::process::Command::new(program).args(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

async fn all(mut from: impl tokio::io::AsyncRead + Unpin) -> String {
    let mut text = String::new();
    timeout(PATIENCE, from.read_to_string(&mut text)).await.expect("the stream ends").unwrap();
    text
}

/// What to await after a loss, and whether that has happened.
fn loss() -> (impl Future<Output = ()> + Send + 'static, Arc<AtomicBool>) {
    let told = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&told);
    (async move { tell.store(true, Ordering::SeqCst) }, told)
}

#[tokio::test]
async fn streams_are_apart_and_dropped_input_is_the_end() {
    let mut server = Server::start();
    let mut ssh = server.connect().await;
    let (after_loss, lost) = loss();
    let mut channel = ssh.open("cat; echo two >&2", after_loss).await.unwrap();
    channel.stdin.write_all(b"one\n").await.unwrap();
    drop(channel.stdin);
    let (out, err) = tokio::join!(all(channel.stdout), all(channel.stderr));
    assert_eq!((out.as_str(), err.as_str()), ("one\n", "two\n"));
    assert!(!lost.load(Ordering::SeqCst));
    // The connection is good for more.
    let channel = ssh.open("exit 3", async {}).await.unwrap();
    assert_eq!(all(channel.stdout).await, "");
    assert!(!ssh.is_closed());
}

/// Of some hundred, a few end before the server has confirmed them.
#[tokio::test]
async fn short_commands_are_complete_however_their_messages_arrive() {
    let mut server = Server::start();
    let mut ssh = server.connect().await;
    for _ in 0..200 {
        let (after_loss, lost) = loss();
        let channel = ssh.open("echo short", after_loss).await.unwrap();
        assert_eq!(all(channel.stdout).await, "short\n");
        assert!(!lost.load(Ordering::SeqCst), "a command that ended is taken for a lost link");
    }
}

#[tokio::test]
async fn megabytes_come_back_as_they_went() {
    let mut server = Server::start();
    let mut ssh = server.connect().await;
    let channel = ssh.open("cat", async {}).await.unwrap();
    let sent: Vec<u8> = (0..8_u32 << 20).map(|n| (n ^ (n >> 8) ^ (n >> 16)) as u8).collect();
    let (mut stdin, mut stdout) = (channel.stdin, channel.stdout);
    let writing = async {
        stdin.write_all(&sent).await.unwrap();
        drop(stdin);
    };
    let mut received = Vec::new();
    let (read, ()) = tokio::join!(stdout.read_to_end(&mut received), writing);
    read.unwrap();
    assert!(received == sent, "{} of {} bytes, or others", received.len(), sent.len());
}

#[tokio::test]
async fn who_does_not_read_holds_up_who_writes() {
    let mut server = Server::start();
    let mut ssh = server.connect().await;
    let mut channel = ssh.open("sleep 1000", async {}).await.unwrap();
    let much = vec![0; 64 << 20];
    timeout(Duration::from_secs(1), channel.stdin.write_all(&much)).await.expect_err("64 MB found room");
    drop(channel);
    drop(ssh);
}

#[tokio::test]
async fn another_host_key_is_refused() {
    let mut server = Server::start();
    drop(server.connect().await);
    let elsewhere = tempfile::tempdir().unwrap();
    let others = BoardKeys::load_or_make(elsewhere.path()).unwrap();
    let target = SshTarget { host_key: others.host_public(), ..server.target.clone() };
    let error = Ssh::connect(&target).await.err().unwrap();
    assert!(matches!(error, SshError::HostKey { .. }), "{error:?}");
}

#[tokio::test]
async fn another_client_key_is_refused() {
    let mut server = Server::start();
    drop(server.connect().await);
    let elsewhere = tempfile::tempdir().unwrap();
    let others = BoardKeys::load_or_make(elsewhere.path()).unwrap();
    let target = SshTarget { key: others.client, ..server.target.clone() };
    let error = Ssh::connect(&target).await.err().unwrap();
    assert!(matches!(error, SshError::Refused { .. }), "{error:?}");
}

#[tokio::test]
async fn nobody_there_is_an_error_to_try_again_after() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let keys = BoardKeys::load_or_make(folder.path()).unwrap();
    let target = SshTarget {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        user: "root".into(),
        key: keys.client.clone(),
        host_key: keys.host_public(),
        keepalive: SshTarget::KEEPALIVE,
        start: SshTarget::START,
    };
    let error = Ssh::connect(&target).await.err().unwrap();
    assert!(matches!(error, SshError::Connect { .. }), "{error:?}");
}

#[tokio::test]
async fn a_lost_link_ends_the_streams_after_the_callback() {
    let mut server = Server::start();
    let mut ssh = server.connect().await;
    let (after_loss, lost) = loss();
    // The command kills its own session's server, which can say nothing any more.
    let channel = ssh.open("echo up; kill -KILL $PPID; sleep 1000", after_loss).await.unwrap();
    assert!("up\n".starts_with(&all(channel.stdout).await));
    assert!(lost.load(Ordering::SeqCst));
    assert!(ssh.open("true", async {}).await.is_err());
}

#[tokio::test]
async fn a_silent_server_is_noticed() {
    let mut server = Server::start();
    let target = SshTarget { keepalive: Duration::from_millis(200), ..server.target.clone() };
    let mut ssh = server.connect_to(&target).await;
    // The command stops its own session's server: the connection stays open, and nobody answers.
    let channel = ssh.open("echo up; kill -STOP $PPID; sleep 1000", async {}).await.unwrap();
    assert!("up\n".starts_with(&all(channel.stdout).await));
    assert!(ssh.open("true", async {}).await.is_err());
}

#[tokio::test]
async fn a_command_that_does_not_start_is_given_up() {
    let mut server = Server::start();
    let target = SshTarget { start: Duration::from_millis(300), ..server.target.clone() };
    let mut ssh = server.connect_to(&target).await;
    // Told to, the command stops its own session's server. The keepalives are too slow to notice.
    let mut channel = ssh.open("read go; kill -STOP $PPID; sleep 1000", async {}).await.unwrap();
    channel.stdin.write_all(b"go\n").await.unwrap();
    let end = Instant::now() + PATIENCE;
    // Seen once in some hundred runs of dropbear: the channel of a command as short as this one is closed and never
    // confirmed.
    let error = loop {
        match ssh.open("true", async {}).await {
            Err(error) if !error.to_string().contains("closed the channel") => break error,
            _ => assert!(Instant::now() < end, "the server goes on"),
        }
    };
    assert_eq!(error.to_string(), "no command starts over SSH within 0.3 s");
    assert!(!ssh.is_closed(), "a dead link ended it, not the time limit");
}
