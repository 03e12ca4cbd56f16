//! `kab build`: build what is missing, and say why.

use crate::args::Files;
use crate::builder::{chain, kernel_line, kernels};
use crate::exit::{Exit, Failure};
use crate::input::{self, Input};
use crate::places::Places;
use crate::progress::{Lines, spoken};
use crate::{interrupt, resolve};
use clap::Args;
use kab_board::HostLease;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Build the kernels of an experiment that are not in the cache
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  kab build ufs.yaml --lab lab.yaml")]
pub(crate) struct Build {
    #[command(flatten)]
    files: Files,
}

pub(crate) fn build(command: &Build, places: &Places) -> Result<Exit, Failure> {
    let input = input::load(&command.files, places)?;
    interrupt::block_on(|stop| build_all(input, places, stop.in_order))
}

async fn build_all(input: Input, places: &Places, cancel: CancellationToken) -> Result<Exit, Failure> {
    let lines = Lines::new();
    let kernels = kernels(places);
    let plan = resolve::plan(&input, &kernels, 0, &lines, &cancel).await?;
    let waiting = |owner: &str| lines.show(&format!("this host is busy measuring: {owner}"));
    let path = Places::host_lease();
    let lease = HostLease::acquire(&path, "kab build", waiting);
    let _lease = tokio::select! {
        () = cancel.cancelled() => return Err(Failure::new(Exit::Interrupted, "interrupted")),
        lease = lease => lease.map_err(crate::exit::lab)?,
    };
    let mut exit = Exit::Done;
    for variant in &plan.variants {
        let report = |step| lines.show(&format!("kernel {:?}: {}", variant.name.0, kernel_line(&step)));
        let built = kernels.build(variant, plan.boards[0].arch(), &report, &cancel).await;
        lines.clear();
        match built {
            Ok(artifact) => {
                let how = if artifact.cached {
                    "already built".to_owned()
                } else {
                    format!("built in {}", spoken(Duration::from_millis(artifact.build_ms)))
                };
                crate::print_out(&format!(
                    "{}: {how}, {}, build-id {}, {}\n",
                    variant.name,
                    artifact.release,
                    artifact.build_id.as_deref().unwrap_or("unknown"),
                    artifact.image.display()
                ))?;
            }
            Err(error) if error.is_cancelled() => return Err(Failure::new(Exit::Interrupted, "interrupted")),
            Err(error) => {
                exit = Exit::Build;
                lines.say(&format!("kab: variant {:?}: {}", variant.name.0, chain(&error)));
            }
        }
    }
    Ok(exit)
}
