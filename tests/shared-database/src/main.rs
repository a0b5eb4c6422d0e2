//! `make both`: the load at the size that one asks for.

use clap::Parser;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    load: shared_database::Load,
}

fn main() -> anyhow::Result<()> {
    shared_database::run(&Args::parse().load)
}
