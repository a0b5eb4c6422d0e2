//! Reading files and answering for options.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::interpolate::interpolate;
use crate::{Declared, FromText, Ini, Kind, Opt, Options, Spec, SyntaxError};

/// How deep references may refer to references.
const MAX_DEPTH: usize = 32;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    File {
        path: Arc<PathBuf>,
        line: u32,
    },
    /// The command line, or the program itself.
    Given,
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Given => f.write_str("command line"),
            Self::Default => f.write_str("default"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{}:{}: {}: {:?}", path.display(), error.line, error.what, error.text)]
    Syntax { path: PathBuf, error: SyntaxError },
    /// `value` is `****` for secrets.
    #[error("{origin}: [{section}] {name} = {value:?}: {why}")]
    Value { origin: Origin, section: &'static str, name: &'static str, value: String, why: String },
    #[error("[{section}] {name} must be set in one of the configuration files")]
    Required { section: &'static str, name: &'static str },
}

/// An assignment that no option declared reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    pub section: String,
    pub name: String,
    pub origin: Origin,
}

#[derive(Clone, Debug)]
struct Value {
    text: String,
    origin: Origin,
    /// Which source it is from; later ones win.
    rank: usize,
}

/// `(section, name)`, both as they are looked up.
type Key = (String, String);

fn key(section: &str, name: &str) -> Key {
    let section = if section == "DEFAULT" { section.to_owned() } else { section.to_lowercase() };
    (section, name.replace('-', "_"))
}

/// Collects sources in the order of precedence, lowest first.
#[derive(Default)]
pub struct Loader {
    values: HashMap<Key, Vec<Value>>,
    defaults: HashMap<Key, String>,
    pub(crate) options: Vec<&'static dyn Declared>,
    rank: usize,
    error: Option<ConfigError>,
    files: Vec<PathBuf>,
}

impl Loader {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The options that exist. References find their defaults; assignments to others are unknown.
    #[must_use]
    pub fn declare(mut self, options: Options) -> Self {
        self.options.extend(options);
        self
    }

    /// `--config-file`.
    #[must_use]
    pub fn file(mut self, path: impl AsRef<Path>) -> Self {
        if self.error.is_none() {
            self.error = self.read(path.as_ref()).err();
        }
        self
    }

    /// `--config-dir`: every `*.conf` in it, sorted by name.
    #[must_use]
    pub fn dir(mut self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        if self.error.is_some() {
            return self;
        }
        let listed = std::fs::read_dir(path).and_then(|entries| {
            let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|e| e.path())).collect();
            paths
        });
        match listed {
            Ok(mut files) => {
                let hidden = |p: &Path| p.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
                files.retain(|p| p.extension().is_some_and(|e| e == "conf") && !hidden(p));
                files.sort();
                files.into_iter().fold(self, Self::file)
            }
            Err(source) => {
                self.error = Some(ConfigError::Unreadable { path: path.to_owned(), source });
                self
            }
        }
    }

    /// Text as if it were a file of that name; for tests and for embedded defaults.
    #[must_use]
    pub fn text(mut self, name: &str, text: &str) -> Self {
        if self.error.is_none() {
            self.error = self.add(Path::new(name), text).err();
        }
        self
    }

    /// A value from the command line: wins over what came before.
    #[must_use]
    pub fn given(mut self, section: &str, name: &str, text: impl Into<String>) -> Self {
        self.rank += 1;
        let value = Value { text: text.into(), origin: Origin::Given, rank: self.rank };
        self.values.entry(key(section, name)).or_default().push(value);
        self
    }

    /// A default found out at run time, such as the host's name.
    #[must_use]
    pub fn default_of(mut self, spec: &Spec, text: impl Into<String>) -> Self {
        self.defaults.insert(key(spec.section, spec.name), text.into());
        self
    }

    /// Gives the configuration, or the first file that could not be read.
    pub fn load(self) -> Result<Config, ConfigError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let Self { values, defaults, options, files, .. } = self;
        let mut declared = HashMap::new();
        for spec in options.iter().map(|opt| opt.spec()) {
            declared.insert(key(spec.section, spec.name), spec);
        }
        Ok(Config { inner: Arc::new(Inner { values, defaults, options, declared, files, warned: Mutex::default() }) })
    }

    fn read(&mut self, path: &Path) -> Result<(), ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
        let bytes = std::fs::read(path).map_err(unreadable)?;
        let text = String::from_utf8(bytes)
            .map_err(|e| unreadable(std::io::Error::new(std::io::ErrorKind::InvalidData, e.utf8_error())))?;
        self.files.push(path.to_owned());
        self.add(path, &text)
    }

    fn add(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        let ini = Ini::parse(text).map_err(|error| ConfigError::Syntax { path: path.to_owned(), error })?;
        self.rank += 1;
        let path = Arc::new(path.to_owned());
        for a in ini.assignments {
            let origin = Origin::File { path: Arc::clone(&path), line: a.line };
            let value = Value { text: a.value, origin, rank: self.rank };
            self.values.entry(key(&a.section, &a.key)).or_default().push(value);
        }
        Ok(())
    }
}

