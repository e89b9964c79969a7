//! Predicted times beside measured ones: `cargo xtask bench -- --time [--only TEXT] [--threads N]`.
//!
//! Devices are measured first: the processor, two simulated devices of other speeds, and a lender
//! on loopback. Each case is then made cold and a few times warm, each time with other words, and
//! compared with the prediction from the devices' rates alone, and with the one that these pictures
//! corrected.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{LIMIT, Outcome, files, make};
use atelier_core::device::Device;
use atelier_core::placement::{DeviceCapacity, Placement, Prediction};
use atelier_core::recipe::{FileRole, ModelFiles, PlacementText, Recipe, Seed};
use atelier_core::time::{TimeCorrections, TimePrediction};
use atelier_engine::{
    End, Estimate, Event, Handle, MeasureDevices, MeasuredDevice, PreviewOptions, Task, Timings, simulate_devices, start_remembering,
};
use atelier_library::Builtin;
use testkit::families::{Part, family};
use testkit::tiny;

/// Pictures that correct the prediction.
const PICTURES: usize = 3;
/// Pictures that are compared with the corrected prediction.
const PICTURES_AFTER: usize = 2;
/// Parts of the measured time by which predictions should be off at most: the median, and nine of
/// ten.
const GOALS: &str = "goals: median 15 %, nine of ten 35 %; after three pictures 10 %";

/// Texts of a placement: where modules run, where weights live.
const PLACEMENTS: [(&str, &str); 6] =
    [("cpu", ""), ("all=GPU0", ""), ("all=GPU1,te=cpu", ""), ("all=cpu,vae=GPU0", ""), ("all=GPU0,vae=GPU1", "all=cpu"), ("all=RPC0", "")];

/// A process that lends the processor.
pub(super) struct Lender(Child);

