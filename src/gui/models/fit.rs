//! Whether a model fits this machine: by what the engine says that it takes ([`Predicted`]), where it was asked, else by sizes
//! ([`Machine::fits`]). Both go by all the memory that there is, whatever is in it just now. Pure.

use atelier_core::device::{Device, DeviceKind};
use atelier_core::format::{GIB, file_size};
use atelier_core::placement::{Budgets, DeviceCapacity, Module, Pins, Plan, PlanError, PlanRequest, WeightLocation, plan, ram_reserve};
use atelier_core::sentences::list;
use atelier_engine::Estimate;
use atelier_library::WORKING_BYTES;

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
        let ram = devices.iter().find(|it| it.kind == DeviceKind::Cpu)?.memory_total_bytes;
        let graphics = devices.iter().filter(|it| it.kind.is_graphics()).map(|it| it.memory_total_bytes).max();
        Some(Self { graphics: graphics.map(|it| it.saturating_sub(kept_of_card(it))), ram: ram.saturating_sub(ram_reserve(ram)) })
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

/// Whether a model fits, by the placement that suits it best on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// Whether it fits.
    pub fits: Fits,
    /// What it takes of which device at most, or how much is missing, as a sentence.
    pub sentence: String,
}

impl Predicted {
    /// The best that can be done with a model on these devices; those of other machines do not count. `size_px`: the picture that the
    /// estimate is of. `None` where nothing can be said.
    #[must_use]
    pub fn of(devices: &[Device], estimate: &Estimate, size_px: (u32, u32)) -> Option<Self> {
        let whole = plan_on(devices, estimate, 0);
        let at = format!("At {} × {}", size_px.0, size_px.1);
        match whole {
            Ok(plan) => {
                let fits = if runs_at_its_best(devices, &plan) { Fits::Fits } else { Fits::Tight };
                Some(Self { fits, sentence: format!("{at} it takes {}.", takes(devices, &plan)) })
            }
            Err(PlanError::Short(shortage)) => {
                // What other programs are left otherwise may do, where there is no card.
                if let Ok(plan) = plan_on(devices, estimate, u64::MAX) {
                    return Some(Self {
                        fits: Fits::Tight,
                        sentence: format!("{at} it takes {}, nearly all there is.", takes(devices, &plan)),
                    });
                }
                Some(Self { fits: Fits::TooBig, sentence: format!("{at} it lacks {} of memory.", file_size(shortage.missing_bytes)) })
            }
            Err(PlanError::Device(_)) => None,
        }
    }
}

/// The planner's answer on this machine's own devices, with nothing in their memory. Of what is kept for others in RAM, so much is given.
fn plan_on(devices: &[Device], estimate: &Estimate, given: u64) -> Result<Plan, PlanError> {
    let rooms = devices.iter().filter(|it| it.kind != DeviceKind::Remote).map(|device| {
        let total = device.memory_total_bytes;
        let free = match device.kind {
            DeviceKind::Cpu => total.saturating_add(given.min(ram_reserve(total))),
            _ => total.saturating_sub(kept_of_card(total)),
        };
        let slack = estimate.slack_bytes.get(&device.name).copied().unwrap_or(0);
        DeviceCapacity::new(Device { memory_free_bytes: free, ..device.clone() }, slack)
    });
    let rooms: Vec<DeviceCapacity> = rooms.collect();
    let (pins, budgets) = (Pins::new(), Budgets::default());
    plan(&PlanRequest {
        capacities: &rooms,
        needs: &estimate.needs,
        pins: &pins,
        budgets: &budgets,
        stream_layers: false,
        alternatives: &[],
    })
}

