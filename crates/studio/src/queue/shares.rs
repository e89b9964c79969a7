//! What each owner was given of the engine, as virtual seconds. Pure.
//!
//! Seconds of pictures, divided by the owner's weight, so that the smallest number says whose turn
//! it is. Nobody saves up: who wanted nothing for a while begins where the least served of those
//! who do want something is. The users that one owner tells apart take turns in the same way, with
//! what that owner is given.

use std::collections::{BTreeMap, BTreeSet};

use atelier_gallery::queue::{Owner, QueuedJob, User};

use super::predict::{Paces, can_run};

/// The share of the person at the machine; everybody else's is 1.
const PERSON_WEIGHT: f64 = 2.0;
/// Virtual seconds by which the person at the machine goes before others: about a picture, so that
/// a bounded number of theirs is made first.
const HEAD_START_SECS: f64 = 10.0;

/// Virtual seconds of those who take turns with each other.
#[derive(Clone, Debug)]
struct Turns<K> {
    charged: BTreeMap<K, f64>,
    wanting: BTreeSet<K>,
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self { charged: BTreeMap::new(), wanting: BTreeSet::new() }
    }
}

impl<K: Clone + Ord> Turns<K> {
    /// Notes who wants something now.
    fn note_wanting(&mut self, wanting: BTreeSet<K>) {
        let least = self.wanting.intersection(&wanting).map(|who| self.charged(who)).min_by(f64::total_cmp);
        match least {
            // Nobody who waits was served before another: all begin anew.
            None => self.charged.clear(),
            Some(least) => {
                for who in wanting.difference(&self.wanting) {
                    let charged = self.charged.entry(who.clone()).or_insert(least);
                    *charged = charged.max(least);
                }
                // Who is behind would begin at the least in any case.
                self.charged.retain(|who, charged| wanting.contains(who) || *charged > least);
            }
        }
        self.wanting = wanting;
    }

    fn charge(&mut self, who: &K, secs: f64) {
        *self.charged.entry(who.clone()).or_default() += secs;
    }

    /// Gives seconds back. What was settled meanwhile is nothing to give back.
    fn refund(&mut self, who: &K, secs: f64) {
        if let Some(charged) = self.charged.get_mut(who) {
            *charged = (*charged - secs).max(0.0);
        }
    }

    fn charged(&self, who: &K) -> f64 {
        self.charged.get(who).copied().unwrap_or_default()
    }
}

/// Virtual seconds of each owner, and of the users of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    owners: Turns<Owner>,
    users: BTreeMap<Owner, Turns<User>>,
}

impl Shares {
    /// Notes who wants something now: the owners of these jobs and their users, and the person at the
    /// machine where a picture beside the queue is awaited.
    pub(super) fn note_wanting(&mut self, jobs: &[QueuedJob], is_awaited: bool) {
        let mut users: BTreeMap<Owner, BTreeSet<User>> = BTreeMap::new();
        for job in jobs.iter().filter(|job| can_run(job)) {
            users.entry(job.owner.clone()).or_default().insert(job.user);
        }
        let mut owners: BTreeSet<Owner> = users.keys().cloned().collect();
        if is_awaited {
            owners.insert(Owner::person());
        }
        self.owners.note_wanting(owners);
        // Once an owner wants nothing, all is settled among the users.
        self.users.retain(|owner, _| users.contains_key(owner));
        for (owner, wanting) in users {
            self.users.entry(owner).or_default().note_wanting(wanting);
        }
    }

    /// Counts seconds of the engine for an owner.
    pub(super) fn charge(&mut self, owner: &Owner, secs: f64) {
        self.owners.charge(owner, secs / weight(owner));
    }

    /// Counts one picture of a job for its owner and its user. Returns its seconds.
    pub(super) fn charge_picture(&mut self, job: &QueuedJob, paces: &Paces) -> f64 {
        let secs = paces.picture_secs(job);
        self.charge(&job.owner, secs);
        self.users.entry(job.owner.clone()).or_default().charge(&job.user, secs);
        secs
    }

    /// Gives seconds back that were counted for a job and not computed, as those of a picture that was
    /// stopped.
    pub(super) fn refund(&mut self, job: &QueuedJob, secs: f64) {
        self.owners.refund(&job.owner, secs / weight(&job.owner));
        if let Some(users) = self.users.get_mut(&job.owner) {
            users.refund(&job.user, secs);
        }
    }

