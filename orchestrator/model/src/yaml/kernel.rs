//! experiment.yaml: where kernels come from and how they are built.

use super::decode::{Decoder, Fields};
use super::keys::{Choice, Key, MapSpec, Shape};
use super::located::Context;
use super::scalar::{self, Problem, TextRule};
use super::source::Span;
use super::tree::Node;
use crate::{ConfigItem, ConfigValue, Toolchain};
use std::path::{Path, PathBuf};

pub(super) const CONFIG: Shape = Shape::List(&Shape::Text(TextRule::Line));
const CONFIG_DOC: &str = "Make targets (defconfig), files of CONFIG_ lines (written with a `/`) and single options \
    (CONFIG_X=y, CONFIG_X=n?; the `?` skips an option that the kernel does not offer), applied in order.";
pub(super) const REPO: Shape = Shape::Text(TextRule::Repository);
const PATH: Shape = Shape::Text(TextRule::Line);

pub(super) const KERNEL: MapSpec = MapSpec {
    what: "the kernel",
    hint: None,
    keys: &[
        Key::optional("repo", REPO, "A git repository: a path or a URL."),
        Key::optional("config", CONFIG, CONFIG_DOC),
        Key::optional("toolchain", Shape::Choice(TOOLCHAINS), "Which compiler builds it; gcc by default."),
    ],
};

pub(super) const TOOLCHAINS: &[Choice] = &[
    Choice::plain("gcc", "The host's gcc."),
    Choice::plain("llvm", "clang and the LLVM tools."),
    Choice::with("cross", &Shape::Text(TextRule::GitWord), "gcc with a prefix, such as aarch64-linux-gnu-."),
];

/// What `kernel:` says; every part may be left to the variants.
pub(super) struct Defaults {
    pub(super) repo: Option<String>,
    pub(super) config: Vec<ConfigItem>,
    pub(super) toolchain: Toolchain,
    /// A faulty `repo` is not reported again at each variant.
    pub(super) repo_given: bool,
}

pub(super) fn defaults(decoder: &mut Decoder<'_>, fields: &Fields<'_>, context: &Context<'_>) -> Defaults {
    let none =
        Defaults { repo: None, config: Vec::new(), toolchain: Toolchain::default(), repo_given: false };
    let Some(node) = fields.value("kernel") else { return none };
    // An empty `kernel:` has been reported with its key, and what is wrong in it explains what variants lack.
    let Some(fields) = (!node.is_nothing()).then(|| decoder.fields(node, &KERNEL)).flatten() else {
        return Defaults { repo_given: true, ..none };
    };
    Defaults {
        repo: repo(decoder, &fields, "repo", context),
        config: config(decoder, &fields, context),
        toolchain: toolchain(decoder, &fields).unwrap_or_default(),
        repo_given: fields.value("repo").is_some(),
    }
}

/// Options alone configure nothing: `defconfig` comes first where no make target does.
pub(super) fn with_base(mut config: Vec<ConfigItem>) -> Vec<ConfigItem> {
    if !is_whole(&config) {
        config.insert(0, ConfigItem::Base("defconfig".into()));
    }
    config
}

/// Whether a list stands on its own: it starts with a target that writes a whole configuration. Targets such as
/// `kvm_guest.config` add to one that is there.
pub(super) fn is_whole(config: &[ConfigItem]) -> bool {
    matches!(config.first(), Some(ConfigItem::Base(target)) if !target.ends_with(".config"))
}

pub(super) fn toolchain(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Option<Toolchain> {
    match decoder.choice(fields, "toolchain")? {
        ("llvm", _) => Some(Toolchain::Llvm),
        ("cross", Some(prefix)) => decoder.parsed(prefix, "`cross`", cross_prefix).map(Toolchain::Cross),
        _ => Some(Toolchain::Gcc),
    }
}

fn cross_prefix(text: &str) -> Result<String, Problem> {
    let is_word =
        text.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c)) && !text.starts_with('-');
    if is_word && text.ends_with('-') {
        return Ok(text.to_owned());
    }
    Err(Problem::new("is no prefix of a cross compiler", "it ends with a dash: `aarch64-linux-gnu-`"))
}

/// A URL as it is, or an absolute path of something that exists.
pub(super) fn repo(
    decoder: &mut Decoder<'_>,
    fields: &Fields<'_>,
    key: &str,
    context: &Context<'_>,
) -> Option<String> {
    let text = decoder.text(fields, key)?;
    if is_url(&text) {
        return Some(text);
    }
    let path = existing(decoder, fields.value(key)?.span, &text, context)?;
    Some(path.to_string_lossy().into_owned())
}

/// As git tells them apart: `scheme://…` or `host:path`, where no `/` comes before the colon.
fn is_url(text: &str) -> bool {
    text.contains("://")
        || text.split_once(':').is_some_and(|(host, _)| !host.contains('/') && !host.starts_with('.'))
}

/// The absolute path of something that must be there.
pub(super) fn existing(
    decoder: &mut Decoder<'_>,
    span: Span,
    text: &str,
    context: &Context<'_>,
) -> Option<PathBuf> {
    let Some(path) = context.resolve(text) else {
        decoder.error(span, "there is no home directory that `~/` could stand for");
        return None;
    };
    if (context.exists)(&path) {
        return Some(path);
    }
    let hint = if Path::new(text).is_absolute() || text.starts_with("~/") {
        "check the path".to_owned()
    } else {
        "relative paths start at the folder of this file".to_owned()
    };
    decoder.error(span, format!("`{text}` does not exist")).hint = Some(hint);
    None
}

