//! Flags as clap parses them. Names follow sd-cli where it has one. `resolve` gives them their
//! meaning.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod area;
mod gallery;
mod grid;
mod guidance;
mod hires;
mod http;
mod library;
mod mcp;
mod person;
mod prompt_files;
mod queue;
mod steps;
mod studios;
mod values;
mod vision;

pub(super) use area::AreaFlags;
pub use gallery::GalleryFlags;
pub(super) use gallery::{Format, GalleryCommand, Verdict};
pub use grid::GridFlags;
pub(super) use guidance::{FamilyFlags, GuidanceFlags};
pub(super) use hires::HiresFlags;
pub(super) use http::HttpCommand;
pub use http::HttpFlags;
pub use library::ModelsFlags;
pub(super) use library::{LibraryFlags, ModelsCommand, is_model_name};
pub use mcp::McpFlags;
pub(super) use person::PersonFlags;
pub(super) use prompt_files::PromptFileFlags;
pub use queue::QueueFlags;
pub(super) use queue::{PullFlags, QueueAddFlags, QueueCommand};
pub(super) use steps::{LikeFlags, StepFlags};
use studios::NOT_OF_A_STUDIO;
pub(super) use studios::StudiosCommand;
pub use studios::StudiosFlags;
use values::{finite, gib, guidance_range, known_seed, lora, unit};
pub(super) use vision::ThreadFlags;
pub use vision::{CutoutFlags, DetectFlags};

use atelier_core::cpu_math::{CpuMath, UnknownCpuMath};
use atelier_core::device::SimulatedDevices;
use atelier_core::placement::{ModuleSet, one_device};
use atelier_core::recipe::{
    ControlImage, Lora, LoraMode, PredictionType, Preprocessor, ROWS, Recipe, Rng, Row, Sampler, Scheduler, SeedNumber, TileSize, read_seed,
};
use atelier_core::sd_cli::RelativeTileSize;
use atelier_engine::{DEFAULT_PORT, ServerAddress};

const MODEL: &str = "Model";
const PICTURE: &str = "Picture";
const SAMPLING: &str = "Sampling";
const INPUTS: &str = "Input pictures";
const DEVICES: &str = "Devices and memory";
const OUTPUT: &str = "Output";

/// The groups of flags that a recipe is made from.
const SETTINGS: [&str; 15] = [
    "ModelFlags",
    "TemplateFlags",
    "PictureFlags",
    "PromptFileFlags",
    "SamplingFlags",
    "GuidanceFlags",
    "FamilyFlags",
    "InputFlags",
    "PersonFlags",
    "AreaFlags",
    "HiresFlags",
    "StepFlags",
    "DeviceFlags",
    "ModuleDeviceFlags",
    "ModuleFlags",
];

