//! Settings of resident models, and the state of preloading. Which models are resident is in
//! [`crate::gui::shared::Shared`].

use std::path::Path;

use crate::settings::Settings;
use atelier_core::cpu_math::CpuMath;
use atelier_core::placement::Reserve;
use atelier_studio::preloading::Preloading;

/// Largest share of a device's memory that can be left free, in per cent.
pub const MAX_RESERVE_PERCENT: u8 = 50;
/// Most memory of a device that can be left free, in GiB.
pub const MAX_RESERVE_GIB: u64 = 64;

/// Settings of resident models, and the state of preloading.
#[derive(Debug)]
pub struct State {
    /// Preloading of the chosen model.
    pub preloading: Preloading,
    /// Memory of each device that is left to other programs.
    pub reserve: Reserve,
    /// How the processor computes from the next start on; `None` is as fast as it can.
    pub cpu_math: Option<CpuMath>,
    /// Wall-clock time of this frame, in seconds since 1970.
    pub now_secs: u64,
}

impl State {
    /// State with the values of the settings. `settings_path`: the crash marker of preloading lies
    /// beside this file.
    #[must_use]
    pub fn from_settings(settings: &Settings, settings_path: Option<&Path>) -> Self {
        Self {
            preloading: Preloading::new(settings.preload, settings_path),
            reserve: settings.reserve,
            cpu_math: settings.cpu_math,
            now_secs: 0,
        }
    }
}
