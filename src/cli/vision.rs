//! `atelier cutout` and `atelier detect`: models that look at pictures.

use std::env;
use std::io::Write;

use super::exit::Exit;
use super::flags::{CutoutFlags, DetectFlags, ThreadFlags};
use super::interrupt::Interrupt;
use super::printer::Printer;
use super::reporter::write_message;
use atelier_core::advice::Advice;
use atelier_core::canvas::Mask;
use atelier_core::recipe::{ImageSource, Rgb8};
use atelier_media::{Metadata, PictureError, read_fine_image, read_metadata, with_opacity, write_picture};
use atelier_studio::vision::{self, VisionWorker};

/// Why there is no result.
enum Failure {
    Cancelled,
    Told(String),
}

impl From<Advice> for Failure {
    fn from(advice: Advice) -> Self {
        Self::Told(advice.to_string())
    }
}

impl From<PictureError> for Failure {
    fn from(error: PictureError) -> Self {
        Self::Told(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Told(error.to_string())
    }
}

/// Writes the picture with a transparent background, or the mask of what is in front.
pub(super) fn cutout(flags: &CutoutFlags, out: &mut dyn Write, err: &mut dyn Write, interrupt: &Interrupt) -> Exit {
    let mut run = || {
        let picture = read_fine_image(&ImageSource::File(flags.input.clone()))?;
        let cutout = with_worker(&flags.threads, interrupt, |worker| vision::cut_out(worker, &flags.model, flags.family, &picture))?;
        if flags.family.is_none() {
            write_message(err, &format!("Used as a model of the family {}; --family names another.", cutout.family));
        }
        if cutout.mask.pixels().iter().all(|opacity| *opacity == 0) {
            write_message(err, "warning: nothing is in front: the result is empty.");
        }
        if flags.mask {
            write_picture(&flags.output, &grey(&cutout.mask)?, &Metadata::default())?;
        } else {
            // What the file tells of how the picture was made stays true of what is left of it.
            let metadata = read_metadata(&flags.input).unwrap_or_default();
            let picture = with_opacity(picture, &cutout.mask).ok_or(PictureError::Empty)?;
            write_picture(&flags.output, &picture, &metadata)?;
        }
        Ok(Printer::new(out, false).path(&flags.output)?)
    };
    let done = run();
    exit(done, err)
}

/// Prints a line for each detection: class, probability, left, top, width, height.
pub(super) fn detect(flags: &DetectFlags, out: &mut dyn Write, err: &mut dyn Write, interrupt: &Interrupt) -> Exit {
    let mut run = || {
        let picture = read_fine_image(&ImageSource::File(flags.input.clone()))?;
        let find = |worker: &VisionWorker<'_>| vision::detect(worker, &flags.model, flags.min_probability, &picture);
        let mut detections = with_worker(&flags.threads, interrupt, find)?;
        detections.retain(|detection| flags.class.is_empty() || flags.class.contains(&detection.class));
        let mut printer = Printer::new(out, false);
        for detection in &detections {
            let (rect, probability) = (detection.rect, detection.probability);
            let place = format!("{} {} {} {}", rect.left, rect.top, rect.width, rect.height);
            printer.text(&format!("{} {probability:.2} {place}", detection.class.replace(' ', "_")))?;
        }
        if detections.is_empty() {
            write_message(err, "Nothing was found.");
        } else if let Some(path) = &flags.mask {
            let mask = vision::mask_of(&detections, picture.width(), picture.height(), flags.grow);
            write_picture(path, &grey(&mask)?, &Metadata::default())?;
        }
        Ok(())
    };
    let done = run();
    exit(done, err)
}

fn with_worker<T>(
    flags: &ThreadFlags,
    interrupt: &Interrupt,
    run: impl FnOnce(&VisionWorker<'_>) -> Result<T, Advice>,
) -> Result<T, Failure> {
    let program = env::current_exe()?;
    let is_cancelled = || interrupt.pressed();
    let worker = VisionWorker::of_machine(&program, flags.threads.map(usize::from), &is_cancelled);
    run(&worker).map_err(|advice| if interrupt.pressed() { Failure::Cancelled } else { advice.into() })
}

/// A mask as a grey picture.
fn grey(mask: &Mask) -> Result<Rgb8, PictureError> {
    let pixels = mask.pixels().iter().flat_map(|value| [*value; 3]).collect();
    Rgb8::new(mask.width(), mask.height(), pixels).ok_or(PictureError::Empty)
}

fn exit(done: Result<(), Failure>, err: &mut dyn Write) -> Exit {
    match done {
        Ok(()) => Exit::Done,
        Err(Failure::Cancelled) => Exit::Cancelled,
        Err(Failure::Told(text)) => {
            write_message(err, &format!("error: {text}"));
            Exit::Failed
        }
    }
}
