//! `If-Match: revision_number=N`: the change is made only if the object still has that revision.

use axum::http::{HeaderMap, header};
use schema::Fault;

const TAG: &str = "revision_number=";

/// The revision that the request insists on; tags of other kinds are ignored.
pub fn parse(headers: &HeaderMap) -> Result<Option<i64>, Fault> {
    let mut revision = None;
    for value in headers.get_all(header::IF_MATCH) {
        let Ok(value) = value.to_str() else { continue };
        for tag in tags(value) {
            let Some(number) = tag.strip_prefix(TAG) else { continue };
            let Ok(number) = number.trim().parse::<i64>() else {
                return Err(bad("Revision number etag must be in the format of revision_number=<int>."));
            };
            if revision.replace(number).is_some() {
                return Err(bad("Multiple revision_number etags are not supported."));
            }
        }
    }
    Ok(revision)
}

/// Quoted tags; a value without quotes is one tag.
fn tags(value: &str) -> Vec<&str> {
    if value.contains('"') { value.split('"').skip(1).step_by(2).collect() } else { vec![value.trim()] }
}

fn bad(why: &str) -> Fault {
    Fault::new(400, "BadRequest", format!("Bad if-match request: {why}"))
}
