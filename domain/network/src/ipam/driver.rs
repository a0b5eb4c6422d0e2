use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use resource::Op;
use schema::Fault;
use types::{IpNet, IpRange};

use super::Internal;

/// A subnet as a driver sees it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub subnet_id: &'a str,
    pub cidr: IpNet,
    /// Grows when the subnet changes, its pools included.
    pub revision: i64,
}

/// Keeps the pools and the addresses of subnets. Everything happens inside the operation's transaction and goes with it when it
/// is rolled back; a driver that speaks to another system undoes its part itself.
#[async_trait]
pub trait IpamDriver: Send + Sync {
    /// Begins to keep a subnet.
    async fn add_subnet(&self, op: &mut Op<'_>, subnet_id: &str, pools: &[IpRange]) -> Result<(), Fault>;

    /// Changes the pools that free addresses come from. Addresses outside stay with who has them.
    async fn set_pools(&self, op: &mut Op<'_>, subnet_id: &str, pools: &[IpRange]) -> Result<(), Fault>;

    /// Forgets a subnet and all its addresses. From here to the end of the transaction nobody else gets an address of it.
    async fn remove_subnet(&self, op: &mut Op<'_>, subnet_id: &str) -> Result<(), Fault>;

    /// Takes exactly this address, in a pool or not; 409 `IpAddressAlreadyAllocated` if somebody has it.
    async fn take(&self, op: &mut Op<'_>, place: &Place<'_>, ip: IpAddr) -> Result<(), Fault>;

    /// Takes a free address of the pools, the lowest or any; None if there is none.
    async fn take_any(&self, op: &mut Op<'_>, place: &Place<'_>, lowest: bool) -> Result<Option<IpAddr>, Fault>;

    /// Takes these addresses for many ports at once; those that somebody has already are left out of the answer.
    async fn take_many(&self, op: &mut Op<'_>, place: &Place<'_>, ips: &[IpAddr]) -> Result<Vec<IpAddr>, Fault>;

    async fn give_back(&self, op: &mut Op<'_>, subnet_id: &str, ip: IpAddr) -> Result<(), Fault>;

    /// Something was not as the driver said: it should not rely on what it remembers of the subnet.
    fn doubt(&self, subnet_id: &str);
}

/// Makes a driver.
pub type Make = fn() -> Arc<dyn IpamDriver>;

/// The drivers by their name in `[DEFAULT] ipam_driver`.
pub static DRIVERS: &[(&str, Make)] = &[("internal", || Arc::new(Internal::default()))];
