//! View to text: the templates and the few filters that they may use. Filters set text; they know nothing of its meaning.

use crate::findings::Findings;
use crate::machine::{self, Data};
use crate::page::Page;
use crate::quantity::KEEP;
use crate::sections;
use crate::template_problem::TemplateProblem;
use crate::view::View;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, default_auto_escape_callback};
use serde::Serialize;
use thiserror::Error;

/// Columns that a mail may have.
pub(crate) const WIDTH: usize = 72;

/// What a report shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// All numbers of every cell, and the other metrics.
    pub full: bool,
    /// Whether names and subjects keep letters beyond ASCII; a mail to a list is safer without.
    pub unicode: bool,
}

/// A report that could not be rendered.
#[derive(Debug, Error)]
pub enum RenderError {
    /// A template of this program does not fit the view; never the fault of a run.
    #[error("template {name} failed")]
    Template {
        /// Which.
        name: &'static str,
        /// What minijinja says.
        #[source]
        source: minijinja::Error,
    },
    /// A user's template does not fit the view.
    #[error("{0}")]
    Custom(#[from] TemplateProblem),
    /// The findings do not fit the format; a fault of this program.
    #[error("cannot write the report as {format}")]
    Data {
        /// `JSON` or `CSV`.
        format: &'static str,
        /// What the writer says.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The report as plain text: ASCII unless `options` say otherwise, at most 72 columns, no tabs, no trailing blanks.
///
/// # Errors
/// When a template is broken.
pub fn text(findings: &Findings, options: Options) -> Result<String, RenderError> {
    let rendered = render("text.j2", include_str!("../templates/text.j2"), findings, options, Some(WIDTH))?;
    Ok(tidy(&rendered))
}

/// The report as GitHub-flavoured Markdown; tables are not wrapped.
///
/// # Errors
/// As [`text`].
pub fn markdown(findings: &Findings, options: Options) -> Result<String, RenderError> {
    let rendered = render("markdown.j2", include_str!("../templates/markdown.j2"), findings, options, None)?;
    Ok(tidy(&rendered))
}

/// The report as JSON; see [`machine`].
///
/// # Errors
/// Never for findings of a run.
pub fn json(findings: &Findings) -> Result<String, RenderError> {
    machine::json(findings).map_err(|source| RenderError::Data { format: "JSON", source: source.into() })
}

/// The report as one table of comma-separated values; see [`machine::csv`].
///
/// # Errors
/// Never for findings of a run.
pub fn csv(findings: &Findings) -> Result<String, RenderError> {
    machine::csv(findings).map_err(|source| RenderError::Data { format: "CSV", source: source.into() })
}

/// A report by a user's template, which sees the [`View`](crate::View) and, as `data`, the machine-readable report. `name` is the template's file
/// name for messages; a name that ends in `.html` has what it prints escaped. `wide` leaves tables unwrapped.
///
/// # Errors
/// When the template has a mistake or names what is not there.
pub fn custom(
    findings: &Findings,
    options: Options,
    template: (&str, &str),
    wide: bool,
) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct Context {
        #[serde(flatten)]
        view: View,
        data: Data,
    }
    let (name, source) = template;
    let problem = |error: minijinja::Error| TemplateProblem::new(name, source, &error);
    let mut environment = environment().map_err(&problem)?;
    environment.set_debug(true);
    environment.set_auto_escape_callback(default_auto_escape_callback);
    environment.add_template(name, source).map_err(&problem)?;
    let context = Context {
        view: sections::view(findings, options, (!wide).then_some(WIDTH)),
        data: machine::data(findings),
    };
    let rendered = environment.get_template(name).and_then(|template| template.render(Serde(context)));
    Ok(rendered.map_err(&problem)?.replace(KEEP, " "))
}

fn render(
    name: &'static str,
    source: &'static str,
    findings: &Findings,
    options: Options,
    width: Option<usize>,
) -> Result<String, RenderError> {
    let failed = |source| RenderError::Template { name, source };
    let mut environment = environment().map_err(failed)?;
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.add_template(name, source).map_err(failed)?;
    let template = environment.get_template(name).map_err(failed)?;
    template.render(Serde(sections::view(findings, options, width))).map_err(failed)
}

/// The page, with everything it needs inside of it.
pub(crate) fn render_page(page: &Page) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct Context<'a> {
        #[serde(flatten)]
        page: &'a Page,
        css: &'static str,
        js: &'static str,
    }
    let name = "page.html";
    let failed = |source| RenderError::Template { name, source };
    let mut environment = environment().map_err(failed)?;
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template(name, include_str!("../templates/page.html")).map_err(failed)?;
    let (css, js) = (include_str!("../templates/page.css"), include_str!("../templates/page.js"));
    let template = environment.get_template(name).map_err(failed)?;
    Ok(template.render(Serde(Context { page, css, js })).map_err(failed)?.trim_start().to_owned())
}

/// Filters and rules that all templates share.
fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_filter("wrap", |text: String, hang: usize| wrap(&text, WIDTH, hang));
    environment.add_filter("left", |text: String, width: usize| format!("{text:<width$}"));
    environment.add_filter("right", |text: String, width: usize| format!("{text:>width$}"));
    environment.add_filter("md", |text: String| escape(&text));
    Ok(environment)
}

/// Words in lines of at most `width`; lines after the first stand `hang` further in. A word longer than a line is broken,
/// because no line may be longer.
pub(crate) fn wrap(text: &str, width: usize, hang: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let indent = text.len() - text.trim_start_matches(' ').len();
    let mut lines = Vec::new();
    let mut line = " ".repeat(indent);
    let mut room = width - indent;
    let mut empty = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut rest: Vec<char> = word.chars().collect();
        while rest.len() + usize::from(!empty) > room {
            if empty {
                line.extend(rest.drain(..room));
            }
            lines.push(std::mem::replace(&mut line, " ".repeat(indent + hang)));
            room = width - indent - hang;
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        room -= rest.len() + usize::from(!empty);
        line.extend(rest);
        empty = false;
    }
    lines.push(line);
    lines.join("\n")
}

/// Characters that Markdown would read as marks.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        // Brackets alone are text; only a link needs a parenthesis after them.
        if "\\`*_<|~".contains(c) || (c == '(' && escaped.ends_with(']')) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// No trailing blanks, no more than one empty line together, one line end at the end.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut empty = true;
    for line in text.lines().map(str::trim_end) {
        if !(line.is_empty() && empty) {
            tidied.extend(line.chars().map(|c| if c == KEEP { ' ' } else { c }));
            tidied.push('\n');
        }
        empty = line.is_empty();
    }
    tidied.truncate(tidied.trim_end().len());
    tidied.push('\n');
    tidied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_words_and_hang() {
        assert_eq!(wrap("one two three four", 9, 2), "one two\n  three\n  four");
        assert_eq!(wrap("  in two three", 9, 0), "  in two\n  three");
    }

    #[test]
    fn a_word_longer_than_a_line_is_broken() {
        assert_eq!(wrap("abcdefghijkl x", 5, 1), "abcde\n fghi\n jkl\n x");
    }

    #[test]
    fn tidy_text_has_no_blanks_at_the_end() {
        assert_eq!(tidy("\n\na  \n\n\n b\n\n"), "a\n\n b\n");
    }

    #[test]
    fn markdown_marks_are_escaped() {
        assert_eq!(escape("a|b_<c>"), "a\\|b\\_\\<c>");
    }
}
