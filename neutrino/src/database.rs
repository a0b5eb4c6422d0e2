//! `neutrino db`: the schema of the database.

use anyhow::Context as _;
use clap::Subcommand;
use runtime::Common;
use server::Setup;
use store::Store;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Create the tables, or bring them to the current schema.
    Upgrade(crate::Options),
    /// Print the revisions that the database is at.
    Current(crate::Options),
    /// Compare the database with the schema that this program needs.
    Check(crate::Options),
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let (Verb::Upgrade(options) | Verb::Current(options) | Verb::Check(options)) = &args.verb;
    let config = crate::service::configuration("neutron-server", &options.options, &[server::OPTIONS])?;
    crate::service::block_on(async {
        let common = Common::read(&config)?;
        let setup = Setup::read(&config)?;
        let options = server::store_options(&setup, &common.state_path)?;
        let store = Store::open(options).await.context("[database] connection")?;
        match &args.verb {
            Verb::Upgrade(_) => {
                let applied = store::migrate::upgrade(&store, migrations::ALL).await?;
                for name in &applied {
                    println!("applied {name}");
                }
                println!("the database is at {}", store::migrate::current(&store).await?.join(", "));
            }
            Verb::Current(_) => {
                let heads = store::migrate::current(&store).await?;
                println!("{}", if heads.is_empty() { "empty".to_owned() } else { heads.join("\n") });
            }
            Verb::Check(_) => {
                let differences = store::migrate::check(&store, migrations::ALL).await?;
                if differences.is_empty() {
                    println!("the database has the schema that this program needs");
                } else {
                    anyhow::bail!("the database differs:\n  {}", differences.join("\n  "));
                }
            }
        }
        store.close().await?;
        Ok(())
    })
}
