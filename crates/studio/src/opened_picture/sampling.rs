//! Samplers and schedulers of other programs, by the names of this one.

use atelier_core::recipe::{Sampler, Scheduler};
use atelier_media::Tool;

/// Names of samplers, in small letters; where programs mean different things by one, see
/// [`sampler_named`].
const SAMPLERS: &[(&[&str], Sampler)] = &[
    (&["euler", "k_euler"], Sampler::Euler),
    (&["euler a", "euler_a", "euler_ancestral", "k_euler_a", "k_euler_ancestral", "euler ancestral"], Sampler::EulerA),
    (&["heun", "k_heun"], Sampler::Heun),
    (&["dpm2", "dpm_2", "kdpm_2", "k_dpm_2"], Sampler::Dpm2),
    (&["dpm++ 2s a", "dpm++2s_a", "dpmpp_2s_ancestral", "dpmpp_2s_a", "k_dpmpp_2s_ancestral"], Sampler::Dpmpp2sA),
    (&["dpm++ 2m", "dpm++2m", "dpmpp_2m", "k_dpmpp_2m", "k_dpmpp_2"], Sampler::Dpmpp2m),
    (&["dpm++ 2m v2", "dpm++2mv2"], Sampler::Dpmpp2mV2),
    (&["ipndm"], Sampler::Ipndm),
    (&["ipndm_v", "ipndm v"], Sampler::IpndmV),
    (&["lcm"], Sampler::Lcm),
    (&["ddim", "ddim_trailing", "ddim trailing"], Sampler::DdimTrailing),
    (&["tcd"], Sampler::Tcd),
    (&["res_multistep", "res multistep"], Sampler::ResMultistep),
    (&["res_2s", "res 2s"], Sampler::Res2s),
    (&["er_sde", "er-sde"], Sampler::ErSde),
    (&["euler_cfg_pp", "euler cfg++"], Sampler::EulerCfgPp),
    (&["euler_ancestral_cfg_pp", "euler_a_cfg_pp", "euler a cfg++"], Sampler::EulerACfgPp),
    (&["gradient_estimation", "euler_ge", "euler ge"], Sampler::EulerGe),
];

/// Names of schedulers, in small letters.
const SCHEDULERS: &[(&[&str], Scheduler)] = &[
    (&["normal", "discrete", "uniform", "native"], Scheduler::Discrete),
    (&["karras"], Scheduler::Karras),
    (&["exponential"], Scheduler::Exponential),
    (&["ays", "align your steps", "align_your_steps"], Scheduler::Ays),
    (&["gits"], Scheduler::Gits),
    (&["sgm_uniform", "sgm uniform"], Scheduler::SgmUniform),
    (&["simple"], Scheduler::Simple),
    (&["smoothstep"], Scheduler::Smoothstep),
    (&["kl_optimal", "kl optimal"], Scheduler::KlOptimal),
    (&["lcm"], Scheduler::Lcm),
    (&["bong_tangent", "bong tangent"], Scheduler::BongTangent),
    (&["ltx2"], Scheduler::Ltx2),
];

/// Samplers with which A1111's "Automatic" is Karras.
const AUTOMATIC_IS_KARRAS: [Sampler; 3] = [Sampler::Dpm2, Sampler::Dpmpp2sA, Sampler::Dpmpp2m];

fn find<T: Copy>(table: &[(&[&str], T)], name: &str) -> Option<T> {
    table.iter().find(|(names, _)| names.contains(&name)).map(|(_, it)| *it)
}

/// The sampler of this name of a program, and the scheduler that the name includes: `DPM++ 2M
/// Karras`, `dpmpp_2m_k`.
pub(super) fn sampler_named(tool: Tool, name: &str) -> (Option<Sampler>, Option<Scheduler>) {
    let name = name.trim().to_lowercase();
    let name = name.strip_suffix("_gpu").unwrap_or(&name);
    // There, it is Euler with other noise for what is painted anew.
    if name == "ddim" && matches!(tool, Tool::ComfyUi | Tool::SwarmUi | Tool::Fooocus) {
        return (Some(Sampler::Euler), None);
    }
    if let Some(sampler) = find(SAMPLERS, name) {
        return (Some(sampler), None);
    }
    let split = || name.rsplit_once(' ').and_then(|(sampler, scheduler)| Some((find(SAMPLERS, sampler)?, find(SCHEDULERS, scheduler)?)));
    let karras = || Some((find(SAMPLERS, name.strip_suffix("_k")?)?, Scheduler::Karras));
    split().or_else(karras).map_or((None, None), |(sampler, scheduler)| (Some(sampler), Some(scheduler)))
}

/// The scheduler of this name; A1111's "Automatic" depends on the sampler.
pub(super) fn scheduler_named(name: &str, sampler: Option<Sampler>) -> Option<Scheduler> {
    let name = name.trim().to_lowercase();
    if name == "automatic" {
        return sampler.map(|it| if AUTOMATIC_IS_KARRAS.contains(&it) { Scheduler::Karras } else { Scheduler::Discrete });
    }
    find(SCHEDULERS, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_ours_is_known_and_none_twice() {
        for sampler in Sampler::ALL {
            assert_eq!(sampler_named(Tool::A1111, sampler.key()).0, Some(*sampler), "{sampler}");
            assert_eq!(sampler_named(Tool::A1111, sampler.label()).0, Some(*sampler), "{sampler}");
        }
        for scheduler in Scheduler::ALL {
            assert_eq!(scheduler_named(scheduler.key(), None), Some(*scheduler));
            assert_eq!(scheduler_named(scheduler.label(), None), Some(*scheduler));
        }
        let mut names: Vec<&str> = SAMPLERS.iter().flat_map(|(names, _)| *names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn each_program_has_its_names() {
        let karras = |sampler| (Some(sampler), Some(Scheduler::Karras));
        for (tool, name, expected) in [
            (Tool::A1111, "DPM++ 2M Karras", karras(Sampler::Dpmpp2m)),
            (Tool::A1111, "euler_a karras", karras(Sampler::EulerA)),
            (Tool::A1111, "DDIM", (Some(Sampler::DdimTrailing), None)),
            (Tool::A1111, "DPM++ SDE Karras", (None, None)),
            (Tool::ComfyUi, "euler_ancestral", (Some(Sampler::EulerA), None)),
            (Tool::ComfyUi, "ddim", (Some(Sampler::Euler), None)),
            (Tool::ComfyUi, "uni_pc", (None, None)),
            (Tool::InvokeAi, "dpmpp_2m_k", karras(Sampler::Dpmpp2m)),
            (Tool::InvokeAi, "k_lms", (None, None)),
            (Tool::InvokeAi, "k_euler_a", (Some(Sampler::EulerA), None)),
            (Tool::Fooocus, "dpmpp_2m_sde_gpu", (None, None)),
            (Tool::NovelAi, "k_dpmpp_2s_ancestral", (Some(Sampler::Dpmpp2sA), None)),
            (Tool::DrawThings, "Euler a AYS", (Some(Sampler::EulerA), Some(Scheduler::Ays))),
            (Tool::EasyDiffusion, "dpmpp_2m", (Some(Sampler::Dpmpp2m), None)),
        ] {
            assert_eq!(sampler_named(tool, name), expected, "{name}");
        }
        assert_eq!(scheduler_named("Automatic", Some(Sampler::Dpmpp2m)), Some(Scheduler::Karras));
        assert_eq!(scheduler_named("Automatic", Some(Sampler::Euler)), Some(Scheduler::Discrete));
        assert_eq!((scheduler_named("Automatic", None), scheduler_named("beta", None)), (None, None));
    }
}
