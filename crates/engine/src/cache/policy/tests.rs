use super::*;
use proptest::prelude::*;

const DEVICES: [&str; 3] = ["CPU", "GPU0", "GPU1"];

fn bytes(device: &str, amount: u64) -> Bytes {
    Bytes::from([(device.to_owned(), amount)])
}

fn memory(device: &str, free_bytes: u64) -> BTreeMap<String, Memory> {
    BTreeMap::from([(device.to_owned(), Memory { free_bytes, reserve_bytes: 0 })])
}

/// A policy with models of one part each, opened in this order, none in use.
fn with(models: &[(&str, u64)]) -> (Policy, Vec<ResidentId>) {
    let mut policy = Policy::default();
    let ids = models.iter().map(|(device, amount)| {
        let id = policy.new_id();
        policy.open(id, BTreeSet::from([(id, Module::Diffusion)]));
        policy.set_bytes((id, Module::Diffusion), bytes(device, *amount));
        policy.end_use(id);
        id
    });
    let ids = ids.collect();
    (policy, ids)
}

#[test]
fn the_least_recently_used_on_the_device_that_lacks_goes_first() {
    let (mut policy, ids) = with(&[("GPU1", 5), ("GPU0", 5), ("GPU0", 5)]);
    let decide = |policy: &Policy, free| policy.decide(&bytes("GPU0", 6), &memory("GPU0", free), None);
    assert_eq!(decide(&policy, 6), Decision::Admit);
    assert_eq!(decide(&policy, 1), Decision::Evict(ids[1]));
    policy.begin_use(ids[1]);
    assert_eq!(decide(&policy, 1), Decision::Evict(ids[2]));
    policy.end_use(ids[1]);
    assert_eq!(decide(&policy, 1), Decision::Evict(ids[2]), "the other one was used since");
    policy.keep(ids[2], true);
    assert_eq!(decide(&policy, 1), Decision::Evict(ids[1]));
}

#[test]
fn a_model_in_use_is_waited_for_and_a_kept_one_is_not() {
    let (mut policy, ids) = with(&[("GPU0", 5)]);
    policy.begin_use(ids[0]);
    assert_eq!(policy.decide(&bytes("GPU0", 6), &memory("GPU0", 1), None), Decision::Wait(vec![ids[0]]));
    assert_eq!(policy.decide(&bytes("GPU0", 6), &memory("GPU0", 1), Some(ids[0])), Decision::Try);
    policy.end_use(ids[0]);
    policy.keep(ids[0], true);
    assert_eq!(policy.decide(&bytes("GPU0", 6), &memory("GPU0", 1), None), Decision::Try);
}

#[test]
fn a_shared_part_counts_once_and_leaves_with_the_last_that_holds_it() {
    let mut policy = Policy::default();
    let (a, b) = (policy.new_id(), policy.new_id());
    let encoder = (a, Module::Llm);
    policy.open(a, BTreeSet::from([(a, Module::Diffusion), encoder]));
    policy.open(b, BTreeSet::from([(b, Module::Diffusion), encoder]));
    for (part, amount) in [((a, Module::Diffusion), 4), ((b, Module::Diffusion), 4), (encoder, 2)] {
        policy.set_bytes(part, bytes("GPU0", amount));
    }
    assert_eq!(policy.held(), bytes("GPU0", 10));
    policy.end_use(a);
    policy.end_use(b);
    assert_eq!(policy.remove(a), BTreeSet::from([(a, Module::Diffusion)]));
    assert_eq!(policy.held(), bytes("GPU0", 6));
    assert_eq!(policy.remove(b), BTreeSet::from([(b, Module::Diffusion), encoder]));
    assert_eq!(policy.held(), Bytes::new());
}

