//! `atelier grid`: a sheet of pictures that differ along axes.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::devices;
use super::exit::Exit;
use super::flags::{GridFlags, is_model_name};
use super::interrupt::{Interrupt, no_ctrl_c};
use super::job::{JobOutput, run_job};
use super::json::Line;
use super::plan::predicted_time;
use super::printer::Printer;
use super::reporter::{quiet_reporter, reporter, write_message};
use super::resolve::{self, Lookup, ResolvedJob};
use super::usage_error::UsageError;
use atelier_core::device::Device;
use atelier_core::grid::{Axis, AxisFiles, Cell, CellTime, DraftStep, Forecast, Grid, Place, Turn};
use atelier_core::paths::Paths;
use atelier_core::recipe::{Affects, FileRole, Recipe, Rgb8, Seed};
use atelier_core::sentences::sentence;
use atelier_core::time::TimePrediction;
use atelier_engine::{Handle, PreviewOptions, Task};
use atelier_library::open_folders;
use atelier_studio::picture_index::PictureIndex;
use atelier_studio::results::Destination;
use atelier_studio::sheet::{draw_sheet, keep_sheet};

/// A sheet to make.
pub(super) struct Sheet {
    grid: Grid,
    cells: Vec<Cell>,
    turns: Vec<Turn>,
    notes: Vec<String>,
}

/// System that the command runs on.
pub(super) struct GridEnv<'a> {
    pub(super) out: &'a mut (dyn Write + Send),
    pub(super) err: Box<dyn Write + Send>,
    pub(super) terminal: bool,
    pub(super) paths: Option<Paths>,
    pub(super) interrupt: Arc<Interrupt>,
    pub(super) listen: fn(&Arc<Interrupt>) -> Result<(), ctrlc::Error>,
}

/// Files by names of the library, or paths.
struct Files<'a> {
    base: &'a Recipe,
    lookup: &'a Lookup<'a>,
}

impl AxisFiles for Files<'_> {
    fn model(&self, name: &str) -> Result<Recipe, String> {
        let path = Path::new(name);
        if is_model_name(path) {
            let mut recipe = Recipe::default();
            (self.lookup.model)(name).map_err(|error| error.to_string())?.apply(&mut recipe);
            return Ok(recipe);
        }
        let mut recipe = self.base.clone();
        let role = if recipe.files.get(FileRole::Diffusion).is_some() { FileRole::Diffusion } else { FileRole::Model };
        recipe.files.set(role, path);
        recipe.files = open_folders(&recipe.files);
        Ok(recipe)
    }

    fn lora(&self, name: &str) -> Result<PathBuf, String> {
        let path = Path::new(name);
        if !is_model_name(path) {
            return Ok(path.to_owned());
        }
        let found = (self.lookup.loras)(&[name.to_owned()]).map_err(|error| error.to_string())?;
        found.into_iter().next().ok_or_else(|| format!("there is no LoRA {name}; give its file"))
    }
}

/// The sheet of these flags.
pub(super) fn resolve(flags: &GridFlags, lookup: &Lookup<'_>) -> Result<Sheet, UsageError> {
    let (mut base, notes, _) = resolve::of_sheet(flags, lookup)?;
    base.seed.get_or_insert_with(|| Seed(u64::from(rand::random::<u32>())));
    let of_axis = |error: atelier_core::grid::GridError| UsageError::Sheet(error.to_string());
    let files = Files { base: &base, lookup };
    let axes = flags.axes().map(|text| Axis::read(text, &base, &files)).collect::<Result<Vec<_>, _>>().map_err(of_axis)?;
    let grid = Grid::new(base.clone(), axes).map_err(of_axis)?;
    let cells: Vec<Cell> = grid.cells().into_iter().filter(|cell| !flags.without.contains(&cell.at)).collect();
    if cells.is_empty() {
        return Err(UsageError::Sheet("every cell is left out; keep one at least".to_owned()));
    }
    let turns = Grid::turns(&cells, flags.drafts_first.map(DraftStep::After));
    if let Some(step) = flags.drafts_first
        && !turns.iter().any(|turn| turn.is_draft)
    {
        return Err(UsageError::Sheet(format!("no cell can have a draft that stops after step {step}; choose an earlier step")));
    }
    Ok(Sheet { grid, cells, turns, notes })
}

