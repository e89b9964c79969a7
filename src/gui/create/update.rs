//! Effects of the Create view's commands, and of its file dialogs. Nothing here waits.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui;

use crate::gui::clipboard;
use crate::gui::context::Context;
use crate::gui::create::added_files::{add_files, take_files};
use crate::gui::create::choose::{choose, choose_one};
use crate::gui::create::command::Command;
use crate::gui::create::jobs::{add_job, new_job};
use crate::gui::create::larger;
use crate::gui::create::open;
use crate::gui::create::panel_setting::PANEL_SETTINGS;
use crate::gui::create::pictures;
use crate::gui::create::recent_settings;
use crate::gui::create::saving;
use crate::gui::create::session::{PictureFile, SessionPictureId};
use crate::gui::create::sheet_update;
use crate::gui::create::starts::for_each_start;
use crate::gui::create::state::{AskedRecipe, State};
use crate::gui::create::steps;
use crate::gui::create::templates::add_chosen;
use crate::gui::create::view::prompt_field;
use crate::gui::create::work;
use crate::gui::dialog::FileDialog;
use crate::gui::guides::update::start_from;
use crate::gui::notices::Offer;
use crate::gui::pixels;
use crate::gui::shared::{ErrorCard, Screen, random_seed};
use crate::gui::typed_path::parse_path;
use crate::gui::viewport::{KEY_STEP, View, canvas_rect};
use crate::gui::widgets;
use crate::gui::workers::Worker;
use atelier_core::recipe::{FileRole, ImageSource, ModelFiles, Person, Recipe, SeedBlend};
use atelier_core::words::{Prompt, prompt_lines};
use atelier_engine::JobId;
use atelier_gallery::queue::{Lane, NewJob, PauseMode};
use atelier_language::tr;
use atelier_library::Example;
use atelier_studio::queue::QueueRequest;
use atelier_studio::studio_model::StudioModel;

