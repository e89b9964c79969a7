//! Effects of the commands of sharing. Nothing here waits.

use std::io;
use std::sync::Arc;

use atelier_language::tr;

use crate::gui::context::Context;
use crate::gui::due;
use crate::gui::shared::ErrorCard;
use crate::gui::sharing::command::Command;
use crate::gui::sharing::state::{Phase, PhoneCode, Running, State};
use crate::gui::sharing::work::{self, Parts};
use crate::gui::workers::Worker;
use crate::http::{Access, CannotServe};

/// The address at which other devices are listened to: every one of this computer's.
const EVERYWHERE: &str = "0.0.0.0";

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::Open => state.is_open = true,
        Command::Close => (state.is_open, state.code) = (false, None),
        Command::ListenToNetwork(listens) => state.listens_to_network = listens,
        Command::RequireToken(requires) => state.requires_token = requires,
        Command::Announce(announces) => state.announces = announces,
        Command::SetStudioName(name) => state.studio_name = name,
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
        Command::Admit(address) => answer(state, address, true),
        Command::TurnAway(address) => answer(state, address, false),
    }
}

fn answer(state: &mut State, address: std::net::IpAddr, is_welcome: bool) {
    if let Phase::On(running) = &mut state.phase {
        running.server.answer(address, is_welcome);
        running.guests = running.server.guests();
    }
}

fn access_of(state: &State, people: Vec<String>) -> Access {
    Access {
        host: state.listens_to_network.then(|| EVERYWHERE.to_owned()),
        port: state.port,
        allow_network: state.listens_to_network,
        require_token: state.requires_token,
        people,
        ..Access::default()
    }
}

fn start(state: &mut State, context: &Context<'_>) {
    let Some(paths) = state.paths.clone() else { return };
    state.phase = Phase::Starting;
    let parts = Parts {
        access: access_of(state, Vec::new()),
        announced_as: state.announces.then(|| state.studio_name.clone()),
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
            context.shared.error = Some(card);
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
    let (Some(paths), Some(running)) = (state.paths.clone(), state.running()) else { return };
    let name = state.person.trim().to_owned();
    let mut people: Vec<String> = running.people.iter().map(|(name, _)| name.clone()).collect();
    if !people.contains(&name) {
        people.push(name);
    }
    let access = access_of(state, people);
    state.is_adding = true;
    context.run(
        Worker::Files,
        move || work::tokens_of(&access, &paths),
        |added, features, context| {
            let state = features.sharing;
            state.is_adding = false;
            match added {
                Ok((tokens, people)) => {
                    if let Phase::On(running) = &mut state.phase {
                        running.server.set_tokens(tokens);
                        running.people = people;
                        state.person.clear();
                    }
                }
                Err(error) => context.shared.error = Some(ErrorCard::new(error.to_string(), tr!("sharing-choose-another-name-then"))),
            }
        },
    );
}

/// Takes a look at who is there, and tells of a device that asks.
pub(crate) fn refresh(state: &mut State, context: &mut Context<'_>) {
    let is_open = state.is_open;
    let Phase::On(running) = &mut state.phase else { return };
    let guests = running.server.guests();
    let new = guests.asking.iter().find(|it| !running.guests.asking.contains(it)).copied();
    running.guests = guests;
    if let Some(address) = new.filter(|_| !is_open) {
        context.notice(tr!("sharing-a-device-at-asks", address));
    }
}
