//! Measured seconds of jobs, from which the end of waiting ones is predicted.

use rusqlite::{OptionalExtension as _, params};

use crate::{Database, GalleryError};

/// Weight of the newest measurement, 0 to 1.
const NEWEST_WEIGHT: f64 = 0.4;

/// Seconds that pictures of a model take on a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Seconds of a denoising step, for each million pixels.
    pub step_secs_per_megapixel: f64,
    /// Seconds of decoding, for each million pixels.
    pub decode_secs_per_megapixel: f64,
    /// Seconds before the first step of a job: loading and encoding.
    pub start_secs: f64,
}

impl Pace {
    /// Seconds of this many pictures.
    #[must_use]
    pub fn secs(&self, pictures: u32, steps: u32, width: u32, height: u32) -> f64 {
        let megapixels = f64::from(width) * f64::from(height) / 1e6;
        let each = megapixels * (f64::from(steps) * self.step_secs_per_megapixel + self.decode_secs_per_megapixel);
        self.start_secs + f64::from(pictures) * each
    }
}

impl Database {
    /// Notes what a job's pictures took, by model and placement.
    ///
    /// # Errors
    /// If the database cannot be written to.
    pub fn record_pace(&mut self, model: &str, device: &str, pace: &Pace) -> Result<(), GalleryError> {
        self.unflushed()?.write(|transaction| {
            transaction.execute(
                "INSERT INTO pace (model, device, step_secs, decode_secs, start_secs) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (model, device) DO UPDATE SET step_secs = step_secs + ?6 * (excluded.step_secs - step_secs),
                     decode_secs = decode_secs + ?6 * (excluded.decode_secs - decode_secs),
                     start_secs = start_secs + ?6 * (excluded.start_secs - start_secs)",
                params![model, device, pace.step_secs_per_megapixel, pace.decode_secs_per_megapixel, pace.start_secs, NEWEST_WEIGHT],
            )?;
            Ok(())
        })
    }

    /// What pictures of a model take with this placement; `None` where none was measured.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn pace(&self, model: &str, device: &str) -> Result<Option<Pace>, GalleryError> {
        let query = "SELECT step_secs, decode_secs, start_secs FROM pace WHERE model = ?1 AND device = ?2";
        let pace = self.connection().query_row(query, [model, device], |row| {
            Ok(Pace { step_secs_per_megapixel: row.get(0)?, decode_secs_per_megapixel: row.get(1)?, start_secs: row.get(2)? })
        });
        Ok(pace.optional()?)
    }
}
