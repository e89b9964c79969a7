//! A placement as a value: for each module the device that it runs on and the location of its
//! weights.
//!
//! Invariants: every device is named by its whole name; [`Placement::text`] is canonical (one
//! value, one text), and reading it gives the value back. Not here: whether it fits (`predict`),
//! which is best (`plan`).

use serde::{Deserialize, Serialize};

use super::budgets::{Budgets, check_budgets};
use super::error::PlacementError;
use super::names::resolve_device;
use super::text::{BackendSpec, DISK, is_disk, parse_backend, parse_params_backend};
use crate::device::Device;
use crate::module::Module;
use crate::module_set::ModuleSet;
use crate::recipe::PlacementText;

/// Location of a module's weights.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightLocation {
    /// In a device's memory. Where the module runs on another one, they are copied there while it
    /// runs.
    Device(String),
    /// In their file: read again each time they are needed.
    Disk,
}

impl WeightLocation {
    /// The name in placement texts.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Device(name) => name,
            Self::Disk => DISK,
        }
    }

    /// True for the memory of this device.
    #[must_use]
    pub fn is(&self, device: &str) -> bool {
        matches!(self, Self::Device(name) if name == device)
    }
}

/// Devices of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Whole name of the device that it runs on.
    pub runs_on: String,
    /// Location of its weights.
    pub weights: WeightLocation,
}

impl Assignment {
    /// Runs on a device that also holds the weights.
    #[must_use]
    pub fn at(device: &str) -> Self {
        Self { runs_on: device.to_owned(), weights: WeightLocation::Device(device.to_owned()) }
    }

    /// True where the device that it runs on holds the weights.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.weights == WeightLocation::Device(self.runs_on.clone())
    }
}

/// Assignments of all modules, with budgets.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    chosen: [Assignment; Module::ALL.len()],
    /// Most memory that may be used of devices and by modules.
    pub budgets: Budgets,
    /// Modules of whose weights what fits in the budget is kept on the device, the rest copied each
    /// time it is needed.
    pub stream_layers: ModuleSet,
    /// Devices that share the pictures of a batch, by their whole names; empty: there is one way to
    /// make them.
    pub split_batch: Vec<String>,
}

impl Placement {
    /// Every module runs on one device that also holds the weights.
    #[must_use]
    pub fn all_on(device: &str) -> Self {
        Self {
            chosen: Module::ALL.map(|_| Assignment::at(device)),
            budgets: Budgets::default(),
            stream_layers: ModuleSet::NONE,
            split_batch: Vec::new(),
        }
    }

    /// Reads a text on a machine with these devices.
    pub fn parse(text: &PlacementText, devices: &[Device]) -> Result<Self, PlacementError> {
        let (backend, params) = (parse_backend(&text.backend)?, parse_params_backend(&text.params_backend)?);
        // Entries that later ones replace are no excuse for a name that does not exist.
        for place in backend.places().chain(params.places().filter(|place| !is_disk(place))) {
            resolve_device(place, devices)?;
        }
        let mut placement = Self::all_on(&resolve_device(backend.fallback.as_deref().unwrap_or_default(), devices)?.name);
        for module in Module::ALL {
            let runs_on = &resolve_device(backend.place_of(module), devices)?.name;
            let weights = match params.place_of(module) {
                "" => WeightLocation::Device(runs_on.clone()),
                place if is_disk(place) => WeightLocation::Disk,
                place => WeightLocation::Device(resolve_device(place, devices)?.name.clone()),
            };
            placement.set(module, Assignment { runs_on: runs_on.clone(), weights });
        }
        placement.budgets = Budgets::parse(&text.max_vram, devices)?;
        placement.stream_layers = text.stream_layers;
        for name in split_names(&text.split_batch) {
            let device = &resolve_device(name, devices)?.name;
            if !placement.split_batch.contains(device) {
                placement.split_batch.push(device.clone());
            }
        }
        Ok(placement)
    }

    /// The canonical text: with the fewest entries, every device by its whole name.
    #[must_use]
    pub fn text(&self) -> PlacementText {
        let runs_on = |module| self.assignment(module).runs_on.as_str();
        let weights = |module| self.assignment(module).weights.name();
        PlacementText {
            backend: shortest(runs_on, |_| false).to_string(),
            params_backend: shortest(weights, |module| self.assignment(module).weights.is(runs_on(module))).to_string(),
            max_vram: self.budgets.to_string(),
            stream_layers: self.stream_layers,
            split_batch: self.split_batch.join(","),
        }
    }

