//! Whatever is put in, reading ends and takes memory in proportion to the input.

#![allow(clippy::unwrap_used)]

use kab_fio::{grade, read_any};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Size of each input, bytes.
const SIZE: usize = 1 << 20;

/// Bytes of memory for each byte of input, and for each job that was read.
const TIMES: usize = 8;
const JOB: usize = 7 << 10;

/// What is repeated: pieces of fio's formats and of what stands around them, whole and broken.
const UNITS: &[&str] = &[
    "[",
    "{",
    "\"",
    "\\",
    "\"\\",
    "{\"jobs\":[",
    "{\n\"jobs\" : [\n",
    "\"read\":{",
    "{\"fio version\":\"",
    "\"jobname\" : \"a\",\n",
    "{\"fio version\":\"fio-3.1\",\"jobs\":[{\"jobname\":\"a\",\"read\":{\"clat_ns\":{\"bins\":{",
    "\"bins\":{\"1\":2,",
    "\n",
    "\r",
    " ",
    "1",
    "x",
    "1\n",
    "a word and 12 ",
    "A line of prose with 12 numbers at 4 MiB/s.\n",
    ";",
    "3;fio-3.33;a;0;0;\n",
    "2;a;0;0;1\n",
    "2;a;0;0;1;x;x;x;x;x\n",
    "a: (groupid=0, jobs=1): err= 0: pid=1\n",
    "(groupid=0,jobs=1):pid=1:Mon x",
    "(groupid=0, jobs=1): err= pid",
    "(g=0): rw=",
    "(g=0):rw=",
    "j: (g=0): rw=read, bs=4K-4K/4K-4K/4K-4K, ioengine=sync, iodepth=1\n",
    "read: IOPS=",
    "read: IOPS=1, BW=1MiB/s (1MB/s)(1MiB/1msec)\n",
    "read: IOPS=1\n1\n1\n",
    "r\ne\na\nd\n",
    "clat percentiles (usec): | 1.00th=[ 1], ",
    "1.00th=[ 1], ",
    "lat prio 1(",
    "lat (usec): 1=2%, ",
    "clat (usec): min=1, max=2, avg=1.00, stdev=1\n",
    "issued rwts: total=1,1,1,1 ",
    "Run status group 0 (all jobs):\n",
    "READ: bw=1MiB/s (1MB/s), 1MiB/s-1MiB/s (1MB/s-1MB/s), io=1MiB (1MB), run=1-1msec\n",
    "a: ios=1/1, merge=0/0, ticks=0/0, in_queue=0, util=0.00%\n",
    "hostname=",
    "hostname=fio=fio-",
    "fio-3.33\n",
    "<a> b\n",
    "> ",
    ">\n",
    "=3D",
    "=3D=3D=\n",
    "=3D=3Dx\r=\n",
    "Jobs: 1 (f=1): ",
    "Jobs: 1 (f=1): [R(1)][50%][eta 00m:01s]\r",
    "[  318.569268] rcu: INFO: rcu_preempt self-detected stall\n",
    "fio: pid=1, err=5\n",
    "&gt;",
    "&quot;",
    "\u{1b}[",
    "```\n",
    "**",
    "\u{a0}",
    "09:00:01 INFO| clat (\n09:00:01 INFO| slat (\n",
];

fn check(name: &str, input: &[u8]) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let found = read_any(input);
    for document in &found.documents {
        grade(&found, document, None);
    }
    let peak = MEMORY.peak_usage() - before;
    let jobs: usize = found.documents.iter().map(|document| document.report.jobs.len().max(1)).sum();
    assert!(jobs <= 4097 + input.len() / 1024, "{name:?}: {jobs} jobs in {} bytes", input.len());
    let most = TIMES * input.len() + jobs * JOB;
    assert!(peak <= most, "{name:?}: {peak} bytes for {} and {jobs} jobs, {most} at most", input.len());
}

/// One test, since the peak is that of the process.
#[test]
fn memory_is_in_proportion() {
    for unit in UNITS {
        let input: Vec<u8> = unit.bytes().cycle().take(SIZE).collect();
        check(unit, &input);
    }
    check("bytes that are no text", &vec![0xff; SIZE]);
    check("two bytes a character", &[0xff, 0xfe].iter().copied().cycle().take(SIZE).collect::<Vec<u8>>());
    let numbered = |unit: fn(usize) -> String| -> Vec<u8> {
        (0..).flat_map(|i| unit(i).into_bytes()).take(SIZE).collect()
    };
    check(
        "groups",
        &numbered(|i| {
            format!(
                "Run status group {i} (all jobs):\n READ: bw=1KiB/s (1kB/s), io=1KiB (1kB), run=1-1msec\n"
            )
        }),
    );
    check(
        "names",
        &numbered(|i| {
            format!(
                "j{i}: (g=0): rw=read, bs=4K-4K, ioengine=sync, iodepth=1\nk{i}: (groupid=0, jobs=1): err= 0: pid=7\n"
            )
        }),
    );
    for name in ["3.33-jsonplus-multi", "3.33-normal", "3.33-terse3", "3.33-client2-normal"] {
        let unit =
            std::fs::read(format!("{}/tests/versions/{name}.txt", env!("CARGO_MANIFEST_DIR"))).unwrap();
        check(name, &unit.iter().copied().cycle().take(SIZE).collect::<Vec<u8>>());
    }
}
