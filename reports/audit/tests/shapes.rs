//! Each kind of finding in the shapes that people write, and the sound twin that must have none.
#![allow(clippy::unwrap_used)]

use kab_audit::{Finding, Grade, Rule, audit};

fn findings(text: &str) -> Vec<Finding> {
    let mut findings = audit(text.as_bytes()).unwrap().findings;
    findings.retain(|finding| finding.grade != Grade::Remark);
    findings
}

#[track_caller]
fn sound(text: &str) {
    let found = findings(text);
    assert!(found.is_empty(), "{found:#?}");
}

#[track_caller]
fn one(text: &str, grade: Grade, rule: Rule, line: usize) -> Finding {
    let found = findings(text);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].grade, found[0].rule, found[0].lines[0].line), (grade, rule, line), "{found:#?}");
    found[0].clone()
}

#[test]
fn means_in_range_with_columns_of_statistics() {
    let table = "Results in kIOPS:\n\n              min     avg     max\nbefore       10.1    11.0    12.5\nafter        12.0    AVG     14.0\n";
    sound(&table.replace("AVG ", "13.0"));
    let finding = one(&table.replace("AVG ", "14.5"), Grade::Error, Rule::MeanInRange, 5);
    assert!(finding.message.contains("14.5 is above the maximum 14.0"), "{}", finding.message);
}

#[test]
fn means_in_range_under_spanning_heads_and_bars() {
    let table = "                before                after\ntest        min   avg   max      min   avg   max\nread         10    11    12       13    14    15\nwrite        20    21    22       23    AA    25\n";
    sound(&table.replace("AA", "24"));
    one(&table.replace("AA", "28"), Grade::Error, Rule::MeanInRange, 4);
    let bars = "|          | base | patched |\n|:--|--:|--:|\n| IOPS min | 1,000 | 1,100 |\n| IOPS avg | 1,050 | AVG |\n| IOPS max | 1,100 | 1,200 |\n";
    sound(&bars.replace("AVG", "1,150"));
    one(&bars.replace("AVG", "1,250"), Grade::Error, Rule::MeanInRange, 4);
}

#[test]
fn means_in_range_in_one_line() {
    let line = "Before\n  iops : min=71234, max=80012, avg=AVG\n";
    sound(&line.replace("AVG", "75123.4"));
    one(&line.replace("AVG", "85123.4"), Grade::Error, Rule::MeanInRange, 2);
}

#[test]
fn bandwidth_follows_from_iops() {
    let table = "fio --name=a --rw=randread --bs=4k --ioengine=libaio --direct=1\n\n             base   patched\nIOPS        100.0k   120.0k\nBW (MiB/s)   390.6    BW\n";
    sound(&table.replace("BW\n", "468.8\n"));
    let finding = one(&table.replace("BW\n", "486.8\n"), Grade::Error, Rule::BandwidthIops, 5);
    assert_eq!(finding.expected.as_deref(), Some("468.75"));
    // Block sizes in the labels of the rows, metrics as columns.
    let table = "workload          IOPS      MB/s\nrandread 4k     50,000     204.8\nrandread 8k     40,000     327.7\nrandwrite 16k   20,000     MMM\n";
    sound(&table.replace("MMM", "327.7"));
    one(&table.replace("MMM", "237.7"), Grade::Error, Rule::BandwidthIops, 4);
}

#[test]
fn unknown_block_sizes_are_no_error() {
    sound("            a       b\nIOPS      1000    1200\nBW MB/s   13.1    99.2\n");
    // A mixed load has no single block size.
    sound(
        "fio --name=a --bsrange=4k-64k --rw=randread\n            a       b\nIOPS      1000    1200\nBW MB/s   13.1    99.2\n",
    );
}

#[test]
fn exchanged_columns_are_named() {
    let table = "bs=4k\n             base   patched\nIOPS       10,000   20,000\nbw MB/s     MB-A    MB-B\n\nwrite\n             base   patched\nIOPS        5,000    6,000\nbw MB/s      20.5     24.6\n";
    sound(&table.replace("MB-A", "40.96").replace("MB-B", "81.92"));
    one(&table.replace("MB-A", "81.92").replace("MB-B", "40.96"), Grade::Error, Rule::ColumnsExchanged, 4);
}

#[test]
fn averages_of_runs() {
    let list = "Sequential read\nruns: 100.1, 101.3, 99.9 MB/s\naverage: AVG MB/s\n";
    sound(&list.replace("AVG", "100.4"));
    let finding = one(&list.replace("AVG", "104.0"), Grade::Error, Rule::Average, 3);
    assert_eq!(finding.expected.as_deref(), Some("100.4"));
    let table = "           run1   run2   run3    avg\nbefore      100    102    101    101\nafter       110    112    114    AVG\n";
    sound(&table.replace("AVG", "112"));
    one(&table.replace("AVG", "115"), Grade::Error, Rule::Average, 3);
    let rows = "           before   after\nrun 1         100     110\nrun 2         102     112\nrun 3         101     114\naverage       101     AVG\n";
    sound(&rows.replace("AVG", "112"));
    one(&rows.replace("AVG", "121"), Grade::Error, Rule::Average, 5);
}

