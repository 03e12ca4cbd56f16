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
    label.push(' ');
    match option(&["bssplit"]) {
        Some(_) => label.push_str("bssplit"),
        // The last one counts.
        None => {
            let sizes = option(&["bs", "blocksize", "bsrange", "blocksize_range"]).unwrap_or("4096");
            label.push_str(&size_of(sizes, direction));
        }
    }
    let depth = option(&["iodepth"]).unwrap_or("1");
    label.push_str(&format!(" qd{depth}"));
    let clones = option(&["numjobs"]).map(str::to_owned).or(job.members.map(|members| members.to_string()));
    if let Some(clones) = clones.filter(|clones| clones != "1") {
        label.push_str(&format!(" x{clones}"));
    }
    let mixed = ["rw", "readwrite", "randrw", "trimwrite"].contains(&rw);
    if mixed { format!("{label} {direction}") } else { label }
}

/// `4096`, `4k` and `4K,8k` as one way to write it: `4k`; `512-65536` as `512-64k`.
fn size_of(sizes: &str, direction: &str) -> String {
    let index = ["read", "write", "trim"].iter().position(|name| *name == direction).unwrap_or(0);
    let sizes: Vec<&str> = sizes.split(',').collect();
    let size = sizes.get(index).or(sizes.last()).copied().unwrap_or("");
    size.split('-').map(one_size).collect::<Vec<_>>().join("-")
}

fn one_size(size: &str) -> String {
    let Some(bytes) = parse_size(size, None) else { return size.to_owned() };
    match bytes {
        bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{}m", bytes >> 20),
        bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => format!("{}k", bytes >> 10),
        bytes => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::size_of;

    #[test]
    fn sizes_are_written_one_way() {
        let cases = [
            ("4096", "read", "4k"),
            ("4k,8K", "write", "8k"),
            ("512-1048576", "read", "512-1m"),
            ("4k-64k,1m-2m", "write", "1m-2m"),
            ("4097", "read", "4097"),
            ("x", "read", "x"),
        ];
        for (sizes, direction, label) in cases {
            assert_eq!(size_of(sizes, direction), label, "{sizes}");
        }
    }
}