/// Prompts of a list that are added at once: the window waits for it.
const MAX_LISTED: usize = 1_000;

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    if matches!(command, Command::ChangeRecipe(_) | Command::Generate | Command::GenerateWith(_) | Command::Recall(_)) {
        state.trash_is_last = false;
    }
    match command {
        Command::Generate => {
            if let Some(recipe) = asked_recipe(state, context) {
                generate(state, recipe, context);
            }
        }
        Command::Enqueue => {
            if let Some(recipe) = asked_recipe(state, context) {
                for_each_start(state, recipe, context, |state, recipe, context| ask_for(state, recipe, Lane::Batch, context));
            }
        }
        Command::EnqueueLines => {
            let prompts = prompt_lines(&context.shared.next.recipe.prompt).map(str::to_owned).collect();
            enqueue_prompts(state, prompts, context);
        }
        Command::EnqueueFile => enqueue_file(context),
        Command::MakeExample(example) => make_example(state, &example, context),
        Command::TakeExample(example) => {
            take_example(&example, context);
            context.notice(tr!("create-this-prompt-is-in-create"));
        }
        Command::SetCount(count) => {
            context.shared.counts_automatically = count.is_none();
            context.shared.next.recipe.batch_count = count.unwrap_or(1);
        }
        Command::GenerateOnceHere { name, label } => {
            // Files that go with the current model mean nothing to the one that is awaited.
            let recipe = Recipe {
                files: ModelFiles::default(),
                loras: Vec::new(),
                control: None,
                person: Person::default(),
                earlier_steps: Vec::new(),
                ..context.shared.next.resolved_recipe().into_owned()
            };
            for_each_start(state, recipe, context, move |state, recipe, context| {
                let (model, wanted_model) = (label.clone(), Some(name.clone()));
                let job = NewJob { model, wanted_model, device: None, ..new_job(state, recipe, Lane::Interactive, context) };
                context.queue.send(QueueRequest::Add(Box::new(job)));
            });
            context.notice(tr!("create-the-picture-waits-in"));
        }
        Command::GenerateWith(recipe) => generate(state, *recipe, context),
        Command::Cancel => {
            if let Some(id) = context.shared.jobs.running().map(|job| job.id) {
                cancel(id, context);
            }
        }
        Command::CancelJob(id) => cancel(id, context),
        Command::ClearQueue => context.queue.send(QueueRequest::CancelWaiting),
        Command::FocusPrompt => focus_prompt(state, context),
        Command::TypePrompt(words) => {
            let prompt = &mut context.shared.next.recipe.prompt;
            if !prompt.is_empty() && !prompt.ends_with(char::is_whitespace) {
                prompt.push_str(if prompt.ends_with(',') { " " } else { ", " });
            }
            prompt.push_str(&words);
            prompt_field::put_caret_at_end(context.egui, prompt);
            focus_prompt(state, context);
        }
        Command::ChangeRecipe(recipe) => {
            recent_settings::remember(&mut state.recent_settings, &context.shared.next.recipe, &recipe);
            context.shared.next.recipe = *recipe;
        }
        Command::ResetSettings => {
            let before = context.shared.next.recipe.clone();
            let Recipe { prompt, negative_prompt, files, placement, .. } = before;
            context.shared.next.recipe = Recipe { prompt, negative_prompt, files, placement, ..context.shared.usual_recipe() };
        }
        Command::SwapSides => {
            let recipe = &mut context.shared.next.recipe;
            std::mem::swap(&mut recipe.width, &mut recipe.height);
        }
        Command::ShowSetting(number) => {
            if let Some(setting) = PANEL_SETTINGS.get(number) {
                context.shared.screen = Screen::Create;
                context.shared.side_panel.show(context.egui);
                state.wanted_setting = Some(number);
                state.open_folds.insert(setting.fold);
                widgets::want_row(context.egui, setting.row());
            }
        }
        Command::SetFold(fold, true) => drop(state.open_folds.insert(fold)),
        Command::SetFold(fold, false) => drop(state.open_folds.remove(&fold)),
        Command::SettingShown => state.wanted_setting = None,
        Command::RollSeed => context.shared.next.recipe.seed = Some(random_seed()),
        Command::RollWordsSeed => context.shared.next.recipe.words_seed = Some(random_seed()),
        Command::LockSeed => {
            let seed = &mut context.shared.next.recipe.seed;
            // The seed that a person wants to keep is that of the picture in sight.
            *seed = if seed.is_some() { None } else { Some(state.last_seed.unwrap_or_else(random_seed)) };
        }
        Command::UseBuiltin => context.shared.next.use_builtin(),
        Command::UseOwnFiles => context.shared.next.use_own_files(),
        Command::AddFiles => {
            let dialog = FileDialog::files(tr!("create-add-model-files")).models().filter(tr!("create-all-files"), &["*"]);
            choose(dialog, context, |paths, _, context| add_files(paths, context));
        }
        Command::ChooseFile(role) => {
            let dialog =
                FileDialog::file(tr!("create-choose-a-file-2", role = role.label())).models().filter(tr!("create-all-files"), &["*"]);
            choose_one(dialog, context, move |path, _, context| context.shared.next.use_file(role, path));
        }
        Command::ClearFile(role) => context.shared.next.recipe.files.remove(role),
        Command::MoveFile(from, to) => move_file(from, to, context),
        Command::TakePaths(paths) => {
            state.typed_path = None;
            open::open(paths.into_iter().map(|path| parse_path(&path)).collect(), true, context);
        }
        Command::OlderPrompt => {
            let prompt = state.prompts.older(&context.shared.next.recipe.prompt);
            context.shared.next.recipe.prompt = prompt.unwrap_or_else(|| std::mem::take(&mut context.shared.next.recipe.prompt));
        }
        Command::NewerPrompt => {
            let prompt = state.prompts.newer(&context.shared.next.recipe.prompt);
            context.shared.next.recipe.prompt = prompt.unwrap_or_else(|| std::mem::take(&mut context.shared.next.recipe.prompt));
        }
        Command::WeighWords(raises) => {
            let recipe = &mut context.shared.next.recipe;
            if !prompt_field::edit_selected(context.egui, recipe, |prompt, words| prompt.with_weight(words, raises)) {
                context.notice(tr!("create-put-the-caret-on"));
            }
        }
        Command::SwitchWords => {
            let switch = |prompt: &Prompt<'_>, words: Range<usize>| prompt.with_switched(words);
            if !prompt_field::edit_selected(context.egui, &mut context.shared.next.recipe, switch) {
                context.notice(tr!("create-put-the-caret-on-words-of"));
            }
        }
        Command::UsePrompt(prompt) => {
            context.shared.next.recipe.prompt = prompt;
            focus_prompt(state, context);
        }
        Command::SearchPrompts(text) => state.prompts.search = text,
        Command::TakeImage(image) => context.run(
            Worker::Pixels,
            move || pixels::from_screen(&image),
            |picture, features, context| {
                if let Some(picture) = picture {
                    open::offer_pasted(features.create, picture, context);
                }
            },
        ),
        Command::UseDropped(purpose) => open::use_dropped(state, purpose, context),
        Command::CloseDropped => state.dropped = None,
        Command::PlaceFile(path, role) => {
            context.shared.unplaced.retain(|it| *it != path);
            if let Some(role) = role {
                take_files(ModelFiles::from_iter([(role, path)]), context);
            }
        }
        Command::TypePath(path) => state.typed_path = path,
        Command::AddLora => {
            let dialog = FileDialog::file(tr!("create-choose-a-lora")).models();
            choose_one(dialog, context, |path, _, context| context.shared.next.use_lora(path));
        }
        Command::UseLora(path) => context.shared.next.use_lora(path),
        Command::AddEmbedding => {
            let dialog = FileDialog::file(tr!("create-choose-an-embedding-2")).models();
            choose_one(dialog, context, |path, _, context| context.shared.next.use_embedding(path));
        }
        Command::UseEmbedding(path) => context.shared.next.use_embedding(path),
        Command::SearchLoras(text) => state.lora_search = text,
        Command::SetPreview(choice) => state.preview = choice,
        Command::Show(id) => show(state, Some(id)),
        Command::Follow => follow(state, context),
        Command::Newer => show(state, state.session.newer()),
        Command::Older => show(state, state.session.older()),
        Command::PointAt(id) => state.session.point_at(id),
        Command::GoInSheet(direction, columns) => sheet_update::go(state, direction, columns),
        Command::Enlarge => {
            let seen_secs = state.shows_sheet().then(|| context.egui.time());
            state.session.choose_pointed();
            state.sheet.enlarge(state.session.shown().map(|picture| picture.id), seen_secs);
            state.view = View::Fit;
        }
        Command::BackToSheet => {
            if state.session.selected().is_some_and(|id| !state.sheet.has(id)) {
                state.session.follow();
            }
            state.sheet.go_back();
        }
        Command::TogglePick => sheet_update::toggle_pick(state, context),
        Command::NotePicks(numbers, is_picked) => sheet_update::note_picks(state, &numbers, is_picked),
        Command::NearSeeds => sheet_update::make_near(state, sheet_update::near_seeds, context),
        Command::NearWords => sheet_update::make_near(state, |recipe| recipe.near_words(sheet_update::NEIGHBOURS), context),
        Command::CompareShown => sheet_update::compare(state, context),
        Command::Trash => sheet_update::trash(state, context),
        Command::BringBack => sheet_update::bring_back(state, context),
        Command::ForgetTrash => {
            state.trashed.clear();
            state.trash_is_last = false;
        }
        Command::Recall(part) => {
            if let Some(picture) = state.session.shown() {
                let settings = picture.settings();
                context.shared.next.recall(part, &settings);
                context.notice(part.notice());
            }
        }
        Command::RepeatWithChange(id, change) => {
            if let Some(picture) = state.session.get(id) {
                let mut repeated = picture.recipe.clone();
                change.apply(&mut repeated);
                // Without it the next picture would need the same remedy.
                context.shared.next.apply_change(&change);
                generate(state, repeated.with_words_as_letters(), context);
            }
        }
        Command::ShowStep(step) => steps::show_step(state, step),
        Command::GoOnFromStep => steps::go_on_from_step(state, context),
        Command::RerollFromStep => {
            if let Some(recipe) = steps::rerolled(state) {
                generate(state, recipe.with_words_as_letters(), context);
            }
        }
        Command::FinishDraft => {
            if let Some(recipe) = steps::finished(state) {
                generate(state, recipe.with_words_as_letters(), context);
            }
        }
        Command::BlendSeeds(on) => {
            let recipe = &mut context.shared.next.recipe;
            recipe.seed_blend = on.then(|| SeedBlend { seed: random_seed(), ..SeedBlend::default() });
            // A blend of a random seed could not be made again.
            if on {
                recipe.seed.get_or_insert_with(|| state.last_seed.unwrap_or_else(random_seed));
            }
        }
        Command::RollSecondSeed => {
            if let Some(blend) = &mut context.shared.next.recipe.seed_blend {
                blend.seed = random_seed();
            }
        }
        Command::MakeDrafts(on) => {
            let recipe = &mut context.shared.next.recipe;
            recipe.last_step = on.then(|| recipe.usual_last_step());
        }
        Command::ClearEarlierSteps => context.shared.next.recipe.earlier_steps.clear(),
        Command::ShowNotes(shown) => state.shows_notes = shown,
        Command::StartFromShown => start_from_shown(state, context),
        Command::Upscale(way) => {
            if let (Some(picture), Some(image)) = (state.session.shown(), shown_image(state)) {
                let (id, recipe) = (picture.id, larger::upscaling(&picture.recipe, image, way, context.shared));
                // Also where it is shown large: the others of its sheet stay.
                if state.sheet.is_several() && state.sheet.has(id) {
                    sheet_update::add_beside(state, recipe, id, context);
                } else {
                    context.shared.error = None;
                    add_job(state, recipe, Lane::Interactive, context);
                    follow(state, context);
                }
                context.offer(way.words().1, Offer::CancelNewestJob);
            }
        }
        Command::OpenPicture(path) => open::open(vec![path], false, context),
        Command::ReferenceShown => {
            if let Some(image) = shown_image(state) {
                context.shared.next.recipe.reference_images.push(image);
                context.notice(tr!("create-this-picture-is-a"));
            }
        }
        Command::SaveAs => saving::ask(state, context),
        Command::SetSaveDialog(dialog) => state.save_dialog = dialog,
        Command::Save => saving::save(state, context),
        Command::CopyPicture => copy_picture(state, context),
        Command::OpenFolder => {
            let file = state.session.shown().and_then(|picture| match &picture.stored {
                PictureFile::At(path) => Some(path.clone()),
                // The folder is shown without a selection.
                PictureFile::Writing | PictureFile::Failed => None,
            });
            context.show_folder(state.pictures_folder.clone(), file);
        }
        Command::ZoomIn => zoom(state, KEY_STEP, context.egui),
        Command::ZoomOut => zoom(state, 1.0 / KEY_STEP, context.egui),
        Command::ZoomFit => state.view = View::Fit,
        Command::ZoomActual => {
            if let Some(size) = state.canvas_size_px() {
                state.view = state.view.actual(size, context.egui.pixels_per_point());
            }
        }
        Command::SetView(view) => state.view = view,
    }
}