#[test]
fn what_only_shares_with_a_model_in_use_would_free_nothing_and_stays() {
    let mut policy = Policy::default();
    let (a, b) = (policy.new_id(), policy.new_id());
    policy.open(a, BTreeSet::from([(a, Module::Llm)]));
    policy.open(b, BTreeSet::from([(a, Module::Llm)]));
    policy.set_bytes((a, Module::Llm), bytes("GPU0", 4));
    policy.end_use(b);
    assert_eq!(policy.decide(&bytes("GPU0", 6), &memory("GPU0", 1), None), Decision::Wait(vec![a]));
    policy.end_use(a);
    assert_eq!(policy.decide(&bytes("GPU0", 6), &memory("GPU0", 1), None), Decision::Evict(b), "both may go, one after the other");
}

#[test]
fn a_lender_keeps_only_what_is_lent_where_the_borrower_needs_room() {
    let mut policy = Policy::default();
    let (a, b) = (policy.new_id(), policy.new_id());
    policy.open(a, BTreeSet::from([(a, Module::Diffusion), (a, Module::Llm)]));
    policy.end_use(a);
    policy.open(b, BTreeSet::from([(b, Module::Diffusion), (a, Module::Llm)]));
    policy.set_bytes((a, Module::Diffusion), bytes("GPU0", 4));
    policy.set_bytes((a, Module::Llm), bytes("GPU0", 2));
    assert_eq!(policy.decide(&bytes("GPU0", 6), &memory("GPU0", 4), Some(b)), Decision::Evict(a));
    assert_eq!(policy.surplus(&BTreeMap::from([("GPU0".to_owned(), Memory { free_bytes: 0, reserve_bytes: 1 })])), None, "b may compute");
    assert_eq!(policy.remove(a), BTreeSet::from([(a, Module::Diffusion)]));
    assert!(policy.is_held((a, Module::Llm)));
}

#[test]
fn less_free_than_the_reserve_takes_one_model_after_the_other() {
    let (mut policy, ids) = with(&[("GPU0", 5), ("GPU0", 5), ("CPU", 5)]);
    let pressed = BTreeMap::from([("GPU0".to_owned(), Memory { free_bytes: 1, reserve_bytes: 2 })]);
    assert_eq!(policy.surplus(&pressed), Some(ids[0]));
    policy.remove(ids[0]);
    assert_eq!(policy.surplus(&pressed), Some(ids[1]));
    policy.remove(ids[1]);
    assert_eq!(policy.surplus(&pressed), None);
}

/// Operations on the policy.
#[derive(Clone, Debug)]
enum Op {
    /// A model needs so much of each device; it may borrow the encoder of the n-th open model.
    Open {
        need: [u64; 3],
        borrow: Option<usize>,
    },
    Use(usize),
    Done(usize),
    Keep(usize, bool),
    Drop(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (prop::array::uniform3(0..40_u64), prop::option::of(0..6_usize)).prop_map(|(need, borrow)| Op::Open { need, borrow }),
        3 => (0..6_usize).prop_map(Op::Use),
        4 => (0..6_usize).prop_map(Op::Done),
        1 => (0..6_usize, any::<bool>()).prop_map(|(n, kept)| Op::Keep(n, kept)),
        1 => (0..6_usize).prop_map(Op::Drop),
    ]
}

/// A world of devices beside the books: what it says is true, so that the books can be compared
/// with it.
struct World {
    policy: Policy,
    total: u64,
    reserve: u64,
    users: BTreeMap<ResidentId, u32>,
}

impl World {
    fn memory(&self) -> BTreeMap<String, Memory> {
        let held = self.policy.held();
        let free = |device: &str| self.total.saturating_sub(held.get(device).copied().unwrap_or(0));
        let memory = |device: &&str| ((*device).to_owned(), Memory { free_bytes: free(device), reserve_bytes: self.reserve });
        DEVICES.iter().map(memory).collect()
    }

    fn nth(&self, n: usize) -> Option<ResidentId> {
        self.policy.entries.keys().nth(n).copied()
    }

