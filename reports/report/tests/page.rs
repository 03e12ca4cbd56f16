//! The page and single plots: what they contain, that they need nothing else, and what a real browser makes of the page.

#![allow(clippy::unwrap_used)]

mod support;

use kab_model::{Outcome, Run};
use kab_report::{Findings, Latencies, Options, PlotChoice, PlotError, PlotKind, findings, html, svg};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use support::{Fate, Lab, latencies, meta, reason, three_kernels};

/// Three kernels with a boot that failed and a trial with something to note.
fn eventful() -> Lab {
    let mut lab = three_kernels();
    let noted = Outcome::Noted { reasons: vec![reason("rcu-stall", "stall")] };
    lab.fates.insert((0, 1, 3), Fate::NoBoot);
    lab.fates.insert((0, 0, 4), Fate::Trial { cell: 0, trial: 1, outcome: noted });
    lab
}

fn found(lab: &Lab) -> Findings {
    findings(&lab.run(), &meta())
}

fn page(lab: &Lab) -> String {
    html(&found(lab), &latencies(lab), Options::default()).unwrap()
}

fn choice(cell: &str, kind: PlotKind) -> PlotChoice {
    PlotChoice { cell: cell.to_owned(), kind }
}

#[test]
fn the_page_needs_nothing_else_and_is_the_same_each_time() {
    let page = page(&eventful());
    for outside in ["http://", "https://", "src=", "url(", "@import", "<link"] {
        let found = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(outside), "{outside}");
    }
    assert!(page.starts_with("<!doctype html>"));
    assert_eq!(page, self::page(&eventful()));
}

#[test]
fn every_boot_of_every_variant_is_a_point_that_tells_what_it_is() {
    let page = page(&eventful());
    // Of B, boot 11 of the first board failed, which its sequence tells.
    assert!(
        page.contains("<title>B, boot 11: did not boot: panic: Kernel panic"),
        "the failed boot is a mark"
    );
    assert!(page.contains("1 trial with something to note"));
    let card = page.split("id=\"b0c0m0\"").nth(1).unwrap().split("</article>").next().unwrap();
    for letter in ["A", "B", "C"] {
        let points = card.matches(&format!("<title>{letter}, boot ")).count();
        let expected = if letter == "B" { 2 * 7 + 1 } else { 2 * 8 };
        assert_eq!(points, expected, "{letter}");
    }
    assert!(card.contains("<title>A: p99 "), "latency by percentile");
}

#[test]
fn names_are_text_and_never_marks() {
    let mut lab = eventful();
    lab.plan.title = Some("<script>alert(1)</script> & \u{4e2d}\u{6587}".to_owned());
    lab.plan.cells[0].label = "a\"b<c>".to_owned();
    let page = page(&lab);
    assert!(!page.contains("<script>alert") && !page.contains("b<c>"));
    assert!(page.contains("\u{4e2d}\u{6587}"), "letters of any script stay");
}

#[test]
fn what_a_run_lacks_is_said() {
    let lab = eventful();
    let page = html(&found(&lab), &Latencies::default(), Options::default()).unwrap();
    assert!(page.contains("Latency by percentile: this run has no histograms."));
    assert!(page.contains("within a trial: this run has no logs"));
    let empty = findings(&Run::default(), &meta());
    assert!(html(&empty, &Latencies::default(), Options::default()).unwrap().contains("INCOMPLETE"));
}

#[test]
fn single_plots() {
    let mut lab = eventful();
    lab.plan.boards[0].rounds.truncate(4);
    let (found, latencies) = (found(&lab), latencies(&lab));
    for (kind, name) in
        [(PlotKind::Boots, "boots"), (PlotKind::Sequence, "sequence"), (PlotKind::Latency, "latency")]
    {
        let drawn = svg(&found, &latencies, &choice("sm8650-qrd:randread/1", kind)).unwrap();
        insta::assert_snapshot!(name, drawn.replace("/><", "/>\n<").replace("><", ">\n<"));
    }
}

#[test]
fn cells_are_found_by_label_or_id_and_else_told() {
    let lab = eventful();
    let (found, none) = (found(&lab), Latencies::default());
    let make = |cell: &str, kind| svg(&found, &none, &choice(cell, kind));
    assert!(make("sm8650-hdk:rand4k/randread/8", PlotKind::Boots).is_ok());
    assert!(
        matches!(make("randread/8", PlotKind::Boots), Err(PlotError::Ambiguous { known, .. }) if known.len() == 2)
    );
    assert!(
        matches!(make("nope", PlotKind::Boots), Err(PlotError::Unknown { known, .. }) if known.len() == 8)
    );
    assert!(matches!(make("sm8650-hdk:randread/8", PlotKind::Latency), Err(PlotError::Empty { .. })));
}

