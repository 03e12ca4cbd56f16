//! Frames and messages survive the way through bytes, in whatever pieces, and foreign bytes do no harm.
#![allow(clippy::unwrap_used)]

use kab_wire::{
    Arg, Decoder, ErrorCode, Exit, Frame, FrameError, Identity, KernelLog, Listed, MAX_CHUNK, MAX_CONTROL,
    Stream, StreamInfo, Target, ToAgent, ToHost, TrialDone, TrialRequest,
};
use proptest::prelude::*;

fn listed() -> impl Strategy<Value = Listed> {
    prop_oneof![
        (".*", any::<u64>()).prop_map(|(serial, size)| Listed::Serial { serial, size }),
        (".*", any::<u64>()).prop_map(|(address, size)| Listed::Pci { address, size }),
        (".*", any::<u64>()).prop_map(|(path, size)| Listed::File { path, size }),
    ]
}

fn to_agent() -> impl Strategy<Value = ToAgent> {
    let arg = prop_oneof![
        ".*".prop_map(Arg::Text),
        "--[a-z]+=".prop_map(Arg::Target),
        "--[a-z]+=".prop_map(Arg::Output)
    ];
    let request = (prop::collection::vec(arg, 0..8), listed(), any::<bool>(), any::<u64>())
        .prop_map(|(args, target, writes, deadline_ms)| TrialRequest { args, target, writes, deadline_ms });
    prop_oneof![
        any::<u32>().prop_map(|protocol| ToAgent::Hello { protocol }),
        Just(ToAgent::Identify),
        listed().prop_map(|listed| ToAgent::FindTarget { listed }),
        request.prop_map(|request| ToAgent::RunTrial { request }),
        Just(ToAgent::Cancel),
        Just(ToAgent::Bye),
    ]
}

fn done() -> impl Strategy<Value = TrialDone> {
    let exit = prop_oneof![
        any::<i32>().prop_map(Exit::Code),
        any::<i32>().prop_map(Exit::Signal),
        Just(Exit::Deadline),
        ".*".prop_map(Exit::NotStarted)
    ];
    let log = prop_oneof![
        Just(KernelLog::Complete),
        any::<u64>().prop_map(|records| KernelLog::Lost { records }),
        ".*".prop_map(KernelLog::Unreadable)
    ];
    let info = (prop::sample::select(&Stream::ALL[..]), any::<u64>(), any::<u64>())
        .prop_map(|(stream, length, total)| StreamInfo { stream, length, total });
    let argv = prop::collection::vec(".*", 0..4);
    (argv, exit, any::<u64>(), prop::option::of((".*", ".*")), log, prop::collection::vec(info, 0..4))
        .prop_map(|(argv, exit, wall_ms, proc_stat, kernel_log, streams)| TrialDone {
            argv,
            exit,
            wall_ms,
            proc_stat,
            kernel_log,
            streams,
        })
}

fn to_host() -> impl Strategy<Value = ToHost> {
    let identity =
        (any::<[String; 5]>(), prop::option::of(".*"), any::<u32>(), any::<u64>(), prop::option::of(".*"))
            .prop_map(|([boot_id, cmdline, release, version, machine], build_id, cpus, memory, fio)| {
                Identity { boot_id, build_id, cmdline, release, version, machine, cpus, memory, fio }
            });
    let target = (".*", any::<u64>(), prop::option::of(".*"), any::<Option<u32>>(), any::<bool>()).prop_map(
        |(path, size, model, logical_block, block)| Target { path, size, model, logical_block, block },
    );
    prop_oneof![
        (any::<u32>(), ".*", any::<u32>()).prop_map(|(protocol, digest, pid)| ToHost::Hello {
            protocol,
            digest,
            pid
        }),
        identity.prop_map(|identity| ToHost::Identity { identity }),
        target.prop_map(|target| ToHost::Target { target }),
        any::<u64>().prop_map(|elapsed_ms| ToHost::Progress { elapsed_ms }),
        done().prop_map(|done| ToHost::TrialDone { done }),
        ".*".prop_map(|message| ToHost::Error { code: ErrorCode::TargetBusy, message }),
    ]
}

fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        to_agent().prop_map(|message| Frame::control(&message).unwrap()),
        to_host().prop_map(|message| Frame::control(&message).unwrap()),
        (prop::sample::select(&Stream::ALL[..]), prop::collection::vec(any::<u8>(), 0..64))
            .prop_map(|(stream, bytes)| Frame::Chunk { stream, bytes }),
    ]
}

/// Decodes all that `pieces` hold.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Frame>, FrameError> {
    let mut decoder = Decoder::new();
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(frame) = decoder.next_frame()? {
            frames.push(frame);
        }
    }
    assert!(!decoder.is_mid_frame());
    Ok(frames)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_to_the_agent_come_back(message in to_agent()) {
        prop_assert_eq!(Frame::control(&message).unwrap().message::<ToAgent>().unwrap(), message);
    }

    #[test]
    fn messages_to_the_host_come_back(message in to_host()) {
        prop_assert_eq!(Frame::control(&message).unwrap().message::<ToHost>().unwrap(), message);
    }

    #[test]
    fn frames_come_back_in_any_pieces(frames in prop::collection::vec(frame(), 0..6), piece in 1usize..40) {
        let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.encode().unwrap()).collect();
        prop_assert_eq!(decode([&bytes[..]]).unwrap(), frames.clone());
        prop_assert_eq!(decode(bytes.chunks(1)).unwrap(), frames.clone());
        prop_assert_eq!(decode(bytes.chunks(piece)).unwrap(), frames);
    }

    #[test]
    fn foreign_bytes_end_in_an_error_or_in_frames(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u8..4) {
        for input in [bytes.clone(), [vec![kind, 0, 0, 0, 9], bytes].concat()] {
            let mut decoder = Decoder::new();
            decoder.push(&input);
            while let Ok(Some(frame)) = decoder.next_frame() {
                let _ = (frame.message::<ToHost>(), frame.message::<ToAgent>());
            }
        }
    }
}

#[test]
fn a_length_over_the_limit_is_refused_before_its_bytes_come() {
    for (kind, limit) in [(1, MAX_CONTROL), (2, MAX_CHUNK + 1)] {
        for (length, refused) in [(limit, false), (limit + 1, true)] {
            let mut decoder = Decoder::new();
            decoder.push(&[kind]);
            decoder.push(&u32::try_from(length).unwrap().to_be_bytes());
            assert_eq!(
                matches!(decoder.next_frame(), Err(FrameError::TooLong { .. })),
                refused,
                "{kind} {length}"
            );
        }
    }
}

#[test]
fn a_frame_over_the_limit_is_not_encoded() {
    let chunk = |length| Frame::Chunk { stream: Stream::Stdout, bytes: vec![0; length] };
    assert!(chunk(MAX_CHUNK).encode().is_ok());
    assert!(matches!(chunk(MAX_CHUNK + 1).encode(), Err(FrameError::TooLong { .. })));
    assert!(matches!(Frame::Control(vec![b' '; MAX_CONTROL + 1]).encode(), Err(FrameError::TooLong { .. })));
}

#[test]
fn text_instead_of_frames_is_noticed_at_its_first_byte() {
    let mut decoder = Decoder::new();
    decoder.push(b"s");
    assert!(matches!(decoder.next_frame(), Err(FrameError::UnknownType(b's'))));
    decoder.push(&Frame::control(&ToAgent::Bye).unwrap().encode().unwrap());
    assert!(matches!(decoder.next_frame(), Err(FrameError::Broken)));
}

#[test]
fn a_chunk_must_name_a_stream() {
    for bytes in [&[2, 0, 0, 0, 0][..], &[2, 0, 0, 0, 1, 4][..]] {
        let mut decoder = Decoder::new();
        decoder.push(bytes);
        assert!(matches!(decoder.next_frame(), Err(FrameError::UnknownStream)));
    }
}

#[test]
fn a_message_of_the_other_direction_is_an_error() {
    let frame = Frame::control(&ToAgent::Bye).unwrap();
    assert!(matches!(frame.message::<ToHost>(), Err(FrameError::Message(_))));
    let chunk = Frame::Chunk { stream: Stream::Output, bytes: Vec::new() };
    assert!(matches!(chunk.message::<ToHost>(), Err(FrameError::NotControl(Stream::Output))));
}
