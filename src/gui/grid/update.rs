//! Effects of the commands of sheets. Nothing here waits.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::gui::context::{Background, Context};
use crate::gui::create;
use crate::gui::devices::board::Board;
use crate::gui::dialog::FileDialog;
use crate::gui::features::Features;
use crate::gui::files;
use crate::gui::grid::command::Command;
use crate::gui::grid::state::{CellTexture, Draft, Plan, Sheet, State};
use crate::gui::pixels;
use crate::gui::saver::{RETRY_SECS, SaveEnd};
use crate::gui::shared::{ErrorCard, Shared, random_seed};
use crate::gui::workers::Worker;
use atelier_core::grid::{Axis, AxisFiles, Cell, CellTime, DraftStep, Grid, MAX_AXES, Place};
use atelier_core::paths::Paths;
use atelier_core::recipe::{ImageSource, Recipe, Sampler};
use atelier_core::sentences::sentence;
use atelier_gallery::now_ms;
use atelier_gallery::queue::{Lane, NewJob};
use atelier_language::tr;
use atelier_library::ModelKind;
use atelier_studio::gallery_service::GalleryRequest;
use atelier_studio::kept_sheet::{KeptSheet, SheetTurn};
use atelier_studio::picture_index::PictureIndex;
use atelier_studio::queue::QueueRequest;
use atelier_studio::sheet::{draw_sheet, keep_sheet};
use eframe::egui::TextureOptions;

/// Seconds of change until the sheet is written.
const SAVE_AFTER_SECS: f64 = 0.5;

/// Carries out a command.
pub(crate) fn update(features: Features<'_>, command: Command, context: &mut Context<'_>) {
    let Features { grid: state, create, devices, .. } = features;
    match command {
        Command::Open(axis) => {
            let mut axes: [String; MAX_AXES] = state.draft.take().map(|draft| draft.axes).unwrap_or_default();
            let free = axes.iter().position(|text| text.trim().is_empty()).unwrap_or(0);
            if let Some(text) = axes.get_mut(free).filter(|_| !axis.is_empty()) {
                *text = axis;
            }
            state.draft = Some(planned(new_draft(axes, create, context.shared), context.shared, &devices.board));
        }
        Command::Put(index, axis) => {
            let draft = state.draft.take();
            let mut axes: [String; MAX_AXES] = draft.as_ref().map(|draft| draft.axes.clone()).unwrap_or_default();
            if let Some(text) = axes.get_mut(index) {
                *text = axis;
            }
            state.draft = Some(planned(new_draft(axes, create, context.shared), context.shared, &devices.board));
        }
        Command::Edit(axes) => {
            if let Some(draft) = state.draft.take() {
                let draft = Draft { axes: *axes, struck: BTreeSet::default(), wants_focus: false, ..draft };
                state.draft = Some(planned(draft, context.shared, &devices.board));
            }
        }
        Command::Strike(at) => {
            if let Some(mut draft) = state.draft.take() {
                if !draft.struck.remove(&at) {
                    draft.struck.insert(at);
                }
                state.draft = Some(planned(draft, context.shared, &devices.board));
            }
        }
        Command::SetDraftsFirst(drafts_first) => {
            if let Some(draft) = state.draft.take() {
                let draft = Draft { drafts_first: Some(drafts_first), ..draft };
                state.draft = Some(planned(draft, context.shared, &devices.board));
            }
        }
        Command::Make => make(state, create, context),
        Command::Close => state.draft = None,
        Command::Show(shows) => state.shows_sheet = shows,
        Command::UseCell(at) => {
            let queue = Arc::clone(&context.shared.queue);
            if let Some(row) = state.sheet.as_ref().and_then(|sheet| sheet.job(at)).and_then(|id| queue.row(id)) {
                context.name_change(tr!("grid-use-a-cells-settings"));
                let batch_count = context.shared.next.recipe.batch_count;
                let recipe = Recipe { batch_count, ..Recipe::clone(&row.job.recipe) };
                context.shared.next.recipe = recipe.with_words_as_letters();
                context.notice(tr!("grid-the-settings-of-this"));
            }
        }
        Command::CancelCell(at) => cancel_cell(state, at, context),
        Command::Export => {
            let Some(sheet) = state.sheet.as_ref().map(|sheet| sheet.kept.clone()) else { return };
            let dialog = FileDialog::target(tr!("grid-export-sheet-as"), "sheet.png").filter(tr!("common-png-picture"), &["png"]);
            context.choose(dialog, export_beside, move |paths, features, context| {
                if let Some(path) = paths.into_iter().next() {
                    let folder = path.parent().unwrap_or(&path).to_owned();
                    export(sheet, folder, Some(path), features.program.paths.clone(), context);
                }
            });
        }
    }
}

