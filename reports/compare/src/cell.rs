//! What a result was measured with: the cell that it belongs to.

use kab_fio::{Job, Report, parse_size};

/// The cell of a direction of a job, such as `randread 4k qd32 x4`; for mixed jobs with the direction. Without options, as in
/// terse output and excerpts, the job's name stands for them.
pub(crate) fn label(report: &Report, job: &Job, direction: &str) -> String {
    let option = |names: &[&str]| {
        let own = job.options.iter().rev().chain(report.options.iter().rev());
        own.filter(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value.as_str()).next()
    };
    let Some(rw) = option(&["rw", "readwrite"]) else {
        let name = if job.name.is_empty() { "fio" } else { &job.name };
        return format!("{name} {direction}");
    };
    let mut label = rw.to_owned();
    let sizes = option(&["bs", "blocksize"]).unwrap_or("4096");
    label.push(' ');
    label.push_str(&size_of(sizes, direction));
    let depth = option(&["iodepth"]).unwrap_or("1");
    label.push_str(&format!(" qd{depth}"));
    let clones = option(&["numjobs"]).map(str::to_owned).or(job.members.map(|members| members.to_string()));
    if let Some(clones) = clones.filter(|clones| clones != "1") {
        label.push_str(&format!(" x{clones}"));
    }
    let mixed = ["rw", "readwrite", "randrw", "trimwrite"].contains(&rw);
    if mixed { format!("{label} {direction}") } else { label }
}

/// `4096`, `4k` and `4K,8k` as one way to write it: `4k`.
fn size_of(sizes: &str, direction: &str) -> String {
    let index = ["read", "write", "trim"].iter().position(|name| *name == direction).unwrap_or(0);
    let sizes: Vec<&str> = sizes.split(',').collect();
    let size = sizes.get(index).or(sizes.last()).copied().unwrap_or("");
    let Some(bytes) = parse_size(size, None) else { return size.to_owned() };
    match bytes {
        bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{}m", bytes >> 20),
        bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => format!("{}k", bytes >> 10),
        bytes => bytes.to_string(),
    }
}
