//! Rows of an answer.
//!
//! All rows of an answer share blocks of cells and one text per block, so a row of 35 columns costs no allocation of
//! its own and its text is borrowed until somebody needs to keep it.

use std::sync::Arc;

use chrono::NaiveDateTime;

use crate::value::{Value, time_from};

/// Text of one block; a new block starts beyond this, so that rows which are kept do not hold a whole list.
const BLOCK_TEXT: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text { start: u32, len: u32 },
}

#[derive(Debug, Default)]
struct Block {
    width: usize,
    cells: Vec<Cell>,
    text: String,
}

/// One row of an answer; columns are counted from 0 in the order of the `SELECT`.
///
/// The accessors convert and never fail on what is stored: NULL reads as `""`, 0, `false`, and the `opt_` forms give
/// `None` for it. A column beyond the width is a mistake in the program and panics like any index.
#[derive(Debug, Clone)]
pub struct Row {
    block: Arc<Block>,
    /// Index of the row's first cell in the block.
    at: usize,
}

impl Row {
    /// Number of columns.
    pub fn width(&self) -> usize {
        self.block.width
    }

    fn cell(&self, column: usize) -> Cell {
        assert!(column < self.block.width, "column {column} of a row of {}", self.block.width);
        self.block.cells[self.at + column]
    }

    fn slice(&self, start: u32, len: u32) -> &str {
        &self.block.text[start as usize..start as usize + len as usize]
    }

    pub fn is_null(&self, column: usize) -> bool {
        matches!(self.cell(column), Cell::Null)
    }

    /// Text as it lies in the answer; `""` for NULL and for numbers.
    pub fn str(&self, column: usize) -> &str {
        self.opt_str(column).unwrap_or_default()
    }

    /// Text as it lies in the answer; `None` for NULL and for numbers.
    pub fn opt_str(&self, column: usize) -> Option<&str> {
        match self.cell(column) {
            Cell::Text { start, len } => Some(self.slice(start, len)),
            _ => None,
        }
    }

    /// An owned text; numbers are printed.
    pub fn text(&self, column: usize) -> String {
        self.opt_text(column).unwrap_or_default()
    }

    pub fn opt_text(&self, column: usize) -> Option<String> {
        match self.cell(column) {
            Cell::Null => None,
            Cell::Int(value) => Some(value.to_string()),
            Cell::Real(value) => Some(value.to_string()),
            Cell::Text { start, len } => Some(self.slice(start, len).to_owned()),
        }
    }

    /// A whole number; text is parsed, and reads as 0 when it is not a number.
    pub fn int(&self, column: usize) -> i64 {
        self.opt_int(column).unwrap_or_default()
    }

    pub fn opt_int(&self, column: usize) -> Option<i64> {
        match self.cell(column) {
            Cell::Null => None,
            Cell::Int(value) => Some(value),
            Cell::Real(value) => Some(value as i64),
            Cell::Text { start, len } => self.slice(start, len).trim().parse().ok(),
        }
    }

    /// True for any number but 0.
    pub fn bool(&self, column: usize) -> bool {
        self.int(column) != 0
    }

    pub fn opt_bool(&self, column: usize) -> Option<bool> {
        self.opt_int(column).map(|value| value != 0)
    }

    /// A time in UTC; the epoch for NULL and for what is no time.
    pub fn time(&self, column: usize) -> NaiveDateTime {
        self.opt_time(column).unwrap_or_default()
    }

    pub fn opt_time(&self, column: usize) -> Option<NaiveDateTime> {
        self.opt_str(column).and_then(time_from)
    }

    /// The value as it is stored: booleans come back as numbers, times as text.
    pub fn value(&self, column: usize) -> Value {
        match self.cell(column) {
            Cell::Null => Value::Null,
            Cell::Int(value) => Value::Int(value),
            Cell::Real(value) => Value::Text(value.to_string()),
            Cell::Text { start, len } => Value::Text(self.slice(start, len).to_owned()),
        }
    }

    /// Null, number or string.
    pub fn json(&self, column: usize) -> serde_json::Value {
        match self.cell(column) {
            Cell::Null => serde_json::Value::Null,
            Cell::Int(value) => value.into(),
            Cell::Real(value) => value.into(),
            Cell::Text { start, len } => self.slice(start, len).into(),
        }
    }
}

/// Collects an answer cell by cell.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    width: usize,
    block: Block,
    done: Vec<Row>,
}

impl Rows {
    pub fn new(width: usize) -> Self {
        Rows { width, block: Block { width, ..Block::default() }, done: Vec::new() }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn cell(&mut self, cell: Cell) {
        self.block.cells.push(cell);
    }

    pub fn text(&mut self, text: &str) {
        let start = self.block.text.len() as u32;
        self.block.text.push_str(text);
        self.block.cells.push(Cell::Text { start, len: text.len() as u32 });
    }

    /// Ends a row.
    pub fn end_row(&mut self) {
        if self.block.text.len() >= BLOCK_TEXT {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        let next = Block { width: self.width, ..Block::default() };
        let block = Arc::new(std::mem::replace(&mut self.block, next));
        self.done.reserve(block.cells.len().checked_div(self.width).unwrap_or_default());
        self.done.extend((0..block.cells.len()).step_by(self.width.max(1)).map(|at| Row { block: block.clone(), at }));
    }

    pub fn finish(mut self) -> Vec<Row> {
        if !self.block.cells.is_empty() {
            self.end_block();
        }
        self.done
    }
}
