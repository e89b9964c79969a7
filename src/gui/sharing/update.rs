//! Effects of the commands of sharing. Nothing here waits.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use atelier_language::tr;
use atelier_studio::queue::QueueEvent;

use crate::gui::context::Context;
use crate::gui::due;
use crate::gui::shared::ErrorCard;
use crate::gui::sharing::command::Command;
use crate::gui::sharing::state::{Phase, PhoneCode, Running, State};
use crate::gui::sharing::work::{self, Parts};
use crate::gui::workers::Worker;
use crate::http::{Access, Caller, CannotServe};

/// The address at which other devices are listened to: every one of this computer's.
const EVERYWHERE: &str = "0.0.0.0";

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::Open => {
            state.is_open = true;
            note_pictures(state);
            if let Some(running) = state.running() {
                context.run(Worker::Files, running.server.refresher(), |(), _, _| ());
            }
        }
        Command::Close => (state.is_open, state.code) = (false, None),
        Command::ListenToNetwork(listens) => state.settings.network = listens,
        Command::RequireToken(requires) => state.settings.require_token = requires,
        Command::Announce(announces) => state.settings.announce = announces,
        Command::SetStudioName(name) => state.settings.studio_name = name,
        Command::ShareAtStart(shares) => state.settings.at_start = shares,
        Command::SetDiskQuota(quota) => {
            state.settings.quota = quota;
            if let Some(running) = state.running() {
                running.server.set_quota(quota);
            }
        }
        Command::SetRetention(retention) => {
            state.settings.retention = retention;
            if let Some(running) = state.running() {
                running.server.set_retention(retention);
            }
        }
        Command::Start => start(state, context),
        Command::Stop => stop(state, context),
        Command::CopyAddress => {
            if let Some(running) = state.running() {
                context.egui.copy_text(running.url());
                context.notice(tr!("common-copied"));
            }
        }
        Command::SetPerson(name) => state.person = name,
        Command::AddPerson => add_person(state, context),
        Command::RemovePerson(person) => remove_person(state, person, context),
        Command::CopyLink(person) => {
            if let Some(link) = state.running().and_then(|it| it.link(&person)) {
                context.egui.copy_text(link);
                context.notice(tr!("common-copied"));
            }
        }
        Command::ShowCode(person) => {
            let link = state.running().and_then(|it| it.link(&person));
            state.code = link.and_then(|link| PhoneCode::new(&person, &link));
        }
        Command::HideCode => state.code = None,
        Command::Admit(address) => answer(state, address, true, context),
        Command::TurnAway(address) | Command::RevokeDevice(address) => answer(state, address, false, context),
    }
}

/// Answers a device at once, and keeps the answer for later starts.
fn answer(state: &mut State, address: IpAddr, is_welcome: bool, context: &Context<'_>) {
    let Phase::On(running) = &mut state.phase else { return };
    let answer = running.server.answer(address, is_welcome);
    running.guests = running.server.guests();
    context.run(
        Worker::Files,
        move || answer.keep(),
        |kept, _, context| {
            if let Err(advice) = kept {
                context.shared.error = Some(ErrorCard::of(advice).at(context.shared.screen));
            }
        },
    );
}

fn access_of(state: &State, people: Vec<String>) -> Access {
    Access {
        host: state.settings.network.then(|| EVERYWHERE.to_owned()),
        port: state.port,
        allow_network: state.settings.network,
        require_token: state.settings.require_token,
        people,
        ..Access::default()
    }
}

fn start(state: &mut State, context: &Context<'_>) {
    let Some(paths) = state.paths.clone() else { return };
    state.phase = Phase::Starting;
    let parts = Parts {
        access: access_of(state, Vec::new()),
        quota: state.settings.quota,
        retention: state.settings.retention,
        announced_as: state.settings.announce.then(|| state.settings.studio_name.clone()),
        paths,
        builtin: state.builtin.clone(),
        queue: context.queue.connect(),
        engine: Arc::clone(context.engine),
    };
    context.run_alone(
        "sharing",
        move || work::start(parts),
        |started, features, context| started_or_not(features.sharing, started, context),
    );
}

fn started_or_not(state: &mut State, started: io::Result<Result<Running, CannotServe>>, context: &mut Context<'_>) {
    let started = started.unwrap_or_else(|error| Err(CannotServe::Failed(tr!("sharing-there-is-no-thread", error))));
    match started {
        Ok(running) => {
            let waker = context.egui.clone();
            running.server.wake_with(move || due::wake(&waker));
            // It may have been changed meanwhile.
            running.server.set_quota(state.settings.quota);
            running.server.set_retention(state.settings.retention);
            state.phase = Phase::On(Box::new(running));
        }
        Err(error) => {
            state.phase = Phase::Off;
            let card = match error {
                CannotServe::PortInUse(port) => ErrorCard::new(tr!("sharing-port-is-in-use", port), tr!("sharing-stop-that-one-then")),
                CannotServe::Usage(reason) | CannotServe::Failed(reason) => {
                    ErrorCard::new(tr!("sharing-nothing-is-shared", reason), tr!("sharing-try-again"))
                }
            };
            context.shared.error = Some(card.at(context.shared.screen));
        }
    }
}