/// Moves the keyboard into the prompt, wherever that is.
fn focus_prompt(state: &mut State, context: &mut Context<'_>) {
    context.shared.side_panel.show(context.egui);
    state.focus_prompt = true;
}

/// Makes the picture of an example: the one that was shown, where it has a seed, else as many as the
/// person makes at once.
fn make_example(state: &mut State, example: &Example, context: &mut Context<'_>) {
    take_example(example, context);
    let recipe = &context.shared.next.recipe;
    let asked = match example.seed {
        Some(seed) => Some(Recipe { seed: Some(seed), batch_count: 1, ..recipe.clone() }),
        None => asked_recipe(state, context),
    };
    if let Some(recipe) = asked {
        generate(state, recipe, context);
    }
}

/// Takes prompt and shape of an example over.
fn take_example(example: &Example, context: &mut Context<'_>) {
    let recipe = &mut context.shared.next.recipe;
    recipe.prompt.clone_from(&example.prompt);
    if let Some(size) = example.width.zip(example.height) {
        (recipe.width, recipe.height) = size;
    }
}

/// Makes pictures as soon as may be; several at once are a batch, which lets single ones pass.
fn generate(state: &mut State, recipe: Recipe, context: &mut Context<'_>) {
    let is_batch = recipe.batch_count > 1 || recipe.starts().nth(1).is_some();
    let lane = if is_batch { Lane::Batch } else { Lane::Interactive };
    context.shared.error = None;
    follow(state, context);
    for_each_start(state, recipe, context, move |state, recipe, context| ask_for(state, recipe, lane, context));
}