/// Generate images on your own machine. Without a command, the window opens.
#[derive(Debug, Parser)]
#[command(name = "atelier", version = atelier_studio::version::FULL, args_override_self = true)]
pub(super) struct Cli {
    /// Simulate GPUs on the CPU to try out placements: NAME:GIB[@CARD],...
    #[arg(long, global = true, value_name = "DEVICES", help_heading = DEVICES)]
    pub(super) simulate_devices: Option<SimulatedDevices>,
    /// CPU arithmetic: exact, f32, bf16 or int8 [default: fastest supported]. exact leaves flash
    /// attention out, unless --diffusion-fa is given; int8 is for models in Q8_0, Q6_K, Q5_K, Q5_0,
    /// Q4_K or Q4_0, and f32 for others
    #[arg(long, global = true, value_name = "MATH", value_parser = cpu_math, help_heading = DEVICES)]
    pub(super) cpu_math: Option<CpuMath>,
    /// Pictures and model files to open in the window. A picture that Atelier made restores its
    /// settings
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

fn cpu_math(text: &str) -> Result<CpuMath, UnknownCpuMath> {
    text.parse()
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Generate pictures from a prompt. Without a model, the built-in model is used with its own
    /// settings.
    #[command(args_override_self = true, version = atelier_studio::version::FULL)]
    Generate(Box<GenerateFlags>),
    /// Compare settings: a sheet of pictures that differ along one to three axes. What it will take
    /// is said before it begins.
    #[command(args_override_self = true)]
    Grid(Box<GridFlags>),
    /// Upscale a picture with an ESRGAN model.
    #[command(args_override_self = true)]
    Upscale(Box<UpscaleFlags>),
    /// Remove the background of a picture with a cut-out model.
    #[command(args_override_self = true)]
    Cutout(CutoutFlags),
    /// Find faces, hands or other things in a picture with a detection model.
    Detect(DetectFlags),
    /// Estimate memory and time per device and suggest a placement (dry run).
    #[command(args_override_self = true)]
    Plan(Box<PlanFlags>),
    /// List, add and run queued jobs. The window shares this queue.
    Queue(Box<QueueFlags>),
    /// Show prompt, seed, settings and model of pictures, whichever program made them.
    Inspect(InspectFlags),
    /// Search, download, verify and remove models.
    Models(Box<ModelsFlags>),
    /// Search, rate, tag, export and remove pictures in the gallery.
    Gallery(Box<GalleryFlags>),
    /// List devices that models can run on.
    Devices(DevicesFlags),
    /// Check drivers, folders, settings and model files. Exits with status 1 if a check fails.
    Doctor(DoctorFlags),
    /// Generate pictures for other programs over HTTP: SillyTavern, Open WebUI, Blender, scripts.
    ///
    /// Programs on this computer need no token unless --require-token is given. Other computers are
    /// listened to with --allow-network alone, and always need a token; the connection has no
    /// encryption, so others in the same network may read what is sent. Pictures are kept in the
    /// folder Shared of your pictures.
    Serve(Box<HttpFlags>),
    /// List studios that others share in this network, and keep some with their tokens.
    Studios(StudiosFlags),
    /// Let an agent or chat program generate pictures, over MCP on standard input and output.
    ///
    /// A program that knows MCP starts this by itself: enter `atelier mcp` as its command. With
    /// `atelier serve`, the same tools are at /mcp.
    Mcp(Box<McpFlags>),
    /// Lend this machine's devices to Atelier on another machine.
    ///
    /// The connection has no encryption and no login: whoever reaches the port can use the devices
    /// and read what is sent. So only this machine itself is listened to, unless --allow-network is
    /// given. The safe way from another machine is an SSH tunnel; there, run `ssh -N -L
    /// 50052:127.0.0.1:50052 USER@THIS_MACHINE` and use the server 127.0.0.1:50052.
    ///
    /// What is sent is checked before it is computed. Should a fault be left all the same, whoever
    /// finds it could take over this account; on Linux, where the kernel has Landlock, the process
    /// that lends has given up files, programs and connections by then. It says so when it starts.
    ServeDevice(ServeFlags),
}

impl Command {
    /// True where standard output is a list of paths for a program, which gets their bytes as they
    /// are.
    pub(super) fn prints_raw_paths(&self) -> bool {
        match self {
            Self::Generate(flags) => flags.paths.null && !flags.report.json,
            Self::Upscale(flags) => flags.paths.null && !flags.report.json,
            Self::Grid(flags) => flags.paths.null && !flags.report.json,
            Self::Queue(flags) => flags.command.paths().null && !flags.json,
            Self::Gallery(flags) => flags.command.paths().null && !flags.json,
            Self::Cutout(_)
            | Self::Detect(_)
            | Self::Plan(_)
            | Self::Inspect(_)
            | Self::Models(_)
            | Self::Devices(_)
            | Self::Doctor(_)
            | Self::Serve(_)
            | Self::Studios(_)
            | Self::Mcp(_)
            | Self::ServeDevice(_) => false,
        }
    }
}

/// Flags of `generate`.
#[derive(Debug, Args)]
pub struct GenerateFlags {
    #[command(flatten)]
    pub(super) picture: PictureFlags,
    #[command(flatten)]
    pub(super) prompt_files: PromptFileFlags,
    #[command(flatten)]
    pub(super) common: CommonFlags,

    /// Let another studio of the network generate the pictures: its name, address or link, see
    /// `atelier studios`. --model is then the name of a model there
    #[arg(long, value_name = "NAME|URL", conflicts_with_all = NOT_OF_A_STUDIO, help_heading = MODEL)]
    pub(super) studio: Option<String>,
    #[command(flatten)]
    pub(super) templates: TemplateFlags,
    #[command(flatten)]
    pub(super) like: LikeFlags,
    /// Take model, prompt, settings and placement from this sd-cli command line instead of flags
    #[arg(long, value_name = "COMMAND", help_heading = MODEL, conflicts_with_all = SETTINGS, conflicts_with = "like")]
    pub(super) from_command: Option<String>,
    /// List devices and exit, as `atelier devices` does
    #[arg(long, conflicts_with = "null", help_heading = OUTPUT)]
    pub(super) list_devices: bool,
    /// Print an equivalent sd-cli command line and exit
    #[arg(long, conflicts_with = "null", help_heading = OUTPUT)]
    pub(super) as_command: bool,
    /// Output PNG file or folder; further pictures of a batch become OUT_2.png, OUT_3.png [default:
    /// your pictures folder, with generated names]
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(super) output: Option<PathBuf>,
    /// Write pictures without the settings that they were made with
    #[arg(long, help_heading = OUTPUT)]
    pub(super) disable_image_metadata: bool,
    /// Write previews to this folder, one PNG each
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(super) preview: Option<PathBuf>,
    /// Preview method: proj (rough, free) or tae (tiny autoencoder, if the model has one)
    #[arg(long, value_name = "METHOD", value_enum, default_value_t = PreviewMethod::Tae, requires = "preview", help_heading = OUTPUT)]
    pub(super) preview_method: PreviewMethod,
    /// Steps between previews
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), requires = "preview", help_heading = OUTPUT)]
    pub(super) preview_interval: u32,
    #[command(flatten)]
    pub(super) pull: PullFlags,
    /// Without a placement, use the first GPU even if another placement is faster or fits better
    #[arg(long, help_heading = DEVICES)]
    pub(super) no_auto_placement: bool,
    #[command(flatten)]
    pub(super) report: ReportFlags,
    #[command(flatten)]
    pub(super) paths: PathFlags,
}