pub(super) fn cmdline(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Option<String> {
    let text = decoder.text(fields, "cmdline")?;
    check_cmdline(decoder, fields.value("cmdline")?.span, &text);
    Some(text)
}

/// Parameters that kab sets on every command line.
pub(super) fn check_cmdline(decoder: &mut Decoder<'_>, span: Span, text: &str) {
    for name in ["kab", "panic"] {
        let is_set = |word: &str| word.split_once('=').is_some_and(|(key, _)| key == name);
        if text.split_whitespace().any(is_set) {
            let reason =
                if name == "kab" { "to prove which kernel runs" } else { "so that a panic ends the boot" };
            decoder.error(span, format!("`{name}=` is set by kab itself, {reason}")).hint =
                Some("remove it".into());
        }
    }
}

pub(super) fn config(
    decoder: &mut Decoder<'_>,
    fields: &Fields<'_>,
    context: &Context<'_>,
) -> Vec<ConfigItem> {
    let Some(node) = fields.value("config") else { return Vec::new() };
    let items = decoder.list(node, "config");
    items.iter().filter_map(|item| config_item(decoder, item, context)).collect()
}

fn config_item(decoder: &mut Decoder<'_>, node: &Node, context: &Context<'_>) -> Option<ConfigItem> {
    let text = decoder.item(node, "an item of `config`", |text| scalar::text(&PATH, text))?;
    if text.starts_with("CONFIG_") {
        return decoder.parsed(node, "`config`", config_option);
    }
    if text.contains('/') {
        return existing(decoder, node.span, &text, context).map(ConfigItem::Fragment);
    }
    let is_file = context.resolve(&text).is_some_and(|path| (context.exists)(&path));
    if is_file {
        decoder.error(node.span, format!("`{text}` would be a make target, but is a file here")).hint =
            Some(format!("write `./{text}` for the file"));
        return None;
    }
    decoder.parsed(node, "`config`", make_target)
}

fn make_target(text: &str) -> Result<ConfigItem, Problem> {
    let is_word =
        text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) && !text.starts_with('-');
    if is_word && text.ends_with("config") {
        return Ok(ConfigItem::Base(text.to_owned()));
    }
    let hint = match text.split_once('=') {
        Some(_) => format!("write `CONFIG_{text}`"),
        None => "write `defconfig`, `./a/file` or `CONFIG_X=y`".to_owned(),
    };
    Err(Problem::new("is no make target, file or option", hint))
}

/// `CONFIG_X=y`, with `?` at the end where the kernel may not offer it.
fn config_option(text: &str) -> Result<ConfigItem, Problem> {
    let (optional, setting) = match text.strip_suffix('?') {
        Some(setting) => (true, setting),
        None => (false, text),
    };
    let Some((symbol, value)) = setting.split_once('=') else {
        return Err(Problem::new("sets no value", format!("write `{setting}=y`, `=m`, `=n` or a value")));
    };
    let name = symbol.trim_start_matches("CONFIG_");
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(Problem::new("names no option", "an option is written `CONFIG_SCSI_UFSHCD=y`"));
    }
    let value = config_value(value).ok_or_else(|| {
        let hint = format!("write y, m, n, a number or a quoted string: `'{symbol}=\"{value}\"'`");
        Problem::new("has a value that Kconfig does not take", hint)
    })?;
    Ok(ConfigItem::Option { symbol: symbol.to_owned(), value, optional })
}

fn config_value(text: &str) -> Option<ConfigValue> {
    let digits = |text: &str, hex: bool| {
        !text.is_empty() && text.bytes().all(|b| if hex { b.is_ascii_hexdigit() } else { b.is_ascii_digit() })
    };
    let is_number = match text.strip_prefix("0x") {
        Some(hex) => digits(hex, true),
        None => digits(text.strip_prefix('-').unwrap_or(text), false),
    };
    let is_string = text.len() >= 2 && text.starts_with('"') && text.ends_with('"');
    match text {
        "y" => Some(ConfigValue::Yes),
        "m" => Some(ConfigValue::Module),
        "n" => Some(ConfigValue::No),
        _ if is_number || is_string => Some(ConfigValue::Text(text.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tells_urls_from_paths() {
        for url in ["https://git.example/linux", "git@git.example:linux", "git.example:linux.git"] {
            assert!(is_url(url), "{url}");
        }
        for path in ["/src/linux", "./a:b", "~/src/linux", "../linux", "src/a:b"] {
            assert!(!is_url(path), "{path}");
        }
    }

    #[test]
    fn reads_config_options() {
        let option = |text| match config_option(text) {
            Ok(ConfigItem::Option { symbol, value, optional }) => Some((symbol, value, optional)),
            _ => None,
        };
        assert_eq!(option("CONFIG_A=y"), Some(("CONFIG_A".into(), ConfigValue::Yes, false)));
        assert_eq!(option("CONFIG_A=n?"), Some(("CONFIG_A".into(), ConfigValue::No, true)));
        assert_eq!(
            option("CONFIG_HZ=1000"),
            Some(("CONFIG_HZ".into(), ConfigValue::Text("1000".into()), false))
        );
        assert_eq!(option("CONFIG_A=0xff00").unwrap().1, ConfigValue::Text("0xff00".into()));
        assert_eq!(option("CONFIG_A=\"x?\"").unwrap().1, ConfigValue::Text("\"x?\"".into()));
        for bad in ["CONFIG_A", "CONFIG_=y", "CONFIG_A=yes", "CONFIG_A=", "CONFIG_A-B=y", "CONFIG_A=\"x"] {
            assert_eq!(option(bad), None, "{bad}");
        }
    }
}
