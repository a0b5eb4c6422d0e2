//! Prints what is known of the schema of a database, as `neutrino db check` compares it: `facts URL`.

use store::{Options, Store};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: facts URL")?;
    let store = Store::open(Options::new(url)).await?;
    for fact in store::migrate::facts(&store).await? {
        println!("{fact}");
    }
    Ok(())
}
