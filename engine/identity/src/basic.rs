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

    /// The users of now.
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
        let digest = file.users.iter().find(|(name, _)| *name == user).map(|(_, digest)| digest.clone());
        let digest = digest.ok_or_else(unauthorized)?;
        // With the digest: a password is good as long as it is that of the file.
        let known = format!("{value} {digest}");
        if self.remembered.get(&known).await.is_none() {
            let checked = tokio::task::spawn_blocking(move || bcrypt::verify(&password, &digest)).await;
            match checked {
                Ok(Ok(true)) => self.remembered.insert(known, ()).await,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Parts {
        let mut request = http::Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn login(user: &str, password: &str) -> String {
        format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
    }

    fn line(user: &str, password: &str) -> String {
        // As `htpasswd -B` has it, at the lowest cost.
        format!("{user}:{}\n", bcrypt::hash(password, 4).unwrap().replacen("$2b$", "$2y$", 1))
    }

    fn is_refused(outcome: &Result<Context, Refusal>) -> bool {
        matches!(outcome, Err(Refusal::Unauthorized { challenge: Some(challenge) }) if challenge.starts_with("Basic "))
    }

    #[tokio::test]
    async fn passwords_of_the_file_open_and_others_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("htpasswd");
        std::fs::write(&path, line("ann", "a:colon") + &line("bob", "secret")).unwrap();
        let basic = Basic::new(path.clone()).unwrap();
        let ask = async |headers: &[(&str, &str)]| basic.authenticate(&request(headers)).await;
        assert!(is_refused(&ask(&[]).await));
        let ann = login("ann", "a:colon");
        for _ in 0..2 {
            let context = ask(&[("Authorization", &ann), ("X-Project-Id", "p1"), ("X-Roles", "member")]).await.unwrap();
            assert_eq!((context.user_id.as_str(), context.project_id.as_str()), ("ann", "p1"));
            assert_eq!(context.roles, ["member"]);
        }
        assert!(is_refused(&ask(&[("Authorization", &login("ann", "secret"))]).await));
        assert!(is_refused(&ask(&[("Authorization", &login("eve", "secret"))]).await));
        // Nobody is whom a header says.
        let context = ask(&[("Authorization", &ann), ("X-User-Id", "bob")]).await.unwrap();
        assert_eq!(context.user_id, "ann");
        for garbled in ["Basic", "Basic !!", "Basic YWJj", "Bearer abc"] {
            assert!(matches!(ask(&[("Authorization", garbled)]).await, Err(Refusal::Malformed(_))), "{garbled}");
        }

        // The file changes: of one the password, the other is gone.
        std::fs::write(&path, line("ann", "another one")).unwrap();
        assert!(is_refused(&ask(&[("Authorization", &ann)]).await));
        assert!(is_refused(&ask(&[("Authorization", &login("bob", "secret"))]).await));
        assert!(ask(&[("Authorization", &login("ann", "another one"))]).await.is_ok());
        std::fs::remove_file(&path).unwrap();
        assert!(is_refused(&ask(&[("Authorization", &login("ann", "another one"))]).await));
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("htpasswd");
        let said = |path: &Path| Basic::new(path.to_owned()).err().unwrap().to_string();
        assert!(said(&path).contains("htpasswd cannot be read"));
        std::fs::write(&path, "ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n").unwrap();
        assert!(said(&path).contains("the password of ann"));
    }
}
