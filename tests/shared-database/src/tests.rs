use crate::{Load, Maker, run};

/// The seed of `make test`; `SEED` asks for another one, and `make both` takes a new one for each run.
fn load(operations: usize, seed: u64, made_by: Maker) -> Load {
    let seed = std::env::var("SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(seed);
    Load { operations, clients: 8, seed, made_by, journal: None }
}

#[test]
fn both_serve_a_database_of_the_reference() {
    run(&load(500, 31, Maker::Reference)).unwrap();
}

#[test]
fn both_serve_a_database_of_ours() {
    run(&load(200, 41, Maker::Ours)).unwrap();
}
