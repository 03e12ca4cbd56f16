//! `kab audit`: exit codes, input from a pipe, JSON.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::process::{Command, Output, Stdio};

const WRONG: &str = "            before    after\nmin IOPS      1000     1200\nmax IOPS      1100     1300\navg IOPS      1050     1150\n";

fn kab(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kab"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that ends without reading is no failure of the test.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn errors_are_told_with_their_line_and_exit_code_1() {
    let output = kab(&["audit", "-"], WRONG);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    for part in [
        "<stdin>:4: error: after: the mean 1150 is below the minimum 1200\n",
        "      4 | avg IOPS      1050     1150\n",
        "  right: between 1200 and 1300\n",
        "1 error, 0 warnings, 0 remarks in 1 table\n",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn sound_text_and_empty_text_end_with_0() {
    let output = kab(&["audit", "-"], &WRONG.replace("1150", "1250"));
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    let output = kab(&["audit", "-"], "");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("nothing to check"));
}

#[test]
fn json_is_for_programs() {
    let output = kab(&["audit", "-", "--json"], WRONG);
    assert_eq!(output.status.code(), Some(1));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["format"], &value["errors"]), (&1.into(), &1.into()));
    assert_eq!(value["findings"][0]["rule"], "mean-in-range");
    assert_eq!(value["findings"][0]["lines"][0]["line"], 4);
}

#[test]
fn what_cannot_be_read_is_usage() {
    let output = kab(&["audit", "/nowhere/mail"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot read /nowhere/mail"));
    let output = kab(&["audit"], "");
    assert_eq!(output.status.code(), Some(2));
}
