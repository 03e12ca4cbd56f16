//! The one structure that templates read: every piece of a report as ready text, in the order of the report.
//!
//! A piece is one sentence, one table cell or one list item, in ASCII. Templates decide where pieces go and how they are set
//! (lines, pipes, fences); they compute nothing and choose nothing but to leave out what is empty.

use schemars::JsonSchema;
use serde::Serialize;

/// A whole report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct View {
    /// The experiment's title, or its name.
    pub title: String,
    /// Said first where the run is not finished.
    pub incomplete: Option<String>,
    /// The answer: failures, then one sentence a pair.
    pub answer: Vec<String>,
    /// What must be known before the answer is believed, such as an emulated processor.
    pub caveats: Vec<String>,
    /// What the letters stand for.
    pub variants: Vec<Named>,
    /// One section a board.
    pub boards: Vec<BoardView>,
    /// What the marks in the tables mean.
    pub legend: Vec<String>,
    /// Why there is no verdict, by mark.
    pub footnotes: Vec<Named>,
    /// Noted, void and unmeasured trials and what follows from them.
    pub notes: Vec<String>,
    /// What differs between variants.
    pub differences: Vec<Listed>,
    /// Schedule, kernels and compilers.
    pub method: Vec<String>,
    /// fio command lines.
    pub commands: Vec<String>,
    /// Ids, versions and digests.
    pub provenance: Vec<String>,
    /// Tables of the other metrics, board by board; only in the full report.
    pub exploratory: Vec<BoardView>,
    /// Blocks with all numbers of a cell; only in the full report.
    pub blocks: Vec<Block>,
}

/// A short name with what it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Named {
    /// A letter or a mark.
    pub name: String,
    /// Its meaning.
    pub text: String,
}

/// A sentence with items below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Listed {
    /// The sentence.
    pub text: String,
    /// The items; often none.
    pub items: Vec<String>,
}

/// A board with its tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardView {
    /// The board's name and what it is.
    pub heading: String,
    /// What the numbers are and how they were averaged.
    pub caption: String,
    /// The tables; more than one where the columns do not fit beside each other.
    pub tables: Vec<Table>,
    /// Sentences below the tables.
    pub lines: Vec<String>,
}

/// All numbers of one cell on one board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Block {
    /// Name of the board where the block is the board's first, else nothing.
    pub board: Option<String>,
    /// The cell.
    pub heading: String,
    /// Variants as columns.
    pub tables: Vec<Table>,
}

/// A table as columns with widths, so that a template can set it either way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Table {
    /// The columns; the first holds the rows' labels.
    pub columns: Vec<Column>,
    /// The rows; each has one text a column.
    pub rows: Vec<Vec<String>>,
}

/// One column of a [`Table`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Column {
    /// Its head.
    pub head: String,
    /// Characters between this column and the one before it.
    pub gap: usize,
    /// Characters of the widest text.
    pub width: usize,
    /// Whether texts stand at the left; numbers stand at the right.
    pub left: bool,
}
