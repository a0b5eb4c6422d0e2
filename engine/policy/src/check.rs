//! The oslo.policy language: `role:member and project_id:%(project_id)s`, `rule:…`, `field:…`, `not`, `or`, parentheses, `@`, `!`.
//!
//! Reproduces the rules of oslo_policy/_parser.py and _checks.py, and neutron/policy.py (field and owner checks). Unlike there, a check that
//! cannot be read is refused, and does not become one that forbids.

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
    Role(Template),
    Field {
        resource: String,
        field: String,
        matches: Matches,
    },
    /// A credential or a constant on the left, text with attributes of the target on the right.
    Same {
        left: Left,
        right: Template,
    },
    /// The project of the context is that of the object, or of its parent: the attribute's name.
    Owner(String),
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

/// Text in which `%(name)s` stands for an attribute of the target.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Template(pub Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Text(String),
    Attribute(String),
}

impl Template {
    fn parse(text: &str) -> Result<Template, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("%(") {
            if start > 0 {
                pieces.push(Piece::Text(rest[..start].to_owned()));
            }
            let end = rest[start..].find(")s").ok_or_else(|| format!("'{text}' has a %( without )s"))?;
            pieces.push(Piece::Attribute(attribute(&rest[start + 2..start + end])));
            rest = &rest[start + end + 2..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Template(pieces))
    }

    /// True if it is the same text for every target.
    pub fn is_constant(&self) -> bool {
        self.0.iter().all(|piece| matches!(piece, Piece::Text(_)))
    }
}

/// One name for each attribute of a parent: `network_tenant_id` and `network:tenant_id` are `network:project_id`.
fn attribute(name: &str) -> String {
    for old in [":tenant_id", "_tenant_id", "_project_id"] {
        if let Some(parent) = name.strip_suffix(old).filter(|parent| !parent.is_empty() && *parent != "target") {
            return format!("{parent}:project_id");
        }
    }
    name.to_owned()
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

    /// The older form: lists of checks that must all hold, of which one is enough.
    pub fn any_of(lists: &[Vec<String>]) -> Result<Check, ParseError> {
        if lists.is_empty() {
            return Ok(Check::True);
        }
        let mut any = Vec::new();
        for list in lists.iter().filter(|list| !list.is_empty()) {
            let mut all = Vec::new();
            for word in list {
                let parser = Parser { text: word, tokens: Vec::new(), position: 0 };
                all.push(parser.leaf(word)?);
            }
            any.push(if all.len() == 1 { all.remove(0) } else { Check::And(all) });
        }
        Ok(match any.len() {
            0 => Check::False,
            1 => any.remove(0),
            _ => Check::Or(any),
        })
    }

    /// The rules that it names, each as often as it stands there.
    pub fn rules<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Check::And(checks) | Check::Or(checks) => checks.iter().for_each(|check| check.rules(found)),
            Check::Not(check) => check.rules(found),
            Check::Rule(name) => found.push(name),
            _ => {}
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
        let template = || Template::parse(rest).map_err(|why| self.error(why));
        match kind {
            "rule" => Ok(Check::Rule(rest.to_owned())),
            "role" => Ok(Check::Role(template()?)),
            "http" | "https" => {
                Err(self.error("checks that ask another server are not supported; write the rule out instead"))
            }
            "project_id" | "tenant_id" => match template()?.0.as_slice() {
                [Piece::Attribute(name)] => {
                    Ok(Check::Owner(if name == "tenant_id" { "project_id".to_owned() } else { name.clone() }))
                }
                _ => Err(self.error(format!("'{word}' is not of the form {kind}:%(attribute)s"))),
            },
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
                let left = constant(kind).map_or_else(|| Left::Credential(kind.to_owned()), Left::Constant);
                Ok(Check::Same { left, right: template()? })
            }
        }
    }
}

/// What Python would take for a literal: quoted text, a number, `True`, `False`, `None`.
fn constant(text: &str) -> Option<String> {
    let quoted = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    if let Some(inner) = quoted('\'').or_else(|| quoted('"')) {
        return Some(inner.to_owned());
    }
    let literal = matches!(text, "True" | "False" | "None") || text.parse::<i64>().is_ok();
    literal.then(|| text.to_owned())
}
