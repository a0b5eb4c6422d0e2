//! The oslo.policy language: `role:member and project_id:%(project_id)s`, `rule:…`, `field:…`, `not`, `or`, parentheses, `@`, `!`.
//!
//! Reproduces the rules of oslo_policy/_parser.py and neutron/policy.py (field and owner checks).

use regex_lite::Regex;

/// A parsed check string.
#[derive(Debug, Clone)]
pub enum Check {
    True,
    False,
    And(Vec<Check>),
    Or(Vec<Check>),
    Not(Box<Check>),
    Rule(String),
    Role(String),
    Field {
        resource: String,
        field: String,
        matches: Matches,
    },
    /// A credential or a quoted constant on the left, an attribute of the target or a constant on the right.
    Same {
        left: Left,
        right: Right,
    },
}

#[derive(Debug, Clone)]
pub enum Matches {
    Text(String),
    Pattern(Regex),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Left {
    Credential(String),
    Constant(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Right {
    Attribute(String),
    Constant(String),
}

/// A check string that cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the check '{text}' cannot be read: {why}")]
pub struct ParseError {
    pub text: String,
    pub why: String,
}

/// Nesting that a check string may have; deeper ones are refused rather than overflowing the stack.
const MAX_DEPTH: usize = 64;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<String>,
    position: usize,
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for word in text.split_whitespace() {
        let mut rest = word;
        while let Some(inner) = rest.strip_prefix('(') {
            tokens.push("(".to_owned());
            rest = inner;
        }
        // Closing parentheses end a word, but those of `%(name)s` belong to it.
        let mut closing = 0;
        while let Some(inner) = rest.strip_suffix(')') {
            let opened = inner.matches("%(").count();
            let closed = inner.matches(")s").count();
            if opened > closed {
                break;
            }
            rest = inner;
            closing += 1;
        }
        if !rest.is_empty() {
            tokens.push(rest.to_owned());
        }
        tokens.extend(std::iter::repeat_n(")".to_owned(), closing));
    }
    tokens
}

impl Check {
    /// Reads a check string. The empty one allows everything.
    pub fn parse(text: &str) -> Result<Check, ParseError> {
        let mut parser = Parser { text, tokens: tokens(text), position: 0 };
        if parser.tokens.is_empty() {
            return Ok(Check::True);
        }
        let check = parser.any(0)?;
        match parser.peek() {
            None => Ok(check),
            Some(extra) => Err(parser.error(format!("'{extra}' is left over"))),
        }
    }
}

impl Parser<'_> {
    fn error(&self, why: impl Into<String>) -> ParseError {
        ParseError { text: self.text.to_owned(), why: why.into() }
    }

    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.position).map(String::as_str)
    }

    fn next_is(&mut self, word: &str) -> bool {
        let is = self.peek().is_some_and(|token| token.eq_ignore_ascii_case(word));
        if is {
            self.position += 1;
        }
        is
    }

    fn any(&mut self, depth: usize) -> Result<Check, ParseError> {
        let mut checks = vec![self.all(depth)?];
        while self.next_is("or") {
            checks.push(self.all(depth)?);
        }
        Ok(if checks.len() == 1 { checks.remove(0) } else { Check::Or(checks) })
    }

    fn all(&mut self, depth: usize) -> Result<Check, ParseError> {
        let mut checks = vec![self.one(depth)?];
        while self.next_is("and") {
            checks.push(self.one(depth)?);
        }
        Ok(if checks.len() == 1 { checks.remove(0) } else { Check::And(checks) })
    }

    fn one(&mut self, depth: usize) -> Result<Check, ParseError> {
        if depth > MAX_DEPTH {
            return Err(self.error("it is nested too deep"));
        }
        if self.next_is("not") {
            return Ok(Check::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.next_is("(") {
            let check = self.any(depth + 1)?;
            return if self.next_is(")") { Ok(check) } else { Err(self.error("a parenthesis is not closed")) };
        }
        let Some(word) = self.peek().map(str::to_owned) else { return Err(self.error("it ends too early")) };
        if word == ")" || word.eq_ignore_ascii_case("and") || word.eq_ignore_ascii_case("or") {
            return Err(self.error(format!("'{word}' stands where a check belongs")));
        }
        self.position += 1;
        self.leaf(&word)
    }

    fn leaf(&self, word: &str) -> Result<Check, ParseError> {
        match word {
            "@" => return Ok(Check::True),
            "!" => return Ok(Check::False),
            _ => {}
        }
        let (kind, rest) = word.split_once(':').ok_or_else(|| self.error(format!("'{word}' is not kind:match")))?;
        match kind {
            "rule" => Ok(Check::Rule(rest.to_owned())),
            "role" => Ok(Check::Role(rest.to_owned())),
            "field" => {
                let (resource, rest) =
                    rest.split_once(':').ok_or_else(|| self.error(format!("'{word}' names no field")))?;
                let (field, value) =
                    rest.split_once('=').ok_or_else(|| self.error(format!("'{word}' has no value")))?;
                let matches = match value.strip_prefix('~') {
                    Some(pattern) => {
                        // Python's match() starts at the beginning.
                        let anchored =
                            if pattern.starts_with('^') { pattern.to_owned() } else { format!("^(?:{pattern})") };
                        Matches::Pattern(Regex::new(&anchored).map_err(|error| self.error(error.to_string()))?)
                    }
                    None => Matches::Text(value.to_owned()),
                };
                Ok(Check::Field { resource: resource.to_owned(), field: field.to_owned(), matches })
            }
            _ => {
                let quoted = kind.len() >= 2 && (kind.starts_with('\'') || kind.starts_with('"'));
                let left = if quoted {
                    Left::Constant(kind[1..kind.len() - 1].to_owned())
                } else {
                    Left::Credential(kind.to_owned())
                };
                let right = match rest.strip_prefix("%(").and_then(|rest| rest.strip_suffix(")s")) {
                    Some(name) => Right::Attribute(name.to_owned()),
                    None => Right::Constant(rest.trim_matches(['\'', '"']).to_owned()),
                };
                Ok(Check::Same { left, right })
            }
        }
    }
}
