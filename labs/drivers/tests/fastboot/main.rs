//! The fastboot client against devices of our own, and the usual client against the same ones.
#![allow(clippy::unwrap_used)]

mod device;

use device::{Device, Fault, MOST, Weather};
use kab_drivers::fastboot::{
    Ack, Address, Command, Fastboot, FastbootError, Image, Limits, LinkError, Message, MessageKind, Observer,
    Partition, Slot,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::NamedTempFile;

const SUNNY: Weather = Weather { loss: 0, doubled: 0, late: 0 };
const STORM: Weather = Weather { loss: 15, doubled: 15, late: 15 };

fn nobody() -> Observer {
    Arc::new(|_: &Message| {})
}

fn image(size: usize) -> (NamedTempFile, Image, Vec<u8>) {
    let content: Vec<u8> = (0..size).map(|n| (n * 31 % 251) as u8).collect();
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &content).unwrap();
    let image = Image::open(file.path()).unwrap();
    (file, image, content)
}

async fn over_tcp(fault: Fault) -> (Device, Result<Fastboot, FastbootError>) {
    let device = Device::tcp(fault).await;
    let client = Fastboot::connect(&Address::Tcp(device.address.to_string()), nobody()).await;
    (device, client)
}

async fn over_udp(fault: Fault, weather: Weather, seed: u64) -> (Device, Result<Fastboot, FastbootError>) {
    let device = Device::udp(fault, weather, seed).await;
    let client = Fastboot::connect(&Address::Udp(device.address.to_string()), nobody()).await;
    (device, client)
}

fn boot_b() -> Partition {
    Partition::new("boot_b").unwrap()
}

/// Everything that a healthy device does.
async fn a_whole_session(device: &Device, mut client: Fastboot) {
    assert_eq!(client.get("version").await.unwrap().as_deref(), Some("0.4"));
    assert_eq!(client.get("product").await.unwrap().as_deref(), Some("simboard"));
    for unknown in ["serialno", "secure", "no-such-variable"] {
        assert_eq!(client.get(unknown).await.unwrap(), None, "{unknown}");
    }
    assert_eq!(client.most().await.unwrap(), Some(MOST as u64));
    for size in [1, 4096, MOST, MOST + 1, 200_000] {
        let (_file, image, content) = image(size);
        client.erase(&boot_b()).await.unwrap();
        client.flash(&boot_b(), &image).await.unwrap();
        let state = device.state.lock().unwrap();
        assert_eq!(state.partitions["boot_b"][..size], content[..], "{size} bytes");
        assert!(state.partitions["boot_a"].iter().all(|byte| *byte == 1));
    }
    assert_eq!(client.set_active(Slot::new("b").unwrap()).await.unwrap(), Some(Slot::new("b").unwrap()));
    let refused = client.run(&Command::new("flashing unlock").unwrap(), Limits::COMMAND).await.unwrap_err();
    assert_eq!(refused.to_string(), "the device refuses \"flashing unlock\": unknown command");
    let (_file, too_large, _) = image(MOST + 1);
    let sent = device.state.lock().unwrap().commands.len();
    let error = client.boot(&too_large).await.unwrap_err();
    assert_eq!(error.to_string(), "the image has 65537 bytes, and the device takes 65536 at once");
    assert_eq!(device.state.lock().unwrap().commands.len(), sent, "nothing was sent");
    let (_file, image, content) = image(50_000);
    assert!(matches!(client.boot(&image).await.unwrap(), Ack::Said(_)));
    assert_eq!(device.state.lock().unwrap().booted.as_deref(), Some(&content[..]));
    assert!(matches!(client.get("version").await, Err(FastbootError::Closed)));
}

