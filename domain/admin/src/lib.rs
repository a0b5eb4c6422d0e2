//! What operators set over all other domains: [`quota`]s of projects, [`tag`]s on objects, and who shares them ([`rbac`]). Knows no other domain: the
//! composition root says which resources there are.

pub mod quota;
pub mod rbac;
pub mod tag;

#[cfg(test)]
mod testing;
