//! Notes on the parts of a placement that the engine ignores silently.

use super::value::{Placement, WeightLocation};
use crate::device::{Device, DeviceKind};
use crate::module::Module;
use crate::module_set::ModuleSet;
use atelier_language::tr;

/// Sentences on the parts of this placement that have no effect on these devices with these modules
/// in use; empty where all have one. `whole`: modules of this recipe that are known to run as a whole
/// although others of their kind have layers ([`Needs::whole`](super::Needs::whole)).
#[must_use]
pub fn notes(placement: &Placement, devices: &[Device], in_use: &[Module], whole: ModuleSet) -> Vec<String> {
    let mut notes = Vec::new();
    let streamed = placement.stream_layers.iter().filter(|module| in_use.contains(module));
    for note in streamed.filter_map(|module| streaming(placement, module, devices, whole)) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    for device in devices {
        notes.extend(budget(placement, in_use, device, devices));
        notes.extend(unbudgeted(placement, in_use, device));
    }
    notes.extend(in_use.iter().filter_map(|module| own_budget(placement, *module, devices, whole)));
    notes.extend(budget_for_all(placement, in_use, devices));
    if !placement.split_batch.is_empty() && placement.shares().len() < 2 {
        notes.push(split(&placement.split_batch));
    }
    notes
}

/// One device has no other to share with, and where nothing runs on the first, nothing can go to
/// the others.
fn split(devices: &[String]) -> String {
    match devices {
        [only] => tr!("core-splitting-the-batch-has-no-effect", only),
        [first, ..] => tr!("core-splitting-the-batch-has", first),
        [] => String::new(),
    }
}

/// Only weights that wait in RAM are streamed, and only into a budget.
fn streaming(placement: &Placement, module: Module, devices: &[Device], whole: ModuleSet) -> Option<String> {
    let assignment = placement.assignment(module);
    let runs_on = find(&assignment.runs_on, devices)?;
    let name = &runs_on.name;
    Some(if runs_on.kind == DeviceKind::Cpu {
        tr!("core-streaming-layers-has-no-effect-the-runs-on", noun = module.noun(), name)
    } else if !module.has_layers() || whole.contains(module) {
        tr!("core-streaming-layers-has-no-effect-the", noun = module.noun())
    } else if !is_in_ram(&assignment.weights, devices) {
        let place = match &assignment.weights {
            WeightLocation::Device(device) => tr!("core-live-on", device),
            WeightLocation::Disk => tr!("core-are-read-from-the").to_owned(),
        };
        let (noun, key) = (module.noun(), module.key());
        tr!("core-streaming-layers-has-no-effect-the-weights-of", noun, place, key)
    } else if placement.budgets.bytes_for(module, runs_on).is_none() {
        tr!("core-streaming-layers-has-no", name)
    } else {
        return None;
    })
}

/// A budget cuts the graphs of what runs on a graphics device, and saves memory where weights wait
/// in RAM.
fn budget(placement: &Placement, in_use: &[Module], device: &Device, devices: &[Device]) -> Option<String> {
    let name = &device.name;
    let gib = placement.budgets.gib(device)?;
    if device.kind == DeviceKind::Cpu {
        return Some(tr!("core-the-budget-of-is", name));
    }
    let running: Vec<Module> = in_use.iter().copied().filter(|module| placement.assignment(*module).runs_on == *name).collect();
    if running.is_empty() {
        // One budget for all devices is not meant for each of them.
        let own = placement.budgets.devices().contains_key(name);
        return own.then(|| tr!("core-the-budget-of-has", name));
    }
    if placement.budgets.bytes(device) == Some(0) {
        return Some(tr!("core-the-budget-of-leaves", name, gib = -gib));
    }
    if running.iter().any(|module| is_in_ram(&placement.assignment(*module).weights, devices)) {
        return None;
    }
    let modules = running.iter().map(|module| module.label()).collect::<Vec<_>>().join(", ");
    Some(tr!("core-the-budget-of-saves", name, modules))
}

