//! Generated requests, right and wrong, to the reference and to ours: the same statuses, types of faults and attributes.
//!
//! `generator.py` makes scenarios from seeds. The reference's answers to those of the first forty are in `golden.jsonl`, so that the test
//! replays them without it; `differential.py both` sends new ones to both. What differs on purpose is in `deviations.py` and, with its
//! reason, in `docs/compat.md`.

#[cfg(test)]
mod tests;