#[tokio::test]
async fn a_whole_session_over_tcp() {
    for fault in [Fault::None, Fault::Sloppy, Fault::Chatty] {
        let (device, client) = over_tcp(fault).await;
        a_whole_session(&device, client.unwrap()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_whole_session_over_udp() {
    for fault in [Fault::None, Fault::Sloppy, Fault::Chatty] {
        let (device, client) = over_udp(fault, SUNNY, 1).await;
        a_whole_session(&device, client.unwrap()).await;
    }
}

/// Time is simulated: what is lost costs half a second each, and there are thousands.
#[tokio::test(start_paused = true)]
async fn udp_survives_loss_doubling_and_disorder() {
    for seed in 0..12 {
        let device = Device::udp(Fault::None, STORM, seed).await;
        let address = Address::Udp(device.address.to_string());
        // The greeting gives up after four packets, as nobody may be there.
        let client = loop {
            match Fastboot::connect(&address, nobody()).await {
                Ok(client) => break client,
                Err(FastbootError::Link(LinkError::Absent { .. })) => {}
                Err(error) => panic!("{error}"),
            }
        };
        a_storm_session(&device, client).await;
    }
}

async fn a_storm_session(device: &Device, mut client: Fastboot) {
    let (_file, image, content) = image(MOST + 5_000);
    client.flash(&boot_b(), &image).await.unwrap();
    assert_eq!(device.state.lock().unwrap().partitions["boot_b"][..content.len()], content[..]);
    let commands = device.state.lock().unwrap().commands.clone();
    assert_eq!(
        commands.iter().filter(|command| *command == "flash:boot_b").count(),
        2,
        "none is done twice: {commands:?}"
    );
}

#[tokio::test]
async fn tcp_devices_with_faults() {
    let flash = Command::new("flash:boot_b").unwrap();
    let short = Limits { idle: Duration::from_millis(150), total: Duration::from_secs(20) };
    let (_file, small, _) = image(10_000);

    let (_device, client) = over_tcp(Fault::GarbageHandshake).await;
    let error = client.err().unwrap().to_string();
    assert!(error.ends_with("does not speak fastboot: its handshake is \"SSH-\""), "{error}");

    let (_device, client) = over_tcp(Fault::HangFlash).await;
    let mut client = client.unwrap();
    let error = client.run(&flash, short).await.unwrap_err();
    assert!(matches!(error, FastbootError::Silent { .. }), "{error}");
    assert!(
        matches!(client.get("version").await, Err(FastbootError::Closed)),
        "nobody knows what the device believes"
    );

    let (_device, client) = over_tcp(Fault::FailFlash).await;
    let mut client = client.unwrap();
    match client.flash(&boot_b(), &small).await.unwrap_err() {
        FastbootError::Refused { reason, said, .. } => {
            assert_eq!(
                (reason.as_str(), said),
                ("Flashing is not allowed in Lock State", vec!["checking".to_owned()])
            );
        }
        other => panic!("{other}"),
    }
    assert!(client.get("version").await.unwrap().is_some(), "a refusal does not end a session");

    for (fault, words) in [
        (
            Fault::ShortData,
            "unexpected answer to \"download:00002710\": it takes 9999 bytes where 10000 are to come",
        ),
        (Fault::OkayForData, "unexpected answer to \"download:00002710\": Okay(\"\") is not due here"),
        (Fault::UnknownTag, "cannot read the answer to \"getvar:max-download-size\""),
        (Fault::EndlessFrame, "an answer of 9223372036854775807 bytes"),
        (Fault::DropData, "is lost"),
    ] {
        let (_device, client) = over_tcp(fault).await;
        let mut client = client.unwrap();
        let error = client.flash(&boot_b(), &small).await.unwrap_err().to_string();
        assert!(error.contains(words), "{fault:?}: {error}");
        assert!(matches!(client.get("version").await, Err(FastbootError::Closed)), "{fault:?}");
    }
}

#[tokio::test]
async fn stubs_of_set_active_show() {
    let (_device, client) = over_tcp(Fault::StubSlots).await;
    let now = client.unwrap().set_active(Slot::new("b").unwrap()).await.unwrap();
    assert_eq!(now, Some(Slot::new("a").unwrap()));
}

#[tokio::test(start_paused = true)]
async fn silence_has_an_end() {
    // Nobody greets.
    let (_device, client) = over_tcp(Fault::NoHandshake).await;
    let error = client.err().unwrap().to_string();
    assert!(error.ends_with("no handshake within 2 s"), "{error}");
    // Nobody is there.
    let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let error = Fastboot::connect(&Address::Udp(free.local_addr().unwrap().to_string()), nobody())
        .await
        .err()
        .unwrap();
    assert!(matches!(error, FastbootError::Link(LinkError::Absent { .. })), "{error}");
    // Lines for ever are not progress for ever: 5 s for a variable.
    let (_device, client) = over_udp(Fault::EndlessInfo, SUNNY, 1).await;
    let error = client.unwrap().get("version").await.unwrap_err();
    assert!(matches!(error, FastbootError::TooSlow { .. } | FastbootError::Silent { .. }), "{error}");
    // A flash that hangs.
    let (_device, client) = over_udp(Fault::HangFlash, SUNNY, 1).await;
    let (_file, small, _) = image(100);
    let error = client.unwrap().flash(&boot_b(), &small).await.unwrap_err();
    assert_eq!(error.to_string(), "no answer to \"flash:boot_b\" within 60 s");
}

#[tokio::test]
async fn a_lost_okay_is_no_failure() {
    let (device, client) = over_tcp(Fault::LostOkay).await;
    let (_file, small, content) = image(100);
    let ack = client.unwrap().boot(&small).await.unwrap();
    assert!(matches!(ack, Ack::Lost(FastbootError::Link(LinkError::Lost { .. }))), "{ack:?}");
    assert_eq!(device.state.lock().unwrap().booted.as_deref(), Some(&content[..]));
}

#[tokio::test(start_paused = true)]
async fn a_lost_okay_is_no_failure_over_udp() {
    let (device, client) = over_udp(Fault::LostOkay, SUNNY, 1).await;
    let ack = client.unwrap().leave(&Command::new("reboot").unwrap()).await.unwrap();
    assert!(matches!(ack, Ack::Lost(_)), "{ack:?}");
    assert_eq!(device.state.lock().unwrap().commands, ["reboot"]);
}

#[tokio::test]
async fn cancelling_closes_the_link() {
    let (_device, client) = over_tcp(Fault::HangFlash).await;
    let mut client = client.unwrap();
    let command = Command::new("flash:boot_b").unwrap();
    let running = client.run(&command, Limits::FLASH);
    assert!(tokio::time::timeout(Duration::from_millis(100), running).await.is_err());
    assert!(matches!(client.get("version").await, Err(FastbootError::Closed)));
}

#[tokio::test]
async fn every_message_is_seen_in_order() {
    let seen: Arc<Mutex<Vec<(MessageKind, String)>>> = Arc::default();
    let into = Arc::clone(&seen);
    let observer: Observer = Arc::new(move |message: &Message| {
        into.lock().unwrap().push((message.kind, message.text.clone()));
    });
    let device = Device::tcp(Fault::Chatty).await;
    let mut client = Fastboot::connect(&Address::Tcp(device.address.to_string()), observer).await.unwrap();
    let (_file, small, _) = image(100);
    client.flash(&boot_b(), &small).await.unwrap();
    let seen: Vec<String> =
        seen.lock().unwrap().iter().map(|(kind, text)| format!("{kind:?} {text}")).collect();
    let expected = [
        "Command getvar:max-download-size",
        "Okay 65536",
        "Command download:00000064",
        "Data 100",
        "Sent 100",
        "Okay ",
        "Command flash:boot_b",
        "Text erasing ",
        "Text done\n",
        "Info writing 1/1",
        "Okay ",
    ];
    assert_eq!(seen, expected);
}

/// Debian's client believes our device, so that the device is no invention of ours.
#[tokio::test(flavor = "multi_thread")]
async fn the_usual_client_takes_the_device_for_one() {
    let device = Device::tcp(Fault::None).await;
    // Whole blocks: its version 29 writes broken sparse pieces of anything else.
    let (file, _, content) = image(36 * 4096);
    let to = format!("tcp:{}", device.address);
    let path = file.path().to_str().unwrap().to_owned();
    let run = move |arguments: Vec<String>| {
        let to = to.clone();
        async move {
            let mut client = tokio::process::Command::new("fastboot");
            client.arg("-s").arg(to).args(arguments).kill_on_drop(true).stdin(std::process::Stdio::null());
            let output = tokio::time::timeout(Duration::from_secs(60), client.output()).await.unwrap();
            output.expect("the package fastboot is installed")
        }
    };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let said = run(words("getvar product")).await;
    assert!(String::from_utf8_lossy(&said.stderr).contains("product: simboard"), "{said:?}");
    let flashed = run(vec!["flash".into(), "boot_b".into(), path]).await;
    assert!(flashed.status.success(), "{flashed:?}");
    assert_eq!(device.state.lock().unwrap().partitions["boot_b"][..content.len()], content[..]);
}