    /// Placements of the shares of a batch, one for each device of `split_batch`: modules of the
    /// first device move to it, the others stay. One where nothing is shared.
    #[must_use]
    pub fn shares(&self) -> Vec<Self> {
        let mut shares: Vec<Self> = Vec::new();
        let first = self.split_batch.first().map_or("", String::as_str);
        for device in self.split_batch.iter().map(String::as_str).chain(self.split_batch.is_empty().then_some("")) {
            let mut share = Self { split_batch: Vec::new(), ..self.clone() };
            for module in Module::ALL {
                let mut assignment = self.assignment(module).clone();
                if assignment.runs_on == first {
                    device.clone_into(&mut assignment.runs_on);
                    if assignment.weights.is(first) {
                        assignment.weights = WeightLocation::Device(device.to_owned());
                    }
                    share.set(module, assignment);
                }
            }
            if !shares.contains(&share) {
                shares.push(share);
            }
        }
        shares
    }

    /// Devices of a module.
    #[must_use]
    pub const fn assignment(&self, module: Module) -> &Assignment {
        &self.chosen[module as usize]
    }

    /// Sets the assignment of a module.
    pub fn set(&mut self, module: Module, assignment: Assignment) {
        self.chosen[module as usize] = assignment;
    }

    /// True where the upscaler's layers are streamed: they are with the diffusion module's, since to
    /// sd-cli both are one switch.
    #[must_use]
    pub const fn streams_upscaler(&self) -> bool {
        self.stream_layers.contains(Module::Upscaler) || self.stream_layers.contains(Module::Diffusion)
    }

    /// Text encoders that are not in use, and not among `fixed`, follow those in use where these
    /// agree: another model's encoder goes where this one's is.
    pub fn unite_encoders(&mut self, in_use: impl IntoIterator<Item = Module>, fixed: impl Fn(Module) -> bool) {
        let used: Vec<Module> = in_use.into_iter().filter(|module| module.is_encoder()).collect();
        let Some(assignment) = used.first().map(|module| self.assignment(*module).clone()) else { return };
        if used.iter().all(|module| *self.assignment(*module) == assignment) {
            for module in Module::ENCODERS.into_iter().filter(|module| !used.contains(module) && !fixed(*module)) {
                self.set(module, assignment.clone());
            }
        }
    }
}

/// Checks the form of the texts, without devices.
pub fn check_shape(text: &PlacementText) -> Result<(), PlacementError> {
    parse_backend(&text.backend)?;
    parse_params_backend(&text.params_backend)?;
    check_budgets(&text.max_vram)
}

/// Checks that the texts have the right form and name only these devices.
pub fn check_devices(text: &PlacementText, devices: &[Device]) -> Result<(), PlacementError> {
    Placement::parse(text, devices).map(drop)
}

