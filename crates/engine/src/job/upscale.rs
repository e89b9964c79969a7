//! Enlarging a picture.

use std::path::Path;
use std::sync::Arc;

use super::error::JobError;
use super::monitor::JobMonitor;
use crate::cache::UpscalerKey;
use crate::checks::cpu_threads;
use crate::devices;
use crate::ffi::{CallError, JobCallbacks, Upscaler, last_peaks};
use crate::placement::ResolvedPlacement;
use crate::protocol::{Begin, End, Event, Failure, JobId, Picture};
use crate::state::EngineState;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{Module, PlacementError};
use atelier_core::recipe::{FileRole, ImageSource, PictureInfo, Rgb8};
use atelier_library::Fault;
use atelier_media::read_image;

/// Input of a job that enlarges a picture.
pub(super) struct UpscaleParams<'a> {
    pub(super) image: &'a ImageSource,
    pub(super) model: &'a Path,
    pub(super) allow_pickle: bool,
    pub(super) threads: Option<u32>,
}

/// Enlarges a picture.
pub(super) fn upscale(
    engine: &EngineState,
    job: JobId,
    params: &UpscaleParams<'_>,
    placement: Result<ResolvedPlacement, PlacementError>,
    monitor: &JobMonitor,
) -> Result<End, JobError> {
    check_model(engine, params)?;
    let devices = devices::list();
    let placement = placement?;
    let image = read_image(params.image).map_err(|error| JobError::new(error.to_string(), "Choose another picture."))?;
    let begin =
        Begin { width: image.width(), height: image.height(), steps: 0, seeds: Vec::new(), notes: placement.upscaler_notes(&devices) };
    monitor.send(Event::Begin { job, begin });
    monitor.send(Event::Devices(devices.clone()));
    let large = enlarge(engine, &image, params, &placement, &devices, monitor)
        .map_err(|error| JobError::of_call(&error, monitor.cancelled(), monitor.log_lines()))?;
    let info = PictureInfo { index: 0, seed: 0, cpu_math: None };
    monitor.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image: Arc::new(large) } });
    Ok(End::Done { pictures: vec![info], timings: monitor.timings(), notes: Vec::new() })
}

/// Enlarges a picture by the upscaler's own factor. The upscaler stays open for the next one; a device that has no room for it is freed of
/// other models once.
fn enlarge(
    engine: &EngineState,
    image: &Rgb8,
    params: &UpscaleParams<'_>,
    placement: &ResolvedPlacement,
    devices: &[Device],
    monitor: &JobMonitor,
) -> Result<Rgb8, CallError> {
    let threads = cpu_threads(params.threads);
    let key = UpscalerKey::new(params.model, threads, placement);
    let runs_on = &placement.placement.assignment(Module::Upscaler).runs_on;
    // A connection may break while nobody uses it.
    let may_stay = !devices.iter().any(|device| device.kind == DeviceKind::Remote && device.name == *runs_on);
    let limit = placement.upscaler_limit(devices);
    let run = || {
        let mut upscaler = match engine.cache.take_upscaler(&key) {
            Some(upscaler) => upscaler,
            None => Upscaler::new(params.model, threads, &placement.placement, limit, monitor)?,
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

fn check_model(engine: &EngineState, params: &UpscaleParams<'_>) -> Result<(), JobError> {
    match engine.with_headers(|headers| headers.get(params.model)) {
        Ok(known) if known.kind.role != Some(FileRole::Upscaler) => {
            let name = params.model.file_name().unwrap_or_default().to_string_lossy();
            let sentence = format!("{name} is {}, not an upscaler.", known.kind.described());
            Err(JobError::new(sentence, "Choose an ESRGAN file, for example RealESRGAN x4."))
        }
        Ok(_) => Ok(()),
        Err(error) if params.allow_pickle && error.fault == Fault::Pickle => Ok(()),
        Err(error) => Err(Failure::from(error.advice).into()),
    }
}
