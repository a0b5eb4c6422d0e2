//! Portable text with the server's placeholders.

/// Numbers the placeholders: `?` becomes `$1`, `IN (??)` becomes `= ANY($1)` and `NOT IN (??)` `<> ALL($1)`: a set is one
/// argument, an array. Quoted text stays as it is. Also the number of placeholders.
pub(super) fn numbered(sql: &str) -> (String, usize) {
    let mut text = String::with_capacity(sql.len() + 16);
    let mut count = 0;
    let mut quote = None;
    let mut characters = sql.chars().peekable();
    while let Some(character) = characters.next() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if matches!(character, '\'' | '"') => quote = Some(character),
            None if character == '?' => {
                count += 1;
                if characters.next_if_eq(&'?').is_some() {
                    let all = any_or_all(&mut text);
                    text.push_str(&format!("{all}(${count}"));
                } else {
                    text.push_str(&format!("${count}"));
                }
                continue;
            }
            None => {}
        }
        text.push(character);
    }
    (text, count)
}

/// Takes the `IN (` or `NOT IN (` off the end; what stands for it, up to its bracket.
fn any_or_all(text: &mut String) -> &'static str {
    let kept = text.trim_end_matches('(').trim_end();
    let kept = take_word(kept, "IN").unwrap_or(kept);
    let (kept, all) = match take_word(kept, "NOT") {
        Some(kept) => (kept, "<> ALL"),
        None => (kept, "= ANY"),
    };
    let length = kept.len();
    text.truncate(length);
    text.push(' ');
    all
}

/// `text` without the word at its end and the space before it.
fn take_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let start = text.len().checked_sub(word.len())?;
    let end = text.get(start..)?;
    if !end.eq_ignore_ascii_case(word) {
        return None;
    }
    let before = &text[..start];
    let apart = before.chars().next_back().is_some_and(|c| c.is_whitespace() || c == ')');
    apart.then(|| before.trim_end())
}
