//! Effects of the commands of sheets. Nothing here waits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::gui::context::Context;
use crate::gui::create;
use crate::gui::devices::board::Board;
use crate::gui::dialog::FileDialog;
use crate::gui::features::Features;
use crate::gui::files;
use crate::gui::grid::command::Command;
use crate::gui::grid::state::{Draft, Place, Plan, Sheet, State};
use crate::gui::pixels;
use crate::gui::shared::{ErrorCard, Shared, random_seed};
use crate::gui::workers::Worker;
use atelier_core::grid::{Axis, AxisFiles, Cell, CellTime, Grid, MAX_AXES};
use atelier_core::recipe::{ImageSource, Recipe, Sampler};
use atelier_core::sentences::sentence;
use atelier_gallery::now_ms;
use atelier_gallery::queue::{Lane, NewJob};
use atelier_library::ModelKind;
use atelier_studio::picture_index::PictureIndex;
use atelier_studio::queue::QueueRequest;
use atelier_studio::sheet::{draw_sheet, keep_sheet};
use eframe::egui::TextureOptions;

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
        Command::Make => make(state, create, context),
        Command::Close => state.draft = None,
        Command::Show(shows) => state.shows_sheet = shows,
        Command::UseCell(at) => {
            if let Some(cell) = state.sheet.as_ref().and_then(|sheet| sheet.cell(at)) {
                context.name_change("Use a cell's settings");
                let batch_count = context.shared.next.recipe.batch_count;
                context.shared.next.recipe = Recipe { batch_count, ..cell.recipe.clone() };
                context.notice("The settings of this cell are set.");
            }
        }
        Command::CancelCell(at) => {
            if let Some(id) = state.sheet.as_ref().and_then(|sheet| sheet.job(at)) {
                context.queue.send(QueueRequest::Cancel(id));
            }
        }
        Command::Export => {
            let Some(sheet) = state.sheet.clone() else { return };
            let dialog = FileDialog::target("Export sheet as", "sheet.png").filter("PNG picture", &["png"]);
            context.choose(dialog, export_beside, move |paths, _, context| {
                if let Some(path) = paths.into_iter().next() {
                    let folder = path.parent().unwrap_or(&path).to_owned();
                    export(sheet, folder, Some(path), context);
                }
            });
        }
    }
}

/// A dialog with these axes, whose plan is not made yet.
fn new_draft(axes: [String; MAX_AXES], create: &create::State, shared: &Shared) -> Draft {
    let seed = Some(shared.next.recipe.seed).filter(|seed| *seed >= 0);
    let seed = seed.or(create.last_seed).unwrap_or_else(random_seed);
    Draft { axes, struck: BTreeSet::default(), seed, plan: Err(String::new()), wants_focus: true }
}

/// Models and LoRAs of the library by their names.
struct Library<'a>(&'a Shared);

impl AxisFiles for Library<'_> {
    fn model(&self, name: &str) -> Result<Recipe, String> {
        let cards = || self.0.library.cards.iter().filter(|card| card.kind == ModelKind::Model);
        let found = cards().find(|card| card.name.eq_ignore_ascii_case(name)).and_then(|card| card.runnable.as_ref());
        let runnable = found.ok_or_else(|| format!("no model is called \"{name}\"; use a name of the library"))?;
        let mut recipe = Recipe::default();
        runnable.apply(&mut recipe);
        Ok(recipe)
    }

    fn lora(&self, name: &str) -> Result<PathBuf, String> {
        let is_it = |path: &Path| path.file_stem().is_some_and(|stem| stem.eq_ignore_ascii_case(name));
        let mut cards = self.0.cards_with_file(ModelKind::Lora);
        let found = cards.find(|(card, path)| card.name.eq_ignore_ascii_case(name) || is_it(path));
        found.map(|(_, path)| path.to_owned()).ok_or_else(|| format!("no LoRA is called \"{name}\"; use a name of the library"))
    }
}

