//! Command lines as oslo.config takes them, so that existing unit files start our programs unchanged, and the places where
//! files are looked for when none is named.

use std::path::{Path, PathBuf};

use crate::{Kind, Loader, Spec};

/// An argument that no option takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    #[error("{0} is no option of this program")]
    Unknown(String),
    #[error("{0} wants a value")]
    NoValue(String),
}

impl Loader {
    /// Takes arguments after the program's name, in order, later ones winning: `--config-file`, `--config-dir`, and every
    /// declared option as `--name value`, `--name=value` or, outside of `DEFAULT`, `--section-name value`; switches as
    /// `--name` and `--noname`; `-d` is `--debug`. Without any `--config-file` the files of [`default_files`] are read
    /// first, without any `--config-dir` its directories.
    pub fn arguments(mut self, arguments: &[String], defaults: &DefaultFiles) -> Result<Self, ArgumentError> {
        let named = |what: &str| arguments.iter().any(|a| a == what || a.starts_with(&format!("{what}=")));
        if !named("--config-file") {
            self = defaults.files.iter().fold(self, Self::file);
        }
        if !named("--config-dir") {
            self = defaults.dirs.iter().fold(self, Self::dir);
        }
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let Some(long) = argument.strip_prefix("--").or((argument == "-d").then_some("debug")) else {
                return Err(ArgumentError::Unknown(argument.clone()));
            };
            let (name, inline) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let mut value = || {
                let next = || rest.next().cloned();
                inline.clone().or_else(next).ok_or_else(|| ArgumentError::NoValue(argument.clone()))
            };
            self = match name {
                "config-file" => self.file(value()?),
                "config-dir" => self.dir(value()?),
                _ => match self.option_of(name) {
                    Some((spec, switch)) if spec.kind == Kind::Bool && inline.is_none() => {
                        self.given(spec.section, spec.name, switch.to_string())
                    }
                    Some((spec, true)) => {
                        let value = value()?;
                        self.given(spec.section, spec.name, value)
                    }
                    _ => return Err(ArgumentError::Unknown(argument.clone())),
                },
            };
        }
        Ok(self)
    }

    /// The option behind a name, and false for the negation of a switch.
    fn option_of(&self, name: &str) -> Option<(&'static Spec, bool)> {
        let plain = |text: &str| text.replace('-', "_").to_lowercase();
        let wanted = plain(name);
        let negated = wanted.strip_prefix("no");
        self.options.iter().map(|opt| opt.spec()).find_map(|spec| {
            let full = match spec.section {
                "DEFAULT" => plain(spec.name),
                section => plain(&format!("{section}_{}", spec.name)),
            };
            if full == wanted {
                Some((spec, true))
            } else {
                (spec.kind == Kind::Bool && negated == Some(full.as_str())).then_some((spec, false))
            }
        })
    }
}

/// Files and directories that hold when the command line names none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultFiles {
    pub files: Vec<PathBuf>,
    pub dirs: Vec<PathBuf>,
}

/// `<project>.conf` and `<program>.conf`, and the same with `.conf.d`: each the first of `~/.<project>`, `~`,
/// `/etc/<project>`, `/etc` that has it. `root` is `/` but in tests.
#[must_use]
pub fn default_files(root: &Path, home: Option<&Path>, project: &str, program: &str) -> DefaultFiles {
    let etc = root.join("etc");
    let mut places: Vec<PathBuf> = Vec::new();
    if let Some(home) = home {
        places.extend([home.join(format!(".{project}")), home.to_owned()]);
    }
    places.extend([etc.join(project), etc]);
    let first = |name: String| places.iter().map(|place| place.join(&name)).find(|path| path.exists());
    let both = |extension: &str| [project, program].iter().filter_map(|n| first(format!("{n}{extension}"))).collect();
    DefaultFiles { files: both(".conf"), dirs: both(".conf.d") }
}