/// A module's own budget cuts its graph on a graphics device, and saves memory where its weights wait
/// in RAM.
fn own_budget(placement: &Placement, module: Module, devices: &[Device], whole: ModuleSet) -> Option<String> {
    placement.budgets.modules().get(&module)?;
    let assignment = placement.assignment(module);
    let (runs_on, noun) = (find(&assignment.runs_on, devices)?, module.noun());
    if runs_on.kind == DeviceKind::Cpu {
        Some(tr!("core-the-budget-of-the-cpu", noun))
    } else if !module.has_layers() || whole.contains(module) || !placement.stream_layers.cuts(module) {
        Some(tr!("core-the-budget-of-the-whole", noun))
    } else {
        let key = module.key();
        (!is_in_ram(&assignment.weights, devices)).then(|| tr!("core-the-budget-of-the-weights", noun, key))
    }
}

/// The engine cuts no graphs of these modules. Nor those of a VAE that is not streamed, for which tiles
/// are offered: every budget would have this note.
fn unbudgeted(placement: &Placement, in_use: &[Module], device: &Device) -> Option<String> {
    placement.budgets.gib(device).filter(|_| device.kind != DeviceKind::Cpu)?;
    let runs_here = |module: &&Module| placement.assignment(**module).runs_on == device.name;
    let module = [Module::Controlnet, Module::Photomaker].iter().filter(runs_here).find(|module| in_use.contains(module))?;
    Some(tr!("core-the-budget-of-does", name = device.name, noun = module.noun()))
}

/// The budget for all devices has no effect on the processor.
fn budget_for_all(placement: &Placement, in_use: &[Module], devices: &[Device]) -> Option<String> {
    placement.budgets.all()?;
    let elsewhere =
        |module: &Module| find(&placement.assignment(*module).runs_on, devices).is_some_and(|device| device.kind != DeviceKind::Cpu);
    let note = tr!("core-the-memory-budget-has");
    (!in_use.iter().any(elsewhere)).then(|| note.to_owned())
}

pub(super) fn is_in_ram(location: &WeightLocation, devices: &[Device]) -> bool {
    matches!(location, WeightLocation::Device(name) if find(name, devices).is_some_and(|device| device.kind == DeviceKind::Cpu))
}

pub(super) fn find<'a>(name: &str, devices: &'a [Device]) -> Option<&'a Device> {
    devices.iter().find(|device| device.name == name)
}

#[cfg(test)]
mod tests {
    use super::super::testing::workstation;
    use super::*;
    use crate::recipe::PlacementText;

    fn notes_of(backend: &str, params: &str, max_vram: &str, stream_layers: &str) -> Vec<String> {
        let text = PlacementText {
            backend: backend.into(),
            params_backend: params.into(),
            max_vram: max_vram.into(),
            stream_layers: stream_layers.parse().unwrap(),
            ..PlacementText::default()
        };
        let devices = workstation();
        let in_use = [Module::Diffusion, Module::Llm, Module::Vae];
        notes(&Placement::parse(&text, &devices).unwrap(), &devices, &in_use, ModuleSet::NONE)
    }

    #[test]
    fn a_budget_that_does_not_reach_a_module_says_so() {
        let text = PlacementText { max_vram: "6".into(), params_backend: "cpu".into(), ..PlacementText::default() };
        let devices = workstation();
        let placement = Placement::parse(&text, &devices).unwrap();
        let notes = |in_use: &[Module]| notes(&placement, &devices, in_use, ModuleSet::NONE);
        assert_eq!(notes(&[Module::Diffusion]), Vec::<String>::new());
        let [note] = &notes(&[Module::Diffusion, Module::Controlnet])[..] else { panic!() };
        assert!(note.ends_with("does not reach the ControlNet: it runs as a whole."), "{note}");
    }

    #[test]
    fn what_has_an_effect_is_not_remarked_on() {
        for (backend, params, max_vram, stream) in [
            ("", "", "", ""),
            ("", "diffusion=cpu", "cuda0=6", "diffusion"),
            ("", "cpu", "6", "diffusion,te,vae"),
            ("", "vae=cpu", "vae=0.1", "vae"),
            ("", "te=cpu", "-1", ""),
            ("te=cpu", "diffusion=cpu,vae=cpu", "6", ""),
        ] {
            assert_eq!(notes_of(backend, params, max_vram, stream), Vec::<String>::new(), "{backend} {params} {max_vram}");
        }
    }