/// Shows what is made now.
fn follow(state: &mut State, context: &Context<'_>) {
    let seen_secs = state.shows_sheet().then(|| context.egui.time());
    state.session.follow();
    state.sheet.follow(seen_secs);
}

/// Shows this picture large.
fn show(state: &mut State, id: Option<SessionPictureId>) {
    if let Some(id) = id {
        state.session.show(id);
        state.sheet.is_large = true;
    }
}

/// The recipe of the panel, with the number of pictures. A seed that is kept goes on to the next one
/// where the same picture was asked for just before: a second copy of it is of no use.
fn next_recipe(state: &mut State, context: &mut Context<'_>) -> Recipe {
    let recipe = Recipe { batch_count: context.shared.picture_count(), ..context.shared.next.recipe.clone() };
    let Some(kept) = recipe.seed else { return recipe };
    let seed = state.last_asked.as_ref().filter(|asked| asked.recipe == recipe).map_or(kept, |asked| asked.next_seed);
    if seed != kept {
        context.notice(tr!("create-this-picture-was-asked", seed));
    }
    let next_seed = seed.after(u64::from(recipe.batch_count.max(1)));
    state.last_asked = Some(AskedRecipe { recipe: recipe.clone(), next_seed });
    Recipe { seed: Some(seed), ..recipe }
}

