//! The choice of the next job, case by case.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use atelier_core::recipe::{FileRole, Recipe};

use super::*;

mod fairness;

pub(in crate::queue) fn model(name: &str) -> ModelFiles {
    ModelFiles::from_iter([(FileRole::Model, PathBuf::from(format!("/{name}.gguf")))])
}

pub(in crate::queue) fn job(id: i64, model_name: &str) -> QueuedJob {
    QueuedJob {
        id: QueuedJobId(id),
        state: JobState::Waiting,
        lane: Lane::Batch,
        recipe: Arc::new(Recipe { files: model(model_name), ..Recipe::default() }),
        folder: PathBuf::new(),
        model: model_name.into(),
        wanted_model: None,
        device: None,
        preview: String::new(),
        group: None,
        owner: Owner::person(),
        user: User::default(),
        pictures: Vec::new(),
        first_seed: None,
        attempts: 0,
        crashes: 0,
        resumes: 0,
        progress: None,
        reason: None,
        is_moved_up: false,
        is_placed: false,
        cancel_requested: false,
        created_ms: 0,
        began_ms: None,
        ended_ms: None,
    }
}

/// Figures for who asks for them (`--nocapture`).
fn show(figures: &str) {
    println!("{figures}");
}

/// The same job, of somebody else.
pub(in crate::queue) fn of(owner: &str, job: QueuedJob) -> QueuedJob {
    QueuedJob { owner: Owner::named(owner), ..job }
}

fn active(job: &mut QueuedJob, has_begun: bool) -> ActiveState {
    job.state = JobState::Running;
    ActiveState { id: job.id, has_begun, is_stopping: false, has_more_pictures: false, behind: Vec::new() }
}

static NONE: MovedUp = MovedUp::new();
static NOTHING: LazyLock<(Shares, Paces)> = LazyLock::new(Default::default);

fn situation<'a>(jobs: &'a [QueuedJob], active: &'a [ActiveState], resident: &'a [ModelFiles]) -> Situation<'a> {
    Situation {
        jobs,
        active,
        resident,
        pause: PauseMode::No,
        follows_model: true,
        is_owner: true,
        is_awaited: false,
        is_blocked: false,
        moved_up: &NONE,
        shares: &NOTHING.0,
        paces: &NOTHING.1,
    }
}

fn started(decision: &Decision) -> Vec<i64> {
    decision.start.iter().map(|(id, _)| id.0).collect()
}

#[test]
fn the_first_job_starts_and_the_next_waits_at_the_engines_door_once_it_has_begun() {
    let mut jobs = [job(1, "a"), job(2, "a"), job(3, "a")];
    assert_eq!(started(&situation(&jobs, &[], &[]).decide()), [1]);
    let first = active(&mut jobs[0], false);
    let submitted = [first];
    let now = situation(&jobs, &submitted, &[]);
    assert_eq!(now.decide(), Decision::default());
    assert!(!now.is_waiting(&jobs[0]), "nothing else has begun");
    let begun = [ActiveState { has_begun: true, ..submitted[0].clone() }];
    assert_eq!(started(&situation(&jobs, &begun, &[]).decide()), [2]);
}

#[test]
fn what_a_person_waits_for_takes_the_place_at_the_door_and_suspends_a_batch_behind_its_picture() {
    let mut jobs = [job(3, "a"), job(1, "a"), job(2, "a")];
    jobs[0].lane = Lane::Interactive;
    let active = [active(&mut jobs[1], true), active(&mut jobs[2], false)];
    let decision = situation(&jobs, &active, &[]).decide();
    assert_eq!((decision.withdraw, decision.suspend), (vec![QueuedJobId(2)], vec![QueuedJobId(1)]));
    jobs[2].state = JobState::Waiting;
    let decision = situation(&jobs, &active[..1], &[]).decide();
    assert_eq!((started(&decision), decision.suspend), (vec![3], vec![QueuedJobId(1)]));
    let awaited = ActiveState { id: QueuedJobId(3), ..active[1].clone() };
    jobs[0].state = JobState::Running;
    let submitted = [active[0].clone(), awaited];
    assert_eq!(situation(&jobs, &submitted, &[]).decide().suspend, [QueuedJobId(1)], "also once the engine has it");
    jobs[0].state = JobState::Waiting;
    assert_eq!(situation(&jobs, &active[..1], &[]).reason(&jobs[2], 2), Some(WaitReason::BehindInteractive(2)));
}

