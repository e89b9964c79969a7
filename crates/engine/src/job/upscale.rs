//! Enlarging a picture.

use std::path::Path;
use std::sync::Arc;

use super::error::JobError;
use super::monitor::JobMonitor;
use crate::checks::cpu_threads;
use crate::devices;
use crate::ffi::{CallError, JobCallbacks, Upscaler, last_peaks};
use crate::placement::ResolvedPlacement;
use crate::protocol::{Begin, End, Event, Failure, JobId, Picture};
use crate::state::EngineState;
use atelier_core::placement::PlacementError;
use atelier_core::recipe::{FileRole, ImageSource, PictureInfo};
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
    let limit = placement.upscaler_limit(&devices);
    monitor.send(Event::Begin { job, begin });
    monitor.send(Event::Devices(devices));
    let job_error = |error: CallError| JobError::of_call(&error, monitor.cancelled(), monitor.log_lines());
    let threads = cpu_threads(params.threads);
    let mut upscaler = Upscaler::new(params.model, threads, &placement.placement, limit, monitor).map_err(job_error)?;
    let large = upscaler.run(&image, monitor);
    monitor.add_peaks(last_peaks());
    let large = large.map_err(job_error)?;
    let info = PictureInfo { index: 0, seed: 0, cpu_math: None };
    monitor.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image: Arc::new(large) } });
    Ok(End::Done { pictures: vec![info], timings: monitor.timings(), notes: Vec::new() })
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
