//! Effects of the commands about other studios. Nothing here waits.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use atelier_core::advice::Advice;
use atelier_core::mailbox::Mailbox;
use atelier_language::tr;
use atelier_peers::{AccessToken, KeptStudio, KeptStudios, StudioAddress, StudioLink};

use crate::gui::context::Context;
use crate::gui::due;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::screen::Screen;
use crate::gui::studios::command::Command;
use crate::gui::studios::state::{Answer, Search, State};
use crate::gui::studios::work::{self, Connected, StudioAnswer};
use crate::gui::workers::Worker;
use atelier_studio::studio_model::StudioModel;

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::Open => open(state, context),
        Command::Close => {
            state.is_open = false;
            // Nobody is looked for unseen.
            (state.search, state.search_trouble, state.trouble) = (None, None, None);
            state.found.clear();
            state.link.clear();
        }
        Command::SetLink(link) => state.link = link,
        Command::ConnectLink => match state.link.parse::<StudioLink>() {
            Ok(link) => connect(state, String::new(), link, context),
            Err(error) => state.trouble = Some(error.advice()),
        },
        Command::Connect(address) => {
            let name = state.found.iter().find(|it| it.address == address).map(|it| it.name.clone()).unwrap_or_default();
            let token = token_for(&state.link, &address);
            connect(state, name, StudioLink { address, token }, context);
        }
        Command::AskAgain(address) => {
            if let Some(models) = state.models.get_mut(&address.to_string()) {
                models.answer = Answer::Due;
            }
            ask(state, context);
        }
        Command::Forget(name) => {
            let is_chosen = |kept: &KeptStudio| context.shared.next.studio.as_ref().is_some_and(|it| it.studio == kept.name);
            if state.kept.named(&name).is_some_and(is_chosen) {
                context.shared.next.use_this_computer();
            }
            forget(state, name, context);
        }
        Command::AskAll => {
            state.ask_all();
            ask(state, context);
        }
        Command::Choose(chosen) => choose(state, chosen, context),
        Command::PlaceOn(name) => {
            if state.kept.named(&name).is_some_and(|studio| state.offered_by(studio).is_none()) {
                state.ask_named(&name);
                ask_due(state, context);
            }
            state.placing = Some(name);
            place(state, context);
        }
        Command::DismissOffer => state.placing = None,
        Command::UseOwn => {
            state.placing = None;
            context.shared.next.use_this_computer();
        }
    }
}

fn choose(state: &mut State, chosen: StudioModel, context: &mut Context<'_>) {
    state.placing = None;
    let defaults = state.offered(&chosen).map(|it| it.defaults.clone()).unwrap_or_default();
    context.shared.next.use_studio(chosen, defaults);
}

/// Chooses the model of the studio to which a person moved theirs, once it is known that it has the
/// same. Where it has another name, the studio's models stay offered.
fn place(state: &mut State, context: &mut Context<'_>) {
    let Some(studio) = state.placing.as_ref().and_then(|name| state.kept.named(name)) else { return };
    if let Some(advice) = state.trouble_of(studio) {
        context.notice(advice.to_string());
        state.placing = None;
    } else if let Some(same) = state.same_model(studio, &context.shared.model_names()) {
        // The answer that this waited for may come long after the command.
        context.name_change(Command::PlaceOn(String::new()).label());
        choose(state, same, context);
    }
}

/// The token that is typed. One in a link goes to the address of that link alone.
fn token_for(typed: &str, address: &StudioAddress) -> Option<AccessToken> {
    if StudioLink::is_address(typed) {
        return typed.parse::<StudioLink>().ok().filter(|it| it.address == *address)?.token;
    }
    AccessToken::new(typed)
}

fn open(state: &mut State, context: &Context<'_>) {
    state.is_open = true;
    state.ask_all();
    read(state, context);
    if state.search.is_some() {
        return;
    }
    let waker = context.egui.clone();
    let news = Arc::new(Mailbox::new(move || due::wake(&waker)));
    let is_over = Arc::new(AtomicBool::new(false));
    state.search = Some(Search { news: Arc::clone(&news), is_over: Arc::clone(&is_over) });
    let network = state.network;
    context.run_alone(
        "studios",
        move || work::browse(network, &is_over, &news),
        |ended, features, _| {
            if let Err(error) = ended {
                features.studios.search_trouble = Some(no_thread(&error));
            }
        },
    );
}

/// Reads the list of kept studios, so that their models can be offered. Only the one whose model is
/// chosen is asked: whether it is there, a person wants to know before pictures are asked for.
pub(crate) fn start(state: &State, context: &Context<'_>) {
    let Some(file) = state.file.clone() else { return };
    context.run(
        Worker::Files,
        move || work::read(&file),
        |read, features, context| match read {
            Ok(kept) => {
                features.studios.take_kept(kept);
                if let Some(chosen) = &context.shared.next.studio {
                    features.studios.ask_named(&chosen.studio);
                    ask_due(features.studios, context);
                }
            }
            Err(advice) if context.shared.next.studio.is_some() => context.notice(advice.to_string()),
            // Whoever opens the dialog is told.
            Err(advice) => tracing::warn!("{advice}"),
        },
    );
}