    fn open(&mut self, need: [u64; 3], borrow: Option<usize>) -> Result<(), TestCaseError> {
        let need: Bytes = DEVICES.iter().map(|device| (*device).to_owned()).zip(need).collect();
        let lender = borrow.and_then(|n| self.nth(n));
        if let Some(lender) = lender {
            self.policy.begin_use(lender);
            *self.users.entry(lender).or_default() += 1;
        }
        let mut order: Vec<u64> = Vec::new();
        let mut rounds = 0;
        let decision = loop {
            rounds += 1;
            prop_assert!(rounds <= 64, "deciding has no end");
            let memory = self.memory();
            match self.policy.decide(&need, &memory, None) {
                Decision::Evict(id) => {
                    prop_assert_eq!(self.users.get(&id).copied().unwrap_or(0), 0, "evicted while in use");
                    prop_assert!(!self.policy.is_kept(id));
                    order.push(self.policy.entries[&id].used_at);
                    let lacking: Vec<_> = DEVICES
                        .iter()
                        .filter(|device| need[**device] > 0 && need[**device] + self.reserve > memory[**device].free_bytes)
                        .collect();
                    let on = |bytes: &Bytes| lacking.iter().any(|device| bytes.get(**device).is_some_and(|bytes| *bytes > 0));
                    prop_assert!(self.policy.parts(id).any(|(_, bytes)| on(bytes)), "it held nothing that was wanted");
                    self.policy.remove(id);
                    self.users.remove(&id);
                }
                other => break other,
            }
        };
        let memory = self.memory();
        let fits = need.iter().all(|(device, need)| *need == 0 || need + self.reserve <= memory[device].free_bytes);
        prop_assert_eq!(fits, decision == Decision::Admit);
        if let Decision::Wait(busy) = &decision {
            prop_assert!(busy.iter().all(|id| self.policy.is_in_use(*id)));
        }
        if let Some(lender) = lender {
            self.policy.end_use(lender);
            *self.users.entry(lender).or_default() -= 1;
        }
        if decision == Decision::Admit {
            let id = self.policy.new_id();
            let shared = lender.map(|lender| (lender, Module::Llm)).filter(|part| self.policy.is_held(*part));
            let parts = [Some((id, Module::Diffusion)), shared.or(Some((id, Module::Llm)))].into_iter().flatten().collect();
            self.policy.open(id, parts);
            self.policy.set_bytes((id, Module::Diffusion), need);
            if shared.is_none() {
                self.policy.set_bytes((id, Module::Llm), Bytes::new());
            }
            self.users.insert(id, 1);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_happens_the_rules_hold(total in 20..100_u64, reserve in 0..10_u64, ops in prop::collection::vec(op(), 1..60)) {
        let mut world = World { policy: Policy::default(), total, reserve, users: BTreeMap::new() };
        for op in ops {
            match op {
                Op::Open { need, borrow } => world.open(need, borrow)?,
                Op::Use(n) => if let Some(id) = world.nth(n) {
                    world.policy.begin_use(id);
                    *world.users.entry(id).or_default() += 1;
                },
                Op::Done(n) => if let Some(id) = world.nth(n) {
                    world.policy.end_use(id);
                    let users = world.users.entry(id).or_default();
                    *users = users.saturating_sub(1);
                },
                Op::Keep(n, kept) => if let Some(id) = world.nth(n) { world.policy.keep(id, kept) },
                Op::Drop(n) => if let Some(id) = world.nth(n)
                    && !world.policy.is_in_use(id)
                {
                    world.policy.remove(id);
                    world.users.remove(&id);
                },
            }
            for (id, users) in &world.users {
                prop_assert_eq!(world.policy.is_in_use(*id), *users > 0);
            }
            // Every part that has bytes is held by somebody.
            let parts: Vec<_> = world.policy.bytes.keys().copied().collect();
            prop_assert!(parts.into_iter().all(|part| world.policy.is_held(part)));
            for device in DEVICES {
                prop_assert!(world.policy.held().get(device).copied().unwrap_or(0) + reserve <= total.max(reserve));
            }
        }
        // Everything can be given back.
        for id in world.policy.by_use() {
            while world.policy.is_in_use(id) {
                world.policy.end_use(id);
            }
            world.policy.remove(id);
        }
        prop_assert_eq!(world.policy.held(), Bytes::new());
        prop_assert!(world.policy.bytes.is_empty());
    }
}
