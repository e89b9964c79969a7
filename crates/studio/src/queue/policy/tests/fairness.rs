//! Several owners at one engine, with an engine of which time is simulated.

use atelier_gallery::PictureId;
use atelier_gallery::queue::{JobPicture, Pace};
use proptest::prelude::*;

use super::super::super::predict::place_of;
use super::*;

/// Seconds to load a model.
const LOAD_SECS: f64 = 10.0;
const MODELS: [&str; 3] = ["a", "b", "c"];

/// Numbers that are drawn, the same in every run.
struct Draws(u64);

impl Draws {
    /// At least 0 and less than 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.unit() * limit as f64) as usize
    }
}

/// A picture that was made.
struct FinishedPicture {
    job: QueuedJob,
    is_last: bool,
}

/// The queue and its engine, which makes one picture at a time.
struct Simulation {
    now: f64,
    /// In their order.
    jobs: Vec<QueuedJob>,
    active: Vec<ActiveState>,
    suspended: Vec<QueuedJobId>,
    /// The job whose picture forms, and when it is made.
    forming: Option<(QueuedJobId, f64)>,
    resident: Vec<ModelFiles>,
    max_resident: usize,
    moved_up: MovedUp,
    shares: Shares,
    paces: Paces,
    loads: usize,
    next_id: i64,
}

impl Simulation {
    fn new(max_resident: usize) -> Self {
        let pace = Pace { step_secs_per_megapixel: 1.0, decode_secs_per_megapixel: 0.0, start_secs: LOAD_SECS };
        let place = place_of(&job(0, "a")).to_owned();
        Self {
            now: 0.0,
            jobs: Vec::new(),
            active: Vec::new(),
            suspended: Vec::new(),
            forming: None,
            resident: Vec::new(),
            max_resident,
            moved_up: MovedUp::new(),
            shares: Shares::default(),
            paces: MODELS.iter().map(|name| ((*name).to_owned(), place.clone())).map(|key| (key, pace)).collect(),
            loads: 0,
            next_id: 0,
        }
    }

    /// Adds a job whose pictures take so many seconds each.
    fn add(&mut self, owner: &Owner, model: &str, pictures: u32, secs: u32) {
        self.next_id += 1;
        let mut new = QueuedJob { owner: owner.clone(), created_ms: (self.now * 1000.0) as i64, ..job(self.next_id, model) };
        let recipe = Arc::make_mut(&mut new.recipe);
        (recipe.width, recipe.height, recipe.steps, recipe.batch_count) = (1000, 1000, secs, pictures);
        self.jobs.push(new);
        self.settle();
    }

    fn job(&mut self, id: QueuedJobId) -> &mut QueuedJob {
        self.jobs.iter_mut().find(|job| job.id == id).unwrap()
    }

    /// Carries decisions out until there is nothing more to decide.
    fn settle(&mut self) {
        loop {
            self.shares.note_wanting(&self.jobs, false);
            let situation = Situation {
                moved_up: &self.moved_up,
                shares: &self.shares,
                paces: &self.paces,
                ..situation(&self.jobs, &self.active, &self.resident)
            };
            let decision = situation.decide();
            self.suspended = decision.suspend;
            let is_settled = decision.start.is_empty() && decision.withdraw.is_empty();
            for id in decision.withdraw {
                self.active.retain(|it| it.id != id);
                self.job(id).state = JobState::Waiting;
            }
            for (id, is_moved_up) in decision.start {
                let started = self.job(id);
                let (left, owner, user) = (started.picture_count() - started.pictures.len() as u32, started.owner.clone(), started.user);
                let begun = ActiveState { has_more_pictures: left > 1, ..active(started, false) };
                self.active.push(begun);
                let passed = self.moved_up.entry((owner, user, None)).or_default();
                *passed = if is_moved_up { *passed + 1 } else { 0 };
            }
            if self.forming.is_none() && !self.active.is_empty() {
                self.begin();
            } else if is_settled {
                break;
            }
        }
        let is_waiting = self.jobs.iter().any(|job| job.state == JobState::Waiting);
        assert!(!is_waiting || self.forming.is_some(), "nobody waits for an engine that does nothing");
    }