/// Reads the list of kept studios, and asks each for its models.
fn read(state: &State, context: &Context<'_>) {
    let Some(file) = state.file.clone() else { return };
    context.run(Worker::Files, move || work::read(&file), |read, features, context| take_list(features.studios, read, context));
}

fn take_list(state: &mut State, list: Result<KeptStudios, Advice>, context: &Context<'_>) {
    match list {
        Ok(kept) => state.take_kept(kept),
        Err(advice) => state.trouble = Some(advice),
    }
    ask(state, context);
}

fn connect(state: &mut State, name: String, link: StudioLink, context: &Context<'_>) {
    let Some(file) = state.file.clone() else { return };
    state.trouble = None;
    state.connecting = Some(if name.is_empty() { link.address.host().to_owned() } else { name.clone() });
    context.run_alone(
        "studio",
        move || work::connect(&file, &name, link),
        |connected, features, context| take_connected(features.studios, connected, context),
    );
}

fn take_connected(state: &mut State, connected: io::Result<Result<Connected, Advice>>, context: &mut Context<'_>) {
    state.connecting = None;
    match connected.unwrap_or_else(|error| Err(no_thread(&error))) {
        Ok(Connected { kept, studio, models }) => {
            state.link.clear();
            state.take_kept(kept);
            state.take_models(&studio.address, Ok(models));
            follow_defaults(state, context);
            context.notice(tr!("studios-is-connected", name = studio.name));
        }
        Err(advice) => state.trouble = Some(advice),
    }
    ask(state, context);
}

fn forget(state: &mut State, name: String, context: &Context<'_>) {
    let Some(file) = state.file.clone() else { return };
    state.trouble = None;
    context.run(Worker::Files, move || work::forget(&file, &name), |list, features, context| take_list(features.studios, list, context));
}

/// Asks kept studios for their models, also those that were never asked.
fn ask(state: &mut State, context: &Context<'_>) {
    state.ask_new();
    ask_due(state, context);
}

/// Asks the studios that are to be asked for their models, a few at a time.
fn ask_due(state: &mut State, context: &Context<'_>) {
    let Some(file) = state.file.clone() else { return };
    for studio in state.take_due() {
        let (file, network, address) = (file.clone(), state.network, studio.address.clone());
        context.run_alone(
            "studio",
            move || work::ask(&file, &studio, network),
            move |asked, features, context| {
                let asked = asked.unwrap_or_else(|error| StudioAnswer { moved: None, models: Err(no_thread(&error)) });
                apply_answer(features.studios, &address, asked, context);
            },
        );
    }
}

/// Takes the answer of a studio that was asked at this address.
fn apply_answer(state: &mut State, address: &StudioAddress, asked: StudioAnswer, context: &mut Context<'_>) {
    let StudioAnswer { moved, models } = asked;
    let address = match moved {
        Some((kept, now, note)) => {
            state.take_moved(kept, address, &now);
            context.notice(note);
            now
        }
        None => address.clone(),
    };
    let is_awaited = state.is_first_answer_of_placing(&address);
    state.take_models(&address, models);
    follow_defaults(state, context);
    if is_awaited {
        place(state, context);
    }
    ask_due(state, context);
}

/// Takes over what a studio tells of the chosen model now. The settings of the next picture stay.
fn follow_defaults(state: &State, context: &mut Context<'_>) {
    let next = &mut context.shared.next;
    if let Some(offered) = next.studio.as_ref().and_then(|chosen| state.offered(chosen)) {
        next.studio_defaults.clone_from(&offered.defaults);
    }
}

/// Takes what the search has found. Whoever chooses a model of this computer wants no other
/// studio's any more; whoever looks at the board wants to know which studios are there.
pub(crate) fn refresh(state: &mut State, context: &mut Context<'_>) {
    context.shared.next.follow_own_model();
    let is_on_board = state.is_read && context.shared.screen == Screen::Devices;
    if is_on_board && !state.was_on_board {
        state.ask_all();
        ask_due(state, context);
    }
    state.was_on_board = is_on_board;
    let Some(search) = &state.search else { return };
    while let Some(found) = search.news.try_next() {
        match found {
            Ok(found) => state.found = found,
            Err(error) => state.search_trouble = Some(error.advice()),
        }
    }
}

fn no_thread(error: &io::Error) -> Advice {
    Advice::new(tr!("studios-there-is-no-thread", error), tr!("studios-close-other-programs-then"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_a_link_goes_to_its_own_address_alone() {
        let (anna, ben): (StudioAddress, StudioAddress) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let link = "http://10.0.0.1:7860/#t=0123456789abcdef";
        let token = AccessToken::new("0123456789abcdef");
        assert_eq!((token_for(link, &anna), token_for(link, &ben)), (token.clone(), None));
        assert_eq!(token_for(" 0123456789abcdef ", &ben), token, "one without an address is for the studio whose button is pressed");
        assert_eq!(token_for("", &anna), None);
    }
}
