//! What tests of all packages share. Development only.
//!
//! - [`eventually`], [`until`]: wait for a condition, never for a time;
//! - [`golden!`]: compare what is emitted with a file under the package's `tests/golden`;
//! - [`broker`]: virtual hosts on private servers of RabbitMQ;
//! - [`certificates`]: an authority and a server's certificate;
//! - [`database`]: empty databases on private servers of MariaDB and PostgreSQL;
//! - [`reference`]: the server of Neutron, from PyPI;
//! - [`lab::Lab`]: hosts made of namespaces with cables between them, and machines with DHCP clients.

pub mod broker;
pub mod certificates;
pub mod database;
pub mod golden;
pub mod lab;
pub mod reference;
mod wait;

pub use wait::{eventually, until};
