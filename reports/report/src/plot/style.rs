//! The rules of the classes that drawings use, for light and for dark.

/// Colours of variants on light and on dark ground: apart from each other for most kinds of colour blindness, and at least three to one
/// against the ground.
const VARIANTS: [(&str, &str); super::marks::COLOURS] = [
    ("#2f6db5", "#7fb2f7"),
    ("#c2570c", "#f6a15f"),
    ("#14805e", "#5cd0aa"),
    ("#8e44ad", "#d4a3ee"),
    ("#a67c00", "#e6c453"),
    ("#c03368", "#f78db2"),
    ("#4b5563", "#c3c9d3"),
    ("#5b8a1f", "#aad868"),
];

/// Names, values on light and values on dark ground of everything else.
const GROUND: [(&str, &str, &str); 7] = [
    ("ink", "#1c2430", "#e6e9ef"),
    ("soft", "#5b6675", "#a2acba"),
    ("rule", "#dde2e9", "#323946"),
    ("band", "#eef2f7", "#242a35"),
    ("worse", "#b3261e", "#ff9d94"),
    ("better", "#137a45", "#6fdc9e"),
    ("unsure", "#7a5b00", "#e3c567"),
];

/// Rules for drawings, on variables that [`variables`] set.
const RULES: &str = "\
.plot text{font:11px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;fill:var(--ink)}\
.plot .soft{fill:var(--soft)}.plot .strong{font-weight:600}\
.plot .grid{stroke:var(--rule);stroke-width:1}.plot .axis{stroke:var(--soft);stroke-width:1}\
.plot .band{fill:var(--band)}\
.plot .pt{stroke-width:1;fill-opacity:.55;stroke-opacity:.95}.plot .pt:hover{fill-opacity:1;stroke-width:3}\
.plot .noted{fill-opacity:0;stroke-width:2}\
.plot .ci{stroke-width:2.5;fill:none;stroke-linecap:round}.plot .mean{stroke-width:2.5}\
.plot .trace{fill:none;stroke-width:1.6;stroke-opacity:.7;stroke-linejoin:round}\
.plot .lost{fill:none;stroke:var(--worse);stroke-width:2}\
.plot .row:hover{opacity:.75}\
.plot .worse{stroke:var(--worse);fill:var(--worse)}.plot .better{stroke:var(--better);fill:var(--better)}\
.plot .unsure{stroke:var(--unsure);fill:var(--unsure)}.plot .same{stroke:var(--soft);fill:var(--soft)}\
.plot text.worse,.plot text.better,.plot text.unsure,.plot text.same{stroke:none}";

/// All rules for a page with light and dark ground.
pub(crate) fn style() -> String {
    let classes: String = (0..VARIANTS.len())
        .map(|at| format!(".plot .v{at}{{stroke:var(--v{at});fill:var(--v{at})}}.plot .trace.v{at},.plot .ci.v{at}{{fill:none}}.plot text.v{at}{{stroke:none}}"))
        .collect();
    format!(
        ":root{{color-scheme:light dark;{}}}@media (prefers-color-scheme:dark){{:root{{{}}}}}{RULES}{classes}",
        variables(false),
        variables(true)
    )
}

/// The same inside of a single drawing, which paints its own ground.
pub(super) fn document_style() -> String {
    let ground = ".plot{background:#fff}@media (prefers-color-scheme:dark){.plot{background:#14181f}}";
    format!("<style>{}{ground}</style>", style().replace('&', "&amp;").replace('<', "&lt;"))
}

fn variables(dark: bool) -> String {
    let choose = |light: &'static str, on_dark: &'static str| if dark { on_dark } else { light };
    let ground = GROUND.iter().map(|(name, light, on_dark)| format!("--{name}:{};", choose(light, on_dark)));
    let variants = VARIANTS
        .iter()
        .enumerate()
        .map(|(at, (light, on_dark))| format!("--v{at}:{};", choose(light, on_dark)));
    ground.chain(variants).collect()
}
