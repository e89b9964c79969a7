//! Samplers, schedulers and random number generators by the engine's names (`sample_method_to_str`,
//! `scheduler_to_str`, `rng_type_to_str` in stable-diffusion.cpp) and those shown.

use std::fmt;
use std::str::FromStr;

use atelier_language::tr;
use serde::{Deserialize, Serialize};

/// Guidance that a picture is made with, of both kinds.
pub(super) const GUIDANCE: std::ops::RangeInclusive<f32> = 0.0..=100.0;

/// Steps that a picture is made with.
pub(super) const STEPS: std::ops::RangeInclusive<u32> = 1..=1000;

/// Denoising and control strengths, and what is blended of two: none to all.
pub const SHARE: std::ops::RangeInclusive<f32> = 0.0..=1.0;

macro_rules! named_by_engine {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $key:literal, $label:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $key)] $variant,)*
        }

        impl $name {
            /// All of them, in the engine's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The engine's name, which is also that of sd-cli.
            #[must_use]
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => $key,)* }
            }

            /// The name shown to a person, which is also the one that A1111 writes into pictures.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }
        }

        impl FromStr for $name {
            type Err = UnknownName;

            /// Reads the engine's name or the shown one, in any case.
            fn from_str(name: &str) -> Result<Self, UnknownName> {
                Self::ALL.iter().copied()
                    .find(|it| it.key().eq_ignore_ascii_case(name) || it.label().eq_ignore_ascii_case(name))
                    .ok_or_else(|| UnknownName {
                        name: name.to_owned(),
                        known: Self::ALL.iter().map(|it| it.key()).collect::<Vec<_>>().join(", "),
                    })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.key())
            }
        }
    };
}
pub(super) use named_by_engine;

/// A sampler, scheduler or other name that the engine does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", tr!("core-there-is-no-choose", name, known))]
pub struct UnknownName {
    pub(super) name: String,
    pub(super) known: String,
}

named_by_engine! {
    /// The sampler: the method that removes the noise, step by step.
    Sampler {
        /// Euler.
        Euler = "euler", "Euler";
        /// Euler, ancestral.
        EulerA = "euler_a", "Euler a";
        /// Heun.
        Heun = "heun", "Heun";
        /// DPM2.
        Dpm2 = "dpm2", "DPM2";
        /// DPM++ 2S, ancestral.
        Dpmpp2sA = "dpm++2s_a", "DPM++ 2S a";
        /// DPM++ 2M.
        Dpmpp2m = "dpm++2m", "DPM++ 2M";
        /// DPM++ 2M, second version.
        Dpmpp2mV2 = "dpm++2mv2", "DPM++ 2M v2";
        /// iPNDM.
        Ipndm = "ipndm", "iPNDM";
        /// iPNDM with variable steps.
        IpndmV = "ipndm_v", "iPNDM v";
        /// Latent consistency.
        Lcm = "lcm", "LCM";
        /// DDIM with trailing timesteps.
        DdimTrailing = "ddim_trailing", "DDIM";
        /// Trajectory consistency.
        Tcd = "tcd", "TCD";
        /// RES, multistep.
        ResMultistep = "res_multistep", "RES multistep";
        /// RES, second order.
        Res2s = "res_2s", "RES 2s";
        /// ER-SDE.
        ErSde = "er_sde", "ER-SDE";
        /// Euler CFG++.
        EulerCfgPp = "euler_cfg_pp", "Euler CFG++";
        /// Euler CFG++, ancestral.
        EulerACfgPp = "euler_a_cfg_pp", "Euler a CFG++";
        /// Euler GE.
        EulerGe = "euler_ge", "Euler GE";
    }
}

impl Sampler {
    /// Evaluations of the diffusion module in a step, as the methods of denoiser.hpp of
    /// stable-diffusion.cpp have them. [`Self::Dpmpp2sA`] has one less in the first step of a flow model.
    #[must_use]
    pub const fn evaluations(self) -> u32 {
        match self {
            Self::Heun | Self::Dpm2 | Self::Dpmpp2sA | Self::Res2s => 2,
            Self::Euler
            | Self::EulerA
            | Self::Dpmpp2m
            | Self::Dpmpp2mV2
            | Self::Ipndm
            | Self::IpndmV
            | Self::Lcm
            | Self::DdimTrailing
            | Self::Tcd
            | Self::ResMultistep
            | Self::ErSde
            | Self::EulerCfgPp
            | Self::EulerACfgPp
            | Self::EulerGe => 1,
        }
    }
}