/// A dialog with these axes, whose plan is not made yet.
fn new_draft(axes: [String; MAX_AXES], create: &create::State, shared: &Shared) -> Draft {
    let seed = shared.next.recipe.seed.or(create.last_seed).unwrap_or_else(random_seed);
    Draft { axes, struck: BTreeSet::default(), seed, drafts_first: None, plan: Err(String::new()), wants_focus: true }
}

/// Models and LoRAs of the library by their names.
struct Library<'a>(&'a Shared);

impl AxisFiles for Library<'_> {
    fn model(&self, name: &str) -> Result<Recipe, String> {
        let cards = || self.0.library.cards.iter().filter(|card| card.kind == ModelKind::Model);
        let found = cards().find(|card| card.name.eq_ignore_ascii_case(name)).and_then(|card| card.runnable.as_ref());
        let runnable = found.ok_or_else(|| tr!("grid-no-model-is-called", name))?;
        let mut recipe = Recipe::default();
        runnable.apply(&mut recipe);
        Ok(recipe)
    }

    fn lora(&self, name: &str) -> Result<PathBuf, String> {
        let is_it = |path: &Path| path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case(name));
        let mut cards = self.0.cards_with_file(ModelKind::Lora);
        let found = cards.find(|(card, path)| card.name.eq_ignore_ascii_case(name) || is_it(path));
        found.map(|(_, path)| path.to_owned()).ok_or_else(|| tr!("grid-no-lora-is-called", name))
    }
}

/// The draft with its plan.
fn planned(draft: Draft, shared: &Shared, board: &Board) -> Draft {
    // In its words nothing is chosen.
    let base = Recipe { seed: Some(draft.seed), words_seed: None, ..shared.next.resolved_recipe().into_owned() };
    if base.starts().nth(1).is_some() {
        return Draft { plan: Err(tr!("grid-a-sheet-begins-with").to_owned()), ..draft };
    }
    let axes = draft.axes.iter().filter(|text| !text.trim().is_empty());
    let axes = axes.map(|text| Axis::read(text, &base, &Library(shared))).collect::<Result<Vec<_>, _>>();
    let grid = axes.and_then(|axes| Grid::new(base.clone(), axes));
    let plan = grid.map_err(|error| sentence(&error.to_string())).map(|grid| {
        let cells: Vec<Cell> = grid.cells().into_iter().filter(|cell| !draft.struck.contains(&cell.at)).collect();
        let drafts_first = draft.drafts_first.unwrap_or_else(|| Grid::suits_drafts(&cells));
        let turns = Grid::turns(&cells, drafts_first.then_some(DraftStep::Usual));
        let forecast = Grid::forecast(&turns, |recipe| time_of(recipe, &base, board));
        Plan { grid, cells, turns, drafts_first, forecast }
    });
    Draft { plan, ..draft }
}

/// Predicted time of a cell, from that of the current settings: of another model nothing is known.
fn time_of(recipe: &Recipe, base: &Recipe, board: &Board) -> Option<CellTime> {
    let time = board.times.predicted().filter(|_| recipe.files == base.files && recipe.placement == base.placement)?;
    let pixels = |recipe: &Recipe| {
        let (width, height) = recipe.final_size();
        f64::from(width) * f64::from(height)
    };
    let share = pixels(recipe) / pixels(base).max(1.0);
    let guided = |recipe: &Recipe| if recipe.uses_guidance() { 2.0 } else { 1.0 };
    let steps = |recipe: &Recipe| recipe.draft_step().unwrap_or(recipe.steps);
    let evaluations = |recipe: &Recipe| recipe.sampler.map_or(1, Sampler::evaluations) * steps(recipe);
    let work = |recipe: &Recipe| guided(recipe) * f64::from(evaluations(recipe).max(1));
    Some(CellTime {
        load_secs: time.load_secs,
        encode_secs: time.encode_secs,
        denoise_secs: time.denoise_secs * share * work(recipe) / work(base),
        other_secs: (time.decode_secs + time.upscale_secs) * share,
    })
}