/// Flags that `generate` and `plan` share.
#[derive(Debug, Args)]
pub(super) struct CommonFlags {
    #[command(flatten)]
    pub(super) model: ModelFlags,
    #[command(flatten)]
    pub(super) sampling: SamplingFlags,
    #[command(flatten)]
    pub(super) guidance: GuidanceFlags,
    #[command(flatten)]
    pub(super) family: FamilyFlags,
    #[command(flatten)]
    pub(super) inputs: InputFlags,
    #[command(flatten)]
    pub(super) person: PersonFlags,
    #[command(flatten)]
    pub(super) area: AreaFlags,
    #[command(flatten)]
    pub(super) hires: HiresFlags,
    #[command(flatten)]
    pub(super) steps: StepFlags,
    #[command(flatten)]
    pub(super) devices: DeviceFlags,
    #[command(flatten)]
    pub(super) module_devices: ModuleDeviceFlags,
    #[command(flatten)]
    pub(super) servers: ServerFlags,
    #[command(flatten)]
    pub(super) modules: ModuleFlags,
    #[command(flatten)]
    pub(super) library: LibraryFlags,
}

/// Method by which previews are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PreviewMethod {
    /// A projection of the latents.
    Proj,
    /// The tiny autoencoder.
    Tae,
}

#[derive(Debug, Args)]
pub(super) struct ModelFlags {
    /// Model: an ID of the library (see `atelier models list`), a full model in one file, or a
    /// folder of diffusers [default: built-in model]
    #[arg(short, long, value_name = "ID|FILE|DIR", help_heading = MODEL)]
    pub(super) model: Option<PathBuf>,
    /// Diffusion model without text encoder and VAE
    #[arg(long, alias = "diffusion", value_name = "FILE", help_heading = MODEL)]
    pub(super) diffusion_model: Option<PathBuf>,
    /// Second diffusion model, for what the picture does not show (Ideogram 4)
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub(super) uncond_diffusion_model: Option<PathBuf>,
    /// Text encoder: language model (LLM)
    #[arg(long, alias = "qwen2vl", value_name = "FILE", help_heading = MODEL)]
    pub(super) llm: Option<PathBuf>,
    /// Vision projector of the LLM text encoder (mmproj)
    #[arg(long = "llm_vision", aliases = ["llm-vision", "qwen2vl_vision"], value_name = "FILE", help_heading = MODEL)]
    pub(super) llm_vision: Option<PathBuf>,
    /// VAE
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub(super) vae: Option<PathBuf>,
    /// Tiny autoencoder, for previews or in place of the VAE
    #[arg(long, alias = "tae", value_name = "FILE", help_heading = MODEL)]
    pub(super) taesd: Option<PathBuf>,
    /// CLIP-L text encoder
    #[arg(long = "clip_l", alias = "clip-l", value_name = "FILE", help_heading = MODEL)]
    pub(super) clip_l: Option<PathBuf>,
    /// CLIP-G text encoder
    #[arg(long = "clip_g", alias = "clip-g", value_name = "FILE", help_heading = MODEL)]
    pub(super) clip_g: Option<PathBuf>,
    /// T5-XXL text encoder
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub(super) t5xxl: Option<PathBuf>,
    // Refused with a sentence: sd-cli has it.
    #[arg(long = "clip_vision", alias = "clip-vision", hide = true)]
    pub(super) clip_vision: Option<PathBuf>,
    /// ControlNet
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub(super) control_net: Option<PathBuf>,
    /// PhotoMaker: brings the person of --pm-id-images-dir into pictures of SDXL
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub(super) photo_maker: Option<PathBuf>,
    /// Low-rank adapter and its strength (1 where none is given), with @0.2-0.8 behind it in that part
    /// of the steps; may be repeated
    #[arg(long, value_name = "FILE[[:ENCODER]:STRENGTH][@FROM-TO]", value_parser = lora, help_heading = MODEL)]
    pub(super) lora: Vec<Lora>,
    #[arg(long, value_name = "MODE", help_heading = MODEL, help = one_of(ROWS.lora_mode.help(), LoraMode::ALL.iter().map(|it| it.key())))]
    pub(super) lora_apply_mode: Option<LoraMode>,
    /// Embedding (textual inversion): works where a prompt has the name of the file without its
    /// extension; may be repeated
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub(super) embedding: Vec<PathBuf>,
    /// Folder of embeddings: those that a prompt names are used
    #[arg(long, value_name = "DIR", help_heading = MODEL)]
    pub(super) embd_dir: Option<PathBuf>,
    /// Folder in which <lora:NAME:STRENGTH> in the prompt is looked up; without it, the LoRAs of
    /// the library
    #[arg(long, value_name = "DIR", help_heading = MODEL)]
    pub(super) lora_model_dir: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(super) struct PictureFlags {
    /// Prompt: what the picture shows. <lora:NAME:STRENGTH> adds a LoRA, [<lora:NAME:1>::5] in the
    /// first 5 steps; of {A|B} and __LIST__ each picture has one
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, required_unless_present_any = ["from_command", "like", "list_devices", "prompt_file", "prompts"], help_heading = PICTURE)]
    pub(super) prompt: Option<String>,
    /// Negative prompt: what the picture does not show
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, help_heading = PICTURE)]
    pub(super) negative_prompt: Option<String>,
    #[arg(short = 'W', long, value_name = "PIXELS", help_heading = PICTURE, help = suits(&ROWS.width, Recipe::default().width))]
    pub(super) width: Option<u32>,
    #[arg(short = 'H', long, value_name = "PIXELS", help_heading = PICTURE, help = suits(&ROWS.height, Recipe::default().height))]
    pub(super) height: Option<u32>,
    /// Seed of the first picture; each further picture takes the next number. Negative or absent:
    /// random
    #[arg(short, long, value_name = "N", value_parser = read_seed, allow_negative_numbers = true, help_heading = PICTURE)]
    pub(super) seed: Option<SeedNumber>,
    #[arg(short, long, alias = "batch", value_name = "N", default_value_t = 1, help_heading = PICTURE, help = within(&ROWS.batch_count))]
    pub(super) batch_count: u32,
    // Beside these: a group with another one in it has no members, and nothing would be in conflict
    // with it.
    #[arg(skip)]
    pub(super) files: PromptFileFlags,
    // Each of `InputFlags::init_img` in turn.
    #[arg(skip)]
    pub(super) start: Option<PathBuf>,
}

