//! Whether a model fits this machine, by sizes: exact numbers are the board's, once a model is chosen.

use crate::devices::{Device, DeviceKind};
use crate::library::WORKING_BYTES;
use crate::placement::GIB;

/// The memory of this machine that models can use, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Of the largest graphics card; `None` where there is none.
    pub graphics: Option<u64>,
    /// RAM.
    pub ram: u64,
}

/// Whether a model fits this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fits {
    /// All of it where it runs.
    Fits,
    /// With weights in RAM that are copied while it runs; without a graphics card, with nothing else in memory.
    Tight,
    /// Its size, or the machine's memory, is not known.
    #[default]
    Unknown,
    /// Not even so.
    TooBig,
}

impl Machine {
    /// The memory of these devices, less what is left to others; `None` while they are not known.
    #[must_use]
    pub fn of(devices: &[Device]) -> Option<Self> {
        let local = |device: &&Device| matches!(device.kind, DeviceKind::Gpu | DeviceKind::IntegratedGpu);
        let ram = devices.iter().find(|it| it.kind == DeviceKind::Cpu)?.memory_total_bytes;
        let graphics = devices.iter().filter(local).map(|it| it.memory_total_bytes).max();
        Some(Self { graphics: graphics.map(|it| it.saturating_sub(GIB.min(it / 10))), ram: ram.saturating_sub((2 * GIB).max(ram / 10)) })
    }

    /// What a first model should fit into.
    #[must_use]
    pub fn of_first_choice(self) -> u64 {
        self.graphics.unwrap_or(self.ram)
    }

    /// Whether a model of this size fits.
    #[must_use]
    pub fn fits(self, bytes: Option<u64>) -> Fits {
        let Some(bytes) = bytes else { return Fits::Unknown };
        let needs = bytes.saturating_add(WORKING_BYTES);
        let (best, most) = match self.graphics {
            Some(graphics) => (graphics, graphics.saturating_add(self.ram)),
            None => (self.ram, self.ram.saturating_add(self.ram / 8)),
        };
        if needs <= best {
            Fits::Fits
        } else if needs <= most {
            Fits::Tight
        } else {
            Fits::TooBig
        }
    }
}

impl Fits {
    /// The words shown.
    #[must_use]
    pub const fn label(self, memory: Option<Machine>) -> &'static str {
        match (self, memory) {
            (Self::Fits, _) => "fits",
            (Self::Tight, Some(Machine { graphics: Some(_), .. })) => "tight, weights in RAM",
            (Self::Tight, _) => "tight",
            (Self::Unknown, _) => "fit unknown",
            (Self::TooBig, _) => "too big",
        }
    }

    /// What they mean.
    #[must_use]
    pub const fn tooltip(self) -> &'static str {
        match self {
            Self::Fits => "By its size it fits into this machine's memory. The Devices view knows exactly, once it is chosen.",
            Self::Tight => "By its size it runs, but not all of it fits where it is fastest, so it takes longer.",
            Self::Unknown => "The size of a file, or this machine's memory, is not known.",
            Self::TooBig => "By its size it is larger than this machine's memory. A smaller variant may fit.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    fn device(kind: DeviceKind, gib: u64) -> Device {
        Device {
            name: kind.label().into(),
            description: String::new(),
            kind,
            card: None,
            memory_total_bytes: gib * GIB,
            memory_free_bytes: 0,
        }
    }

    #[test]
    fn a_model_fits_the_card_or_runs_with_ram_or_is_too_big() {
        let memory = Machine::of(&[device(DeviceKind::Cpu, 32), device(DeviceKind::Gpu, 8), device(DeviceKind::Remote, 80)]).unwrap();
        assert_eq!(memory.graphics, Some(8 * GIB - 8 * GIB / 10), "another machine's memory is not this one's");
        let fits = |gb| memory.fits(Some(gb * GB));
        assert_eq!((fits(5), fits(12), fits(60)), (Fits::Fits, Fits::Tight, Fits::TooBig));
        assert_eq!(memory.fits(None), Fits::Unknown);
    }

    #[test]
    fn without_a_card_ram_decides_and_without_devices_nothing_is_known() {
        let memory = Machine::of(&[device(DeviceKind::Cpu, 16)]).unwrap();
        let fits = |gb| memory.fits(Some(gb * GB));
        assert_eq!((fits(8), fits(14), fits(20)), (Fits::Fits, Fits::Tight, Fits::TooBig));
        assert_eq!((Machine::of(&[]), Fits::Tight.label(Some(memory))), (None, "tight"));
    }
}