/// The recipe of the panel as it is made here, or asked for at the other studio whose model is
/// chosen; `None`, with an error card, where that one cannot take all of it.
fn asked_recipe(state: &mut State, context: &mut Context<'_>) -> Option<Recipe> {
    if let Some(StudioModel { studio, .. }) = &context.shared.next.studio {
        let settings = StudioModel::not_taken(&context.shared.next.recipe);
        if !settings.is_empty() {
            let sentence = tr!("create-cannot-take-these-settings", studio, settings = settings.join(", "));
            let card = ErrorCard::new(sentence, tr!("create-give-them-their-usual"));
            context.shared.error = Some(card.at(context.shared.screen_of_making()));
            return None;
        }
    }
    let recipe = next_recipe(state, context);
    Some(if context.shared.next.studio.is_some() { StudioModel::asked(recipe) } else { recipe })
}

fn ask_for(state: &mut State, recipe: Recipe, lane: Lane, context: &mut Context<'_>) {
    if context.shared.queue.pause != PauseMode::No {
        context.notice(tr!("create-the-queue-is-paused"));
    }
    // That of another studio is no model's of this computer.
    if !recipe.files.is_empty() {
        context.shared.next.recent_recipes.remember(&recipe);
    }
    state.prompts.remember(&recipe.prompt);
    add_chosen(state, recipe, lane, context);
}

/// Asks for a list of prompts, and adds a picture of each.
fn enqueue_file(context: &mut Context<'_>) {
    let dialog = FileDialog::file(tr!("create-choose-a-list-of")).filter(tr!("create-text-files"), &["txt"]);
    choose_one(dialog.filter(tr!("create-all-files"), &["*"]), context, |path, _, context| enqueue_prompts_of(path, context));
}

/// Adds a picture of each prompt of this list.
pub(crate) fn enqueue_prompts_of(list: PathBuf, context: &Context<'_>) {
    context.run(
        Worker::Files,
        move || work::read_prompts(&list),
        |prompts, features, context| match prompts {
            Ok(prompts) => enqueue_prompts(features.create, prompts, context),
            Err(sentence) => context.notice(sentence),
        },
    );
}

/// Adds a picture of each of these prompts to the end of the queue. A seed that is kept goes on from
/// one to the next.
fn enqueue_prompts(state: &mut State, prompts: Vec<String>, context: &mut Context<'_>) {
    if prompts.is_empty() {
        return context.notice(tr!("create-no-line-has-a"));
    }
    let Some(recipe) = asked_recipe(state, context) else { return };
    let (count, left) = (prompts.len().min(MAX_LISTED), prompts.len().saturating_sub(MAX_LISTED));
    for (by, prompt) in (0..).zip(prompts.into_iter().take(MAX_LISTED)) {
        let [seed, words_seed] = [recipe.seed, recipe.words_seed].map(|first| first.map(|seed| seed.after(by)));
        let of_line = Recipe { prompt, seed, words_seed, batch_count: 1, ..recipe.clone() };
        for_each_start(state, of_line, context, |state, recipe, context| ask_for(state, recipe, Lane::Batch, context));
    }
    context.notice(if left > 0 { tr!("create-the-first-prompts-are", count, left) } else { tr!("create-prompts-are-in-the", count) });
}