/// Prompts that stand for several.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct TemplateFlags {
    /// Text file of prompts: one picture for each line that is not empty
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "prompt_file", "from_step", "finish"], help_heading = PICTURE)]
    pub(in crate::cli) prompts: Option<PathBuf>,
    /// Folder of lists (text and YAML files) of which __NAME__ in a prompt takes a line; may be
    /// repeated [default: the folder wildcards of Atelier's data, and those of the programs whose
    /// models are used in place]
    #[arg(long, value_name = "DIR", help_heading = PICTURE)]
    pub(in crate::cli) wildcards: Vec<PathBuf>,
    /// Seed of what is chosen of {A|B} and __LIST__; each further picture takes the next number.
    /// Negative or absent: the picture's own seed
    #[arg(long, value_name = "N", value_parser = read_seed, allow_negative_numbers = true, help_heading = PICTURE)]
    pub(in crate::cli) words_seed: Option<SeedNumber>,
}

impl GenerateFlags {
    /// The flags about the picture, with those of its prompts' files.
    pub(super) fn picture(&self) -> PictureFlags {
        PictureFlags { files: self.prompt_files.clone(), ..self.picture.clone() }
    }
}

/// Negative prompt and size of pictures of which something else is said by other flags.
#[derive(Debug, Args)]
pub(in crate::cli) struct WordFlags {
    /// Negative prompt: what the picture does not show
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, help_heading = PICTURE)]
    negative_prompt: Option<String>,
    #[command(flatten)]
    files: PromptFileFlags,
    #[arg(short = 'W', long, value_name = "PIXELS", help_heading = PICTURE, help = suits(&ROWS.width, Recipe::default().width))]
    width: Option<u32>,
    #[arg(short = 'H', long, value_name = "PIXELS", help_heading = PICTURE, help = suits(&ROWS.height, Recipe::default().height))]
    height: Option<u32>,
}

impl WordFlags {
    /// The flags about the picture, as `generate` has them.
    fn picture(&self, prompt: Option<&str>, seed: Option<SeedNumber>, batch_count: u32) -> PictureFlags {
        let Self { negative_prompt, files, width, height } = self;
        let (prompt, negative_prompt) = (prompt.map(str::to_owned), negative_prompt.clone());
        let (width, height, files) = (*width, *height, files.clone());
        PictureFlags { prompt, negative_prompt, width, height, seed, batch_count, files, start: None }
    }
}

#[derive(Debug, Args)]
pub(super) struct SamplingFlags {
    #[arg(long, value_name = "N", help_heading = SAMPLING, help = suits(&ROWS.steps, Recipe::default().steps))]
    pub(super) steps: Option<u32>,
    #[arg(long, alias = "cfg", value_name = "X", value_parser = finite, help_heading = SAMPLING, help = suits(&ROWS.guidance, Recipe::default().guidance))]
    pub(super) cfg_scale: Option<f32>,
    #[arg(long, value_name = "X", value_parser = finite, help_heading = SAMPLING, help = suits(&ROWS.distilled_guidance, Recipe::default().distilled_guidance))]
    pub(super) guidance: Option<f32>,
    #[arg(long, alias = "sampler", value_name = "NAME", help_heading = SAMPLING, help = one_of(ROWS.sampler.help(), Sampler::ALL.iter().map(|it| it.key())))]
    pub(super) sampling_method: Option<Sampler>,
    #[arg(long, value_name = "NAME", help_heading = SAMPLING, help = one_of(ROWS.scheduler.help(), Scheduler::ALL.iter().map(|it| it.key())))]
    pub(super) scheduler: Option<Scheduler>,
    /// Random number generator: cuda (as in A1111), cpu (as in ComfyUI, and A1111 with "RNG: CPU")
    /// or std_default (C++ library) [default: cuda]
    #[arg(long, value_name = "NAME", help_heading = SAMPLING)]
    pub(super) rng: Option<Rng>,
    /// Random number generator of the noise that samplers add [default: as --rng]
    #[arg(long, value_name = "NAME", help_heading = SAMPLING)]
    pub(super) sampler_rng: Option<Rng>,
    #[arg(long, value_name = "X", value_parser = finite, help_heading = SAMPLING, help = within(&ROWS.eta))]
    pub(super) eta: Option<f32>,
    #[arg(long, value_name = "X", value_parser = finite, help_heading = SAMPLING, help = within(&ROWS.flow_shift))]
    pub(super) flow_shift: Option<f32>,
    #[arg(long, value_name = "NAME", help_heading = SAMPLING, help = one_of(ROWS.prediction.help(), PredictionType::ALL.iter().map(|it| it.key())))]
    pub(super) prediction: Option<PredictionType>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = SAMPLING, help = within(&ROWS.clip_skip) + "; 0 or less uses the model's default")]
    pub(super) clip_skip: Option<i32>,
}