#[test]
fn a_picture_that_is_awaited_beside_the_queue_holds_batches_behind_their_picture() {
    let mut jobs = [job(1, "a"), job(2, "a"), job(3, "a"), job(4, "a")];
    jobs[3].lane = Lane::Interactive;
    let active = [active(&mut jobs[0], true), active(&mut jobs[1], false)];
    let awaited = Situation { is_awaited: true, ..situation(&jobs[..3], &active, &[]) };
    let decision = awaited.decide();
    assert_eq!((decision.withdraw, decision.suspend), (vec![QueuedJobId(2)], vec![QueuedJobId(1)]));
    assert_eq!(decision.start, [], "no batch begins");
    assert_eq!(awaited.reason(&jobs[2], 2), Some(WaitReason::Live));
    let asked = Situation { is_awaited: true, ..situation(&jobs, &active[..1], &[]) };
    assert_eq!(started(&asked.decide()), [4], "what a person asked for is made");
}

#[test]
fn a_job_that_is_put_before_the_next_one_takes_its_place() {
    let mut jobs = [job(2, "a"), job(1, "a"), job(3, "a")];
    let active = [active(&mut jobs[1], false)];
    assert_eq!(situation(&jobs, &active, &[]).decide(), Decision::default(), "its model decides no withdrawal");
    jobs[0].is_placed = true;
    assert_eq!(situation(&jobs, &active, &[]).decide().withdraw, [QueuedJobId(1)]);
}

#[test]
fn a_job_whose_model_is_in_memory_goes_first_within_bounds_and_says_so() {
    let mut jobs = [job(1, "a"), job(2, "b"), job(3, "b")];
    let resident = [model("b")];
    assert_eq!(situation(&jobs, &[], &resident).decide().start, [(QueuedJobId(2), true)]);
    assert_eq!(situation(&jobs, &[], &[model("b"), model("a")]).decide().start, [(QueuedJobId(1), false)]);
    let not_asked = Situation { follows_model: false, ..situation(&jobs, &[], &resident) };
    assert_eq!(started(&not_asked.decide()), [1]);
    let passed = BTreeMap::from([((Owner::person(), User::default(), None), MAX_MOVED_UP)]);
    assert_eq!(started(&Situation { moved_up: &passed, ..situation(&jobs, &[], &resident) }.decide()), [1], "not without end");
    jobs[0].is_placed = true;
    assert_eq!(started(&situation(&jobs, &[], &resident).decide()), [1], "a person put it there");
    jobs[0].is_placed = false;
    jobs[1].is_placed = true;
    assert_eq!(started(&situation(&jobs, &[], &resident).decide()), [1], "nothing goes past what a person placed");
}

#[test]
fn jobs_of_different_devices_do_not_wait_for_each_other() {
    let mut jobs = [job(1, "a"), job(2, "a"), job(3, "a"), job(4, "a")];
    jobs[1].device = Some("CUDA1".into());
    jobs[3].device = Some("CUDA1".into());
    assert_eq!(started(&situation(&jobs, &[], &[]).decide()), [1, 2]);
    let active = [active(&mut jobs[0], true), active(&mut jobs[1], true)];
    assert_eq!(started(&situation(&jobs, &active, &[]).decide()), [3, 4]);
}

