//! The file format: sections, assignments over several lines, comments, quotes.

use std::fmt::Write;

/// One assignment. Lines of a value over several lines are joined by `\n`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub section: String,
    pub key: String,
    pub value: String,
    /// Counted from 1.
    pub line: u32,
}

/// Assignments in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ini {
    pub assignments: Vec<Assignment>,
}

/// A line that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}: {text:?}")]
pub struct SyntaxError {
    pub line: u32,
    pub what: &'static str,
    pub text: String,
}

impl Ini {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let mut ini = Self::default();
        let mut section: Option<String> = None;
        // Whether an indented line may continue the last assignment.
        let mut open = false;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // Python reads files with universal newlines.
        for (number, raw) in (1u32..).zip(text.replace("\r\n", "\n").split(['\n', '\r'])) {
            let line = raw.trim_end();
            let error = |what| SyntaxError { line: number, what, text: line.chars().take(120).collect() };
            if line.is_empty() {
                open = false;
            } else if line.starts_with([' ', '\t']) {
                match ini.assignments.last_mut().filter(|_| open) {
                    Some(last) => {
                        last.value.push('\n');
                        last.value.push_str(line.trim_start());
                    }
                    None => return Err(error("continues no assignment; an option starts in the first column")),
                }
            } else if let Some(rest) = line.strip_prefix('[') {
                open = false;
                let name = rest.strip_suffix(']').ok_or_else(|| error("a section ends with ]"))?;
                if name.is_empty() {
                    return Err(error("a section has a name"));
                }
                section = Some(name.to_owned());
            } else if line.starts_with(['#', ';']) {
                open = false;
            } else {
                let at = line.find(['=', ':']).ok_or_else(|| error("neither a section nor an option = value"))?;
                let (key, value) = (line[..at].trim(), unquote(line[at + 1..].trim()));
                if key.is_empty() {
                    return Err(error("an option has a name"));
                }
                let section = section.clone().ok_or_else(|| error("comes before the first section, e.g. [DEFAULT]"))?;
                let (key, value) = (key.to_owned(), value.to_owned());
                ini.assignments.push(Assignment { section, key, value, line: number });
                open = true;
            }
        }
        Ok(ini)
    }

    /// Writes a file that reads back the same, line numbers aside. Values whose later lines are blank or indented have no
    /// notation and lose that.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let mut section = "";
        for a in &self.assignments {
            if a.section != section {
                section = &a.section;
                let _ = writeln!(out, "[{section}]");
            }
            let mut lines = a.value.split('\n');
            let first = lines.next().unwrap_or_default();
            let quoted = first.trim() != first || unquote(first) != first;
            let _ =
                if quoted { writeln!(out, "{} = \"{first}\"", a.key) } else { writeln!(out, "{} = {first}", a.key) };
            for line in lines {
                let _ = writeln!(out, "    {line}");
            }
        }
        out
    }
}

/// Takes off one pair of quotes around the whole value.
fn unquote(value: &str) -> &str {
    for quote in ['"', '\''] {
        if value.starts_with(quote) && value.ends_with(quote) {
            return value.get(1..value.len().saturating_sub(1)).unwrap_or("");
        }
    }
    value
}