#[derive(Debug, Args)]
pub(super) struct InputFlags {
    /// Start picture for img2img (PNG, JPEG or WebP). May be repeated: pictures are made from each,
    /// with the same settings and seed; without --width and --height, each has its own shape
    #[arg(short, long, alias = "init", value_name = "IMAGE", help_heading = INPUTS)]
    pub(super) init_img: Vec<PathBuf>,
    /// Denoising strength, 0 to 1 [default: 0.75; 1 with --outpaint]
    #[arg(long, value_name = "X", value_parser = unit, requires = "init_img", help_heading = INPUTS)]
    pub(super) strength: Option<f32>,
    /// Inpainting mask: white is regenerated, black is kept. Several start pictures of one size may
    /// have the same mask
    #[arg(long, value_name = "IMAGE", requires = "init_img", help_heading = INPUTS)]
    pub(super) mask: Option<PathBuf>,
    /// Reference picture for edit models. May be repeated
    #[arg(short, long, value_name = "IMAGE", help_heading = INPUTS)]
    pub(super) ref_image: Vec<PathBuf>,
    /// Control picture for the ControlNet
    #[arg(long, value_name = "IMAGE", help_heading = INPUTS)]
    pub(super) control_image: Option<PathBuf>,
    /// ControlNet strength, 0 to 1
    #[arg(long, value_name = "X", default_value_t = ControlImage::USUAL_STRENGTH, value_parser = unit, requires = "control_image", help_heading = INPUTS)]
    pub(super) control_strength: f32,
    /// Part of the steps after which the ControlNet begins, 0 to 1
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = unit, requires = "control_image", help_heading = INPUTS)]
    pub(super) control_start: f32,
    /// Part of the steps after which the ControlNet ends, 0 to 1
    #[arg(long, value_name = "X", default_value_t = ControlImage::USUAL_END, value_parser = unit, requires = "control_image", help_heading = INPUTS)]
    pub(super) control_end: f32,
    #[arg(long, alias = "control-preprocessor", value_name = "NAME", requires = "control_image", help_heading = INPUTS, help = preprocessor_help())]
    pub(super) control_prepare: Option<Preprocessor>,
    /// Draw the outlines of the control picture first: --control-prepare canny
    #[arg(long, requires = "control_image", conflicts_with = "control_prepare", help_heading = INPUTS)]
    pub(super) canny: bool,
}

// What `DeviceFlags` has for batches has no effect on an upscaler.
#[derive(Debug, Args)]
pub(super) struct UpscaleDeviceFlags {
    /// Device on which the upscaler runs
    #[arg(long, value_name = "DEVICE", default_value = "", hide_default_value = true, help_heading = DEVICES)]
    pub(super) backend: String,
    /// Device that holds the upscaler's weights
    #[arg(long, value_name = "PLACE", default_value = "", hide_default_value = true, help_heading = DEVICES)]
    pub(super) params_backend: String,
    /// Keep weights in RAM: --params-backend '*=cpu'
    #[arg(long, help_heading = DEVICES)]
    pub(super) offload_to_cpu: bool,
    /// CPU threads; 0 or less: all cores, or all but one if there are more than four
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, help_heading = DEVICES)]
    pub(super) threads: Option<i32>,
    /// VRAM budget in GiB: 2 for every GPU, or cuda0=2; -1 leaves 1 GiB free
    #[arg(long, value_name = "GIB", default_value = "", hide_default_value = true, allow_hyphen_values = true, help_heading = DEVICES)]
    pub(super) max_vram: String,
    /// Stream layers that exceed the VRAM budget
    #[arg(long, help_heading = DEVICES)]
    pub(super) stream_layers: bool,
    // Refused with a sentence.
    #[arg(long, hide = true)]
    pub(super) split_batch: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct DeviceFlags {
    /// Devices on which modules run: one device, or a list such as all=cuda0,te=cpu
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, help_heading = DEVICES)]
    pub(super) backend: String,
    /// Devices that hold modules' weights: one device or disk, or a list such as
    /// diffusion=cpu,te=disk
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, help_heading = DEVICES)]
    pub(super) params_backend: String,
    /// VRAM budget in GiB: 6 for every GPU, or one for each device or module such as
    /// cuda0=6,te=2, where a module's name is never short for a device; -1 leaves 1 GiB free
    #[arg(long, value_name = "GIB", default_value = "", hide_default_value = true, allow_hyphen_values = true, help_heading = DEVICES)]
    pub(super) max_vram: String,
    /// Stream layers that exceed the VRAM budget: of the diffusion model, or of a list such as
    /// diffusion,te,vae
    #[arg(
        long,
        value_name = "MODULES",
        num_args = 0..=1,
        default_value = "",
        default_missing_value = "diffusion",
        hide_default_value = true,
        help_heading = DEVICES
    )]
    pub(super) stream_layers: ModuleSet,
    #[arg(long, help_heading = DEVICES, help = ROWS.memory_map.help())]
    pub(super) mmap: bool,
    /// Devices that share the pictures of a batch: modules on the first one run on each
    #[arg(long, value_name = "DEVICE,...", default_value = "", hide_default_value = true, help_heading = DEVICES)]
    pub(super) split_batch: String,
    /// Keep weights in RAM: --params-backend '*=cpu'
    #[arg(long, help_heading = DEVICES)]
    pub(super) offload_to_cpu: bool,
    /// CPU threads; 0 or less: all cores, or all but one if there are more than four
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, help_heading = DEVICES)]
    pub(super) threads: Option<i32>,
}

