use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use types::IpRange;

use super::super::hint::{Chosen, Hints};

const SUBNET: &str = "subnet";

fn pool(first: u8, last: u8) -> IpRange {
    IpRange::new([192, 0, 2, first].into(), [192, 0, 2, last].into()).unwrap()
}

fn n(last: u8) -> u128 {
    types::number([192, 0, 2, last].into())
}

#[test]
fn an_unknown_or_changed_subnet_has_no_hint() {
    let hints = Hints::default();
    assert!(hints.choose(SUBNET, 0, true).is_none());
    hints.fill(SUBNET, 3, vec![pool(10, 20)], std::iter::empty());
    assert!(hints.choose(SUBNET, 2, true).is_none());
    assert_eq!(hints.choose(SUBNET, 3, true).unwrap().number, n(10));
    hints.forget(SUBNET);
    assert!(hints.choose(SUBNET, 3, true).is_none());
}

#[test]
fn a_choice_stays_near_the_lowest_free_ones() {
    let hints = Hints::default();
    let wide = IpRange::new("10.0.0.0".parse().unwrap(), "10.255.255.255".parse().unwrap()).unwrap();
    hints.fill(SUBNET, 0, vec![wide], std::iter::empty());
    let first = types::number(wide.first);
    let mut seen = BTreeSet::new();
    for _ in 0..200 {
        let chosen = hints.choose(SUBNET, 0, false).unwrap();
        assert!(chosen.number - first < 1200);
        assert!(seen.insert(chosen.number));
        chosen.keep();
    }
    assert!(seen.iter().max().unwrap() - first > 200, "choices are random, not in order");
}

#[derive(Clone, Debug)]
enum Step {
    Choose(bool),
    Exactly(u8),
    Commit(usize),
    RollBack(usize),
    Release(u8),
    Refill,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<bool>().prop_map(Step::Choose),
        1 => (8u8..32).prop_map(Step::Exactly),
        2 => any::<usize>().prop_map(Step::Commit),
        2 => any::<usize>().prop_map(Step::RollBack),
        2 => (8u8..32).prop_map(Step::Release),
        1 => Just(Step::Refill),
    ]
}

proptest! {
    /// Against a plain set: a choice is never an address that is taken, one that is chosen already only if there is no other, and
    /// none is missed.
    #[test]
    fn agrees_with_a_plain_set(steps in proptest::collection::vec(step(), 0..200)) {
        let pools = vec![pool(10, 15), pool(20, 27)];
        let in_pools = |number: u128| (n(10)..=n(15)).contains(&number) || (n(20)..=n(27)).contains(&number);
        let hints = Hints::default();
        hints.fill(SUBNET, 0, pools.clone(), std::iter::empty());
        let mut taken: BTreeSet<u128> = BTreeSet::new();
        let mut open: BTreeMap<u128, Chosen> = BTreeMap::new();
        for step in steps {
            let free: BTreeSet<u128> = (n(8)..n(32))
                .filter(|number| in_pools(*number) && !taken.contains(number) && !open.contains_key(number))
                .collect();
            match step {
                Step::Choose(lowest) => match hints.choose(SUBNET, 0, lowest) {
                    None => prop_assert!(free.is_empty()),
                    // Somebody's who has not ended: only when there is no other.
                    Some(chosen) if open.contains_key(&chosen.number) => {
                        prop_assert!(free.is_empty());
                        chosen.keep();
                    }
                    Some(chosen) => {
                        prop_assert!(free.contains(&chosen.number));
                        if lowest {
                            prop_assert_eq!(Some(&chosen.number), free.first());
                        }
                        open.insert(chosen.number, chosen);
                    }
                },
                Step::Exactly(last) => {
                    // The key in the database lets only a free one through.
                    if !taken.contains(&n(last)) && !open.contains_key(&n(last)) {
                        open.insert(n(last), hints.choose_exactly(SUBNET, n(last)).unwrap());
                    }
                }
                Step::Commit(which) => {
                    if let Some(number) = open.keys().nth(which % open.len().max(1)).copied() {
                        open.remove(&number).unwrap().keep();
                        taken.insert(number);
                    }
                }
                Step::RollBack(which) => {
                    if let Some(number) = open.keys().nth(which % open.len().max(1)).copied() {
                        open.remove(&number);
                    }
                }
                Step::Release(last) => {
                    if taken.remove(&n(last)) {
                        hints.release(SUBNET, n(last));
                    }
                }
                Step::Refill => hints.fill(SUBNET, 0, pools.clone(), taken.iter().copied()),
            }
        }
    }
}