/// Says what the sheet will take, makes its pictures, and writes it.
pub(super) fn run(flags: &GridFlags, sheet: Sheet, handle: &Arc<Handle>, env: GridEnv<'_>) -> Exit {
    let GridEnv { out, mut err, terminal, paths, interrupt, listen } = env;
    let Sheet { grid, cells, turns, notes } = sheet;
    let place = match &flags.output {
        Some(file) => Ok((file.parent().map(Path::to_owned).unwrap_or_default(), Some(file.clone()))),
        None => paths.as_ref().map(|paths| (paths.pictures.clone(), None)).ok_or("the folder of your pictures is not known"),
    };
    let (folder, file) = match place {
        Ok(place) => place,
        Err(reason) => return failed(err.as_mut(), reason),
    };
    let servers = &flags.common.servers.rpc_servers;
    let listed = match devices::query(handle, servers, err.as_mut()) {
        Ok(listed) => listed,
        Err(error) => return failed(err.as_mut(), &format!("{error:#}")),
    };
    if flags.no_auto_placement
        && let Err(busy) = handle.place_automatically(false)
    {
        write_message(err.as_mut(), &format!("warning: {busy}"));
    }
    let mut times = Times { known: Vec::new(), is_unknown: false };
    let forecast = Grid::forecast(&turns, |recipe| times.of(recipe, &listed, handle));
    let forecast_line = forecast_line(&forecast);
    let forecast = forecast.to_string();
    if flags.dry_run {
        let mut printer = Printer::new(out, flags.report.json);
        let printed = printer.json(&forecast_line).and_then(|()| printer.text(&forecast));
        return printed.map_or(Exit::Failed, |()| Exit::Done);
    }
    interrupt.watch(handle);
    if let Err(error) = listen(&interrupt) {
        write_message(err.as_mut(), &no_ctrl_c(&error));
    }
    let reporter = if flags.report.json { quiet_reporter(err) } else { reporter(err, terminal) };
    let printer = Printer::new(out, flags.report.json).with_null(flags.paths.null);
    let mut output = JobOutput::new(printer, reporter, &flags.report);
    output.json(&forecast_line);
    output.reporter.message(&forecast);
    for note in &notes {
        output.reporter.message(note);
    }
    let mut index = PictureIndex::new(paths);
    index.begin_group();
    let (mut pictures, mut exit) = (BTreeMap::<_, Arc<Rgb8>>::new(), Exit::Done);
    for turn in turns {
        let places: Vec<Place> = turn.cells.iter().filter_map(|index| Some(cells.get(*index)?.at)).collect();
        let Some((first, others)) = places.split_first() else { continue };
        let caption = grid.captions().caption(*first);
        output.reporter.message(&match (turn.is_draft, others.len()) {
            (false, _) => caption,
            (true, 0) => format!("Draft of {caption}"),
            (true, count) => format!("Draft of {caption}, and of {count} more that begin alike"),
        });
        for at in &places {
            let caption = grid.captions().caption(*at);
            output.json(&Line::Cell { at: at.map(|index| index + 1), caption, draft: turn.is_draft });
        }
        let recipe = Box::new(turn.recipe);
        let job = ResolvedJob {
            task: Task::Generate { recipe: recipe.clone(), preview: PreviewOptions::Off, shares_steps: true },
            model: atelier_library::model_name(&recipe.files),
            destination: Destination::Folder { folder: folder.clone(), recipe, has_metadata: true },
            previews: None,
            notes: Vec::new(),
        };
        output.last_kept = None;
        let ended = run_job(handle, job, &mut index, &interrupt, &mut output);
        if let Some(picture) = output.last_kept.take().filter(|_| !turn.is_draft) {
            pictures.insert(*first, picture);
        }
        match ended {
            Exit::Done => {}
            Exit::Cancelled => return Exit::Cancelled,
            // The other cells may be made all the same.
            Exit::Failed | Exit::Usage | Exit::Incomplete => exit = ended,
        }
    }
    let kept = draw_sheet(grid.captions(), &pictures).map_err(|error| error.to_string()).and_then(|drawn| {
        let prompt = cells.first().map_or("", |cell| cell.recipe.prompt.as_str());
        let kept = keep_sheet(&drawn, &folder, file.as_deref(), prompt, &mut index).map_err(|error| error.to_string());
        kept.map(|path| (path, drawn.width(), drawn.height()))
    });
    match kept {
        Ok((path, width, height)) => {
            output.json(&Line::Sheet { path: path.to_string_lossy().into_owned(), width, height });
            output.path(&path);
        }
        Err(reason) => {
            output.reporter.message(&format!("error: {}", sentence(&reason)));
            exit = Exit::Failed;
        }
    }
    exit
}

fn forecast_line(forecast: &Forecast) -> Line {
    let Forecast { pictures, drafts, loads, encodings, evaluations, kept_evaluations, secs } = *forecast;
    Line::Forecast { pictures, drafts, loads, encodings, evaluations, kept_evaluations, secs }
}

fn failed(err: &mut dyn Write, reason: &str) -> Exit {
    write_message(err, &format!("error: {}", sentence(reason)));
    Exit::Failed
}

/// Predicted times of recipes; those that take the same memory and are opened alike have the same
/// work a step.
struct Times {
    known: Vec<(Recipe, TimePrediction, u32)>,
    /// A device was not measured.
    is_unknown: bool,
}

impl Times {
    fn of(&mut self, recipe: &Recipe, listed: &[Device], handle: &Handle) -> Option<CellTime> {
        if self.is_unknown {
            return None;
        }
        let steps = recipe.steps_until_end_of_pass(0);
        let like = Recipe { steps: 0, ..recipe.only(Affects::Memory) };
        let like = Recipe { placement: recipe.placement.clone(), files: recipe.files.clone(), sampler: recipe.sampler, ..like };
        if !self.known.iter().any(|(known, ..)| *known == like) {
            let Ok(Some(time)) = predicted_time(recipe, listed, handle) else {
                self.is_unknown = true;
                return None;
            };
            self.known.push((like.clone(), time, steps));
        }
        let (_, time, known_steps) = self.known.iter().find(|(known, ..)| *known == like)?;
        let denoise_secs = time.denoise_secs * f64::from(steps) / f64::from(*known_steps);
        Some(CellTime {
            load_secs: time.load_secs,
            encode_secs: time.encode_secs,
            denoise_secs,
            other_secs: time.decode_secs + time.upscale_secs,
        })
    }
}