/// The placement flags of an early sd-cli that name one device for one module.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_field_names, reason = "the names of the flags")]
pub(super) struct ModuleDeviceFlags {
    /// Old form of --backend all=DEVICE
    #[arg(long, alias = "main_backend_device", value_name = "DEVICE", value_parser = one_device, hide_short_help = true, help_heading = DEVICES)]
    pub(super) main_backend_device: Option<String>,
    /// Old form of --backend diffusion=DEVICE
    #[arg(long, alias = "diffusion_backend_device", value_name = "DEVICE", value_parser = one_device, hide_short_help = true, help_heading = DEVICES)]
    pub(super) diffusion_backend_device: Option<String>,
    /// Old form of --backend te=DEVICE
    #[arg(long, alias = "clip_backend_device", value_name = "DEVICE", value_parser = one_device, hide_short_help = true, help_heading = DEVICES)]
    pub(super) clip_backend_device: Option<String>,
    /// Old form of --backend clip_vision=DEVICE
    #[arg(long, alias = "vision_backend_device", value_name = "DEVICE", value_parser = one_device, hide_short_help = true, help_heading = DEVICES)]
    pub(super) vision_backend_device: Option<String>,
    /// Old form of --backend tae=DEVICE
    #[arg(long, alias = "tae_backend_device", value_name = "DEVICE", value_parser = one_device, hide_short_help = true, help_heading = DEVICES, conflicts_with = "vae_backend_device")]
    pub(super) tae_backend_device: Option<String>,
    /// Old form of --backend vae=DEVICE
    #[arg(long, alias = "vae_backend_device", value_name = "DEVICE", value_parser = one_device, hide_short_help = true, help_heading = DEVICES)]
    pub(super) vae_backend_device: Option<String>,
    /// Old form of --backend controlnet=DEVICE
    #[arg(long, alias = "control_net_backend_device", value_name = "DEVICE", value_parser = one_device, hide_short_help = true, help_heading = DEVICES)]
    pub(super) control_net_backend_device: Option<String>,
    /// Old form of --backend photomaker=DEVICE
    #[arg(long, alias = "photomaker_backend_device", value_name = "DEVICE", value_parser = one_device, hide_short_help = true, help_heading = DEVICES)]
    pub(super) photomaker_backend_device: Option<String>,
    /// Old form of --backend upscaler=DEVICE
    #[arg(long, alias = "upscaler_backend_device", value_name = "DEVICE", value_parser = one_device, hide_short_help = true, help_heading = DEVICES)]
    pub(super) upscaler_backend_device: Option<String>,
}

impl ModuleDeviceFlags {
    /// The devices that were named, by the option.
    pub(super) fn by_option(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("--main-backend-device", &self.main_backend_device),
            ("--diffusion-backend-device", &self.diffusion_backend_device),
            ("--clip-backend-device", &self.clip_backend_device),
            ("--vision-backend-device", &self.vision_backend_device),
            ("--tae-backend-device", &self.tae_backend_device),
            ("--vae-backend-device", &self.vae_backend_device),
            ("--control-net-backend-device", &self.control_net_backend_device),
            ("--photomaker-backend-device", &self.photomaker_backend_device),
            ("--upscaler-backend-device", &self.upscaler_backend_device),
        ];
        all.into_iter().filter_map(|(option, device)| Some((option, device.as_deref()?)))
    }
}

// Apart from `DeviceFlags`: servers are no setting of a recipe, so they may stand beside
// `--from-command`.
#[derive(Debug, Args)]
pub(super) struct ServerFlags {
    /// Servers that lend devices (`atelier serve-device` or ggml's `rpc-server`), named RPC0,
    /// RPC1... in this order
    #[arg(long, alias = "rpc", value_name = "HOST:PORT,...", value_delimiter = ',', help_heading = DEVICES)]
    pub(super) rpc_servers: Vec<ServerAddress>,
}

#[derive(Debug, Args)]
pub(super) struct ModuleFlags {
    /// Decode in VAE tiles: less memory, a little slower
    #[arg(long, help_heading = DEVICES)]
    pub(super) vae_tiling: bool,
    #[arg(long, value_name = "N[xN]", help_heading = DEVICES, help = within(&ROWS.vae_tile_size))]
    pub(super) vae_tile_size: Option<TileSize>,
    /// Size of the VAE's tiles by that of the picture: 0.5 for half of it, 3x2 for so many tiles
    #[arg(long, value_name = "X[xY]", conflicts_with = "vae_tile_size", help_heading = DEVICES)]
    pub(super) vae_relative_tile_size: Option<RelativeTileSize>,
    #[arg(long, value_name = "X", value_parser = finite, help_heading = DEVICES, help = within(&ROWS.vae_tile_overlap))]
    pub(super) vae_tile_overlap: Option<f32>,
    /// Enable flash attention in the diffusion module (the default), even where it made
    /// single-colour pictures before
    #[arg(long, alias = "fa", overrides_with = "no_diffusion_fa", help_heading = DEVICES)]
    pub(super) diffusion_fa: bool,
    /// Scale the convolutions of SDXL's VAE, for pictures that come out black
    #[arg(long = "force-sdxl-vae-conv-scale", help_heading = DEVICES)]
    pub(super) vae_conv_scale: bool,
    /// Disable flash attention
    #[arg(long, overrides_with = "diffusion_fa", help_heading = DEVICES)]
    pub(super) no_diffusion_fa: bool,
    /// Old form of --backend te=cpu
    #[arg(long, help_heading = DEVICES)]
    pub(super) clip_on_cpu: bool,
    /// Old form of --backend vae=cpu
    #[arg(long, help_heading = DEVICES)]
    pub(super) vae_on_cpu: bool,
    /// Old form of --backend controlnet=cpu
    #[arg(long, help_heading = DEVICES)]
    pub(super) control_net_cpu: bool,
}

