//! The on-board program of kab: holds the target, runs fio, collects evidence.
//!
//! Frames of `kab-wire` come in on standard input and go out on standard output; standard error is the log. The program
//! ends with its channel: at end of file a running fio is stopped first, and where the agent itself is killed its
//! lifeline ends fio. Nothing stays behind on the board but the program file under its digest.

mod folder;
mod identity;
mod kmsg;
mod log;
mod ports;
mod refusal;
mod remains;
mod serve;
mod sysfs;
mod target;
mod trial;

use std::process::ExitCode;

fn main() -> ExitCode {
    kab_lifeline::main_hook();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => serve(),
        ["--version"] => {
            println!("kab-agent {} (protocol {})", env!("CARGO_PKG_VERSION"), kab_wire::PROTOCOL);
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!(
                "usage: kab-agent serve | --version\nkab pushes and starts this program; it is of no use by hand"
            );
            ExitCode::from(2)
        }
    }
}

fn serve() -> ExitCode {
    match serve::serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::note(format_args!("{error}"));
            ExitCode::FAILURE
        }
    }
}