#[test]
fn percentages_with_their_numbers() {
    sound("IOPS went up from 100k to 114k, an increase of 14%.\n");
    let finding =
        one("IOPS went up from 100k to 114k, an increase of 24%.\n", Grade::Error, Rule::Percentage, 1);
    assert_eq!(finding.expected.as_deref(), Some("+14.0%"));
    let base =
        one("It drops from 28.0 MB/s to 20.6 MB/s, a drop of 35.9%.\n", Grade::Warning, Rule::Percentage, 1);
    assert!(base.message.contains("divided by the new value"), "{}", base.message);
    one("The patch is an improvement: 120K -> 100K IOPS.\n", Grade::Warning, Rule::Direction, 1);
    sound("Latency is better: 120 us -> 100 us.\n");
}

#[test]
fn percentages_of_a_table() {
    let text = "Kernel results (IOPS):\n            before    after\nrandread     10000    11500\nrandwrite     8000     8800\n\nThe patch improves random read by PERCENT.\n";
    sound(&text.replace("PERCENT", "15%"));
    one(&text.replace("PERCENT", "25%"), Grade::Error, Rule::Percentage, 6);
    let column = "            before    after    change\nrandread     10000    11500    CHANGE\nrandwrite     8000     8800    +10.0%\n";
    sound(&column.replace("CHANGE", "+15.0%"));
    one(&column.replace("CHANGE", "+25.0%"), Grade::Error, Rule::Percentage, 2);
    sound(
        "The patch needs 30% less memory and drops the CPU usage by 4%.\n\n            before    after\nrandread     10000    11500\nrandwrite     8000     8800\n",
    );
}

#[test]
fn changes_that_the_runs_do_not_show() {
    let text = "1. base\nread:\nSpeed: 100 120 95\nAverage: 105\n\n2. patched\nread:\nSpeed: 118 99 116\nAverage: 111\n\nRead speed improved by 5.7%.\n";
    one(text, Grade::Warning, Rule::FewRuns, 11);
}

#[test]
fn settings_that_differ_between_outputs() {
    let output = |depth: u32, pid: u32, iops: &str, bw: &str| {
        format!(
            "job: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth={depth}\nfio-3.28\nStarting 1 process\n\n\
             job: (groupid=0, jobs=1): err= 0: pid={pid}: Tue Dec  1 09:00:00 2026\n  read: IOPS={iops}, BW={bw} (103MB/s)(2942MiB/30001msec)\n\
             \x20   clat (usec): min=30, max=900, avg=39.10, stdev=5.00\n  cpu          : usr=1.00%, sys=2.00%, ctx=1, majf=0, minf=1\n\
             \x20    issued rwts: total=753152,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n\nRun status group 0 (all jobs):\n\
             \x20  READ: bw={bw} (103MB/s), {bw}-{bw} (103MB/s-103MB/s), io=2942MiB (3085MB), run=30001-30001msec\n"
        )
    };
    let two = |depth| {
        format!(
            "base:\n\n{}\npatched:\n\n{}",
            output(32, 7, "25.1k", "98.1MiB/s"),
            output(depth, 8, "25.1k", "98.1MiB/s")
        )
    };
    sound(&two(32));
    let finding = one(&two(64), Grade::Warning, Rule::Settings, 7);
    assert!(finding.message.contains("iodepth 32 and 64"), "{}", finding.message);
    let edited = two(32).replace("avg=39.10", "avg=3910.0");
    let rules: Vec<Rule> = findings(&edited).iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, [Rule::MeanInRange; 2]);
    let summary = two(32).replace("io=2942MiB (3085MB)", "io=1942MiB (2036MB)");
    assert!(
        findings(&summary)
            .iter()
            .all(|finding| finding.rule == Rule::FioFigures && finding.grade == Grade::Error)
    );
    assert!(!findings(&summary).is_empty());
}

#[test]
fn quoted_encoded_and_packed_mail_is_the_same() {
    let table = "            before    after\nmin IOPS      1000     1200\nmax IOPS      1100     1300\navg IOPS      1050     1150\n";
    one(table, Grade::Error, Rule::MeanInRange, 4);
    let quoted: String = table.lines().map(|line| format!("> > {line}\n")).collect();
    one(&quoted, Grade::Error, Rule::MeanInRange, 4);
    let encoded = format!(
        "From: a@lab.example\nContent-Transfer-Encoding: quoted-printable\n\n{}",
        table.replace("max", "ma=\nx")
    );
    one(&encoded, Grade::Error, Rule::MeanInRange, 8);
    one(&table.replace('\n', "\r\n"), Grade::Error, Rule::MeanInRange, 4);
}

#[test]
fn other_text_has_nothing_to_check() {
    let diffstat = "From: a@lab.example\nSubject: [PATCH] x\n\nThis drops 30% of the lines.\n---\n drivers/a.c |  5 +++--\n drivers/b.h | 12 ++++++++++--\n 2 files changed, 13 insertions(+), 4 deletions(-)\n\n\
                    diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-  { 1, 2, 3 },\n+  { 1, 2, 4 },\n keep\n";
    sound(diffstat);
    sound("irq 56, cpu list 75, effective list 75\nirq 60, cpu list 24-28, effective list 26\n");
    sound("");
}