    fn begin(&mut self) {
        self.active[0].has_begun = true;
        let id = self.active[0].id;
        let files = self.job(id).recipe.files.clone();
        let mut ends = self.now;
        if let Some(at) = self.resident.iter().position(|it| *it == files) {
            self.resident.remove(at);
        } else {
            self.loads += 1;
            ends += LOAD_SECS;
        }
        self.resident.push(files);
        if self.resident.len() > self.max_resident {
            self.resident.remove(0);
        }
        self.form(id, ends);
    }

    fn form(&mut self, id: QueuedJobId, from: f64) {
        let job = self.jobs.iter().find(|job| job.id == id).unwrap();
        self.shares.charge_picture(job, &self.paces);
        self.forming = Some((id, from + f64::from(job.recipe.steps)));
    }

    /// Lets the time pass to the next picture, or to `until` where that is sooner.
    fn pass(&mut self, until: f64) -> Option<FinishedPicture> {
        let Some((id, ends)) = self.forming.filter(|it| it.1 <= until) else {
            self.now = until;
            return None;
        };
        (self.now, self.forming) = (ends, None);
        let made = self.job(id);
        let index = made.pictures.len() as u32;
        made.pictures.push(JobPicture { index, path: PathBuf::new(), picture: PictureId(0) });
        let left = made.picture_count() - index - 1;
        let result = FinishedPicture { job: made.clone(), is_last: left == 0 };
        if left == 0 {
            self.jobs.retain(|job| job.id != id);
            self.active.retain(|it| it.id != id);
        } else if self.suspended.contains(&id) {
            self.active.retain(|it| it.id != id);
            let at = self.jobs.iter().position(|job| job.id == id).unwrap();
            let mut stopped = self.jobs.remove(at);
            stopped.state = JobState::Waiting;
            // What was begun is first of its lane.
            self.jobs.insert(0, stopped);
        } else {
            self.active.iter_mut().find(|it| it.id == id).unwrap().has_more_pictures = left > 1;
            self.form(id, ends);
        }
        self.settle();
        Some(result)
    }
}

/// What became of it: seconds that single pictures took, waiting included, and what was made.
#[derive(Default)]
struct Figures {
    pictures: f64,
    median: f64,
    p95: f64,
    worst: f64,
    loads: f64,
    /// Share of the pictures' seconds that batches had, from 0 to 1.
    batches: f64,
}

/// Ten people: two keep three batches of eight waiting, eight ask for one picture at a time and think
/// for 30 seconds in the mean.
struct Workshop {
    studio: Simulation,
    draws: Draws,
    people: Vec<Owner>,
    /// The model that each works with, as an index.
    models: Vec<usize>,
    whose: BTreeMap<QueuedJobId, usize>,
    /// Who thinks, and until when.
    thinking: Vec<(f64, usize)>,
}

impl Workshop {
    const BATCHERS: usize = 2;

    /// `has_owners`: whether the queue tells the people apart.
    fn new(has_owners: bool, max_resident: usize, seed: u64) -> Self {
        let mut draws = Draws(seed);
        let person = |n: usize| if has_owners { Owner::named(&format!("person {n}")) } else { Owner::person() };
        let models = (0..10).map(|_| draws.below(MODELS.len())).collect();
        let thinking = (Self::BATCHERS..10).map(|who| (draws.unit() * 30.0, who)).collect();
        let people = (0..10).map(person).collect();
        Self { studio: Simulation::new(max_resident), draws, people, models, whose: BTreeMap::new(), thinking }
    }

