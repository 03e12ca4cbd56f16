//! Ctrl-C: the first asks everything to end in order, the second to end without waiting for the board, the third ends kab.

use crate::exit::{Exit, Failure};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a runtime may take to wind down once the work is over.
const WIND_DOWN: Duration = Duration::from_secs(3);

/// How a user wants the work to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    /// In order: fio is stopped, the board put back and shut down, the log closed.
    pub(crate) in_order: CancellationToken,
    /// The board is not waited for any more.
    pub(crate) hurry: CancellationToken,
}

/// Runs a task on a runtime of its own with tokens that Ctrl-C, SIGTERM and a closed terminal cancel.
pub(crate) fn block_on<F: Future<Output = Result<Exit, Failure>>>(
    task: impl FnOnce(Stop) -> F,
) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Lab, format!("cannot start the runtime: {error}")))?;
    let stop = Stop::default();
    let result = runtime.block_on(async {
        let watcher = tokio::spawn(watch(stop.clone()));
        let result = task(stop).await;
        watcher.abort();
        result
    });
    runtime.shutdown_timeout(WIND_DOWN);
    result
}

async fn watch(stop: Stop) {
    interrupted().await;
    stop.in_order.cancel();
    say("stopping in order: fio, board, log; Ctrl-C again does not wait for the board");
    interrupted().await;
    stop.hurry.cancel();
    say("cutting the board's power, closing the log; Ctrl-C again ends kab at once");
    interrupted().await;
    say("ended at once; the same command goes on with what is on disk");
    // Children are on lifelines: they end with this process, however it ends.
    std::process::exit(130);
}

fn say(text: &str) {
    crate::escape::print_err(&format!("kab: {text}\n"));
}

async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut hangup)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = term.recv() => {}
        _ = hangup.recv() => {}
    }
}
