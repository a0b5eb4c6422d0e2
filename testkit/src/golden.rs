//! Comparing what is emitted with files kept in the repository.

use std::{fs, path::Path};

/// Compares text with `tests/golden/<name>` of the calling package; `UPDATE=1` in the environment writes it instead.
///
/// ```ignore
/// golden!("dhcp/opts_v6", render(&network));
/// ```
#[macro_export]
macro_rules! golden {
    ($name:expr, $text:expr $(,)?) => {
        $crate::golden::check(env!("CARGO_MANIFEST_DIR"), $name, $text.as_ref())
    };
}

/// What [`golden!`] calls.
///
/// # Panics
/// When the text differs from the file, or there is no file; with the lines that differ.
#[track_caller]
pub fn check(package: &str, name: &str, text: &str) {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    check_in(&Path::new(package).join("tests/golden"), name, text, update);
}

#[track_caller]
fn check_in(directory: &Path, name: &str, text: &str, update: bool) {
    let path = directory.join(name);
    if update {
        let parent = path.parent().expect("a file in a directory");
        fs::create_dir_all(parent).unwrap_or_else(|e| panic!("{}: {e}", parent.display()));
        fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        return;
    }
    match fs::read_to_string(&path) {
        Ok(want) if want == text => {}
        Ok(want) => panic!(
            "{} differs (-file +emitted); if it should, run the test with UPDATE=1 and read the change\n{}",
            path.display(),
            difference(&want, text)
        ),
        Err(e) => panic!("{}: {e}; run the test with UPDATE=1 to write it. Emitted:\n{text}", path.display()),
    }
}

/// The lines that differ, with one line around them; by a longest common subsequence for texts of usual size.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut lines = Vec::new();
    if head > 0 {
        lines.push(format!("@@ line {} @@\n {}", head, old[head - 1]));
    }
    if a.len() * b.len() > 4_000_000 {
        lines.extend(a.iter().map(|line| format!("-{line}")));
        lines.extend(b.iter().map(|line| format!("+{line}")));
    } else {
        walk(a, b, &mut lines);
    }
    lines.extend(old.get(old.len() - tail).filter(|_| tail > 0).map(|line| format!(" {line}")));
    lines.join("\n")
}

fn walk(a: &[&str], b: &[&str], lines: &mut Vec<String>) {
    let width = b.len() + 1;
    let mut common = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * width + j] = if a[i] == b[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            lines.push(format!(" {}", a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || i < a.len() && common[(i + 1) * width + j] >= common[i * width + j + 1] {
            lines.push(format!("-{}", a[i]));
            i += 1;
        } else {
            lines.push(format!("+{}", b[j]));
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_compared_and_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let missing = std::panic::catch_unwind(|| check_in(directory.path(), "a/b", "x", false));
        assert!(missing.is_err());
        check_in(directory.path(), "a/b", "one\ntwo\nthree\n", true);
        check_in(directory.path(), "a/b", "one\ntwo\nthree\n", false);
        let panic = std::panic::catch_unwind(|| check_in(directory.path(), "a/b", "one\n2\nthree\nfour\n", false));
        let text = *panic.unwrap_err().downcast::<String>().unwrap();
        assert!(text.contains("UPDATE=1"), "{text}");
        assert!(text.ends_with("@@ line 1 @@\n one\n-two\n+2\n three\n+four\n "), "{text}");
    }
}
