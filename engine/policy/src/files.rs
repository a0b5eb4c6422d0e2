//! The files of `[oslo_policy]`: `policy_file`, and all files of `policy_dirs` by name after it. YAML or JSON: a mapping of names to checks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use saphyr::{LoadableYamlNode, Scalar, Yaml};

use crate::check::{Check, ParseError};

/// Where rules are read from. Files and directories that are not there are no error, and are noticed when they come.
#[derive(Clone, Debug, Default)]
pub struct Files {
    file: Vec<PathBuf>,
    dirs: Vec<Vec<PathBuf>>,
    /// What was found at the last reading, with its time and size.
    seen: Vec<(PathBuf, SystemTime, u64)>,
}

/// A rule of a file.
#[derive(Clone, Debug)]
pub struct FileRule {
    pub text: String,
    pub check: Check,
    pub path: PathBuf,
}

/// Why files give no rules.
#[derive(Debug, thiserror::Error)]
pub enum PolicyFileError {
    #[error("{} cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{} is not YAML with a mapping of rules to checks", path.display())]
    Yaml {
        path: PathBuf,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("{}: the rule {name}", path.display())]
    Check {
        path: PathBuf,
        name: String,
        #[source]
        source: ParseError,
    },
}

impl Files {
    /// The places where the file may be, of which the first that is there counts, and the same for each directory.
    pub fn new(file: Vec<PathBuf>, dirs: Vec<Vec<PathBuf>>) -> Files {
        Files { file, dirs, seen: Vec::new() }
    }

    /// The files that are there, in the order in which they are read.
    fn there(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.file.iter().find(|path| path.is_file()).cloned().into_iter().collect();
        for places in &self.dirs {
            let Some(dir) = places.iter().find(|path| path.is_dir()) else { continue };
            let Ok(entries) = std::fs::read_dir(dir) else { continue };
            let mut of_dir: Vec<PathBuf> = entries
                .flatten()
                .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
                .map(|entry| entry.path())
                .filter(|path| path.is_file())
                .collect();
            of_dir.sort();
            files.extend(of_dir);
        }
        files
    }

    fn stamps(&self) -> Vec<(PathBuf, SystemTime, u64)> {
        let stamp = |path: PathBuf| {
            let data = std::fs::metadata(&path).ok()?;
            Some((path, data.modified().ok()?, data.len()))
        };
        self.there().into_iter().filter_map(stamp).collect()
    }

    /// Whether there are other files, or others of the same names, than at the last reading.
    pub fn changed(&self) -> bool {
        self.stamps() != self.seen
    }

    /// The rules of all files, later files winning.
    pub fn read(&mut self) -> Result<HashMap<String, FileRule>, PolicyFileError> {
        self.seen = self.stamps();
        let mut rules = HashMap::new();
        for (path, ..) in &self.seen {
            let text = std::fs::read_to_string(path)
                .map_err(|source| PolicyFileError::Unreadable { path: path.clone(), source })?;
            rules.extend(parse(path, &text)?);
        }
        Ok(rules)
    }
}

/// The rules of one file.
pub fn parse(path: &Path, text: &str) -> Result<Vec<(String, FileRule)>, PolicyFileError> {
    let yaml =
        |source: Box<dyn std::error::Error + Send + Sync>| PolicyFileError::Yaml { path: path.to_owned(), source };
    let documents = Yaml::load_from_str(text).map_err(|error| yaml(error.to_string().into()))?;
    let mapping = match documents.first() {
        None => return Ok(Vec::new()),
        Some(document) if document.is_null() => return Ok(Vec::new()),
        Some(document) => document.as_mapping().ok_or_else(|| yaml("it is no mapping".into()))?,
    };
    let mut rules = Vec::new();
    for (name, value) in mapping {
        let name = name.as_str().ok_or_else(|| yaml("the name of a rule is no text".into()))?.to_owned();
        let wrong = |source| PolicyFileError::Check { path: path.to_owned(), name: name.clone(), source };
        let (text, check) = match value {
            Yaml::Value(Scalar::Null) => (String::new(), Check::True),
            Yaml::Value(Scalar::String(text)) => (text.to_string(), Check::parse(text).map_err(wrong)?),
            Yaml::Sequence(items) => {
                let lists: Option<Vec<Vec<String>>> = items.iter().map(words).collect();
                let lists = lists.ok_or_else(|| yaml(format!("the rule {name} is neither text nor a list").into()))?;
                let all: Vec<String> = lists.iter().map(|list| format!("({})", list.join(" and "))).collect();
                (all.join(" or "), Check::any_of(&lists).map_err(wrong)?)
            }
            _ => return Err(yaml(format!("the rule {name} is neither text nor a list").into())),
        };
        rules.push((name, FileRule { text, check, path: path.to_owned() }));
    }
    Ok(rules)
}

/// A check, or a list of them.
fn words(item: &Yaml<'_>) -> Option<Vec<String>> {
    match item {
        Yaml::Value(Scalar::String(text)) => Some(vec![text.to_string()]),
        Yaml::Sequence(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}
