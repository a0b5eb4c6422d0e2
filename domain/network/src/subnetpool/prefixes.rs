//! Sets of prefixes: merging, subtracting, finding room. Pure.

use types::{IpNet, from_number, number};

/// First and last address of a range, as numbers.
type Range = (u128, u128);

fn range(net: &IpNet) -> Range {
    (number(net.network()), number(net.broadcast()))
}

/// A set of prefixes of one family as ascending ranges that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    ranges: Vec<Range>,
}

impl Space {
    /// All addresses of the prefixes.
    pub fn new<'a>(nets: impl IntoIterator<Item = &'a IpNet>) -> Space {
        let mut all: Vec<Range> = nets.into_iter().map(range).collect();
        all.sort_unstable();
        let mut ranges: Vec<Range> = Vec::new();
        for (first, last) in all {
            match ranges.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = (*end).max(last),
                _ => ranges.push((first, last)),
            }
        }
        Space { ranges }
    }

    /// What is here and not in `other`.
    pub fn without(&self, other: &Space) -> Space {
        let mut ranges = Vec::new();
        let mut others = other.ranges.iter().copied().peekable();
        for (mut first, last) in self.ranges.iter().copied() {
            let mut used_up = false;
            while let Some((from, to)) = others.peek().copied() {
                if to < first {
                    others.next();
                    continue;
                }
                if from > last {
                    break;
                }
                if from > first {
                    ranges.push((first, from - 1));
                }
                if to >= last {
                    used_up = true;
                    break;
                }
                first = to + 1;
            }
            if !used_up {
                ranges.push((first, last));
            }
        }
        Space { ranges }
    }

    /// Every address of `other` is here.
    pub fn includes(&self, other: &Space) -> bool {
        other.without(self).ranges.is_empty()
    }

    pub fn includes_net(&self, net: &IpNet) -> bool {
        self.includes(&Space::new([net]))
    }

    /// Some address of `other` is here.
    pub fn meets(&self, other: &Space) -> bool {
        self.without(other) != *self
    }

    /// The fewest prefixes that make up the set, ascending. `like` gives the family.
    pub fn nets(&self, like: &IpNet) -> Vec<IpNet> {
        let bits = u32::from(like.max_prefix_len());
        let mut nets = Vec::new();
        for (mut first, last) in self.ranges.iter().copied() {
            loop {
                let aligned = first.trailing_zeros().min(bits);
                // Addresses from here to the end, less one, so that the whole of IPv6 is counted.
                let rest = last - first;
                let fits = if rest == u128::MAX { 128 } else { (rest + 1).ilog2() };
                let size = aligned.min(fits);
                let length = u8::try_from(bits - size).unwrap_or(0);
                if let Ok(net) = IpNet::new(from_number(first, like.addr()), length) {
                    nets.push(net);
                }
                let step = if size >= 128 { u128::MAX } else { (1u128 << size) - 1 };
                match first.checked_add(step).filter(|end| *end < last) {
                    Some(end) => first = end + 1,
                    None => break,
                }
            }
        }
        nets
    }

    /// Room for a prefix of that length: at the start of the smallest prefix that has it, so that big ones stay whole.
    pub fn room(&self, length: u8, like: &IpNet) -> Option<IpNet> {
        let nets = self.nets(like);
        // The first of the longest.
        let best = nets.iter().filter(|net| net.prefix_len() <= length).rev().max_by_key(|net| net.prefix_len())?;
        IpNet::new(best.network(), length).ok()
    }
}

/// The fewest prefixes with the same addresses, ascending.
pub fn merge(nets: &[IpNet]) -> Vec<IpNet> {
    match nets.first() {
        Some(like) => Space::new(nets).nets(like),
        None => Vec::new(),
    }
}