/// The devices of a text such as `cuda0,cuda1`, as they are written.
pub(super) fn split_names(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// The assignments with the fewest entries that say where each module goes; `silent` modules go
/// there without being named, as long as there is no fallback. Among equals the first: no fallback,
/// then the places in the order of the modules.
fn shortest<'a>(place: impl Fn(Module) -> &'a str, silent: impl Fn(Module) -> bool) -> BackendSpec {
    let fallbacks = std::iter::once(None).chain(Module::ALL.into_iter().map(|module| Some(place(module))));
    // Text encoders have an entry together, after which single ones can go elsewhere.
    let candidates = fallbacks.flat_map(|fallback| [false, true].map(|together| (fallback, together))).map(|(fallback, together)| {
        let goes_there = |module| fallback.map_or_else(|| silent(module), |fallback| place(module) == fallback);
        let is_named = |module: Module| !goes_there(module) || (together && module.is_encoder());
        let modules = Module::ALL.into_iter().filter(|module| is_named(*module)).map(|module| (module, place(module).to_owned())).collect();
        BackendSpec { fallback: fallback.map(str::to_owned), modules }
    });
    candidates.min_by_key(|it| it.entries().len()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::OldFlags;
    use super::super::testing::workstation;
    use super::*;

    fn text(backend: &str, params: &str) -> PlacementText {
        PlacementText { backend: backend.into(), params_backend: params.into(), ..PlacementText::default() }
    }

    fn read(backend: &str, params: &str) -> Placement {
        Placement::parse(&text(backend, params), &workstation()).unwrap()
    }

    /// Device of a module, and location of its weights.
    fn names_of(placement: &Placement, module: Module) -> (&str, &str) {
        let assignment = placement.assignment(module);
        (&assignment.runs_on, assignment.weights.name())
    }

    #[test]
    fn every_example_of_the_engines_description_is_understood() {
        use Module::{ClipG, ClipL, Controlnet, Diffusion, Llm, T5, Vae};
        type Case<'a> = (&'a str, &'a str, &'a [(Module, &'a str, &'a str)], (&'a str, &'a str));
        let cases: [Case; 11] = [
            ("cpu", "", &[(Diffusion, "CPU", "CPU"), (Vae, "CPU", "CPU")], ("all=CPU", "")),
            (
                "te=cpu,vae=cuda0,diffusion=vulkan0",
                "",
                &[(Llm, "CPU", "CPU"), (Vae, "CUDA0", "CUDA0"), (Diffusion, "Vulkan0", "Vulkan0"), (Controlnet, "CUDA0", "CUDA0")],
                ("all=CUDA0,diffusion=Vulkan0,te=CPU", ""),
            ),
            (
                "cuda0",
                "te=cpu,vae=cpu",
                &[(Llm, "CUDA0", "CPU"), (Vae, "CUDA0", "CPU"), (Diffusion, "CUDA0", "CUDA0")],
                ("all=CUDA0", "te=CPU,vae=CPU"),
            ),
            ("cuda0", "disk", &[(Llm, "CUDA0", "disk"), (Diffusion, "CUDA0", "disk")], ("all=CUDA0", "all=disk")),
            (
                "diffusion=cuda0,vae=vulkan0",
                "",
                &[(Diffusion, "CUDA0", "CUDA0"), (Vae, "Vulkan0", "Vulkan0")],
                ("all=CUDA0,vae=Vulkan0", ""),
            ),
            ("all=cuda0,te=cpu", "", &[(Llm, "CPU", "CPU"), (Vae, "CUDA0", "CUDA0")], ("all=CUDA0,te=CPU", "")),
            ("cuda0", "cpu", &[(Llm, "CUDA0", "CPU"), (Diffusion, "CUDA0", "CPU")], ("all=CUDA0", "all=CPU")),
            (
                "diffusion=cuda0,te=cpu,vae=cpu",
                "diffusion=cuda0,te=cpu,vae=cpu",
                &[(Llm, "CPU", "CPU"), (Vae, "CPU", "CPU"), (Diffusion, "CUDA0", "CUDA0")],
                ("all=CUDA0,te=CPU,vae=CPU", ""),
            ),
            ("te=cpu,vae=cpu", "", &[(Llm, "CPU", "CPU"), (Vae, "CPU", "CPU")], ("all=CUDA0,te=CPU,vae=CPU", "")),
            (
                "cuda0,te=cuda1,te.t5=cpu",
                "te.clip_g=cpu,te.t5=disk",
                &[(ClipL, "CUDA1", "CUDA1"), (ClipG, "CUDA1", "CPU"), (T5, "CPU", "disk"), (Llm, "CUDA1", "CUDA1")],
                ("all=CUDA0,te=CUDA1,te.t5=CPU", "te.clip_g=CPU,te.t5=disk"),
            ),
            ("cuda0", "te.t5=cpu,clip=disk,te.llm=cuda0", &[(T5, "CUDA0", "disk")], ("all=CUDA0", "te=disk,te.llm=CUDA0")),
        ];
        for (backend, params, chosen, canonical) in cases {
            let placement = read(backend, params);
            for (module, runs_on, weights) in chosen {
                assert_eq!(names_of(&placement, *module), (*runs_on, *weights), "{backend} {params}");
            }
            assert_eq!(placement.text(), text(canonical.0, canonical.1), "{backend} {params}");
        }
    }

    #[test]
    fn offloaded_weights_stay_in_ram_except_the_ones_named() {
        let flags = OldFlags { offload_to_cpu: true, ..OldFlags::default() };
        let placement = Placement::parse(&flags.before(&text("", "te=disk")), &workstation()).unwrap();
        for module in Module::ALL {
            let weights = if module.is_encoder() { "disk" } else { "CPU" };
            assert_eq!(names_of(&placement, module), ("CUDA0", weights));
        }
        assert_eq!(placement.text(), text("all=CUDA0", "all=CPU,te=disk"));
    }

    #[test]
    fn the_old_flags_for_single_modules_put_them_on_the_processor() {
        let flags = OldFlags { clip_on_cpu: true, vae_on_cpu: true, control_net_cpu: true, ..OldFlags::default() };
        let placement = Placement::parse(&flags.before(&text("cuda1,vae=cuda0", "")), &workstation()).unwrap();
        let backend = "all=CUDA1,te=CPU,vae=CUDA0,controlnet=CPU";
        assert_eq!(placement.text(), text(backend, ""));
    }

    #[test]
    fn words_for_the_default_mean_the_same_for_weights_as_for_modules() {
        assert_eq!(names_of(&read("te=cpu", "te=auto"), Module::Llm), ("CPU", "CUDA0"));
        assert_eq!(names_of(&read("te=cpu", ""), Module::Llm), ("CPU", "CPU"));
    }

    #[test]
    fn a_wrong_name_is_refused_even_where_a_later_entry_replaces_it() {
        for (backend, params) in [("te=rocm,te=cpu,vae=rocm", ""), ("rocm,diffusion=cpu", ""), ("", "vae=rocm")] {
            assert!(Placement::parse(&text(backend, params), &workstation()).is_err(), "{backend} {params}");
        }
        assert_eq!(Placement::parse(&text("te=disk", ""), &workstation()), Err(PlacementError::RunsOnDisk));
    }

    #[test]
    fn encoders_of_other_models_follow_those_in_use_where_these_agree() {
        let united = |backend: &str, in_use: &[Module]| {
            let mut placement = read(backend, "");
            placement.unite_encoders(in_use.iter().copied(), |module| module == Module::ClipG);
            placement.text().backend
        };
        assert_eq!(united("cuda0,te.llm=cpu", &[Module::Diffusion, Module::Llm]), "all=CUDA0,te=CPU,te.clip_g=CUDA0");
        assert_eq!(united("cuda0,te.t5=cpu", &[Module::ClipL, Module::T5]), "all=CUDA0,te.t5=CPU");
        assert_eq!(united("cuda0,te.t5=cpu", &[Module::Vae]), "all=CUDA0,te.t5=CPU");
    }

    #[test]
    fn a_batch_is_shared_by_moving_what_is_on_the_first_device_to_each() {
        let split = |backend: &str, params: &str, split_batch: &str| {
            let text = PlacementText { split_batch: split_batch.into(), ..text(backend, params) };
            Placement::parse(&text, &workstation()).map(|placement| placement.shares())
        };
        let backends =
            |shares: Vec<Placement>| shares.into_iter().map(|it| (it.text().backend, it.text().params_backend)).collect::<Vec<_>>();
        let pair = |backend: &str, params: &str| (backend.to_owned(), params.to_owned());
        assert_eq!(backends(split("cuda0,te=cpu", "", "").unwrap()), [pair("all=CUDA0,te=CPU", "")]);
        assert_eq!(
            backends(split("cuda0,te=cpu", "vae=cpu", " cuda0, CUDA1,cuda0 ").unwrap()),
            [pair("all=CUDA0,te=CPU", "vae=CPU"), pair("all=CUDA1,te=CPU", "vae=CPU")]
        );
        assert_eq!(
            backends(split("cuda0,te=cuda1", "te=cuda0", "cuda1,cuda0").unwrap()),
            [pair("all=CUDA0,te=CUDA1", "te=CUDA0"), pair("all=CUDA0", "")]
        );
        assert_eq!(backends(split("cpu", "", "cuda0,cuda1").unwrap()), [pair("all=CPU", "")], "nothing is on the first");
        assert!(matches!(split("cpu", "", "cuda0,rocm"), Err(PlacementError::UnknownDevice { .. })));
    }

    proptest! {
        #[test]
        fn a_placement_reads_back_as_it_was_written(placement in placement()) {
            prop_assert_eq!(Placement::parse(&placement.text(), &workstation()), Ok(placement));
        }
    }

    fn placement() -> impl Strategy<Value = Placement> {
        let names: Vec<String> = workstation().into_iter().map(|device| device.name).collect();
        let name = proptest::sample::select(names);
        let location = prop_oneof![3 => name.clone().prop_map(WeightLocation::Device), 1 => Just(WeightLocation::Disk)];
        let assignment = (name.clone(), location).prop_map(|(runs_on, weights)| Assignment { runs_on, weights });
        let split = proptest::sample::subsequence(workstation().into_iter().map(|device| device.name).collect::<Vec<_>>(), 0..4);
        let of_module = (proptest::sample::select(Module::ALL.to_vec()), -8.0..8.0);
        let budgets = (-8.0..8.0, proptest::collection::btree_map(name, -8.0..8.0, 0..3), proptest::collection::vec(of_module, 0..3))
            .prop_map(|(all, own, modules)| {
                modules.into_iter().fold(Budgets::new(all, own), |budgets, (module, gib)| budgets.with_module(module, gib))
            });
        (
            proptest::collection::vec(assignment, Module::ALL.len()),
            budgets,
            proptest::sample::subsequence(Module::ALL.to_vec(), 0..4),
            split,
        )
            .prop_map(|(chosen, budgets, streamed, split)| {
                let stream_layers = streamed.into_iter().collect();
                let mut placement = Placement { budgets, stream_layers, split_batch: split, ..Placement::all_on("CPU") };
                for (module, assignment) in Module::ALL.into_iter().zip(chosen) {
                    placement.set(module, assignment);
                }
                placement
            })
    }
}
