//! Effects of the commands of the styles. Nothing here waits.

use crate::gui::context::Context;
use crate::gui::create;
use crate::gui::create::choose::choose_one;
use crate::gui::dialog::FileDialog;
use crate::gui::features::Features;
use crate::gui::styles::command::Command;
use crate::gui::styles::state::{AppliedStyle, State, StyleDraft};
use crate::gui::workers::Worker;
use atelier_core::recipe::changed_settings;
use atelier_language::tr;
use atelier_studio::styles::{self, Style, StyleOutcome, StyleTask, Styles};

/// Reads the person's styles.
pub(crate) fn start(state: &State, context: &Context<'_>) {
    run(state, StyleTask::Read, context);
}

/// Carries out a command. `create`: where the picture is that is shown.
pub(crate) fn update(state: &mut State, create: &create::State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::Apply(name) => apply(state, &name, context),
        Command::Edit(draft) => {
            state.focus_dialog = state.draft.is_none();
            state.draft = draft.map(|draft| *draft);
        }
        Command::Save => save(state, create, context),
        Command::Delete(name) => run(state, StyleTask::Delete(name), context),
        Command::AnswerImport(answer) => {
            if let (Some(import), Some(taken)) = (state.import.take(), answer) {
                run(state, StyleTask::Write(Box::new(import), taken), context);
            }
        }
        Command::Import => {
            let dialog = FileDialog::file(tr!("styles-choose-a1111s-styles-csv")).filter(tr!("styles-lists-of-styles"), &["csv"]);
            choose_one(dialog, context, |path, features, context| run(features.styles, StyleTask::Import(path), context));
        }
    }
}

/// Has this done with the person's styles, which are read after it.
pub(crate) fn run(state: &State, task: StyleTask, context: &Context<'_>) {
    let Some(folder) = state.folder.clone() else { return };
    context.run(
        Worker::Files,
        move || {
            let outcome = task.run(&folder, atelier_library::to_trash);
            (styles::read_styles(&folder), outcome)
        },
        |(list, outcome), features, context| read(features, list, outcome, context),
    );
}

fn read(features: Features<'_>, list: Styles, outcome: StyleOutcome, context: &mut Context<'_>) {
    let (state, create) = (features.styles, features.create);
    for path in list.styles.iter().filter_map(|(_, picture)| picture.clone()) {
        // A style may have got another picture.
        create.thumbnails.retain(|(of, _)| *of != path);
        create::pictures::request_thumbnail(create, path, context);
    }
    state.list = list;
    if outcome.question.is_some() {
        state.import = outcome.question;
    }
    if let Some(words) = outcome.words {
        context.notice(words);
    }
}

fn apply(state: &mut State, name: &str, context: &mut Context<'_>) {
    let Some(style) = state.get(name) else { return };
    let before = context.shared.next.recipe.clone();
    let mut settings = style.settings_for(&before);
    let notes = settings.clamp();
    if !notes.is_empty() {
        context.notice(notes.join(" "));
    }
    context.shared.next.apply_settings(&settings);
    let recipe = context.shared.next.recipe.clone();
    let changes = changed_settings(&before, &recipe);
    state.applied = Some(AppliedStyle { name: name.to_owned(), changes, recipe });
}

fn save(state: &mut State, create: &create::State, context: &Context<'_>) {
    let Some(StyleDraft { name, parts, with_picture }) = state.draft.take() else { return };
    let style = Style::of(name.trim().to_owned(), &context.shared.next.recipe, parts);
    let picture = if with_picture { create::update::shown_image(create) } else { None };
    run(state, StyleTask::Save(Box::new(style), picture), context);
}
