use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::request::Parts;
use moka::future::Cache;
use policy::Context;

use crate::{Authenticator, Noauth, Refusal};

/// Passwords that are remembered at most, and for how long: bcrypt is slow on purpose.
const REMEMBERED: u64 = 1_000;
const REMEMBERED_FOR: Duration = Duration::from_secs(300);

/// HTTP basic authentication against a file that `htpasswd -B` writes. Whoever has a password there is what [`Noauth`] makes of the
/// other headers: an administrator, or who `X-Project-Id` and `X-Roles` say. The user is always the one of the password.
///
/// Reads the file again when it changes. Only bcrypt is taken, as by oslo_middleware/basic_auth.py.
pub struct Basic {
    path: PathBuf,
    file: Mutex<Arc<File>>,
    remembered: Cache<String, ()>,
}

struct File {
    stamp: Option<(SystemTime, u64)>,
    users: Vec<(String, String)>,
}

/// Why a file of passwords cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadFile {
    #[error("{} cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{}: the password of {user} is not kept by bcrypt; write it with `htpasswd -B`", path.display())]
    NotBcrypt { path: PathBuf, user: String },
}

fn stamp(path: &Path) -> std::io::Result<(SystemTime, u64)> {
    let data = std::fs::metadata(path)?;
    Ok((data.modified()?, data.len()))
}

fn read(path: &Path) -> Result<File, BadFile> {
    let unreadable = |source| BadFile::Unreadable { path: path.to_owned(), source };
    let stamp = stamp(path).map_err(unreadable)?;
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let mut users = Vec::new();
    for line in text.lines().map(str::trim) {
        let Some((user, digest)) = line.split_once(':') else { continue };
        if !["$2y$", "$2a$", "$2b$"].iter().any(|kind| digest.starts_with(kind)) {
            return Err(BadFile::NotBcrypt { path: path.to_owned(), user: user.to_owned() });
        }
        users.push((user.to_owned(), digest.to_owned()));
    }
    Ok(File { stamp: Some(stamp), users })
}

impl Basic {
    /// Reads the file; fails if it is not there or holds other than bcrypt.
    pub fn new(path: PathBuf) -> Result<Basic, BadFile> {
        let file = read(&path)?;
        let remembered = Cache::builder().max_capacity(REMEMBERED).time_to_live(REMEMBERED_FOR).build();
        Ok(Basic { path, file: Mutex::new(Arc::new(file)), remembered })
    }

    /// The users of now. What was remembered goes with the file that it was from.
    fn users(&self) -> Arc<File> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamp(&self.path).ok();
        if now != file.stamp {
            match read(&self.path) {
                Ok(new) => *file = Arc::new(new),
                Err(error) => {
                    tracing::error!(error = crate::chain(&error), "nobody can log in");
                    *file = Arc::new(File { stamp: now, users: Vec::new() });
                }
            }
            self.remembered.invalidate_all();
        }
        file.clone()
    }
}

fn unauthorized() -> Refusal {
    Refusal::Unauthorized { challenge: Some("Basic realm=\"Networking\"".to_owned()) }
}

/// User and password of `Authorization: Basic …`.
fn credentials(value: &str) -> Option<(String, Vec<u8>)> {
    let (scheme, rest) = value.trim().split_once(char::is_whitespace)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = STANDARD.decode(rest.trim()).ok()?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    let user = String::from_utf8(pair[..colon].to_vec()).ok()?;
    Some((user, pair[colon + 1..].to_vec()))
}

#[async_trait]
impl Authenticator for Basic {
    async fn authenticate(&self, request: &Parts) -> Result<Context, Refusal> {
        let value = request.headers.get(AUTHORIZATION).ok_or_else(unauthorized)?;
        let value = value.to_str().map_err(|_| unauthorized())?;
        let (user, password) = credentials(value).ok_or_else(|| {
            Refusal::Malformed("The header Authorization is not `Basic` with a user and a password.".into())
        })?;
        let file = self.users();
        if self.remembered.get(value).await.is_none() {
            let digest = file.users.iter().find(|(name, _)| *name == user).map(|(_, digest)| digest.clone());
            let digest = digest.ok_or_else(unauthorized)?;
            let checked = tokio::task::spawn_blocking(move || bcrypt::verify(&password, &digest)).await;
            match checked {
                Ok(Ok(true)) => self.remembered.insert(value.to_owned(), ()).await,
                _ => {
                    tracing::info!("the password of {user} does not match");
                    return Err(unauthorized());
                }
            }
        }
        let mut context = Noauth.authenticate(request).await?;
        context.user_id.clone_from(&user);
        context.user_name = user;
        Ok(context)
    }
}
