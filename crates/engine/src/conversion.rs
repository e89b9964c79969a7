//! Smaller copies of model files: GGUF with other types of weights.
//!
//! A call computes on threads of its own and of the caller's; nothing of it is a job, and pictures
//! are made beside it. Not here: where the copy goes, and what it is called.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::failure;
use crate::ffi::{ConversionParams, JobCallbacks, Status, convert};
use crate::job::checks::cpu_threads;
use crate::protocol::{Failure, LogLevel, PhaseKind};
use atelier_core::placement::Module;
use atelier_core::recipe::{FileRole, Rgb8, TensorType, TensorTypeRules};

/// A file, and the types that its weights get.
#[derive(Clone, Debug)]
pub struct Conversion {
    /// A safetensors or GGUF file whose header was read.
    pub input: PathBuf,
    /// Its role.
    pub role: FileRole,
    /// Type of the weights; `None`: as the file has them.
    pub weight_type: Option<TensorType>,
    /// Types by name, before that.
    pub rules: TensorTypeRules,
    /// Entries of the new file's metadata.
    pub entries: Vec<(String, String)>,
}

/// Why there is no copy.
#[derive(Clone, Debug)]
pub enum NotConverted {
    /// The caller said so.
    Cancelled,
    /// It cannot be made.
    Failed(Box<Failure>),
}

impl Conversion {
    /// Bytes of the copy.
    pub fn bytes(&self) -> Result<u64, NotConverted> {
        self.run(None, &|_, _| true)
    }

    /// Writes the copy into a file that may be replaced. `go_on` is given the bytes that are done
    /// and all bytes; false ends it.
    pub fn write(&self, output: &Path, go_on: &(dyn Fn(u64, u64) -> bool + Sync)) -> Result<u64, NotConverted> {
        self.run(Some(output), go_on)
    }

    fn run(&self, output: Option<&Path>, go_on: &(dyn Fn(u64, u64) -> bool + Sync)) -> Result<u64, NotConverted> {
        let callbacks = ConversionCallbacks { go_on, progress: Mutex::default(), log: Mutex::default() };
        let params = ConversionParams {
            input: &self.input,
            role: self.role,
            weight_type: self.weight_type,
            rules: &self.rules,
            threads: cpu_threads(None),
            entries: &self.entries,
        };
        convert(&params, output, &callbacks).map_err(|error| match error.status {
            Status::Cancelled => NotConverted::Cancelled,
            _ => NotConverted::Failed(Box::new(failure::of_conversion(&error, callbacks.log.into_inner()))),
        })
    }
}

/// Callbacks of a conversion: steps are its progress, warnings explain a failure.
struct ConversionCallbacks<'a> {
    go_on: &'a (dyn Fn(u64, u64) -> bool + Sync),
    progress: Mutex<(u64, u64)>,
    log: Mutex<Vec<String>>,
}

impl JobCallbacks for ConversionCallbacks<'_> {
    fn log(&self, level: LogLevel, text: &str) {
        if level >= LogLevel::Warn {
            self.log.lock().push(text.to_owned());
        }
    }
    fn phase(&self, _: PhaseKind) {}
    fn load(&self, _: Option<Module>, _: u64, _: u64) {}
    fn step(&self, done: u32, total: u32, _: f32, _: f32) {
        *self.progress.lock() = (u64::from(done) << 20, u64::from(total) << 20);
    }
    fn preview(&self, _: u32, _: Rgb8) {}
    fn cancelled(&self) -> bool {
        let (done, total) = *self.progress.lock();
        !(self.go_on)(done, total)
    }
}
