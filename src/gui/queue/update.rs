//! Effects of the queue's commands, and of its events. Nothing here waits.

use eframe::egui;

use crate::gui::context::Context;
use crate::gui::create;
use crate::gui::queue::command::Command;
use crate::gui::queue::state::{EditedJob, State};
use crate::gui::shared::ErrorCard;
use atelier_core::recipe::Recipe;
use atelier_gallery::queue::{JobState, PauseMode};
use atelier_language::tr;
use atelier_studio::desktop_notification::DesktopNotification;
use atelier_studio::queue::{EndedJob, QueueEvent, QueueRequest};

/// Seconds from which on a job is long: a person has turned to something else.
const LONG_SECS: f64 = 30.0;

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    let request = match command {
        Command::Toggle => {
            state.is_open = !state.is_open;
            return;
        }
        Command::Edit(id) => {
            if let Some(row) = context.shared.queue.row(id) {
                let recipe = Recipe::clone(&row.job.recipe);
                state.editing = Some(EditedJob { id, before: Box::new(std::mem::replace(&mut context.shared.next.recipe, recipe)) });
            }
            return;
        }
        Command::SaveEdit => {
            let Some(EditedJob { id, before }) = state.editing.take() else { return };
            let mut recipe = std::mem::replace(&mut context.shared.next.recipe, *before);
            if !std::mem::take(&mut recipe.further_starts).is_empty() {
                context.notice(tr!("queue-this-job-starts-from"));
            }
            context.shared.next.take_loras_of(&mut recipe);
            let model = context.shared.next.model_name(&recipe.files);
            QueueRequest::Edit(id, Box::new(recipe), model)
        }
        Command::StopEdit => {
            if let Some(edited) = state.editing.take() {
                context.shared.next.recipe = *edited.before;
            }
            return;
        }
        Command::Pause => QueueRequest::SetPause(PauseMode::AfterPicture),
        Command::PauseNow => QueueRequest::SetPause(PauseMode::Now),
        Command::Resume => QueueRequest::SetPause(PauseMode::No),
        Command::Cancel(id) => QueueRequest::Cancel(id),
        Command::CancelNewest => match context.shared.queue.newest() {
            Some(row) => QueueRequest::Cancel(row.job.id),
            None => return,
        },
        Command::CancelAll => QueueRequest::CancelAll,
        Command::CancelWaiting => QueueRequest::CancelWaiting,
        Command::ForgetEnded => QueueRequest::ForgetEnded,
        Command::Retry(id) => QueueRequest::Retry(id),
        Command::Duplicate(id) => QueueRequest::Duplicate(id),
        Command::Move(id, before) => QueueRequest::Move(id, before),
        Command::Pin(id, device) => QueueRequest::SetDevice(id, device),
        Command::FollowModel(follows) => QueueRequest::SetFollowsModel(follows),
        Command::Answer(answer) => QueueRequest::AnswerCrash(answer),
    };
    context.queue.send(request);
}

/// Folds an event of the queue in.
pub(crate) fn queue_event(state: &mut State, create: &mut create::State, event: QueueEvent, context: &mut Context<'_>) {
    match event {
        QueueEvent::Snapshot(snapshot) => {
            // A person who was asked once may close the panel.
            if snapshot.questions().next().is_some() && !std::mem::replace(&mut state.has_asked, true) {
                state.is_open = true;
            }
            context.shared.queue = snapshot;
        }
        QueueEvent::Submitted { engine_job, owner, recipe, .. } if !owner.is_person() => {
            context.shared.jobs_of_others.push(engine_job, *recipe);
        }
        QueueEvent::Submitted { engine_job, job, recipe, .. } => {
            create::sheet_update::job_begins(create, (job, engine_job), &recipe, context.egui.time());
            context.shared.jobs.push(engine_job, *recipe);
        }
        QueueEvent::NotSubmitted { engine_job, reason } => {
            if context.shared.jobs_of_others.remove(engine_job).is_some() {
                return;
            }
            context.shared.jobs.remove(engine_job);
            create.sheet.end_job(engine_job);
            let card = ErrorCard::new(tr!("queue-this-picture-could-not"), tr!("queue-reason", reason));
            context.shared.error = Some(card.at(context.shared.screen_of_making()));
        }
        QueueEvent::PictureKept { engine_job, owner, index, result } if owner.is_person() => {
            create::pictures::note_file(create, (engine_job, index), result, context);
        }
        QueueEvent::Ended(job) if job.owner.is_person() => ended(&job, context),
        QueueEvent::Problem(advice) | QueueEvent::Notice(advice) => context.shared.error = Some(ErrorCard::of(advice)),
        // The window asks without a ticket, and has the engine's events; what becomes of the jobs of
        // others is told to them.
        QueueEvent::Added { .. } | QueueEvent::Progress { .. } | QueueEvent::PictureKept { .. } | QueueEvent::Ended(_) => {}
    }
}

/// Tells a person who is elsewhere that a long job, or the last one, has ended.
fn ended(job: &EndedJob, context: &mut Context<'_>) {
    let is_in_front = context.egui.input(|input| input.viewport().focused) == Some(true);
    if is_in_front || job.secs < LONG_SECS || job.state == JobState::Cancelled {
        return;
    }
    context.egui.send_viewport_cmd(egui::ViewportCommand::RequestUserAttention(egui::UserAttentionType::Informational));
    let notification = DesktopNotification::of_job(job);
    context.run_alone(
        "notification",
        move || notification.show(),
        |shown, _, _| {
            if let Err(error) = shown {
                tracing::warn!("a system notification was not shown: {error}");
            }
        },
    );
}