/// Runs in the page: counts what is shown under several filters and looks at what lies under the pointer.
const PROBE: &str = r#"
<script>
addEventListener("load", () => {
  const visible = (what) => [...document.querySelectorAll(what)].filter((one) => one.offsetParent !== null).length;
  const choose = (name, value) => {
    const input = document.querySelector(`input[name="${name}"][value="${value}"]`);
    input.click();
    return { cards: visible(".card"), rows: visible("tr[data-verdicts]"), parts: visible(".part"),
             told: document.querySelector("output").textContent };
  };
  const seen = { start: { cards: visible(".card"), parts: visible(".part") } };
  seen.better = choose("verdict", "better");
  seen.other_board = choose("board", "b0");
  seen.nothing = visible(".nothing");
  choose("verdict", "");
  choose("board", "");
  seen.all = choose("metric", "");
  choose("metric", "iops");
  const point = document.querySelector(".card path.pt");
  point.scrollIntoView({ block: "center", behavior: "instant" });
  const box = point.getBoundingClientRect();
  const under = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  seen.hover = under?.querySelector("title")?.textContent ?? "";
  seen.ground = getComputedStyle(document.body).backgroundColor;
  seen.ink = getComputedStyle(document.body).color;
  seen.point = getComputedStyle(point).stroke;
  seen.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  seen.loaded = performance.getEntriesByType("resource").length;
  const result = document.createElement("pre");
  result.id = "seen";
  result.textContent = JSON.stringify(seen);
  document.body.append(result);
});
</script>
"#;

/// What the probe saw in a window of `width` pixels.
fn browse(folder: &Path, dark: bool, width: u32) -> Value {
    let file = folder.join("page.html");
    std::fs::write(&file, page(&eventful()).replace("</body>", &format!("{PROBE}</body>"))).unwrap();
    let scheme = if dark { 0 } else { 1 };
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let browser = names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    let output = Command::new(browser.expect("there is a browser: run `make test-browser`"))
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"])
        .args(["--virtual-time-budget=10000", "--no-first-run", "--disable-background-networking"])
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let (dom, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!log.contains(":CONSOLE"), "the console has messages: {log}");
    let seen =
        dom.split("<pre id=\"seen\">").nth(1).unwrap_or_else(|| panic!("the probe did not end: {log}"));
    serde_json::from_str(&seen.split("</pre>").next().unwrap().replace("&amp;", "&")).unwrap()
}

#[test]
fn chromium_filters_tells_and_follows_light_and_dark() {
    let folder = tempfile::tempdir().unwrap();
    let seen = browse(folder.path(), false, 1280);
    // Two boards with four tests each; the page begins with the primary metric.
    assert_eq!((&seen["start"]["cards"], &seen["start"]["parts"]), (&8.into(), &2.into()), "{seen}");
    assert_eq!((&seen["better"]["cards"], &seen["better"]["rows"]), (&1.into(), &1.into()), "{seen}");
    assert_eq!(seen["better"]["told"], "1 test shown");
    assert_eq!((&seen["other_board"]["cards"], &seen["nothing"]), (&0.into(), &1.into()), "{seen}");
    assert_eq!(seen["all"]["cards"], 32, "four metrics: {seen}");
    assert!(seen["hover"].as_str().unwrap().starts_with("A, boot "), "{seen}");
    assert_eq!(seen["loaded"], 0, "nothing comes from elsewhere");
    assert_eq!(seen["wide"], 0, "{seen}");

    let dark = browse(folder.path(), true, 500);
    assert_eq!(dark["wide"], 0, "no sideways scrolling on a narrow screen: {dark}");
    assert_eq!(dark["start"], seen["start"]);
    for (text, ground, scheme) in
        [(&seen["ink"], &seen["ground"], "light"), (&dark["ink"], &dark["ground"], "dark")]
    {
        assert!(contrast(text, ground) >= 7.0, "{scheme}: text {text} on {ground}");
    }
    assert!(
        contrast(&seen["point"], &seen["ground"]) >= 3.0 && contrast(&dark["point"], &dark["ground"]) >= 3.0
    );
    assert!(brightness(&seen["ground"]) > 0.8 && brightness(&dark["ground"]) < 0.05, "{seen} {dark}");
}

/// Relative luminance of `rgb(r, g, b)`, as WCAG 2 defines it.
fn brightness(colour: &Value) -> f64 {
    let text = colour.as_str().unwrap();
    let parts: Vec<f64> = text
        .trim_start_matches("rgb(")
        .trim_end_matches(')')
        .split(',')
        .map(|part| {
            let part = part.trim().parse::<f64>().unwrap() / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
        .collect();
    0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
}

/// WCAG 2 contrast of two colours.
fn contrast(a: &Value, b: &Value) -> f64 {
    let (a, b) = (brightness(a), brightness(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}
