//! The server that the tests speak to, with an empty database, for clients of other kinds:
//! `cargo run -p api --example serve -- '[DEFAULT]' 'bind_port = 9797'`. Each argument is a line of `neutron.conf`. Ends with its input.

use std::io::Read;

fn main() {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let api = api::Api::with(&options.join("\n"));
    println!("{}", api.base());
    // Until whoever started it closes the pipe.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
