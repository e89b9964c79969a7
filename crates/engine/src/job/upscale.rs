//! Upscaling a picture.

use std::path::Path;
use std::sync::Arc;

use super::checks::cpu_threads;
use super::error::JobError;
use super::monitor::JobMonitor;
use crate::cache::UpscalerKey;
use crate::devices;
use crate::ffi::{CallError, JobCallbacks, Upscaler, last_peaks};
use crate::placement::ResolvedPlacement;
use crate::protocol::{Begin, End, Event, Failure, JobId, Picture};
use crate::state::EngineState;
use atelier_core::canvas::StartFit;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::picture_note::PictureNote;
use atelier_core::placement::{Module, PlacementError};
use atelier_core::recipe::{FileRole, FineColours, Hires, ImageSource, PictureInfo, Rgb8, Samples, Seed};
use atelier_language::tr;
use atelier_library::Fault;
use atelier_media::{PictureError, fit_image, keep_upscaled, own_colours, read_fine_image};

/// Input of a job that upscales a picture.
pub(super) struct UpscaleParams<'a> {
    pub(super) image: &'a ImageSource,
    /// ESRGAN model; `None`: Lanczos.
    pub(super) model: Option<&'a Path>,
    pub(super) allow_pickle: bool,
    pub(super) threads: Option<u32>,
    /// Factor of width and height; `None`: the model's own.
    pub(super) scale: Option<&'a Hires>,
    /// Seed that the picture keeps.
    pub(super) seed: Seed,
    /// Sentences on settings that were brought into their limits.
    pub(super) notes: Vec<String>,
}

/// An upscaler and the places that it runs on.
#[derive(Clone, Copy)]
pub(super) struct UpscalerUse<'a> {
    pub(super) model: &'a Path,
    pub(super) tile_size: Option<u32>,
    pub(super) threads: Option<u32>,
    pub(super) placement: &'a ResolvedPlacement,
    pub(super) devices: &'a [Device],
}

pub(super) fn upscale(
    engine: &EngineState,
    job: JobId,
    params: &UpscaleParams<'_>,
    placement: Result<ResolvedPlacement, PlacementError>,
    monitor: &JobMonitor,
) -> Result<End, JobError> {
    if let Some(model) = params.model {
        check_upscaler(engine, model, params.allow_pickle)?;
    }
    let devices = devices::list();
    let placement = placement?;
    let unreadable = |error: PictureError| JobError::new(error.to_string(), tr!("engine-choose-another-picture"));
    let image = read_fine_image(params.image).map_err(unreadable)?;
    let size = params.scale.map(|scale| scale.size((image.width(), image.height())));
    let (width, height) = size.unwrap_or((image.width(), image.height()));
    let colour_note = image.fine().and_then(FineColours::colour_note).map(str::to_owned);
    let changed: Vec<String> = params.notes.iter().cloned().chain(fewer_bits_note(&image)).chain(colour_note).collect();
    let placed = if params.model.is_some() { placement.upscaler_notes(&devices) } else { Vec::new() };
    let notes = [placed, changed.clone()].concat();
    monitor.send(Event::Begin { job, begin: Begin { width, height, steps: 0, seeds: vec![params.seed], notes } });
    monitor.send(Event::Devices(devices.clone()));
    let tile_size = params.scale.and_then(|scale| scale.tile_size);
    let mut large = match params.model {
        Some(model) => {
            let upscaler = UpscalerUse { model, tile_size, threads: params.threads, placement: &placement, devices: &devices };
            run_upscaler(engine, &own_colours(&image), &upscaler, monitor)
                .map_err(|error| JobError::of_call(&error, monitor.cancelled(), monitor.log_lines()))?
        }
        None => own_colours(&image),
    };
    if let Some((width, height)) = size {
        large = fit_image(&large, width.max(1), height.max(1), StartFit::Stretch).map_err(unreadable)?;
    }
    let large = keep_upscaled(&image, large);
    let info = PictureInfo { index: 0, seed: Some(params.seed), cpu_math: None, merged_loras: false };
    let notes = changed.into_iter().map(PictureNote::changed).collect();
    monitor.send(Event::Picture { job, picture: Picture { info, notes, image: Arc::new(large) } });
    Ok(End::Done { pictures: vec![info], timings: monitor.timings(), notes: Vec::new() })
}

/// What becomes of the bits of a picture that is upscaled, in a sentence.
pub(super) fn fewer_bits_note(start: &Rgb8) -> Option<String> {
    let is_deep = start.fine().is_some_and(|fine| matches!(fine.samples, Samples::Sixteen(_)));
    is_deep.then(|| tr!("engine-the-upscaled-picture-has").to_owned())
}

/// Upscales a picture by the upscaler's own factor. The upscaler stays open for the next one; a
/// device that has no room for it is freed of other models once.
pub(super) fn run_upscaler(
    engine: &EngineState,
    image: &Rgb8,
    upscaler: &UpscalerUse<'_>,
    monitor: &JobMonitor,
) -> Result<Rgb8, CallError> {
    let UpscalerUse { model, tile_size, threads, placement, devices } = *upscaler;
    let threads = cpu_threads(threads);
    let key = UpscalerKey::new(model, tile_size, threads, placement);
    let runs_on = &placement.placement.assignment(Module::Upscaler).runs_on;
    // A connection may break while nobody uses it.
    let may_stay = !devices.iter().any(|device| device.kind == DeviceKind::Remote && device.name == *runs_on);
    let limit = placement.upscaler_limit(devices);
    let run = || {
        let mut upscaler = match engine.cache.take_upscaler(&key) {
            Some(upscaler) => upscaler,
            None => Upscaler::new(model, threads, tile_size, &placement.placement, limit, monitor)?,
        };
        let large = upscaler.run(image, monitor);
        monitor.add_peaks(last_peaks());
        // After a failure it can no longer be trusted.
        if large.is_ok() && may_stay {
            engine.cache.keep_upscaler(key.clone(), upscaler);
        }
        large
    };
    run().or_else(|error| {
        let lacks_room = error.out_of_memory.as_ref().is_some_and(|missing| engine.cache.evict_from(&missing.device));
        if lacks_room && !monitor.cancelled() { run() } else { Err(error) }
    })
}

/// Checks that this file is an upscaler.
pub(super) fn check_upscaler(engine: &EngineState, model: &Path, allow_pickle: bool) -> Result<(), JobError> {
    match engine.with_headers(|headers| headers.get(model)) {
        Ok(known) if known.kind.role != Some(FileRole::Upscaler) => {
            let name = model.file_name().unwrap_or_default().to_string_lossy();
            let sentence = tr!("engine-is-not-an-upscaler", name, described = known.kind.described());
            Err(JobError::new(sentence, tr!("engine-choose-an-esrgan-file")))
        }
        Ok(_) => Ok(()),
        Err(error) if allow_pickle && error.fault == Fault::Pickle => Ok(()),
        Err(error) => Err(Failure::from(error.advice).into()),
    }
}