impl Drop for Lender {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A picture of a model.
pub(super) struct Case {
    pub(super) model: &'static str,
    pub(super) recipe: Recipe,
}

/// Seconds of a case, predicted and measured.
struct Row {
    name: String,
    cold: [f64; 2],
    warm: [f64; 2],
    /// After three pictures.
    corrected: [f64; 2],
    phases: String,
}

pub(super) fn measure(folder: &Path, threads: u32, only: &str) -> Outcome<()> {
    simulate_devices(&"GPU0:8/speed=0.5,GPU1:8/speed=0.25".parse()?)?;
    let learned = tempfile::tempdir_in(folder)?;
    let engine = start_remembering(|| (), &learned.path().join("measured.json"));
    let _lender = lend(&engine, learned.path(), threads)?;
    let devices = list_devices(&engine)?;
    for MeasuredDevice { device, measured } in measure_devices(&engine, threads)? {
        let it = measured.map_err(|failure| format!("{device}: {}", failure.advice))?;
        println!("{device}: measured in {:.1} s, {} of {} times unsteady", it.secs, it.unsteady_samples, it.samples);
    }
    println!(
        "\n| case | cold: predicted, measured s | error | warm: predicted, measured s | error | after {PICTURES}: predicted, measured s | error |"
    );
    println!("|---|---|---|---|---|---|---|");
    let models = tempfile::tempdir_in(folder)?;
    let mut rows = Vec::new();
    for case in cases(models.path(), folder, threads)? {
        let name = name_of(&case);
        if !name.contains(only) {
            continue;
        }
        let row = row(&engine, &case, name, &devices)?;
        let cell =
            |[predicted, measured]: [f64; 2]| format!("{predicted:.2}, {measured:.2} | {:+.0} %", 100.0 * (predicted / measured - 1.0));
        println!("| {} | {} | {} | {} | {}", row.name, cell(row.cold), cell(row.warm), cell(row.corrected), row.phases);
        rows.push(row);
    }
    let errors = |of: fn(&Row) -> [f64; 2]| {
        let mut errors: Vec<f64> = rows.iter().map(of).map(|[predicted, measured]| (predicted / measured - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let at = |part: f64| errors.get(((errors.len().saturating_sub(1)) as f64 * part).round() as usize).copied().unwrap_or(f64::NAN);
        format!("median {:.0} %, nine of ten within {:.0} %", 100.0 * at(0.5), 100.0 * at(0.9))
    };
    println!("\n{} cases; cold: {}", rows.len(), errors(|row| row.cold));
    println!("warm: {}", errors(|row| row.warm));
    println!("after {PICTURES} pictures: {}", errors(|row| row.corrected));
    println!("{GOALS}");
    Ok(())
}

/// Rates of all devices.
pub(super) fn measure_devices(engine: &Handle, threads: u32) -> Outcome<Vec<MeasuredDevice>> {
    engine.measure(Some(MeasureDevices { threads: Some(threads), ..MeasureDevices::default() }))?;
    wait(engine, |event| if let Event::Rates { devices, is_measuring: false } = event { Some(devices) } else { None })
}

pub(super) fn list_devices(engine: &Handle) -> Outcome<Vec<Device>> {
    engine.list_devices()?;
    wait(engine, |event| if let Event::Devices(devices) = event { Some(devices) } else { None })
}

/// A process that lends the processor to an engine.
pub(super) fn lend(engine: &Handle, home: &Path, threads: u32) -> Outcome<Lender> {
    let child = Command::new(env!("CARGO_BIN_EXE_atelier"))
        .env(atelier_core::paths::HOME_VARIABLE, home)
        .args(["serve-device", "--port", "0", "--device", "CPU", "-t", &threads.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut lender = Lender(child);
    let mut address = String::new();
    BufReader::new(lender.0.stdout.take().ok_or("the lender is silent")?).read_line(&mut address)?;
    engine.add_server(address.trim().parse()?)?;
    wait(engine, |event| matches!(event, Event::Server { .. }).then_some(()))?;
    Ok(lender)
}

fn wait<T>(engine: &Handle, mut wanted: impl FnMut(Event) -> Option<T>) -> Outcome<T> {
    loop {
        match engine.next_within(LIMIT) {
            Some(event) => {
                if let Some(found) = wanted(event) {
                    return Ok(found);
                }
            }
            None => return Err("the engine is silent".into()),
        }
    }
}

fn name_of(case: &Case) -> String {
    let Recipe { width, steps, guidance, placement, .. } = &case.recipe;
    let evaluations = if *guidance > 1.0 { 2 } else { 1 };
    format!("{}, {width}, {steps} x {evaluations}, {} {}", case.model, placement.backend, placement.params_backend)
}

/// One small picture of each model, cut where it is large.
pub(super) fn models(folder: &Path, threads: u32) -> Outcome<Vec<Case>> {
    let recipe = |files: ModelFiles, guidance| Recipe {
        files,
        width: 256,
        height: 256,
        steps: 2,
        guidance,
        threads: Some(threads),
        ..Recipe::default()
    };
    let mut all = Vec::new();
    if let Ok(builtin) = Builtin::find() {
        all.push(Case { model: "built-in", recipe: recipe(builtin.files().clone(), 3.0) });
    }
    all.push(Case { model: "Z-Image cut", recipe: recipe(cut_zimage(&folder.join("time-zimage"), tiny::Format::Safetensors)?, 1.0) });
    all.push(Case { model: "Z-Image cut Q8_0", recipe: recipe(cut_zimage(&folder.join("time-zimage-q8"), tiny::Format::GgufQ8)?, 1.0) });
    for (model, family, guidance) in [("SDXL cut", "sdxl", 5.0), ("Flux cut (Ovis)", "ovis", 1.0), ("SD1.5 cut", "sd15", 5.0)] {
        all.push(Case { model, recipe: recipe(family_files(family, &make(folder.join(family))?)?, guidance) });
    }
    Ok(all)
}

fn cut_zimage(folder: &Path, format: tiny::Format) -> Outcome<ModelFiles> {
    let options =
        tiny::Options { width: 1024, layers: 8, refiners: 1, encoder_width: 512, encoder_layers: 6, format, ..tiny::Options::default() };
    Ok(files(tiny::zimage(&make(folder.to_owned())?, &options)?))
}

fn cases(models: &Path, kept: &Path, threads: u32) -> Outcome<Vec<Case>> {
    let mut cases = Vec::new();
    let mut add = |model: &'static str, files: &ModelFiles, sides: &[u32], steps: &[u32], guidance: f32, placements: &[(&str, &str)]| {
        for (n, (backend, params_backend)) in placements.iter().enumerate() {
            // Sizes and steps in turn, so that each is met with some placement.
            let (side, steps) = (sides[n % sides.len()], steps[n % steps.len()]);
            let placement =
                PlacementText { backend: (*backend).into(), params_backend: (*params_backend).into(), ..PlacementText::default() };
            let recipe = Recipe {
                files: files.clone(),
                width: side,
                height: side,
                steps,
                guidance,
                threads: Some(threads),
                placement,
                ..Recipe::default()
            };
            cases.push(Case { model, recipe });
        }
    };
    if let Ok(builtin) = Builtin::find() {
        let mut recipe = Recipe::default();
        builtin.apply(&mut recipe);
        add("built-in", &recipe.files, &[256, 320, 384], &[8, 4, 2], 3.0, &PLACEMENTS);
    }
    let zimage = cut_zimage(&models.join("time-zimage"), tiny::Format::Safetensors)?;
    add("Z-Image cut", &zimage, &[384, 256, 320], &[2, 3], 1.0, &PLACEMENTS);
    let quantised = cut_zimage(&models.join("time-zimage-q8"), tiny::Format::GgufQ8)?;
    add("Z-Image cut Q8_0", &quantised, &[256, 384], &[3, 2], 1.0, &PLACEMENTS[..3]);
    for (name, family) in [("SDXL cut", "sdxl"), ("Flux cut (Ovis)", "ovis"), ("SD1.5 cut", "sd15")] {
        let files = family_files(family, &make(models.join(family))?)?;
        add(name, &files, &[256, 384], &[3, 2, 4], if family == "ovis" { 1.0 } else { 5.0 }, &PLACEMENTS[..4]);
    }
    if super::has_room(kept, 2_200_000_000) {
        let files: ModelFiles = [(FileRole::Model, testkit::sd15_cached(kept)?)].into_iter().collect();
        add("SD1.5", &files, &[256], &[2], 5.0, &[("cpu", ""), ("all=GPU0,te=cpu", "all=cpu")]);
    }
    Ok(cases)
}

fn family_files(name: &str, folder: &Path) -> Outcome<ModelFiles> {
    let mut files = ModelFiles::default();
    for (role, part) in family(name, folder)? {
        let path = match part {
            Part::File(path) => path,
            Part::Draft(draft) => {
                let path = folder.join(format!("{role}.safetensors"));
                draft.write(&path)?;
                path
            }
        };
        files.set(FileRole::from_key(role).ok_or("no such role")?, path);
    }
    Ok(files)
}

fn row(engine: &Handle, case: &Case, name: String, devices: &[Device]) -> Outcome<Row> {
    engine.unload()?;
    let estimate = estimate(engine, &case.recipe)?;
    let raw = predict(&Estimate { corrections: TimeCorrections::default(), ..estimate }, &case.recipe, devices)?;
    let first = picture(engine, &case.recipe, 0)?;
    let mut before = vec![first];
    for seed in 1..PICTURES {
        before.push(picture(engine, &case.recipe, seed)?);
    }
    let corrected = predict(&self::estimate(engine, &case.recipe)?, &case.recipe, devices)?;
    let after = (PICTURES..PICTURES + PICTURES_AFTER).map(|seed| picture(engine, &case.recipe, seed)).collect::<Outcome<Vec<_>>>()?;
    let middle = median(&before, warm_secs);
    let phases = format!(
        "encode {:.2} {:.2}, denoise {:.2} {:.2}, decode {:.2} {:.2}, load {:.2} {:.2}",
        raw.encode_secs,
        median(&before, |it| it.encode_secs),
        raw.denoise_secs,
        median(&before, |it| it.denoise_secs),
        raw.decode_secs,
        median(&before, |it| it.decode_secs),
        raw.load_secs,
        first.load_secs,
    );
    Ok(Row {
        name,
        cold: [raw.total_secs, first.total_secs],
        warm: [raw.loaded_secs(), middle],
        corrected: [corrected.loaded_secs(), median(&after, warm_secs)],
        phases,
    })
}

pub(super) fn warm_secs(timings: &Timings) -> f64 {
    timings.encode_secs + timings.denoise_secs + timings.decode_secs
}

fn median(timings: &[Timings], of: impl Fn(&Timings) -> f64) -> f64 {
    let mut all: Vec<f64> = timings.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(super) fn estimate(engine: &Handle, recipe: &Recipe) -> Outcome<Estimate> {
    engine.estimate(recipe.clone())?;
    let answer = wait(engine, |event| if let Event::Estimated { estimate, .. } = event { Some(estimate) } else { None })?;
    answer.map_err(|failure| failure.advice.to_string().into())
}

fn predict(estimate: &Estimate, recipe: &Recipe, devices: &[Device]) -> Outcome<TimePrediction> {
    let placement = Placement::parse(&recipe.placement, devices)?;
    let slack = |device: &Device| estimate.slack_bytes.get(&device.name).copied().unwrap_or(0);
    let capacities: Vec<DeviceCapacity> = devices.iter().map(|device| DeviceCapacity::for_planning(device, slack(device))).collect();
    let prediction = Prediction::of(&placement, &estimate.needs, &capacities)?;
    Ok(estimate.time(recipe, &placement, &prediction)?)
}

/// Times of a picture of words of its own.
pub(super) fn picture(engine: &Handle, recipe: &Recipe, seed: usize) -> Outcome<Timings> {
    // Also what it should not show: the encoding of a text that is known costs nothing.
    let (prompt, negative_prompt) = (format!("{seed} boats on a lake"), format!("{seed} stones"));
    let recipe = Recipe { prompt, negative_prompt, seed: Some(Seed(seed as u64)), ..recipe.clone() };
    // As the window does; the engine learns from pictures whose work it has counted.
    estimate(engine, &recipe)?;
    engine.submit(Task::Generate { recipe: Box::new(recipe), preview: PreviewOptions::Off, shares_steps: false })?;
    let end = wait(engine, |event| if let Event::End { end, .. } = event { Some(end) } else { None })?;
    match end {
        End::Done { timings, .. } => Ok(timings),
        End::Cancelled => Err("cancelled".into()),
        End::Failed(failure) => Err(failure.advice.to_string().into()),
    }
}
