//! What each owner was given of the engine, as virtual seconds. Pure.
//!
//! Seconds of pictures, divided by the owner's weight, so that the smallest number says whose turn
//! it is. Nobody saves up: who wanted nothing for a while begins where the least served of those
//! who do want something is.

use std::collections::{BTreeMap, BTreeSet};

use atelier_gallery::queue::{Owner, QueuedJob};

use super::predict::{Paces, can_run};

/// The share of the person at the machine; everybody else's is 1.
const PERSON_WEIGHT: f64 = 2.0;
/// Virtual seconds by which the person at the machine goes before others: about a picture, so that
/// a bounded number of theirs is made first.
const HEAD_START_SECS: f64 = 10.0;

/// Virtual seconds of each owner.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    charged: BTreeMap<Owner, f64>,
    wanting: BTreeSet<Owner>,
}

impl Shares {
    /// Notes who wants something now: the owners of these jobs, and the person at the machine where
    /// a picture beside the queue is awaited.
    pub(super) fn note_wanting(&mut self, jobs: &[QueuedJob], is_awaited: bool) {
        let mut wanting: BTreeSet<Owner> = jobs.iter().filter(|job| can_run(job)).map(|job| job.owner.clone()).collect();
        if is_awaited {
            wanting.insert(Owner::person());
        }
        let least = self.wanting.intersection(&wanting).map(|owner| self.charged(owner)).min_by(f64::total_cmp);
        match least {
            // Nobody who waits was served before another: all begin anew.
            None => self.charged.clear(),
            Some(least) => {
                for owner in wanting.difference(&self.wanting) {
                    let charged = self.charged.entry(owner.clone()).or_insert(least);
                    *charged = charged.max(least);
                }
                // Who is behind would begin at the least in any case.
                self.charged.retain(|owner, charged| wanting.contains(owner) || *charged > least);
            }
        }
        self.wanting = wanting;
    }

    /// Counts seconds of the engine for an owner.
    pub(super) fn charge(&mut self, owner: &Owner, secs: f64) {
        *self.charged.entry(owner.clone()).or_default() += secs / weight(owner);
    }

    /// Counts one picture of a job for its owner. Returns its seconds.
    pub(super) fn charge_picture(&mut self, job: &QueuedJob, paces: &Paces) -> f64 {
        let secs = paces.picture_secs(job);
        self.charge(&job.owner, secs);
        secs
    }

    /// Gives seconds back that were counted for an owner and not computed, as those of a picture that
    /// was stopped. What was settled meanwhile is nothing to give back.
    pub(super) fn refund(&mut self, owner: &Owner, secs: f64) {
        if let Some(charged) = self.charged.get_mut(owner) {
            *charged = (*charged - secs / weight(owner)).max(0.0);
        }
    }

    /// The place of an owner: the smallest is next.
    pub(super) fn turn(&self, owner: &Owner) -> f64 {
        self.charged(owner) - if owner.is_person() { HEAD_START_SECS } else { 0.0 }
    }

    fn charged(&self, owner: &Owner) -> f64 {
        self.charged.get(owner).copied().unwrap_or_default()
    }

    /// The order in which jobs are expected to end, as indexes. That of one owner alone is the order
    /// in which they are; those of several are merged by what their owners will have been given.
    pub(super) fn expected_order(&self, jobs: &[QueuedJob], paces: &Paces) -> Vec<usize> {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        let mut owners = jobs.iter().filter(|job| can_run(job)).map(|job| &job.owner);
        let first = owners.next();
        if owners.all(|owner| Some(owner) == first) {
            return order;
        }
        let mut ends: BTreeMap<&Owner, f64> = BTreeMap::new();
        let mut tags = Vec::with_capacity(jobs.len());
        for job in jobs {
            let end = ends.entry(&job.owner).or_insert_with(|| self.turn(&job.owner));
            if can_run(job) {
                *end += paces.secs_left(job) / weight(&job.owner);
            }
            tags.push(if job.state.is_ended() { f64::INFINITY } else { *end });
        }
        order.sort_by(|one, other| tags[*one].total_cmp(&tags[*other]));
        order
    }
}

fn weight(owner: &Owner) -> f64 {
    if owner.is_person() { PERSON_WEIGHT } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::super::policy::tests::{job, of};
    use super::*;

    #[test]
    fn nobody_saves_up_and_who_was_given_more_than_others_does_not_get_rid_of_it_by_a_pause() {
        let (anna, ben, cleo) = (Owner::named("Anna"), Owner::named("Ben"), Owner::named("Cleo"));
        let jobs = [of("Anna", job(1, "a")), of("Ben", job(2, "a")), of("Cleo", job(3, "a"))];
        let mut shares = Shares::default();
        shares.note_wanting(&jobs[..2], false);
        shares.charge(&anna, 100.0);
        shares.charge(&ben, 60.0);
        shares.note_wanting(&jobs[1..], false);
        assert_eq!((shares.turn(&ben), shares.turn(&cleo)), (60.0, 60.0), "a new one begins beside the least served");
        shares.note_wanting(&jobs, false);
        assert_eq!(shares.turn(&anna), 100.0, "a pause changes nothing for who is ahead");
        shares.note_wanting(&jobs[..2], false);
        shares.charge(&ben, 50.0);
        shares.note_wanting(&jobs, false);
        assert_eq!(shares.turn(&cleo), 100.0, "and is no credit for who was behind");
        shares.note_wanting(&[], false);
        shares.note_wanting(&jobs, false);
        assert_eq!([&anna, &ben, &cleo].map(|it| shares.turn(it)), [0.0; 3], "once nobody wants anything all is settled");
    }

    #[test]
    fn a_stopped_picture_costs_what_it_took_and_no_credit_comes_of_it() {
        let anna = Owner::named("Anna");
        let mut shares = Shares::default();
        shares.charge(&anna, 30.0);
        shares.refund(&anna, 28.0);
        assert_eq!(shares.turn(&anna), 2.0);
        shares.refund(&anna, 28.0);
        assert_eq!(shares.turn(&anna), 0.0);
        shares.refund(&Owner::named("Ben"), 5.0);
        assert_eq!(shares.turn(&Owner::named("Ben")), 0.0);
    }

    #[test]
    fn the_person_at_the_machine_goes_first_by_a_bounded_step_and_has_twice_the_share() {
        let jobs = [job(1, "a"), of("Anna", job(2, "a"))];
        let mut shares = Shares::default();
        shares.note_wanting(&jobs, false);
        let mut given = [0.0, 0.0];
        for _ in 0..300 {
            let is_anna = shares.turn(&jobs[1].owner) < shares.turn(&jobs[0].owner);
            shares.charge(&jobs[usize::from(is_anna)].owner, 5.0);
            given[usize::from(is_anna)] += 5.0;
            let lead = given[0] / PERSON_WEIGHT - given[1];
            assert!((-5.0..=HEAD_START_SECS + 5.0).contains(&lead), "{given:?}");
        }
    }

    #[test]
    fn a_single_picture_is_expected_before_the_batch_of_somebody_else_and_one_owner_keeps_the_order() {
        let paces = Paces::default();
        let mut batch = of("Anna", job(1, "a"));
        std::sync::Arc::make_mut(&mut batch.recipe).batch_count = 8;
        let jobs = [batch, of("Anna", job(2, "a")), of("Ben", job(3, "a"))];
        let mut shares = Shares::default();
        shares.note_wanting(&jobs, false);
        assert_eq!(shares.expected_order(&jobs, &paces), [2, 0, 1]);
        assert_eq!(shares.expected_order(&jobs[..2], &paces), [0, 1]);
    }
}