#[test]
fn pauses_questions_downloads_and_other_processes_hold_jobs_and_say_so() {
    let mut jobs = [job(1, "a"), job(2, "a"), job(3, "a")];
    let door = [active(&mut jobs[0], false)];
    let paused = Situation { pause: PauseMode::AfterPicture, ..situation(&jobs, &door, &[]) };
    assert_eq!(paused.decide(), Decision { withdraw: vec![QueuedJobId(1)], ..Decision::default() });
    assert_eq!(paused.reason(&jobs[1], 1), Some(WaitReason::Paused));
    let other = Situation { is_owner: false, ..situation(&jobs[1..], &[], &[]) };
    assert_eq!((other.decide(), other.reason(&jobs[1], 0)), (Decision::default(), Some(WaitReason::OtherProcess)));

    jobs[0].state = JobState::Held;
    jobs[0].crashes = 1;
    jobs[2].lane = Lane::Interactive;
    let asking = situation(&jobs, &[], &[]);
    assert_eq!(started(&asking.decide()), [3], "what a person asks for now is made");
    assert_eq!(asking.reason(&jobs[1], 0), Some(WaitReason::Question));
    assert_eq!(asking.reason(&jobs[0], 0), Some(WaitReason::Held("Atelier stopped during generation".into())));

    jobs[0].reason = Some("It waits.".into());
    jobs[1].wanted_model = Some("z-image-turbo".into());
    jobs[2].lane = Lane::Batch;
    let waits = situation(&jobs, &[], &[]);
    assert_eq!(started(&waits.decide()), [3]);
    assert_eq!(waits.reason(&jobs[1], 0), Some(WaitReason::Model("z-image-turbo".into())));
    assert_eq!(waits.reason(&jobs[2], 4), Some(WaitReason::Behind(4)));
}

#[test]
fn while_the_disk_takes_nothing_none_begins_and_what_has_not_begun_is_given_back() {
    let mut jobs = [job(1, "a"), job(2, "a"), job(3, "a")];
    assert_eq!(started(&situation(&jobs, &[], &[]).decide()), [1], "otherwise the first one begins");
    let active = [active(&mut jobs[0], true), active(&mut jobs[1], false)];
    let blocked = Situation { is_blocked: true, ..situation(&jobs, &active, &[]) };
    assert_eq!(blocked.decide(), Decision { withdraw: vec![jobs[1].id], ..Decision::default() });
    assert_eq!(blocked.reason(&jobs[2], 0), Some(WaitReason::Disk));
}

#[test]
fn the_owner_who_was_given_least_is_next_and_a_batch_makes_room_behind_its_picture() {
    let (anna, ben) = (Owner::named("Anna"), Owner::named("Ben"));
    let mut jobs = [of("Anna", job(1, "a")), of("Anna", job(2, "a")), of("Ben", job(3, "a"))];
    let mut shares = Shares::default();
    shares.note_wanting(&jobs, false);
    assert_eq!(started(&Situation { shares: &shares, ..situation(&jobs, &[], &[]) }.decide()), [1], "who asked first");
    shares.charge(&anna, 5.0);
    let batch = ActiveState { has_more_pictures: true, ..active(&mut jobs[0], true) };
    let decision = Situation { shares: &shares, ..situation(&jobs, std::slice::from_ref(&batch), &[]) }.decide();
    assert_eq!((started(&decision), decision.suspend), (vec![3], vec![QueuedJobId(1)]));
    let door = active(&mut jobs[1], false);
    let now = [batch, door];
    assert_eq!(
        Situation { shares: &shares, ..situation(&jobs, &now, &[]) }.decide().withdraw,
        [QueuedJobId(2)],
        "also at the engine's door"
    );
    shares.charge(&ben, 5.1);
    assert_eq!(Situation { shares: &shares, ..situation(&jobs, &now, &[]) }.decide(), Decision::default());
}