fn stop(state: &mut State, context: &Context<'_>) {
    state.code = None;
    if let Phase::On(running) = std::mem::replace(&mut state.phase, Phase::Stopping) {
        // It waits for the server's thread.
        context.run_alone("sharing", move || drop(running), |_, features, _| features.sharing.phase = Phase::Off);
    }
}

fn add_person(state: &mut State, context: &Context<'_>) {
    let name = state.person.trim().to_owned();
    let mut people = people_but(state, &name);
    people.push(name);
    change_people(state, people, None, context);
}

fn remove_person(state: &mut State, person: String, context: &Context<'_>) {
    if state.code.as_ref().is_some_and(|code| code.person == person) {
        state.code = None;
    }
    let people = people_but(state, &person);
    change_people(state, people, Some(person), context);
}

/// Those who have a token, but for this person.
fn people_but(state: &State, person: &str) -> Vec<String> {
    let people = state.running().into_iter().flat_map(|it| &it.people);
    people.map(|(name, _)| name.clone()).filter(|name| name != person).collect()
}

/// Gives these people tokens, and takes that of `gone` back.
fn change_people(state: &mut State, people: Vec<String>, gone: Option<String>, context: &Context<'_>) {
    let Some(paths) = state.paths.clone() else { return };
    let access = access_of(state, people);
    state.is_changing = true;
    let is_added = gone.is_none();
    context.run(
        Worker::Files,
        move || work::tokens_of(&access, gone.as_deref(), &paths),
        move |changed, features, context| {
            let state = features.sharing;
            state.is_changing = false;
            match changed {
                Ok(tokens) => {
                    if let Phase::On(running) = &mut state.phase {
                        running.server.set_tokens(tokens);
                        running.people = running.server.people();
                        if is_added {
                            state.person.clear();
                        }
                    }
                }
                Err(error) => {
                    let hint = if is_added { tr!("sharing-choose-another-name-then") } else { tr!("sharing-try-again") };
                    let card = ErrorCard::new(error.to_string(), hint);
                    context.shared.error = Some(card.at(context.shared.screen));
                }
            }
        },
    );
}

/// Takes note of an event of the queue.
pub(crate) fn note_event(state: &mut State, event: &QueueEvent) {
    if let QueueEvent::PictureKept { owner, .. } = event
        && !owner.is_person()
    {
        note_pictures(state);
    }
}

/// What owners use of the disk is to be measured again, once it is looked at.
fn note_pictures(state: &mut State) {
    if let Phase::On(running) = &mut state.phase {
        running.usage.is_stale = true;
    }
}

/// Begins to share where that is chosen for the start, takes a look at who is there, and tells of a
/// device that asks.
pub(crate) fn refresh(state: &mut State, context: &mut Context<'_>) {
    if state.is_start_due {
        begin_at_start(state, context);
    }
    let is_open = state.is_open;
    let Phase::On(running) = &mut state.phase else { return };
    let guests = running.server.guests();
    let new = guests.asking.iter().find(|it| !running.guests.asking.contains(it)).cloned();
    running.guests = guests;
    // The command line may have taken a token back.
    running.people = running.server.people();
    let has_token = |code: &PhoneCode| running.people.iter().any(|(person, _)| *person == code.person);
    if state.code.as_ref().is_some_and(|code| !has_token(code)) {
        state.code = None;
    }
    if let Some(Caller { address, program }) = new.filter(|_| !is_open) {
        let asks = tr!("sharing-a-device-at-asks", address);
        let calls_itself = program.map(|program| tr!("sharing-its-program-calls-itself", program));
        context.notice([Some(asks), calls_itself].into_iter().flatten().collect::<Vec<_>>().join(" "));
    }
    measure(state, context);
}

/// Begins to share once a first frame was drawn.
fn begin_at_start(state: &mut State, context: &Context<'_>) {
    if context.egui.cumulative_frame_nr() == 0 {
        due::wake(context.egui);
        return;
    }
    state.is_start_due = false;
    if matches!(state.phase, Phase::Off) {
        start(state, context);
    }
}

/// Has the disk space of owners measured, where it is looked at and not known.
fn measure(state: &mut State, context: &Context<'_>) {
    let (true, Some(paths), Phase::On(running)) = (state.is_open, &state.paths, &mut state.phase) else { return };
    let is_known = !running.usage.is_stale && running.usage.bytes.keys().map(String::as_str).eq(running.owners());
    if is_known || running.usage.is_measuring {
        return;
    }
    let (paths, owners): (_, Vec<String>) = (paths.clone(), running.owners().into_iter().map(str::to_owned).collect());
    (running.usage.is_stale, running.usage.is_measuring) = (false, true);
    context.run(
        Worker::Files,
        move || work::usage(&paths, owners),
        |bytes, features, _| {
            if let Phase::On(running) = &mut features.sharing.phase {
                (running.usage.bytes, running.usage.is_measuring) = (bytes, false);
            }
        },
    );
}