/// Whether the picture forms where it is fastest, with its weights there.
fn runs_at_its_best(devices: &[Device], plan: &Plan) -> bool {
    let card = |name: &str| devices.iter().any(|it| it.name == name && it.kind.is_graphics());
    let seat = plan.placement.assignment(Module::Diffusion);
    let at_home = matches!(&seat.weights, WeightLocation::Device(home) if *home == seat.runs_on);
    let cut = plan.placement.stream_layers || plan.placement.budgets != Budgets::default();
    at_home && !cut && (card(&seat.runs_on) || !devices.iter().any(|it| it.kind.is_graphics()))
}

fn takes(devices: &[Device], plan: &Plan) -> String {
    let parts = plan.prediction.devices.iter().filter_map(|it| {
        let bytes = it.peak().1.total_bytes();
        let ram = devices.iter().any(|device| device.name == it.name && device.kind == DeviceKind::Cpu);
        (bytes > 0).then(|| format!("{} of {}", file_size(bytes), if ram { "RAM" } else { &it.name }))
    });
    list(&parts.collect::<Vec<_>>())
}

/// What is left of a graphics card to others, in bytes.
fn kept_of_card(total: u64) -> u64 {
    GIB.min(total / 10)
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

    /// What they mean, where only sizes are known.
    #[must_use]
    pub const fn by_size(self) -> &'static str {
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
    use atelier_core::placement::{ModuleNeeds, Needs, Phase};

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

    /// A model whose diffusion weights take this much, with a small text encoder and VAE.
    fn estimate(gib: u64) -> Estimate {
        let needs = |weights: u64, phase| ModuleNeeds {
            weight_bytes: weights,
            compute_bytes: [(phase, GIB / 2)].into(),
            least_bytes: Some(weights / 8),
            ..ModuleNeeds::default()
        };
        let modules = [
            (Module::Te, needs(GIB, Phase::Encode)),
            (Module::Diffusion, needs(gib * GIB, Phase::Denoise)),
            (Module::Vae, needs(GIB / 8, Phase::Decode)),
        ];
        Estimate { needs: Needs { modules: modules.into() }, ..Estimate::default() }
    }

    #[test]
    fn a_prediction_tells_what_fits_and_what_it_takes() {
        let with_card = [device(DeviceKind::Cpu, 32), device(DeviceKind::Gpu, 8), device(DeviceKind::Remote, 80)];
        let of = |devices: &[Device], gib| Predicted::of(devices, &estimate(gib), (512, 768)).unwrap();
        let fits = |devices: &[Device], gib| of(devices, gib).fits;
        assert_eq!([4, 12, 60].map(|gib| fits(&with_card, gib)), [Fits::Fits, Fits::Tight, Fits::TooBig]);
        let gpu = DeviceKind::Gpu.label();
        assert_eq!(of(&with_card, 4).sentence, format!("At 512 × 768 it takes 6.0 GB of {gpu}."));
        assert!(of(&with_card, 12).sentence.contains(" of RAM"), "{}", of(&with_card, 12).sentence);
        assert!(of(&with_card, 60).sentence.starts_with("At 512 × 768 it lacks "), "{}", of(&with_card, 60).sentence);
        let alone = [device(DeviceKind::Cpu, 16)];
        assert_eq!([8, 13, 30].map(|gib| fits(&alone, gib)), [Fits::Fits, Fits::Tight, Fits::TooBig]);
        // What is in memory just now says nothing of the machine.
        let full = alone.clone().map(|it| Device { memory_free_bytes: 0, ..it });
        assert_eq!(of(&full, 8), of(&alone, 8));
        assert_eq!(Predicted::of(&[], &estimate(1), (512, 512)), None);
    }

    #[test]
    fn without_a_card_ram_decides_and_without_devices_nothing_is_known() {
        let memory = Machine::of(&[device(DeviceKind::Cpu, 16)]).unwrap();
        let fits = |gb| memory.fits(Some(gb * GB));
        assert_eq!((fits(8), fits(14), fits(20)), (Fits::Fits, Fits::Tight, Fits::TooBig));
        assert_eq!((Machine::of(&[]), Fits::Tight.label(Some(memory))), (None, "tight"));
    }
}
