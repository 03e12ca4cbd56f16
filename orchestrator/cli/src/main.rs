//! `kab`: a performance lab for Linux kernel patches.

mod args;
mod builder;
mod carry;
mod commands;
mod draft;
mod escape;
mod exit;
mod input;
mod interrupt;
mod known;
mod places;
mod progress;
mod resolve;
mod resume;

use clap::Parser;
use exit::Exit;

fn main() -> std::process::ExitCode {
    kab_lifeline::main_hook();
    let arguments = args::Arguments::parse();
    match commands::dispatch(arguments) {
        Ok(exit) => exit.code(),
        Err(failure) => {
            failure.print();
            failure.exit.code()
        }
    }
}

/// Prints results, without control characters. A broken pipe is success: whoever read the output has seen enough.
fn print_out(text: &str) -> Result<(), exit::Failure> {
    use std::io::Write;
    let text = escape::printable(text);
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            Err(exit::Failure::new(Exit::Usage, format!("cannot write to standard output: {error}")))
        }
    }
}