/// Adds what makes the cells to the queue as one group.
fn make(state: &mut State, create: &mut create::State, context: &mut Context<'_>) {
    let Some(Draft { plan: Ok(Plan { grid, cells, turns, forecast, .. }), .. }) = state.draft.take() else { return };
    let group = now_ms();
    context.shared.error = None;
    for turn in &turns {
        let job = create::jobs::new_job(create, turn.recipe.clone(), Lane::Batch, context);
        context.queue.send(QueueRequest::Add(Box::new(NewJob { group: Some(group), ..job })));
    }
    let first = if forecast.drafts > 0 { tr!("grid-drafts-first-2") } else { "" };
    context.notice(tr!("grid-a-sheet-of-pictures", cells = cells.len(), first));
    state.sheet = Some(Sheet::new(KeptSheet::new(&grid, &cells, &turns, group)));
    state.shows_sheet = true;
}

/// Ends what would finish a cell, and its draft where no other cell needs it.
fn cancel_cell(state: &State, at: Place, context: &Context<'_>) {
    let Some(sheet) = &state.sheet else { return };
    let rows = |turn: &SheetTurn| turn.job().and_then(|id| context.shared.queue.row(id));
    let is_wanted = |at: &Place| sheet.kept.finishing(*at).and_then(rows).is_none_or(|row| !row.job.state.is_ended());
    let draft = sheet.kept.drafting(at).filter(|draft| !draft.cells.iter().any(|other| *other != at && is_wanted(other)));
    for id in [sheet.job(at), draft.and_then(SheetTurn::job)].into_iter().flatten() {
        context.queue.send(QueueRequest::Cancel(id));
    }
}

/// Reads the sheet of an earlier session.
pub(crate) fn start(state: &State, context: &Context<'_>) {
    let Some(path) = state.file.clone() else { return };
    context.run(
        Worker::Files,
        move || KeptSheet::read(&path),
        |read, features, context| match read {
            // One that was made meanwhile is newer.
            Ok(Some(kept)) if features.grid.sheet.is_none() => {
                features.grid.saver.reset(kept.clone());
                features.grid.sheet = Some(Sheet::new(kept));
                request_textures(features.grid, context);
            }
            Ok(_) => {}
            Err(reason) => context.notice(tr!("grid-the-last-sheet-could", reason)),
        },
    );
}

/// Notes which jobs are whose and what they made, and keeps it: called once a frame.
pub(crate) fn refresh(state: &mut State, context: &Context<'_>) {
    note_jobs(state, context);
    if let (Some(sheet), Some(_)) = (&state.sheet, &state.file)
        && state.saver.is_due(context.egui, &sheet.kept, SAVE_AFTER_SECS)
    {
        save(state, context.background, true);
    }
}

fn note_jobs(state: &mut State, context: &Context<'_>) {
    let Some(sheet) = state.sheet.as_mut().filter(|sheet| !sheet.is_finished()) else { return };
    let queue = Arc::clone(&context.shared.queue);
    let mut rows: Vec<_> = queue.rows.iter().filter(|row| row.job.group == Some(sheet.kept.group)).collect();
    rows.sort_by_key(|row| row.job.id);
    let mut made = Vec::new();
    for row in rows {
        let (turns, id) = (&mut sheet.kept.turns, row.job.id);
        let last = turns.iter().filter_map(SheetTurn::job).max();
        // Numbers grow, so the queue tells of jobs in the order in which they were added.
        if last.is_none_or(|last| id > last)
            && let Some(turn) = turns.iter_mut().find(|turn| turn.job.is_none())
        {
            turn.job = Some(id.0);
        }
        let turn = turns.iter().find(|turn| turn.job() == Some(id));
        if let (Some(turn), Some(picture)) = (turn, row.job.pictures.first()) {
            let files = if turn.is_draft { &mut sheet.kept.drafts } else { &mut sheet.kept.pictures };
            for at in &turn.cells {
                if files.insert(*at, picture.path.clone()).is_none() {
                    made.push(*at);
                }
            }
        }
    }
    for at in made {
        request_texture(sheet, at, context);
    }
}