#[derive(Debug, Args)]
pub(super) struct ReportFlags {
    /// Print JSON to standard output, one line per event
    #[arg(long, help_heading = OUTPUT)]
    pub(super) json: bool,
    /// Print the engine's log
    #[arg(short, long, help_heading = OUTPUT)]
    pub(super) verbose: bool,
    /// Print what was copied to devices while they computed, and what was waited for
    #[arg(long, help_heading = OUTPUT)]
    pub(super) stream_profile: bool,
}

/// Flags of commands that print paths.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(super) struct PathFlags {
    /// End each path with NUL instead of a line break, unescaped, for "xargs -0"
    #[arg(short = '0', long, conflicts_with = "json", help_heading = OUTPUT)]
    pub(super) null: bool,
}

/// Flags of `upscale`.
#[derive(Debug, Args)]
pub struct UpscaleFlags {
    /// Upscaler (ESRGAN model): a file, or the ID of an upscaler in the library. The model sets the
    /// upscale factor
    #[arg(short, long, alias = "upscale-model", value_name = "ID|FILE")]
    pub(super) model: PathBuf,
    /// Allow a model that is a pickle file (.pth). Pickle files can execute code: use this only if
    /// you trust the author
    #[arg(long)]
    pub(super) allow_pickle: bool,
    /// Picture to upscale (PNG, JPEG or WebP)
    #[arg(short, long, aliases = ["init", "init-img"], value_name = "IMAGE")]
    pub(super) input: PathBuf,
    /// Output PNG file
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) devices: UpscaleDeviceFlags,
    #[command(flatten)]
    pub(super) module_devices: ModuleDeviceFlags,
    #[command(flatten)]
    pub(super) servers: ServerFlags,
    #[command(flatten)]
    pub(super) library: LibraryFlags,
    #[command(flatten)]
    pub(super) report: ReportFlags,
    #[command(flatten)]
    pub(super) paths: PathFlags,
}

/// Flags of `plan`.
#[derive(Debug, Args)]
pub struct PlanFlags {
    /// Prompt; a long prompt may take more memory
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, default_value = "", hide_default_value = true, help_heading = PICTURE)]
    pub(super) prompt: String,
    /// Negative prompt: what the picture does not show
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, default_value = "", hide_default_value = true, help_heading = PICTURE)]
    pub(super) negative_prompt: String,
    #[command(flatten)]
    pub(super) files: PromptFileFlags,
    #[arg(short = 'W', long, value_name = "PIXELS", help_heading = PICTURE, help = suits(&ROWS.width, Recipe::default().width))]
    pub(super) width: Option<u32>,
    #[arg(short = 'H', long, value_name = "PIXELS", help_heading = PICTURE, help = suits(&ROWS.height, Recipe::default().height))]
    pub(super) height: Option<u32>,
    #[command(flatten)]
    pub(super) common: CommonFlags,
    /// Print JSON to standard output, one line
    #[arg(long, help_heading = OUTPUT)]
    pub(super) json: bool,
}

/// Flags of `inspect`.
#[derive(Debug, Args)]
pub struct InspectFlags {
    /// Picture files (PNG, JPEG or WebP)
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Print JSON to standard output, one line per file
    #[arg(long)]
    pub(super) json: bool,
    /// Search pictures without metadata for text hidden in their pixels (stealth metadata)
    #[arg(long)]
    pub(super) stealth: bool,
}

/// Flags of `devices`.
#[derive(Debug, Args)]
pub struct DevicesFlags {
    /// Print JSON to standard output, one line
    #[arg(long)]
    pub(super) json: bool,
    /// Benchmark the devices, a few seconds each; time estimates use the result
    #[arg(long)]
    pub(super) measure: bool,
    /// CPU threads for the benchmark; 0 or less: all cores, or all but one if there are more than
    /// four
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, requires = "measure")]
    pub(super) threads: Option<i32>,
    #[command(flatten)]
    pub(super) servers: ServerFlags,
}

/// Flags of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorFlags {
    /// Print JSON to standard output, one object per line
    #[arg(long)]
    pub(super) json: bool,
    /// Also verify checksums of downloaded models; this may take minutes
    #[arg(long)]
    pub(super) sums: bool,
}

/// Only Linux confines the process that lends, where its kernel can; the first lines of a lender
/// say whether it does.
const ALLOW_NETWORK: &str = if cfg!(target_os = "linux") {
    "Let other machines connect: no encryption, no login; where this system does not confine the lender, as it says when it starts, whoever \
     connects could take over this account"
} else {
    "Let other machines connect: no encryption, no login, and whoever connects could take over this account"
};

