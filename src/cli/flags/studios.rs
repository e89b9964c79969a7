//! The flags of `atelier studios`, and what `generate --studio` does not take.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use clap::{Args, Subcommand};

/// What another studio does not take: groups of flags, and flags of groups of which it takes some.
/// Each is refused beside `--studio`.
pub(super) const NOT_OF_A_STUDIO: [&str; 47] = [
    "GuidanceFlags",
    "FamilyFlags",
    "PersonFlags",
    "AreaFlags",
    "HiresFlags",
    "StepFlags",
    "LikeFlags",
    "DeviceFlags",
    "ModuleDeviceFlags",
    "ModuleFlags",
    "ServerFlags",
    "LibraryFlags",
    "PullFlags",
    "diffusion_model",
    "uncond_diffusion_model",
    "llm",
    "llm_vision",
    "vae",
    "taesd",
    "clip_l",
    "clip_g",
    "t5xxl",
    "clip_vision",
    "control_net",
    "photo_maker",
    "lora",
    "lora_apply_mode",
    "embedding",
    "embd_dir",
    "lora_model_dir",
    "rng",
    "sampler_rng",
    "prediction",
    "control_image",
    "control_strength",
    "control_start",
    "control_end",
    "control_prepare",
    "canny",
    "from_command",
    "list_devices",
    "as_command",
    "verbose",
    "preview_method",
    "preview_interval",
    "no_auto_placement",
    "stream_profile",
];

/// Flags of `studios`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct StudiosFlags {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<StudiosCommand>,
    /// Seconds to listen for studios of the network; 0 lists those that are kept
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(0..=60))]
    pub(in crate::cli) seconds: u64,
    /// Print JSON to standard output, one object per line
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// Subcommands of `studios`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum StudiosCommand {
    /// Keep a studio with its token. Without a token, the person there is asked to allow this
    /// computer.
    Add {
        /// The link that the studio shows for you, its address, or its name in the network
        #[arg(value_name = "LINK|URL|NAME")]
        studio: String,
        /// Name under which it is kept [default: its name in the network, or its address]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Token, if it is not in the link; - reads it from standard input. Other users of this
        /// computer can see it in the list of processes
        #[arg(long, value_name = "TOKEN")]
        token: Option<String>,
        /// Print JSON to standard output, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Forget a studio and its token.
    Rm {
        /// Name of the studio
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// List the models of a studio.
    Models {
        /// Name, address or link of the studio
        #[arg(value_name = "NAME|URL")]
        studio: String,
        /// Print JSON to standard output, one object per line
        #[arg(long)]
        json: bool,
    },
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use crate::cli::flags::Cli;

    #[test]
    fn another_studio_gets_a_flag_or_it_is_refused() {
        const TAKEN: [&str; 29] = [
            "studio",
            "help",
            "version",
            "simulate_devices",
            "cpu_math",
            "model",
            "prompt",
            "negative_prompt",
            "prompt_file",
            "negative_prompt_file",
            "width",
            "height",
            "seed",
            "batch_count",
            "prompts",
            "wildcards",
            "words_seed",
            "steps",
            "cfg_scale",
            "guidance",
            "sampling_method",
            "scheduler",
            "eta",
            "flow_shift",
            "clip_skip",
            "init_img",
            "strength",
            "mask",
            "ref_image",
        ];
        // Where the pictures go and what is printed is this program's.
        const OWN: [&str; 5] = ["output", "disable_image_metadata", "preview", "json", "null"];
        let mut command = Cli::command();
        command.build();
        let generate = command.find_subcommand("generate").unwrap();
        let studio = generate.get_arguments().find(|it| it.get_id() == "studio").unwrap();
        let refused: Vec<&str> = generate.get_arg_conflicts_with(studio).iter().map(|it| it.get_id().as_str()).collect();
        for flag in generate.get_arguments().map(|it| it.get_id().as_str()) {
            let is_taken = TAKEN.contains(&flag) || OWN.contains(&flag);
            assert!(is_taken != refused.contains(&flag), "{flag} is sent, or refused by its name");
        }
        let refused = ["atelier", "generate", "-p", "x", "--studio", "Anna", "--vae-tiling"];
        assert!(Cli::try_parse_from(refused).unwrap_err().to_string().contains("--vae-tiling"));
    }
}
