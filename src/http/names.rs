//! Samplers, schedulers and upscalers by every spelling that clients have. Pure.

use atelier_core::recipe::{LatentUpscaler, Sampler, Scheduler};
use atelier_media::a1111::sampler_and_scheduler;

/// What a name means, and a sentence where it means something else than it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named<T> {
    pub(crate) value: T,
    pub(crate) note: Option<String>,
}

/// Names that k-diffusion has for samplers of the engine.
const K_DIFFUSION: [(&str, Sampler); 8] = [
    ("k_euler_a", Sampler::EulerA),
    ("k_euler_ancestral", Sampler::EulerA),
    ("k_euler", Sampler::Euler),
    ("k_heun", Sampler::Heun),
    ("k_dpm_2", Sampler::Dpm2),
    ("k_dpmpp_2s_a", Sampler::Dpmpp2sA),
    ("k_dpmpp_2m", Sampler::Dpmpp2m),
    ("k_lcm", Sampler::Lcm),
];

/// Samplers of A1111 that the engine does not have, in lower case, and what comes next to them.
const NEXT_TO: [(&str, Sampler); 17] = [
    ("lms", Sampler::Dpmpp2m),
    ("k_lms", Sampler::Dpmpp2m),
    ("plms", Sampler::Dpmpp2m),
    ("unipc", Sampler::Dpmpp2m),
    ("dpm fast", Sampler::Dpmpp2m),
    ("dpm adaptive", Sampler::Dpmpp2m),
    ("restart", Sampler::Dpmpp2m),
    ("dpm2 a", Sampler::Dpmpp2sA),
    ("k_dpm_2_a", Sampler::Dpmpp2sA),
    ("ddim cfg++", Sampler::EulerCfgPp),
    ("dpm++ sde", Sampler::ErSde),
    ("dpm++ 2m sde", Sampler::ErSde),
    ("dpm++ 2m sde heun", Sampler::ErSde),
    ("dpm++ 3m sde", Sampler::ErSde),
    ("k_dpmpp_sde", Sampler::ErSde),
    ("k_dpmpp_2m_sde", Sampler::ErSde),
    ("k_dpmpp_3m_sde", Sampler::ErSde),
];

/// Other names of schedulers, in lower case.
const SCHEDULER_NAMES: [(&str, Scheduler); 3] =
    [("normal", Scheduler::Discrete), ("uniform", Scheduler::Discrete), ("align_your_steps", Scheduler::Ays)];

/// Schedulers of A1111 that the engine does not have, in lower case.
const NEXT_SCHEDULERS: [(&str, Scheduler); 6] = [
    ("ddim", Scheduler::SgmUniform),
    ("beta", Scheduler::Smoothstep),
    ("turbo", Scheduler::SgmUniform),
    ("polyexponential", Scheduler::Exponential),
    ("align_your_steps_gits", Scheduler::Gits),
    ("align_your_steps_11", Scheduler::Ays),
];

/// The k-diffusion names of a sampler, for lists.
pub(crate) fn aliases(sampler: Sampler) -> Vec<&'static str> {
    let others = K_DIFFUSION.iter().filter(|(_, it)| *it == sampler).map(|(name, _)| *name);
    let ddim = (sampler == Sampler::DdimTrailing).then_some("ddim");
    std::iter::once(sampler.key()).chain(others).chain(ddim).collect()
}

/// Other names of a scheduler, for lists.
pub(crate) fn scheduler_aliases(scheduler: Scheduler) -> Vec<&'static str> {
    SCHEDULER_NAMES.iter().filter(|(_, it)| *it == scheduler).map(|(name, _)| *name).collect()
}

/// The sampler and, where the name ends with one, the scheduler; `None` where nobody knows it.
pub(crate) fn sampler(name: &str) -> Option<Named<(Sampler, Option<Scheduler>)>> {
    let name = name.trim();
    if let (Some(sampler), scheduler) = sampler_and_scheduler(name) {
        return Some(Named { value: (sampler, scheduler), note: None });
    }
    let lower = name.to_ascii_lowercase();
    if let Some((_, sampler)) = K_DIFFUSION.iter().find(|(it, _)| *it == lower) {
        return Some(Named { value: (*sampler, None), note: None });
    }
    // "DPM++ 2M SDE Karras", "DPM++ 2M SGM Uniform".
    let (base, scheduler) = Scheduler::ALL
        .iter()
        .find_map(|it| Some((lower.strip_suffix(&it.label().to_ascii_lowercase())?.strip_suffix(' ')?, Some(*it))))
        .unwrap_or((lower.as_str(), None));
    if let Ok(sampler) = base.parse() {
        return Some(Named { value: (sampler, scheduler), note: None });
    }
    let (_, next) = NEXT_TO.iter().find(|(it, _)| *it == base)?;
    let note = format!("The engine has no sampler {name}; {} was used.", next.label());
    Some(Named { value: (*next, scheduler), note: Some(note) })
}