/// What all sources say together. Cheap to clone.
#[derive(Clone)]
pub struct Config {
    inner: Arc<Inner>,
}

struct Inner {
    values: HashMap<Key, Vec<Value>>,
    /// Found out at run time.
    defaults: HashMap<Key, String>,
    options: Vec<&'static dyn Declared>,
    declared: HashMap<Key, &'static Spec>,
    files: Vec<PathBuf>,
    /// Warnings are given once.
    warned: Mutex<HashSet<Key>>,
}

impl Config {
    /// The value of an option. The error names file, line, section, and what would be right.
    pub fn get<T: FromText>(&self, opt: &Opt<T>) -> Result<T, ConfigError> {
        let spec = &opt.spec;
        let Some((texts, origin)) = self.texts(spec)? else {
            return T::unset().ok_or(ConfigError::Required { section: spec.section, name: spec.name });
        };
        T::from_texts(spec.kind, &texts).map_err(|why| {
            let value = texts.last().map(String::as_str).unwrap_or_default();
            self.bad(spec, origin, value, why)
        })
    }

    /// The files that were read, in their order.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.inner.files
    }

    /// Whether a source other than the default says something.
    #[must_use]
    pub fn is_set(&self, spec: &Spec) -> bool {
        self.found(spec).is_some()
    }

    /// Every declared option whose value cannot be taken.
    #[must_use]
    pub fn check(&self) -> Vec<ConfigError> {
        self.inner.options.iter().filter_map(|opt| opt.check(self).err()).collect()
    }

    /// Assignments in files that no declared option reads, in the order of the files. Sections in `foreign` belong to
    /// others and are skipped.
    #[must_use]
    pub fn unknown(&self, foreign: &[&str]) -> Vec<Unknown> {
        let mut known: HashSet<Key> = self.inner.declared.keys().cloned().collect();
        for spec in self.inner.declared.values() {
            known.extend(spec.deprecated.iter().map(|(section, name)| key(section, name)));
        }
        let foreign: HashSet<String> = foreign.iter().map(|section| key(section, "").0).collect();
        let mut unknown: Vec<(usize, Unknown)> = Vec::new();
        for (at, values) in &self.inner.values {
            if known.contains(at) || foreign.contains(&at.0) {
                continue;
            }
            let Some(value) = values.last() else { continue };
            let (section, name) = at.clone();
            unknown.push((value.rank, Unknown { section, name, origin: value.origin.clone() }));
        }
        let line = |u: &Unknown| if let Origin::File { line, .. } = u.origin { line } else { 0 };
        unknown.sort_by_key(|(rank, u)| (*rank, line(u), u.name.clone()));
        unknown.into_iter().map(|(_, u)| u).collect()
    }

    /// Logs [`Config::unknown`], each once in the life of the configuration.
    pub fn warn_unknown(&self, foreign: &[&str]) {
        for Unknown { section, name, origin } in self.unknown(foreign) {
            if self.first_time(key(&section, &name)) {
                tracing::warn!("{origin}: [{section}] {name} is not an option of Neutrino and has no effect");
            }
        }
    }

    /// What holds for every declared option, as a file, each value with its origin.
    #[must_use]
    pub fn effective(&self) -> String {
        let mut sections: BTreeMap<&str, Vec<&Spec>> = BTreeMap::new();
        for spec in self.inner.declared.values() {
            sections.entry(spec.section).or_default().push(spec);
        }
        let mut out = String::new();
        for (section, mut specs) in sections {
            specs.sort_by_key(|spec| spec.name);
            let _ = writeln!(out, "[{section}]");
            for spec in specs {
                let name = spec.name;
                match self.texts(spec) {
                    Ok(Some((texts, origin))) => {
                        for text in texts {
                            let text = if spec.secret { "****".to_owned() } else { text.replace('\n', "\n    ") };
                            let _ = writeln!(out, "# {origin}\n{name} = {text}");
                        }
                    }
                    Ok(None) => drop(writeln!(out, "# not set\n#{name} =")),
                    Err(error) => drop(writeln!(out, "# {error}\n#{name} =")),
                }
            }
            out.push('\n');
        }
        out
    }

    /// All texts of an option, references replaced, and the origin of the one that counts.
    fn texts(&self, spec: &Spec) -> Result<Option<(Vec<String>, Origin)>, ConfigError> {
        let (raw, origin) = match self.found(spec) {
            Some(found) => found,
            None => {
                let given = self.inner.defaults.get(&key(spec.section, spec.name)).cloned();
                match given.or_else(|| spec.default.map(str::to_owned)) {
                    Some(text) => (vec![text], Origin::Default),
                    None => return Ok(None),
                }
            }
        };
        let replace = |text: &String| {
            self.replace(spec.section, text, 0).map_err(|TooDeep| {
                self.bad(spec, origin.clone(), text, "its references go round in circles".to_owned())
            })
        };
        let texts = raw.iter().map(replace).collect::<Result<Vec<_>, _>>()?;
        Ok(Some((texts, origin)))
    }

    /// Raw values from sources, under the option's own or a deprecated name.
    fn found(&self, spec: &Spec) -> Option<(Vec<String>, Origin)> {
        let own = key(spec.section, spec.name);
        // Its own name first: of equal rank, the last maximum would win, so look from the least wanted.
        let old = spec.deprecated.iter().rev().map(|(section, name)| key(section, name));
        let names: Vec<Key> = old.chain([own.clone()]).collect();
        let (name, value) = names
            .iter()
            .filter_map(|name| self.inner.values.get(name)?.last().map(|value| (name, value)))
            .max_by_key(|(_, value)| value.rank)?;
        if *name != own && self.first_time(name.clone()) {
            let (section, old) = name;
            tracing::warn!(
                "{}: [{section}] {old} is an old name; write [{}] {}",
                value.origin,
                spec.section,
                spec.name
            );
        }
        if spec.kind != Kind::MultiStr {
            return Some((vec![value.text.clone()], value.origin.clone()));
        }
        let mut all: Vec<&Value> = names.iter().filter_map(|name| self.inner.values.get(name)).flatten().collect();
        all.sort_by_key(|value| value.rank);
        Some((all.into_iter().map(|value| value.text.clone()).collect(), value.origin.clone()))
    }

    fn replace(&self, section: &str, text: &str, depth: usize) -> Result<String, TooDeep> {
        if depth > MAX_DEPTH {
            return Err(TooDeep);
        }
        interpolate(text, |name| {
            let (first, option) = name.split_once('.').unwrap_or((section, name));
            for (section, option) in [(first, option), ("DEFAULT", name)] {
                if let Some(text) = self.raw(section, option) {
                    return self.replace(section, &text, depth + 1).map(Some);
                }
            }
            Ok(None)
        })
    }

    /// The text behind a reference. Options that are not declared count too: they are of a part that is not ours yet.
    fn raw(&self, section: &str, name: &str) -> Option<String> {
        let at = key(section, name);
        if let Some(spec) = self.inner.declared.get(&at) {
            if let Some((mut texts, _)) = self.found(spec) {
                return texts.pop();
            }
            let default = || spec.default.map(str::to_owned).or_else(|| Some(String::new()));
            return self.inner.defaults.get(&at).cloned().or_else(default);
        }
        let value = self.inner.values.get(&at).and_then(|values| values.last());
        value.map(|value| value.text.clone()).or_else(|| self.inner.defaults.get(&at).cloned())
    }

    fn bad(&self, spec: &Spec, origin: Origin, value: &str, why: String) -> ConfigError {
        let value = if spec.secret { "****".to_owned() } else { value.to_owned() };
        ConfigError::Value { origin, section: spec.section, name: spec.name, value, why }
    }

    fn first_time(&self, at: Key) -> bool {
        self.inner.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(at)
    }
}

struct TooDeep;