    /// The place of an owner: the smallest is next.
    pub(super) fn turn(&self, owner: &Owner) -> f64 {
        self.owners.charged(owner) - if owner.is_person() { HEAD_START_SECS } else { 0.0 }
    }

    /// The place of a job's user among those of its owner: the smallest is next.
    pub(super) fn turn_of_user(&self, job: &QueuedJob) -> f64 {
        self.users.get(&job.owner).map_or(0.0, |users| users.charged(&job.user))
    }

    /// The order in which jobs are expected to end, as indexes. That of one user alone is the order in
    /// which they are; those of several are merged by what these will have been given.
    pub(super) fn expected_order(&self, jobs: &[QueuedJob], paces: &Paces) -> Vec<usize> {
        let mut order = self.order_of_users(jobs, paces);
        let mut owners = jobs.iter().filter(|job| can_run(job)).map(|job| &job.owner);
        let first = owners.next();
        if owners.all(|owner| Some(owner) == first) {
            return order;
        }
        let mut ends: BTreeMap<&Owner, f64> = BTreeMap::new();
        let mut tags = vec![f64::INFINITY; jobs.len()];
        for at in &order {
            let job = &jobs[*at];
            let end = ends.entry(&job.owner).or_insert_with(|| self.turn(&job.owner));
            if can_run(job) {
                *end += paces.secs_left(job) / weight(&job.owner);
            }
            if !job.state.is_ended() {
                tags[*at] = *end;
            }
        }
        order.sort_by(|one, other| tags[*one].total_cmp(&tags[*other]));
        order
    }

    /// The order of jobs in which the users of each owner take turns within a lane, as indexes.
    fn order_of_users(&self, jobs: &[QueuedJob], paces: &Paces) -> Vec<usize> {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        for (owner, _) in self.users.iter().filter(|(_, users)| users.wanting.len() > 1) {
            let places: Vec<usize> = (0..jobs.len()).filter(|at| can_run(&jobs[*at]) && jobs[*at].owner == *owner).collect();
            let mut ends: BTreeMap<User, f64> = BTreeMap::new();
            let mut tagged = Vec::with_capacity(places.len());
            for at in &places {
                let job = &jobs[*at];
                let end = ends.entry(job.user).or_insert_with(|| self.turn_of_user(job));
                *end += paces.secs_left(job);
                tagged.push((job.lane, *end, *at));
            }
            tagged.sort_by(|(lane, end, _), (other_lane, other_end, _)| lane.cmp(other_lane).then(end.total_cmp(other_end)));
            for (place, (_, _, at)) in places.into_iter().zip(tagged) {
                order[place] = at;
            }
        }
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
        let (of_anna, of_ben) = (of("Anna", job(1, "a")), of("Ben", job(2, "a")));
        let mut shares = Shares::default();
        let secs = shares.charge_picture(&of_anna, &Paces::default());
        let turns = |shares: &Shares| (shares.turn(&of_anna.owner), shares.turn_of_user(&of_anna));
        shares.refund(&of_anna, secs / 2.0);
        assert_eq!(turns(&shares), (secs / 2.0, secs / 2.0));
        shares.refund(&of_anna, secs);
        assert_eq!(turns(&shares), (0.0, 0.0));
        shares.refund(&of_ben, 5.0);
        assert_eq!(shares.turn(&of_ben.owner), 0.0);
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

    #[test]
    fn users_of_one_owner_are_expected_to_take_turns_within_the_share_of_one() {
        let by = |user: &str, job| QueuedJob { user: User::named(user), ..of("Workshop", job) };
        let batch = [1, 2, 3].map(|id| by("anna", job(id, "a")));
        let jobs: Vec<QueuedJob> = batch.into_iter().chain([by("ben", job(4, "a")), of("Cleo", job(5, "a"))]).collect();
        let mut shares = Shares::default();
        shares.note_wanting(&jobs, false);
        let paces = Paces::default();
        assert_eq!(shares.expected_order(&jobs[..4], &paces), [0, 3, 1, 2]);
        assert_eq!(shares.expected_order(&jobs, &paces), [0, 4, 3, 1, 2], "two users are one owner to others");
    }
}