/// The draft with its plan.
fn planned(draft: Draft, shared: &Shared, board: &Board) -> Draft {
    let seed = draft.seed;
    let base = Recipe { seed, ..shared.next.recipe.clone() };
    let axes = draft.axes.iter().filter(|text| !text.trim().is_empty());
    let axes = axes.map(|text| Axis::read(text, &base, &Library(shared))).collect::<Result<Vec<_>, _>>();
    let grid = axes.and_then(|axes| Grid::new(base.clone(), axes));
    let plan = grid.map_err(|error| sentence(&error.to_string())).map(|grid| {
        let cells: Vec<Cell> = grid.cells().into_iter().filter(|cell| !draft.struck.contains(&cell.at)).collect();
        let forecast = Grid::forecast(&cells, |recipe| time_of(recipe, &base, board));
        Plan { grid, cells, forecast }
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
    let evaluations = |recipe: &Recipe| recipe.sampler.map_or(1, Sampler::evaluations) * recipe.steps;
    let work = |recipe: &Recipe| guided(recipe) * f64::from(evaluations(recipe).max(1));
    Some(CellTime {
        load_secs: time.load_secs,
        encode_secs: time.encode_secs,
        denoise_secs: time.denoise_secs * share * work(recipe) / work(base),
        other_secs: (time.decode_secs + time.upscale_secs) * share,
    })
}

/// Adds the cells to the queue as one group.
fn make(state: &mut State, create: &mut create::State, context: &mut Context<'_>) {
    let Some(Draft { plan: Ok(Plan { grid, cells, .. }), .. }) = state.draft.take() else { return };
    let group = now_ms();
    let cells: Vec<Cell> = Grid::order(&cells).into_iter().filter_map(|index| cells.get(index).cloned()).collect();
    context.shared.error = None;
    for cell in &cells {
        let job = create::jobs::new_job(create, cell.recipe.clone(), Lane::Batch, context);
        context.queue.send(QueueRequest::Add(Box::new(NewJob { group: Some(group), ..job })));
    }
    context.notice(format!("A sheet of {} pictures is in the queue.", cells.len()));
    let (jobs, pictures, textures) = (Vec::new(), BTreeMap::default(), BTreeMap::default());
    state.sheet = Some(Sheet { grid, cells, group, jobs, pictures, textures });
    state.shows_sheet = true;
}

/// Notes which jobs are whose, and what they made.
pub(crate) fn refresh(state: &mut State, context: &Context<'_>) {
    let Some(sheet) = &mut state.sheet else { return };
    if sheet.pictures.len() == sheet.cells.len() {
        return;
    }
    let queue = Arc::clone(&context.shared.queue);
    let mut rows: Vec<_> = queue.rows.iter().filter(|row| row.job.group == Some(sheet.group)).collect();
    rows.sort_by_key(|row| row.job.id);
    for row in rows {
        if sheet.jobs.last().is_none_or(|last| row.job.id > *last) && sheet.jobs.len() < sheet.cells.len() {
            sheet.jobs.push(row.job.id);
        }
        let cell = sheet.jobs.iter().position(|id| *id == row.job.id).and_then(|index| sheet.cells.get(index));
        let place = cell.map(|cell| cell.at);
        if let (Some(cell_place), Some(picture)) = (place, row.job.pictures.first())
            && sheet.pictures.insert(cell_place, picture.path.clone()).is_none()
        {
            request_texture(sheet, cell_place, context);
        }
    }
}

/// Reads the picture of a cell for the screen.
fn request_texture(sheet: &Sheet, at: Place, context: &Context<'_>) {
    let Some(path) = sheet.pictures.get(&at).cloned() else { return };
    let (group, side_px) = (sheet.group, sheet.texture_side_px());
    context.run(
        Worker::Files,
        move || files::read_picture(&path).map(|picture| pixels::to_screen(&picture, side_px)),
        move |read, features, context| {
            let sheet = features.grid.sheet.as_mut().filter(|sheet| sheet.group == group);
            match (sheet, read) {
                (Some(sheet), Ok(image)) => {
                    let texture = context.egui.load_texture("cell of a sheet", image, TextureOptions::LINEAR);
                    sheet.textures.insert(at, texture);
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
    if let Some(sheet) = features.grid.sheet.clone() {
        export(sheet, features.create.pictures_folder.clone(), None, context);
    }
}

/// Draws the sheet and writes it, under a name of its own where none is given.
fn export(sheet: Sheet, folder: PathBuf, path: Option<PathBuf>, context: &Context<'_>) {
    context.run(
        Worker::Files,
        move || {
            let read = |path: &PathBuf| atelier_media::read_image(&ImageSource::File(path.clone())).ok().map(Arc::new);
            let pictures = sheet.pictures.iter().filter_map(|(at, path)| Some((*at, read(path)?))).collect();
            let drawn = draw_sheet(&sheet.grid, &pictures)?;
            let prompt = sheet.cells.first().map_or("", |cell| cell.recipe.prompt.as_str());
            keep_sheet(&drawn, &folder, path.as_deref(), prompt, &mut PictureIndex::default())
        },
        |kept, _, context| match kept {
            Ok(path) => context.notice(format!("The sheet is saved as {}.", path.display())),
            Err(error) => context.shared.error = Some(ErrorCard::new(sentence(&error.to_string()), "Choose another folder.")),
        },
    );
}