    #[test]
    fn streaming_that_the_engine_would_ignore_is_noted() {
        for (backend, params, max_vram, expected) in [
            ("", "diffusion=cpu", "", "without a memory budget for CUDA0"),
            ("", "diffusion=cpu", "cuda1=6", "without a memory budget for CUDA0"),
            ("", "te=cpu", "6", "live on CUDA0"),
            ("", "diffusion=disk,te=cpu", "6", "read from the disk"),
            ("cpu", "", "", "runs on CPU"),
        ] {
            let notes = notes_of(backend, params, max_vram, "diffusion");
            assert!(notes.first().is_some_and(|it| it.starts_with("Streaming") && it.contains(expected)), "{notes:?}");
        }
    }

    #[test]
    fn streaming_is_noted_once_for_each_module_in_use() {
        let notes = notes_of("", "diffusion=cpu,te=disk", "6", "diffusion,te.t5,te.llm,vae,controlnet");
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].contains("of the text encoder are read from the disk") && notes[0].contains("te.llm=cpu"), "{notes:?}");
        assert!(notes[1].contains("of the VAE live on CUDA0") && notes[1].contains("vae=cpu"), "{notes:?}");
    }

    #[test]
    fn streaming_of_a_vae_that_runs_as_a_whole_is_noted_wherever_its_weights_live() {
        for params in ["", "vae=cpu", "disk"] {
            let text = PlacementText {
                params_backend: params.into(),
                max_vram: "vae=1".into(),
                stream_layers: ModuleSet::VAE,
                ..PlacementText::default()
            };
            let devices = workstation();
            let notes = notes(&Placement::parse(&text, &devices).unwrap(), &devices, &[Module::Vae], ModuleSet::VAE);
            let whole =
                ["Streaming layers has no effect: the VAE runs as a whole.", "The budget of the VAE has no effect: it runs as a whole."];
            assert_eq!(notes, whole, "{params}");
        }
    }

    #[test]
    fn a_modules_own_budget_that_the_engine_would_ignore_is_noted() {
        for (backend, params, max_vram, expected) in [
            ("te=cpu", "", "te=2", "The budget of the text encoder has no effect: it runs on the CPU"),
            ("", "", "unet=2", "The budget of the diffusion module saves no weights"),
            ("", "te=disk", "te.llm=2", "--params-backend te.llm=cpu"),
            ("", "cpu", "vae=1", "The budget of the VAE has no effect: it runs as a whole."),
        ] {
            let notes = notes_of(backend, params, max_vram, "");
            assert!(notes.len() == 1 && notes[0].contains(expected), "{max_vram}: {notes:?}");
        }
        assert_eq!(notes_of("", "cpu", "te=2,diffusion=4", "diffusion,te"), Vec::<String>::new());
        assert_eq!(notes_of("", "", "te.t5=2,controlnet=1", ""), Vec::<String>::new(), "neither is in use");
    }

    #[test]
    fn a_budget_that_the_engine_would_ignore_is_noted() {
        for (backend, params, max_vram, expected) in [
            ("cpu", "", "6", "The memory budget has no effect"),
            ("", "", "cpu=8", "The budget of CPU is for planning only"),
            ("", "cpu", "cuda1=6", "The budget of CUDA1 has no effect"),
            ("", "cpu", "cuda0=-100", "The budget of CUDA0 leaves nothing, as less than 100 GiB"),
            ("", "", "6", "The budget of CUDA0 saves no weights"),
            ("", "diffusion=disk", "cuda0=6", "(diffusion, text encoder, VAE)"),
        ] {
            let notes = notes_of(backend, params, max_vram, "");
            assert!(notes.len() == 1 && notes.iter().all(|it| it.contains(expected)), "{notes:?}");
        }
    }
}
