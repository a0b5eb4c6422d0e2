//! What operators set over all other domains: [`quota`]s of projects, and [`tag`]s on objects. Knows no other domain: the
//! composition root says which resources there are.

pub mod quota;
pub mod tag;

#[cfg(test)]
mod testing;