named_by_engine! {
    /// The scheduler: the noise level of each step.
    Scheduler {
        /// The model's own training steps.
        Discrete = "discrete", "Normal";
        /// Karras.
        Karras = "karras", "Karras";
        /// Exponential.
        Exponential = "exponential", "Exponential";
        /// Align your steps.
        Ays = "ays", "Align Your Steps";
        /// GITS.
        Gits = "gits", "GITS";
        /// Uniform, as in Stability's generative-models.
        SgmUniform = "sgm_uniform", "SGM Uniform";
        /// Simple.
        Simple = "simple", "Simple";
        /// Smooth step.
        Smoothstep = "smoothstep", "Smoothstep";
        /// KL optimal.
        KlOptimal = "kl_optimal", "KL Optimal";
        /// Latent consistency.
        Lcm = "lcm", "LCM";
        /// Bong tangent.
        BongTangent = "bong_tangent", "Bong Tangent";
        /// LTX-2.
        Ltx2 = "ltx2", "LTX2";
    }
}

named_by_engine! {
    /// What a model predicts of a noisy picture.
    PredictionType {
        /// The noise.
        Eps = "eps", "Noise (epsilon)";
        /// Velocity.
        V = "v", "Velocity (v)";
        /// Velocity, with the noise levels of EDM: `CosXL`.
        EdmV = "edm_v", "Velocity, EDM";
        /// The way from noise to picture, as SD3 learned it.
        Sd3Flow = "sd3_flow", "Flow (SD3)";
        /// The way from noise to picture, as Flux learned it.
        FluxFlow = "flux_flow", "Flow (Flux)";
        /// The way from noise to picture, as Flux.2 learned it.
        Flux2Flow = "flux2_flow", "Flow (Flux.2)";
    }
}

named_by_engine! {
    /// What a step cache reuses.
    CacheMode {
        /// Outputs of a transformer, where its input changed little.
        EasyCache = "easycache", "EasyCache";
        /// The same for UNets.
        UCache = "ucache", "UCache";
        /// Blocks of a transformer, where what goes in changed little.
        DbCache = "dbcache", "DBCache";
        /// Blocks of a transformer, carried on from the steps before.
        TaylorSeer = "taylorseer", "TaylorSeer";
        /// Both.
        CacheDit = "cache-dit", "Cache-DiT";
        /// Estimates of the picture, carried on from the steps before.
        Spectrum = "spectrum", "Spectrum";
    }
}

named_by_engine! {
    /// Whose latents a VAE of PiD decodes.
    VaeFormat {
        /// Flux's.
        Flux = "flux", "Flux";
        /// SD3's.
        Sd3 = "sd3", "SD3";
        /// Flux.2's.
        Flux2 = "flux2", "Flux.2";
    }
}

named_by_engine! {
    /// The random number generator, which draws the noise from the seed.
    #[derive(Default)]
    Rng {
        /// The C++ library's; another system may draw other numbers.
        StdDefault = "std_default", "C++ library";
        /// Philox, as PyTorch's CUDA generator draws: A1111 ("GPU" and "NV").
        #[default]
        Cuda = "cuda", "GPU";
        /// Mersenne Twister, as PyTorch's CPU generator draws: ComfyUI, and A1111 with "RNG: CPU".
        Cpu = "cpu", "CPU";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_the_engine_or_a_person_writes_them() {
        assert_eq!("DPM++2M".parse(), Ok(Sampler::Dpmpp2m));
        assert_eq!("euler a".parse(), Ok(Sampler::EulerA));
        assert_eq!("Karras".parse(), Ok(Scheduler::Karras));
        let error = "eular".parse::<Sampler>().unwrap_err().to_string();
        assert!(error.contains("eular") && error.contains("euler_a"), "{error}");
    }
}
