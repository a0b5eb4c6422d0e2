//! What the demonstration prints: calm, in columns, coloured only where somebody looks.

use std::time::{Duration, Instant};

/// Where it prints to.
#[derive(Debug)]
pub struct Paper {
    start: Instant,
    colours: bool,
}

const BOLD: &str = "1";
const DIM: &str = "2";
const GREEN: &str = "32";
const RED: &str = "31";

impl Paper {
    /// Times are told since `start`.
    pub fn new(start: Instant, colours: bool) -> Self {
        Self { start, colours: colours && std::env::var_os("NO_COLOR").is_none() }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// What follows.
    pub fn title(&self, text: &str) {
        println!("{}\n", self.paint(BOLD, text));
    }

    /// A step that has just been done, on what.
    pub fn step(&self, subject: &str, what: &str) {
        let time = format!("{:>7.3} s", self.start.elapsed().as_secs_f64());
        println!("{}  {subject:<8}  {what}", self.paint(DIM, &time));
    }

    /// The outcome of a check; `detail` is a figure or a reason.
    pub fn check(&self, passed: bool, what: &str, detail: &str) {
        let mark = if passed { self.paint(GREEN, "ok  ") } else { self.paint(RED, "FAIL") };
        println!("  {mark}  {what:<58}  {}", self.paint(DIM, detail));
    }

    /// Something that broke.
    pub fn error(&self, text: &str) {
        println!("\n{} {text}", self.paint(RED, "failed:"));
    }

    /// Plain text.
    pub fn line(&self, text: &str) {
        println!("{text}");
    }

    /// Rows under a head, with empty lines around.
    pub fn table<const N: usize>(&self, head: [&str; N], rows: &[[String; N]]) {
        let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).chain([head[i].len()]).max().unwrap_or(0);
        let widths: [usize; N] = std::array::from_fn(width);
        let line = |cells: [&str; N]| {
            let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            cells.join("  ").trim_end().to_owned()
        };
        println!("\n{}", self.paint(BOLD, &line(head)));
        for row in rows {
            println!("{}", line(std::array::from_fn(|i| row[i].as_str())));
        }
        println!();
    }

    /// How to look around while it stays up. `outside` is the process that has the namespaces.
    pub fn invite(&self, endpoint: &str, state: &str, outside: &str) {
        let own = std::env::current_exe().map_or_else(|_| "neutrino".to_owned(), |path| path.display().to_string());
        println!("\n{}", self.paint(BOLD, "It stays up until Ctrl-C. To look around, in another terminal:"));
        println!(
            "  sudo nsenter --target {outside} --net --mount --pid=/proc/{outside}/ns/pid_for_children \
             env NEUTRINO_STATE={state} bash"
        );
        println!("and in there, for example:");
        println!("  {own} instance list");
        println!("  {own} instance exec vm1 -- ip address");
        println!("  ip netns; ip -brief link; cat {state}/log");
        println!("  openstack --os-auth-type none --os-endpoint {endpoint} port list\n");
    }
}

/// A time as a person reads it.
pub fn time(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds < 0.1 => format!("{:.1} ms", seconds * 1000.0),
        seconds if seconds < 1.0 => format!("{:.0} ms", seconds * 1000.0),
        seconds => format!("{seconds:.2} s"),
    }
}