#[test]
fn users_of_one_owner_take_turns_and_gain_nothing_from_others_by_it() {
    let by = |user: &str, job| QueuedJob { user: User::named(user), ..of("Workshop", job) };
    let mut jobs = [by("anna", job(1, "a")), by("anna", job(2, "a")), by("ben", job(3, "a")), of("Cleo", job(4, "a"))];
    let paces = Paces::default();
    let mut shares = Shares::default();
    shares.note_wanting(&jobs, false);
    let now = |shares: &Shares, jobs: &[QueuedJob], active: &[ActiveState]| Situation { shares, ..situation(jobs, active, &[]) }.decide();
    assert_eq!(started(&now(&shares, &jobs, &[])), [1]);
    shares.charge_picture(&jobs[0], &paces);
    assert_eq!(started(&now(&shares, &jobs, &[])), [4], "their owner had its turn");
    shares.charge_picture(&jobs[3], &paces);
    assert_eq!(started(&now(&shares, &jobs, &[])), [3], "of its users the one who had none");
    let batch = ActiveState { has_more_pictures: true, ..active(&mut jobs[0], true) };
    assert_eq!(now(&shares, &jobs, std::slice::from_ref(&batch)).suspend, [QueuedJobId(1)], "a batch makes room behind its picture");
    let door = [batch, active(&mut jobs[1], false)];
    assert_eq!(now(&shares, &jobs, &door).withdraw, [QueuedJobId(2)], "also at the engine's door");
    jobs[1].is_placed = true;
    assert!(now(&shares, &jobs, &door).withdraw.is_empty(), "a person put it there");
    jobs[1].state = JobState::Waiting;
    jobs.swap(0, 1);
    assert_eq!(started(&now(&shares, &jobs, &door[..1])), [2]);
}

#[test]
fn a_model_in_memory_goes_before_another_owner_within_the_time_that_loading_takes() {
    let jobs = [of("Anna", job(1, "a")), of("Ben", job(2, "b"))];
    let resident = [model("b")];
    let pace = atelier_gallery::queue::Pace { step_secs_per_megapixel: 1.0, decode_secs_per_megapixel: 0.0, start_secs: 10.0 };
    let key = ("a".to_owned(), super::super::predict::place_of(&jobs[0]).to_owned());
    let paces = [(key, pace)].into_iter().collect();
    let mut shares = Shares::default();
    shares.note_wanting(&jobs, false);
    shares.charge(&Owner::named("Ben"), 20.0);
    let now = |shares: &Shares, follows_model| {
        let situation = Situation { shares, paces: &paces, follows_model, ..situation(&jobs, &[], &resident) };
        situation.decide().start
    };
    assert_eq!(now(&shares, true), [(QueuedJobId(2), false)], "no job of Ben's was passed");
    assert_eq!(now(&shares, false), [(QueuedJobId(1), false)]);
    shares.charge(&Owner::named("Ben"), 0.1);
    assert_eq!(now(&shares, true), [(QueuedJobId(1), false)], "not beyond twice the time");
}

#[test]
fn what_one_person_waits_for_holds_back_their_own_batches_alone() {
    let mut jobs = [job(1, "a"), of("Anna", job(2, "a")), of("Anna", job(3, "a"))];
    jobs[2].lane = Lane::Interactive;
    jobs.swap(1, 2);
    let started_of = |situation: &Situation<'_>| started(&situation.decide());
    assert_eq!(started_of(&situation(&jobs, &[], &[])), [1], "the person goes first, also with a batch");
    jobs[0].state = JobState::Held;
    jobs[0].crashes = 1;
    assert_eq!(situation(&jobs, &[], &[]).reason(&jobs[2], 1), Some(WaitReason::BehindInteractive(1)), "no question of somebody else's");
    jobs[0].state = JobState::Waiting;
    let mut shares = Shares::default();
    shares.note_wanting(&jobs, true);
    let live = |shares: &Shares| started_of(&Situation { is_awaited: true, shares, ..situation(&jobs, &[], &[]) });
    assert_eq!(live(&shares), [3], "a batch of the person waits for their live picture");
    let batches = [jobs[0].clone(), jobs[2].clone()];
    let live = |shares: &Shares| started(&Situation { is_awaited: true, shares, ..situation(&batches, &[], &[]) }.decide());
    assert_eq!(live(&shares), Vec::<i64>::new(), "and others' within the person's share");
    shares.charge(&Owner::person(), 30.0);
    assert_eq!(live(&shares), [2], "beyond that it is their turn");
}
