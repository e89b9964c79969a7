//! Work of a phase on a device.

use super::work::Work;
use crate::module::Module;
use crate::placement::PhaseKind;

/// Work of a module in a phase on the device where it runs, with what is copied to it.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseWork {
    /// The module.
    pub module: Module,
    /// The phase. Loading has no work of graphs.
    pub phase: PhaseKind,
    /// The pass of the picture, from 0.
    pub pass: u32,
    /// Whole name of the device; for loading, that on which the weights live.
    pub device: String,
    /// Work of one repetition.
    pub work: Work,
    /// Number of repetitions.
    pub repetitions: u32,
    /// Bytes of weights that are read from files, once.
    pub file_bytes: u64,
    /// Bytes of weights that are copied from RAM to the device, once.
    pub staged_bytes: u64,
    /// Bytes of weights that are copied from RAM to the device in each repetition.
    pub streamed_bytes: u64,
    /// True where it is done for each picture; false for what is kept: weights that stay loaded, the encoding of a prompt.
    pub each_picture: bool,
}