    fn ask(&mut self, who: usize, pictures: u32) {
        if self.draws.unit() < 0.2 {
            self.models[who] = self.draws.below(MODELS.len());
        }
        let secs = [4, 5, 8][self.draws.below(3)];
        self.whose.insert(QueuedJobId(self.studio.next_id + 1), who);
        self.studio.add(&self.people[who], MODELS[self.models[who]], pictures, secs);
    }

    fn run(mut self, hours: f64) -> Figures {
        let (mut waits, mut secs, mut pictures) = (Vec::new(), [0.0, 0.0], 0);
        for who in [0, 0, 0, 1, 1, 1] {
            self.ask(who, 8);
        }
        while self.studio.now < hours * 3600.0 {
            let next = self.thinking.iter().map(|it| it.0).fold(f64::INFINITY, f64::min);
            let made = self.studio.pass(next);
            let now = self.studio.now;
            for (_, who) in self.thinking.extract_if(.., |it| it.0 <= now).collect::<Vec<_>>() {
                self.ask(who, 1);
            }
            let Some(FinishedPicture { job, is_last }) = made else { continue };
            let who = self.whose[&job.id];
            pictures += 1;
            secs[usize::from(who < Self::BATCHERS)] += f64::from(job.recipe.steps);
            if who >= Self::BATCHERS {
                waits.push(now - job.created_ms as f64 / 1000.0);
                self.thinking.push((now - 30.0 * (1.0 - self.draws.unit()).ln(), who));
            } else if is_last {
                self.ask(who, 8);
            }
        }
        waits.sort_by(f64::total_cmp);
        let at = |part: f64| waits[((waits.len() - 1) as f64 * part) as usize];
        Figures {
            pictures: f64::from(pictures),
            median: at(0.5),
            p95: at(0.95),
            worst: at(1.0),
            loads: self.studio.loads as f64,
            batches: secs[1] / (secs[0] + secs[1]),
        }
    }
}

/// The mean of ten runs.
fn workshop(has_owners: bool, max_resident: usize, hours: f64) -> Figures {
    let runs: Vec<Figures> = (0..10).map(|seed| Workshop::new(has_owners, max_resident, seed).run(hours)).collect();
    let mean = |of: fn(&Figures) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let figures = Figures {
        pictures: mean(|it| it.pictures),
        median: mean(|it| it.median),
        p95: mean(|it| it.p95),
        worst: mean(|it| it.worst),
        loads: mean(|it| it.loads),
        batches: mean(|it| it.batches),
    };
    let Figures { pictures, median, p95, worst, loads, batches } = figures;
    let rule = if has_owners { "ten owners" } else { "one owner" };
    show(&format!(
        "{rule:10}, {max_resident} in memory, {hours} h: {pictures:5.0} pictures, wait {median:4.0} s (median), {p95:5.0} s (p95), {worst:5.0} s (worst), \
         {loads:4.0} loads, batches {:2.0} %",
        batches * 100.0
    ));
    figures
}

#[test]
fn of_ten_people_nobody_waits_long_where_the_queue_tells_them_apart() {
    // The research's simulation has 116 and 1016 seconds with one model in memory, 133 and 708 with two.
    let (apart, together) = (workshop(true, 1, 2.0), workshop(false, 1, 2.0));
    assert!((80.0..150.0).contains(&apart.p95), "{}", apart.p95);
    assert!((800.0..1300.0).contains(&together.p95), "{}", together.p95);
    assert!(apart.pictures > 0.7 * together.pictures, "loading costs little of it");
    let (apart, together) = (workshop(true, 2, 2.0), workshop(false, 2, 2.0));
    assert!(apart.p95 < 170.0 && apart.pictures > 0.85 * together.pictures, "{}", apart.p95);
    assert!(together.p95 > 500.0, "{}", together.p95);
}

#[test]
fn ten_people_and_three_models_for_an_hour() {
    for max_resident in 1..=3 {
        let (apart, together) = (workshop(true, max_resident, 1.0), workshop(false, max_resident, 1.0));
        assert!(apart.p95 < 200.0 && apart.p95 < together.p95 / 2.0, "{} and {}", apart.p95, together.p95);
        assert!(apart.median < together.median, "{} and {}", apart.median, together.median);
        assert!((0.15..0.4).contains(&apart.batches), "two of ten have about their share: {}", apart.batches);
    }
}