/// Flags of `serve-device`.
#[derive(Debug, Args)]
pub struct ServeFlags {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(super) host: String,
    /// Port to listen on; 0 picks a free port
    #[arg(long, value_name = "N", default_value_t = DEFAULT_PORT)]
    pub(super) port: u16,
    /// Device to lend. May be repeated [default: every GPU, or the CPU if there is none]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) device: Vec<String>,
    /// Cache folder for large weights, so that each is sent only once; safe to empty at any time
    #[arg(long, value_name = "DIR")]
    pub(super) cache: Option<PathBuf>,
    /// Size limit of the cache folder in GiB; least recently used weights are removed first
    #[arg(long, value_name = "GIB", default_value_t = 32)]
    pub(super) cache_limit: u32,
    /// Memory limit in GiB for all lent devices together
    #[arg(long, value_name = "GIB", value_parser = gib)]
    pub(super) memory: Option<u64>,
    #[arg(long, help = ALLOW_NETWORK)]
    pub(super) allow_network: bool,
    /// CPU threads; 0 or less: all cores, or all but one if there are more than four
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    pub(super) threads: Option<i32>,
}

fn preprocessor_help() -> String {
    let names = Preprocessor::ALL.iter().map(|it| it.key()).collect::<Vec<_>>().join(", ");
    format!("Make outlines or the like of the control picture first: {names} [default: use it as it is]")
}

fn one_of<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> String {
    format!("{what}: {} [default: the model's own]", names.collect::<Vec<_>>().join(", "))
}

/// The help of a flag with limits; values beyond them are brought to the nearest one with a note.
fn within<T: Display>(row: &Row<RangeInclusive<T>>) -> String {
    format!("{}, {} to {}", row.help(), row.limits.start(), row.limits.end())
}

/// The help of a flag whose default depends on the model.
fn suits<T: Display>(row: &Row<RangeInclusive<T>>, usual: T) -> String {
    format!("{} [default: {usual}, or what suits the built-in model]", within(row))
}

#[cfg(test)]
mod tests {
    use atelier_core::recipe::Seed;
    use atelier_core::sd_cli::NoSetting;
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn clap_finds_no_contradiction() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_names_every_arithmetic() {
        let command = Cli::command();
        let help = command.get_arguments().find(|it| it.get_id() == "cpu_math").and_then(clap::Arg::get_help).unwrap().to_string();
        assert!(CpuMath::ALL.iter().all(|math| help.contains(math.name())), "{help}");
    }

    #[test]
    fn of_a_flag_that_is_given_twice_the_last_one_counts_and_lists_go_on() {
        let args =
            ["atelier", "generate", "-p", "x", "--seed", "7", "-W", "64", "-s", "8", "--width", "128", "--lora", "a", "--lora", "b:0.5"];
        let Ok(Cli { command: Some(Command::Generate(flags)), .. }) = Cli::try_parse_from(args) else { panic!() };
        assert_eq!((flags.picture.seed, flags.picture.width), (Some(SeedNumber(Some(Seed(8)))), Some(128)));
        assert_eq!(flags.common.model.lora.len(), 2);
        let args = ["atelier", "generate", "-p", "x", "-i", "a.png", "--init", "b.png", "--mask", "m.png", "--mask", "n.png"];
        let Ok(Cli { command: Some(Command::Generate(flags)), .. }) = Cli::try_parse_from(args) else { panic!() };
        assert_eq!(flags.common.inputs.init_img, ["a.png", "b.png"].map(PathBuf::from));
        assert_eq!(flags.common.inputs.mask, Some("n.png".into()));
        let args = ["atelier", "upscale", "-m", "a.pth", "-i", "a.png", "-o", "b.png", "-o", "c.png"];
        let Ok(Cli { command: Some(Command::Upscale(flags)), .. }) = Cli::try_parse_from(args) else { panic!() };
        assert_eq!(flags.output, PathBuf::from("c.png"));
    }

    #[test]
    fn generate_has_each_option_of_sd_cli_or_says_what_does_its_work() {
        let mut command = Cli::command();
        command.build();
        let generate = command.find_subcommand("generate").unwrap();
        let mut names = Vec::new();
        for flag in generate.get_arguments() {
            names.extend(flag.get_long_and_visible_aliases().unwrap_or_default().into_iter().map(|name| format!("--{name}")));
            names.extend(flag.get_all_aliases().unwrap_or_default().into_iter().map(|name| format!("--{name}")));
            names.extend(flag.get_short().map(|name| format!("-{name}")));
        }
        let list = include_str!("../../../crates/core/src/sd_cli/options.txt").lines().filter(|line| !line.starts_with('#'));
        for name in list.flat_map(str::split_whitespace).filter(|word| word.starts_with('-')) {
            let is_known = names.iter().any(|own| own == name);
            assert!(is_known || NoSetting::named(name).is_some(), "{name} is no flag of generate, and has no reason in NoSetting::ALL");
        }
    }

    #[test]
    fn help_and_height_are_told_apart() {
        let read = |args: &[&str]| Cli::try_parse_from([&["atelier", "generate"], args].concat());
        assert_eq!(read(&["-h"]).unwrap_err().kind(), clap::error::ErrorKind::DisplayHelp);
        let Ok(Cli { command: Some(Command::Generate(flags)), .. }) = read(&["-p", "x", "-H", "640", "-W", "320"]) else { panic!() };
        assert_eq!((flags.picture.width, flags.picture.height), (Some(320), Some(640)));
    }
}
