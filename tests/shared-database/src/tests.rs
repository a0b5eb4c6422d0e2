use crate::{Load, Maker, run};

/// A seed of its own for every run, printed.
fn load(operations: usize, made_by: Maker) -> Load {
    let seed =
        std::env::var("SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| u64::from(std::process::id()));
    Load { operations, clients: 8, seed, made_by, journal: None }
}

#[test]
fn both_serve_a_database_of_the_reference() {
    run(&load(500, Maker::Reference)).unwrap();
}

#[test]
fn both_serve_a_database_of_ours() {
    run(&load(200, Maker::Ours)).unwrap();
}