#[derive(Clone, Debug)]
struct Arrival {
    at: f64,
    owner: usize,
    model: usize,
    pictures: u32,
    secs: u32,
}

fn arrival() -> impl Strategy<Value = Arrival> {
    (0.0..600.0, 0_usize..6, 0_usize..3, 1_u32..6, 1_u32..9).prop_map(|(at, owner, model, pictures, secs)| Arrival {
        at,
        owner,
        model,
        pictures,
        secs,
    })
}

/// Longest time for which this owner can wait for a picture from now on: what each other one may be
/// given before, a picture beyond that, and a load for each picture.
fn longest_wait(studio: &Simulation, owners: &[Owner], owner: &Owner) -> f64 {
    let ahead = (LOADS_AHEAD * LOAD_SECS).max(*AHEAD_SECS.start());
    let wanting = owners.iter().filter(|it| studio.jobs.iter().any(|job| job.owner == **it));
    let least = wanting.map(|it| studio.shares.turn(it)).fold(f64::INFINITY, f64::min);
    let limit = studio.shares.turn(owner) + ahead;
    let others = owners.iter().filter(|it| *it != owner);
    // Nobody begins before the least served; a picture takes 8 seconds at most and 1 at least.
    let given: f64 = others.map(|it| 2.0 * (limit - studio.shares.turn(it).max(least - 10.0)).max(0.0) + 8.0).sum();
    given + (given + 2.0) * LOAD_SECS + 8.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nobody_starves_and_everything_is_made_whoever_asks_for_what(
        mut arrivals in prop::collection::vec(arrival(), 1..60),
        max_resident in 1_usize..4,
    ) {
        let owners: Vec<Owner> = (0..6).map(|n| if n == 0 { Owner::person() } else { Owner::named(&format!("person {n}")) }).collect();
        arrivals.sort_by(|one, other| one.at.total_cmp(&other.at));
        let asked: u32 = arrivals.iter().map(|it| it.pictures).sum();
        let mut studio = Simulation::new(max_resident);
        let mut arrivals = arrivals.into_iter().peekable();
        // Until when each owner who wants something has a picture.
        let mut due: BTreeMap<Owner, f64> = BTreeMap::new();
        let mut made = 0;
        while made < asked {
            let next = arrivals.peek().map_or(f64::INFINITY, |it| it.at);
            let picture = studio.pass(next);
            if let Some(picture) = &picture {
                made += 1;
                let limit = due.remove(&picture.job.owner).unwrap();
                prop_assert!(studio.now <= limit, "{} waited until {} in place of {limit}", picture.job.owner, studio.now);
            } else if let Some(Arrival { owner, model, pictures, secs, .. }) = arrivals.next() {
                studio.add(&owners[owner], MODELS[model], pictures, secs);
            }
            for owner in &owners {
                if studio.jobs.iter().any(|job| job.owner == *owner) && !due.contains_key(owner) {
                    due.insert(owner.clone(), studio.now + longest_wait(&studio, &owners, owner));
                }
            }
        }
        prop_assert!(studio.jobs.is_empty());
    }

    #[test]
    fn one_owner_alone_has_the_order_of_a_queue_without_owners(arrivals in prop::collection::vec(arrival(), 1..40)) {
        let order = |owner: &Owner| {
            let mut studio = Simulation::new(1);
            for Arrival { model, pictures, secs, .. } in &arrivals {
                studio.add(owner, MODELS[*model], *pictures, *secs);
            }
            std::iter::from_fn(|| studio.pass(f64::INFINITY)).map(|made| made.job.id).collect::<Vec<_>>()
        };
        prop_assert_eq!(order(&Owner::named("Anna")), order(&Owner::person()));
    }
}