/// Writes the sheet, where it has changed. `retries`: also where it could not be written the last
/// time.
pub(crate) fn save(state: &mut State, background: &Background, retries: bool) {
    let (Some(sheet), Some(path)) = (&state.sheet, state.file.clone()) else { return };
    if !state.saver.is_waiting(&sheet.kept) || (!retries && state.saver.failure().is_some()) {
        return;
    }
    let kept = sheet.kept.clone();
    let attempt = state.saver.begin(kept.clone());
    background.run(
        Worker::Files,
        move || kept.write(&path).map_err(|error| error.to_string()),
        move |result, features, context| {
            if features.grid.saver.ended(context.egui, attempt, result) == SaveEnd::Failed {
                let reason = features.grid.saver.failure().unwrap_or_default();
                context.notice(tr!("grid-the-sheet-could-not", reason, retry_secs = RETRY_SECS));
            }
        },
    );
}

/// True while the sheet is on its way to its file.
pub(crate) fn is_saving(state: &State) -> bool {
    state.saver.is_writing()
}

/// Reads the pictures of all cells for the screen.
fn request_textures(state: &State, context: &Context<'_>) {
    let Some(sheet) = &state.sheet else { return };
    for at in &sheet.kept.cells {
        request_texture(sheet, *at, context);
    }
}

/// Reads the picture of a cell for the screen, else its draft.
fn request_texture(sheet: &Sheet, at: Place, context: &Context<'_>) {
    let (finished, draft) = (sheet.kept.pictures.get(&at), sheet.kept.drafts.get(&at));
    let Some(path) = finished.or(draft).cloned() else { return };
    let (group, side_px, is_draft) = (sheet.kept.group, sheet.texture_side_px(), finished.is_none());
    context.run(
        Worker::Files,
        move || files::read_picture(&path).map(|picture| pixels::to_screen(&picture, side_px)),
        move |read, features, context| {
            let sheet = features.grid.sheet.as_mut().filter(|sheet| sheet.kept.group == group);
            match (sheet, read) {
                (Some(sheet), Ok(image)) => {
                    let texture = context.egui.load_texture("cell of a sheet", image, TextureOptions::LINEAR);
                    sheet.textures.insert(at, CellTexture { texture, is_draft });
                }
                (Some(_), Err(error)) => context.notice(error.to_string()),
                // Another sheet took its place.
                (None, _) => {}
            }
        },
    );
}

/// Saves the sheet beside the other pictures, where the system has no dialog to choose a place.
#[expect(clippy::needless_pass_by_value, reason = "as what is done without a dialog is called")]
pub(crate) fn export_beside(features: Features<'_>, context: &mut Context<'_>) {
    if let Some(sheet) = features.grid.sheet.as_ref().map(|sheet| sheet.kept.clone()) {
        export(sheet, features.create.pictures_folder.clone(), None, features.program.paths.clone(), context);
    }
}

/// Draws the sheet and writes it, under a name of its own where none is given; in the gallery it
/// stands beside its cells. `paths`: the person's folders; without any it is in no index.
fn export(sheet: KeptSheet, folder: PathBuf, path: Option<PathBuf>, paths: Option<Paths>, context: &Context<'_>) {
    context.run(
        Worker::Files,
        move || {
            let read = |path: &PathBuf| atelier_media::read_image(&ImageSource::File(path.clone())).ok().map(Arc::new);
            let pictures = sheet.pictures.iter().filter_map(|(at, path)| Some((*at, read(path)?))).collect();
            let drawn = draw_sheet(&sheet.captions, &pictures)?;
            let mut index = PictureIndex::new(paths);
            index.join_group(sheet.group);
            keep_sheet(&drawn, &folder, path.as_deref(), &sheet.prompt, &mut index)
        },
        |kept, _, context| match kept {
            Ok(path) => {
                if let Some(gallery) = context.gallery {
                    gallery.send(GalleryRequest::Refresh);
                }
                context.notice(tr!("grid-the-sheet-is-saved", path = path.display()));
            }
            Err(error) => context.shared.error = Some(ErrorCard::new(sentence(&error.to_string()), tr!("grid-choose-another-folder"))),
        },
    );
}
