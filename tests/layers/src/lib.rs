//! Checks of the source tree itself: `tools/check-layers` runs them.

#[cfg(test)]
mod tests;