fn cancel(id: JobId, context: &mut Context<'_>) {
    if let Some(job) = context.shared.jobs.get_mut(id) {
        job.stopping = true;
    }
    context.engine.cancel(id);
}

/// Two files that want each other's role change places.
fn move_file(from: FileRole, to: FileRole, context: &mut Context<'_>) {
    let files = &mut context.shared.next.recipe.files;
    let Some(path) = files.get(from).map(Path::to_owned) else { return };
    let other = files.get(to).map(Path::to_owned);
    files.set(to, path);
    match other {
        Some(other) => files.set(from, other),
        None => files.remove(from),
    }
}

/// The picture shown, as a picture that another one is made from.
pub(crate) fn shown_image(state: &State) -> Option<ImageSource> {
    let picture = state.session.shown()?;
    match (&picture.stored, &picture.pixels) {
        (PictureFile::At(path), _) => Some(ImageSource::File(path.clone())),
        (_, Some(pixels)) => Some(ImageSource::Pixels(pixels.as_ref().clone())),
        (_, None) => None,
    }
}

/// The picture that is shown; from memory, where it is there.
pub(crate) fn shown_source(state: &State) -> Option<(SessionPictureId, ImageSource)> {
    let picture = state.session.shown()?;
    let pixels = picture.pixels.as_ref().map(|pixels| ImageSource::Pixels(pixels.as_ref().clone()));
    Some((picture.id, pixels.or_else(|| shown_image(state))?))
}

fn start_from_shown(state: &State, context: &mut Context<'_>) {
    let (Some(picture), Some(image)) = (state.session.shown(), shown_image(state)) else { return };
    let (width, height) = (picture.width, picture.height);
    start_from(vec![image], context);
    (context.shared.next.recipe.width, context.shared.next.recipe.height) = (width, height);
}

fn copy_picture(state: &State, context: &mut Context<'_>) {
    let Some(picture) = state.session.shown() else { return };
    if let Some(pixels) = &picture.pixels {
        clipboard::copy_pixels(Arc::clone(pixels), context);
    } else if let PictureFile::At(path) = &picture.stored {
        clipboard::copy_file(path.clone(), context);
    }
}

fn zoom(state: &mut State, factor: f32, egui: &egui::Context) {
    if let (Some(size), Some(canvas)) = (state.canvas_size_px(), canvas_rect(egui)) {
        state.view = state.view.zoomed(factor, canvas.center(), size, canvas);
    }
}

/// Has it asked again whether the files in use are there: one may have gone since.
pub(crate) fn check_files_again(state: &mut State) {
    state.checked_files.clear();
}

/// Asks whether the files in use are there, whenever they are others than before.
pub(crate) fn refresh_files(state: &mut State, context: &mut Context<'_>) {
    let recipe = &context.shared.next.recipe;
    let loras = recipe.loras.iter().map(|lora| lora.path.as_path()).chain(recipe.embeddings.iter().map(PathBuf::as_path));
    let same = recipe.files.iter().map(|(_, path)| path).chain(loras.clone()).eq(state.checked_files.iter().map(PathBuf::as_path));
    if !same {
        state.checked_files = recipe.files.iter().map(|(_, path)| path).chain(loras).map(PathBuf::from).collect();
        let files = state.checked_files.clone();
        context.run(
            Worker::Files,
            move || work::missing(files),
            |missing, _, context| context.shared.missing_files = missing.into_iter().collect(),
        );
    }
    let images = recipe.pictures().chain(&recipe.further_starts).chain(state.dropped.iter().filter_map(|dropped| dropped.images.first()));
    let files = images.filter_map(|image| match image {
        ImageSource::File(path) => Some(path),
        ImageSource::Pixels(_) => None,
    });
    let is_wanted = |path: &&PathBuf| state.thumbnail(path).is_none() && !state.requested_thumbnails.contains(*path);
    for path in files.filter(is_wanted).cloned().collect::<BTreeSet<_>>() {
        pictures::request_thumbnail(state, path, context);
    }
}
