//! `<plural>_links` of a page.

use serde_json::json;

use crate::origin::Origin;
use crate::pairs;

/// What a page is, as far as its links go.
pub struct Page<'a> {
    pub query: &'a [(String, String)],
    pub limit: usize,
    pub reverse: bool,
    /// Number of objects in it, and the keys of the first and last.
    pub length: usize,
    pub ends: Option<(&'a str, &'a str)>,
}

impl Page<'_> {
    /// Links as JSON: a page that is not full is the last one in its direction; all others have both links.
    pub fn links(&self, origin: &Origin) -> String {
        let full = self.length >= self.limit;
        let mut links = Vec::with_capacity(2);
        if full || self.reverse {
            links.push(json!({"rel": "next", "href": self.href(origin, self.ends.map(|(_, last)| last), false)}));
        }
        if full || !self.reverse {
            links.push(json!({"rel": "previous", "href": self.href(origin, self.ends.map(|(first, _)| first), true)}));
        }
        serde_json::Value::Array(links).to_string()
    }

    fn href(&self, origin: &Origin, marker: Option<&str>, reverse: bool) -> String {
        let mut href = origin.here();
        let kept = self.query.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let kept = kept.filter(|(name, _)| !matches!(*name, "marker" | "page_reverse"));
        let marker = marker.map(|marker| ("marker", marker));
        let reverse = reverse.then_some(("page_reverse", "True"));
        for (i, (name, value)) in kept.chain(marker).chain(reverse).enumerate() {
            href.push(if i == 0 { '?' } else { '&' });
            pairs::encode(name, &mut href);
            href.push('=');
            pairs::encode(value, &mut href);
        }
        href
    }
}
