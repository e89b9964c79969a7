//! The choice of the next job, case by case.

use std::path::PathBuf;
use std::sync::Arc;

use atelier_core::recipe::{FileRole, Recipe};

use super::*;

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

fn active(job: &mut QueuedJob, has_begun: bool) -> ActiveState {
    job.state = JobState::Running;
    ActiveState { id: job.id, has_begun, is_stopping: false, behind: Vec::new() }
}

static NONE: BTreeMap<Option<String>, usize> = BTreeMap::new();

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
    let passed = BTreeMap::from([(None, MAX_MOVED_UP)]);
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