/// The scheduler; `Ok(None)` lets the model choose. `Err`: nobody knows the name.
pub(crate) fn scheduler(name: &str) -> Option<Named<Option<Scheduler>>> {
    let lower = name.trim().to_ascii_lowercase();
    if matches!(lower.as_str(), "" | "automatic" | "default" | "none") {
        return Some(Named::default());
    }
    let known = lower.parse().ok().or_else(|| SCHEDULER_NAMES.iter().find(|(it, _)| *it == lower).map(|(_, it)| *it));
    if let Some(scheduler) = known {
        return Some(Named { value: Some(scheduler), note: None });
    }
    let (_, next) = NEXT_SCHEDULERS.iter().find(|(it, _)| *it == lower)?;
    let note = format!("The engine has no scheduler {}; {} was used.", name.trim(), next.label());
    Some(Named { value: Some(*next), note: Some(note) })
}

/// How a picture is enlarged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum UpscalerName {
    /// Not at all by a model: Lanczos.
    #[default]
    Lanczos,
    /// The latents are, before the second pass.
    Latent(LatentUpscaler),
    /// A model of the library.
    Model(String),
}

/// The upscaler of this name.
pub(crate) fn upscaler(name: &str) -> Named<UpscalerName> {
    let lower = name.trim().to_ascii_lowercase();
    let lanczos = |note| Named { value: UpscalerName::Lanczos, note };
    match lower.as_str() {
        "" | "none" | "lanczos" | "automatic" => lanczos(None),
        "nearest" => lanczos(Some("Nearest is not offered; Lanczos was used.".to_owned())),
        _ if lower.starts_with("latent") => match lower.parse() {
            Ok(latent) => Named { value: UpscalerName::Latent(latent), note: None },
            Err(_) => lanczos(Some(format!("{} is not offered; Lanczos was used.", name.trim()))),
        },
        _ => Named { value: UpscalerName::Model(name.trim().to_owned()), note: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sampler_is_known_by_every_spelling() {
        let plain = |name: &str| {
            let named = sampler(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(named.note, None, "{name}");
            named.value
        };
        for sampler in Sampler::ALL {
            for name in aliases(*sampler).into_iter().chain([sampler.label()]) {
                assert_eq!(plain(name), (*sampler, None), "{name}");
            }
        }
        assert_eq!(plain(" Euler A "), (Sampler::EulerA, None));
        assert_eq!(plain("DPM++ 2M Karras"), (Sampler::Dpmpp2m, Some(Scheduler::Karras)));
        assert_eq!(plain("DPM++ 2M SGM Uniform"), (Sampler::Dpmpp2m, Some(Scheduler::SgmUniform)));
        let named = sampler("DPM++ 2M SDE Karras").unwrap();
        assert_eq!(named.value, (Sampler::ErSde, Some(Scheduler::Karras)));
        assert!(named.note.unwrap().contains("ER-SDE"));
        assert_eq!(sampler("LMS").unwrap().value, (Sampler::Dpmpp2m, None), "the default of AI-Render");
        for nobody in ["", "Karras", "Euler b", "😀"] {
            assert_eq!(sampler(nobody), None, "{nobody}");
        }
    }

    #[test]
    fn a_scheduler_may_be_left_to_the_model() {
        for automatic in ["", "automatic", "Automatic", "none"] {
            assert_eq!(scheduler(automatic), Some(Named::default()), "{automatic}");
        }
        for discrete in ["normal", "Uniform"] {
            assert_eq!(scheduler(discrete), Some(Named { value: Some(Scheduler::Discrete), note: None }), "{discrete}");
        }
        for it in Scheduler::ALL {
            assert_eq!(scheduler(it.key()).unwrap(), Named { value: Some(*it), note: None });
            for name in scheduler_aliases(*it).into_iter().chain([it.label()]) {
                assert_eq!(scheduler(name), Some(Named { value: Some(*it), note: None }), "{name}");
            }
        }
        assert!(scheduler("beta").unwrap().note.is_some());
        assert_eq!(scheduler("nobody's"), None);
    }

    #[test]
    fn an_upscaler_is_lanczos_a_way_of_latents_or_a_model() {
        assert_eq!(upscaler("None"), Named::default());
        assert_eq!(upscaler("Latent (nearest)").value, UpscalerName::Latent(LatentUpscaler::Nearest));
        assert!(upscaler("Latent (nobody's)").note.is_some() && upscaler("Nearest").note.is_some());
        assert_eq!(upscaler("RealESRGAN x4").value, UpscalerName::Model("RealESRGAN x4".into()));
    }
}
