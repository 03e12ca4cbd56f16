//! Ctrl-C: the first asks everything to end in order, the second ends kab at once.

use crate::exit::{Exit, Failure};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a runtime may take to wind down once the work is over.
const WIND_DOWN: Duration = Duration::from_secs(3);

/// Runs a task on a runtime of its own with a token that Ctrl-C, SIGTERM and a closed terminal cancel.
pub(crate) fn block_on<F: Future<Output = Result<Exit, Failure>>>(
    task: impl FnOnce(CancellationToken) -> F,
) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Lab, format!("cannot start the runtime: {error}")))?;
    let cancel = CancellationToken::new();
    let result = runtime.block_on(async {
        let watcher = tokio::spawn(watch(cancel.clone()));
        let result = task(cancel).await;
        watcher.abort();
        result
    });
    runtime.shutdown_timeout(WIND_DOWN);
    result
}

async fn watch(cancel: CancellationToken) {
    interrupted().await;
    cancel.cancel();
    crate::escape::print_err("kab: stopping in order: fio, board, log; press Ctrl-C again to stop at once\n");
    interrupted().await;
    // Children are on lifelines: they end with this process, however it ends.
    std::process::exit(130);
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
