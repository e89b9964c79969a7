use crate::canvas::{AreaSettings, Borders, StartFit};
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::placement::ModuleSet;
use crate::recipe::{
    CacheMode, ControlImage, GuidanceRange, Hires, ImageSource, InitImage, LatentUpscaler, Lora, LoraMode, Person, PlacementText,
    PredictionType, Preprocessor, Rgb8, Rng, Sampler, Scheduler, Seed, SeedBlend, SkipLayers, StepCache, TensorType, TileSize, Upscale,
    VaeFormat,
};
use crate::words::Prompt;

mod options;

fn pasted(line: &str) -> ParsedCommand {
    read(line).unwrap()
}

fn left_out(line: &str) -> Vec<String> {
    pasted(line).left_out.iter().map(ToString::to_string).collect()
}

#[test]
fn the_device_flags_of_an_early_sd_cli_are_a_placement() {
    let it = pasted(
        "sd -m m -p x --main-backend-device cuda0 --clip_backend_device CPU --diffusion_backend_device=cuda1 --vae-backend-device rpc0 \
         --control-net-backend-device cpu --photomaker-backend-device cpu --vision-backend-device cpu --upscaler-backend-device cpu \
         --tae-backend-device cuda3 --backend diffusion=vulkan0",
    );
    assert_eq!(
        it.recipe.placement.backend,
        "all=cuda0,diffusion=cuda1,te=CPU,clip_vision=cpu,vae=cuda3,vae=rpc0,controlnet=cpu,photomaker=cpu,upscaler=cpu,diffusion=vulkan0"
    );
    assert!(it.left_out.is_empty(), "{:?}", it.left_out);
    let notes = left_out("sd -p x --rpc 192.168.1.20:50052 --list-devices --vae-backend-device cuda0,te=cpu --main-backend-device");
    assert_eq!(notes.len(), 4, "{notes:?}");
    assert!(notes[0].starts_with("--rpc 192.168.1.20:50052: servers are not part of a recipe"), "{notes:?}");
    assert!(notes[1].starts_with("--list-devices: it lists devices"), "{notes:?}");
    assert!(notes[2].contains("is not one device") && notes[3].contains("a value is missing"), "{notes:?}");
}

#[test]
fn a_whole_command_becomes_a_recipe() {
    let it = pasted(
        "./bin/sd-cli --diffusion-model z_image_turbo-Q3_K.gguf --vae ae.safetensors --llm Qwen3-4B.gguf -p 'a \"red\" lake <lora:ink:0.8>' \
         -n fog --cfg-scale 1.0 --steps 8 -W 1024 -H 512 -s 7 -b 2 --sampling-method euler_a --scheduler karras --flow-shift 3 --eta 0.5 \
         --guidance 4 --clip-skip 2 -i in.png --strength 0.4 --mask m.png -r a.png -r b.png --control-net cn --control-image c.png \
         --lora-model-dir /loras --lora-apply-mode at_runtime -M img_gen -t 4 --diffusion-fa --vae-tiling --vae-tile-size 16x16 --vae-tile-overlap 0.25 --offload-to-cpu --clip-on-cpu \
         --params-backend te=disk --max-vram cuda0=6 --stream-layers",
    );
    let image = |name: &str| ImageSource::File(name.into());
    let mut expected = Recipe {
        prompt: "a \"red\" lake".into(),
        negative_prompt: "fog".into(),
        width: 1024,
        height: 512,
        steps: 8,
        guidance: 1.0,
        distilled_guidance: 4.0,
        sampler: Some(Sampler::EulerA),
        scheduler: Some(Scheduler::Karras),
        eta: Some(0.5),
        flow_shift: Some(3.0),
        clip_skip: Some(2),
        seed: Some(Seed(7)),
        batch_count: 2,
        vae_tiling: true,
        vae_tile_size: Some(TileSize::square(16)),
        vae_tile_overlap: Some(0.25),
        flash_attention: true,
        insists_on_flash_attention: true,
        init: Some(InitImage { image: image("in.png"), strength: 0.4 }),
        mask: Some(image("m.png")),
        reference_images: vec![image("a.png"), image("b.png")],
        control: Some(ControlImage::with_strength(image("c.png"), 0.9)),
        loras: vec![Lora::new("/loras/ink.safetensors".into(), 0.8)],
        lora_mode: LoraMode::AtRuntime,
        placement: PlacementText {
            backend: "te=cpu".into(),
            params_backend: "*=cpu,te=disk".into(),
            max_vram: "cuda0=6".into(),
            stream_layers: ModuleSet::DIFFUSION,
            ..PlacementText::default()
        },
        threads: Some(4),
        ..Recipe::default()
    };
    expected.files.set(FileRole::Diffusion, "z_image_turbo-Q3_K.gguf");
    expected.files.set(FileRole::Vae, "ae.safetensors");
    expected.files.set(FileRole::Llm, "Qwen3-4B.gguf");
    expected.files.set(FileRole::Controlnet, "cn");
    assert_eq!(it.recipe, expected);
    let only = "<lora:ink:0.8>: the file is taken to be ink.safetensors";
    assert_eq!(it.left_out.iter().map(ToString::to_string).collect::<Vec<_>>(), [only]);
}

#[test]
fn outlines_of_a_control_picture_are_asked_for_as_sd_cli_does() {
    let control = pasted("sd -m m --control-net c --control-image a.png --canny").recipe.control.unwrap();
    assert_eq!((control.preprocessor, control.strength), (Some(Preprocessor::Canny), 0.9));
    assert_eq!(left_out("sd -m m --canny"), ["--canny: there is no control picture"]);
    let over = |line: &str, control: ControlImage| read_over(line, Recipe { control: Some(control), ..Recipe::default() }).unwrap().recipe;
    let before = ControlImage { end: 0.5, ..ControlImage::with_strength(ImageSource::File("a.png".into()), 0.4) };
    let after = over("sd --control-image b.png --canny", before.clone()).control.unwrap();
    assert_eq!((after.strength, after.end, after.preprocessor), (0.4, 0.5, Some(Preprocessor::Canny)));
    let written = write(&Recipe { control: Some(ControlImage { preprocessor: Some(Preprocessor::Tile), ..before }), ..Recipe::default() });
    assert_eq!(written.left_out.len(), 2, "{written:?}");
}

#[test]
fn what_a_command_does_not_say_is_as_sd_cli_has_it() {
    let it = pasted("sd -m m.gguf -p x").recipe;
    assert_eq!((it.seed, it.flash_attention, it.width, it.steps, it.guidance), (Some(Seed(42)), false, 512, 20, 7.0));
    assert_eq!(pasted("sd -p x -i a.png").recipe.init.map(|init| init.strength), Some(0.75));
}

#[test]
fn what_a_model_reads_in_its_prompt_is_written_there_and_another_model_reads_it_in_its_own_way() {
    let recipe = Recipe { prompt: "a lake".into(), negative_prompt: "the sun".into(), negative_in_prompt: true, ..Recipe::default() };
    let line = write(&recipe).line;
    assert!(line.contains("'a lake, without the sun'") && !line.contains("--negative-prompt"), "{line}");
    assert!(read_over("sd -n fog", recipe.clone()).unwrap().recipe.negative_in_prompt);
    assert!(!read_over("sd -m other", recipe).unwrap().recipe.negative_in_prompt);
}

#[test]
fn a_vae_tile_has_two_sides() {
    let it = pasted("sd -m m --vae-tile-size 32x48");
    assert_eq!((it.recipe.vae_tile_size, it.left_out.len()), (Some(TileSize { width: 32, height: 48 }), 0));
    assert!(write(&it.recipe).line.contains("--vae-tile-size 32x48"));
    // The engine's own side has no number.
    let size = |text: &str| pasted(&format!("sd -m m --vae-tile-size {text}")).recipe.vae_tile_size;
    assert_eq!((size("0"), size("24"), size("0x8")), (None, Some(TileSize::square(24)), Some(TileSize { width: 32, height: 8 })));
    assert!(it.recipe.vae_tile_overlap.is_none() && pasted("sd -m m --vae-tile-size small").recipe.vae_tile_size.is_none());
}

#[test]
fn a_vae_tile_may_be_a_part_of_the_picture_or_one_of_several() {
    let sides_with = |latent_pixels: u32, options: &str| {
        let ParsedCommand { mut recipe, relative_tile_size, .. } = pasted(&format!("sd -m m -W 1024 -H 768 {options}"));
        recipe.set_relative_vae_tiles(relative_tile_size.unwrap().parts(), latent_pixels);
        let size = recipe.vae_tile_size.unwrap();
        (size.width, size.height)
    };
    let sides = |options: &str| sides_with(8, options);
    assert_eq!(sides("--vae-relative-tile-size 0.5"), (64, 48));
    assert_eq!(sides("--vae-relative-tile-size 0.25x0.5"), (32, 48));
    // Three of them, each of which covers half of its neighbour.
    assert_eq!(sides("--vae-relative-tile-size 3"), (64, 48));
    assert_eq!(sides("--vae-relative-tile-size 3 --vae-tile-overlap 0"), (43, 32));
    assert_eq!(sides("--vae-tile-size 24 --vae-relative-tile-size 0"), (24, 24));
    assert_eq!(sides("--vae-tile-size 24x16 --vae-relative-tile-size 0x0.5"), (24, 48));
    assert_eq!(sides("--hires --hires-scale 2 --vae-relative-tile-size 0.5"), (128, 96));
    // Fewer values of more pixels.
    assert_eq!(sides_with(16, "--vae-relative-tile-size 0.5x3"), (32, 24));
    assert_eq!(pasted("sd -m m --vae-relative-tile-size 0.5").recipe.vae_tile_size, None, "the model is not known here");
}

#[test]
fn over_a_recipe_a_command_changes_only_what_it_names() {
    let mut recipe = Recipe {
        prompt: "a lake".into(),
        negative_prompt: "fog".into(),
        width: 1024,
        steps: 8,
        guidance: 1.0,
        seed: Some(Seed(7)),
        insists_on_flash_attention: true,
        init: Some(InitImage { image: ImageSource::File("in.png".into()), strength: 0.4 }),
        loras: vec![Lora::new("ink.safetensors".into(), 0.5)],
        placement: PlacementText { backend: "all=CUDA0".into(), max_vram: "6".into(), ..PlacementText::default() },
        threads: Some(3),
        ..Recipe::default()
    };
    for role in [FileRole::Diffusion, FileRole::Llm, FileRole::Vae] {
        recipe.files.set(role, format!("/m/{}", role.key()));
    }
    let over = |line: &str| read_over(line, recipe.clone()).unwrap();
    let changed = |line: &str| crate::recipe::changed_settings(&recipe, &over(line).recipe);

    assert_eq!(changed("sd --backend te=cpu --params-backend disk --stream-layers"), ["placement"]);
    let streamed = |line: &str| (over(line).recipe.placement.stream_layers.to_string(), over(line).left_out.len());
    for (line, modules, left_out) in [
        ("--stream-layers", "diffusion", 0),
        ("--stream-layers -W 512", "diffusion", 0),
        ("--stream-layers te.t5,vae -W 512", "te.t5,vae", 0),
        ("--stream-layers=te", "te", 0),
        ("--stream-layers lake", "diffusion", 1),
        ("--stream-layers=lake", "diffusion", 1),
    ] {
        assert_eq!(streamed(line), (modules.to_owned(), left_out), "{line}");
    }
    assert_eq!(over("--params-backend disk").recipe.placement.backend, "all=CUDA0");
    assert_eq!(over("--clip-on-cpu").recipe.placement.backend, "all=CUDA0,te=cpu", "the old flags name one module");
    assert_eq!(changed("-W 512 --steps 9"), ["size", "steps"]);
    assert_eq!(changed("-p 'a fox'"), ["prompt"]);
    assert_eq!(changed("-p 'a fox <lora:/l/oil.gguf:1>'"), ["prompt", "LoRAs"]);
    assert_eq!(over("-p 'a fox <lora:/l/oil.gguf:1>'").recipe.loras, [Lora::new("/l/oil.gguf".into(), 1.0)]);
    assert_eq!(over("-i other.png").recipe.init.map(|init| init.strength), Some(0.4));
    assert_eq!(over("--strength 0.6").recipe.init.map(|init| init.strength), Some(0.6));
    assert_eq!(changed("--vae /m/other"), ["model"]);
    assert_eq!(over("--vae /m/other").recipe.files.get(FileRole::Llm), Some(std::path::Path::new("/m/llm")));
    let whole = over("sd -m /m/sd15.safetensors -p 'a fox'").recipe;
    assert_eq!(whole.files.iter().collect::<Vec<_>>(), [(FileRole::Model, std::path::Path::new("/m/sd15.safetensors"))]);
    assert!(whole.loras.is_empty(), "they were made for another model");
    let same = Recipe { loras: Vec::new(), init: None, ..recipe.clone() };
    assert_eq!(read_over(&write(&same).line, recipe.clone()).unwrap().recipe, Recipe { init: recipe.init.clone(), ..same });
}

#[test]
fn what_guides_and_shortens_the_sampling_is_read_in_any_order() {
    let line = "sd -m m --skip-layers [7,8] --cache-option threshold=0.3 --slg-scale 2 --cache-mode ucache --hires-steps 9 --hires \
                --hires-upscaler Lanczos --hires-scale 1.5 --sampler-rng cpu --sigmas 14.6,3,0 --embd-dir e";
    let ParsedCommand { recipe, embeddings_folder, left_out: left, .. } = pasted(line);
    assert_eq!(left, []);
    assert_eq!(recipe.skip_layers, Some(SkipLayers { scale: 2.0, layers: vec![7, 8], ..SkipLayers::default() }));
    assert_eq!(recipe.step_cache.map(|cache| (cache.mode, cache.options_text())), Some((CacheMode::UCache, "threshold=0.3".to_owned())));
    assert_eq!(recipe.hires.map(|hires| (hires.scale, hires.strength, hires.steps)), Some((1.5, 0.7, Some(9))));
    assert_eq!((recipe.sampler_rng, recipe.sigmas, embeddings_folder), (Some(Rng::Cpu), vec![14.6, 3.0, 0.0], Some("e".into())));
    assert_eq!(left_out("sd -m m --skip-layers 7"), ["--skip-layers: without --slg-scale it has no effect"]);
    let written = write(&Recipe { skip_layers: Some(SkipLayers::default()), ..Recipe::default() });
    assert!(written.line.contains("--skip-layers '[7,8,9]' "), "it takes no list without brackets: {}", written.line);
    assert_eq!(left_out("sd -m m --scm-mask 1,0"), ["--scm-mask: without --cache-mode it has no effect"]);
    assert_eq!(left_out("sd -m m --cache-mode fast").len(), 1);
}

#[test]
fn a_second_pass_is_as_sd_cli_has_it() {
    let hires = |line: &str| pasted(&format!("sd -m m --hires {line}")).recipe.hires.unwrap();
    let usual = hires("");
    assert_eq!((usual.scale, usual.strength, usual.latent), (2.0, 0.7, Some(LatentUpscaler::Linear)));
    let own = hires("--hires-width 1024 --hires-height 768 --hires-sigmas [3.5,1,0] --hires-upscaler 'Latent (bicubic)'");
    assert_eq!((own.target, own.sigmas, own.latent), (Some((1024, 768)), vec![3.5, 1.0, 0.0], Some(LatentUpscaler::Bicubic)));
    assert_eq!(hires("--hires-height 640").target, Some((640, 640)), "one side is both");
    let model = hires("--hires-upscalers-dir /up --hires-upscaler x4.pth");
    assert_eq!((model.upscaler, model.latent), (Some("/up/x4.pth".into()), None));
    assert_eq!(pasted("sd -m m --hires --hires-upscaler None").recipe.hires, None);
    assert_eq!(left_out("sd -m m --hires --hires-upscaler Nearest").len(), 1);
    assert_eq!(left_out("sd -m m --hires-width 640").len(), 1, "without --hires");
    let hires = Hires { target: Some((640, 512)), sigmas: vec![2.0, 0.0], latent: Some(LatentUpscaler::Nearest), ..Hires::default() };
    for hires in [hires.clone(), Hires { target: None, scale: 1.5, steps: Some(7), sigmas: Vec::new(), ..hires }] {
        let recipe = Recipe { hires: Some(hires), ..Recipe::default() };
        let written = write(&recipe);
        assert_eq!((written.left_out.len(), pasted(&written.line).recipe.hires), (0, recipe.hires), "{}", written.line);
    }
    let recipe = Recipe { hires: Some(Hires { upscaler: Some("/up/x2.safetensors".into()), ..Hires::default() }), ..Recipe::default() };
    let written = write(&recipe);
    assert!(written.line.contains("--hires-upscalers-dir /up --hires-upscaler x2 "), "without its ending: {}", written.line);
    assert_eq!((written.left_out.len(), pasted(&written.line).recipe.hires), (1, recipe.hires));
}

#[test]
fn nothing_is_dropped_silently() {
    let reasons = left_out(
        "CUDA=1 sd-cli stray -m m --color --fps 9 --shiny bright --glow --steps many -W 0 -s 18446744073709551616 --backend te= --max-vram six --pm-style-strength 101 -o out.png \
         --rpc-servers localhost:50052 --strength 0.5 --control-strength 1 --fa -M vid_gen --seed",
    );
    let begins = [
        "CUDA=1: not part of any option",
        "sd-cli: not part of any option",
        "stray: not part of any option",
        "--fps 9: Atelier makes no videos",
        "--shiny bright: unknown option",
        "--glow: unknown option",
        "--steps many: write a whole number above 0",
        "-W 0: write a whole number above 0",
        "-s 18446744073709551616: write a whole number up to 18446744073709551615",
        "--backend te=: \"te=\" does not name a module",
        "--max-vram six: \"six\" is not a budget",
        "--pm-style-strength 101: write a number from 0 to 100",
        "--rpc-servers localhost:50052: servers are not part of a recipe",
        "-M vid_gen: Atelier makes no videos",
        "--seed: a value is missing",
        "--strength: there is no start picture",
        "--control-strength: there is no control picture",
    ];
    assert_eq!(reasons.len(), begins.len(), "{reasons:#?}");
    for (reasons, begin) in reasons.iter().zip(begins) {
        assert!(reasons.starts_with(begin), "{reasons} / {begin}");
    }
    assert_eq!(left_out("sd -p '<lora:|high_noise|x:1>' -m m"), ["<lora:|high_noise|x:1>: Atelier makes no videos"]);
    assert_eq!(left_out("sd -m m --vae v --tae t").len(), 1);
    assert_eq!(left_out("sd -m m --vae v --tae t --taesd-preview-only"), Vec::<String>::new());
    let everywhere = pasted("sd -m m --fa").recipe;
    assert!(everywhere.flash_attention && everywhere.insists_on_flash_attention, "it was asked for");
}

#[test]
fn of_several_start_pictures_the_last_counts_and_the_others_are_told() {
    let it = pasted("sd -m m -p x -i a.png --init-img=b.png --strength 0.4 -i c.png");
    assert_eq!(it.recipe.init, Some(InitImage { image: ImageSource::File("c.png".into()), strength: 0.4 }));
    let told: Vec<String> = it.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["--init-img a.png: a later start picture replaces it", "--init-img b.png: a later start picture replaces it"]);
    // Over settings with further ones, the command's is the only one.
    let several = Recipe { further_starts: vec![ImageSource::File("e.png".into())], ..it.recipe };
    assert_eq!(read_over("sd -i d.png", several.clone()).unwrap().recipe.further_starts, []);
    assert_eq!(read_over("sd --steps 3", several.clone()).unwrap().recipe.further_starts, several.further_starts);
}

/// A recipe in which no setting is what sd-cli has by itself.
fn varied() -> Recipe {
    let image = |name: &str| ImageSource::File(name.into());
    let mut recipe = Recipe {
        files: [(FileRole::Diffusion, "d.gguf"), (FileRole::Vae, "v.gguf")]
            .map(|(role, path)| (role, PathBuf::from(path)))
            .into_iter()
            .collect(),
        prompt: "a \"lake\"".into(),
        negative_prompt: "fog".into(),
        negative_in_prompt: true,
        template: "a {lake|sea}".into(),
        words_seed: Some(Seed(8)),
        width: 640,
        height: 384,
        steps: 9,
        guidance: 3.0,
        guidance_ranges: vec![GuidanceRange { guidance: 2.0, start: 0.25, end: 0.75 }],
        distilled_guidance: 4.0,
        sampler: Some(Sampler::Lcm),
        scheduler: Some(Scheduler::Karras),
        eta: Some(0.5),
        flow_shift: Some(3.0),
        prediction: Some(PredictionType::V),
        image_guidance: Some(1.5),
        skip_layers: Some(SkipLayers { scale: 2.0, start: 0.1, end: 0.5, layers: vec![7, 9] }),
        sigmas: vec![14.0, 1.0, 0.0],
        timestep_shift: Some(250),
        sampler_arguments: "apg_eta=1".into(),
        seamless_x: true,
        seamless_y: true,
        step_cache: Some(StepCache { mask: vec![true, false], is_mask_static: true, ..StepCache::of(CacheMode::CacheDit) }),
        clip_skip: Some(2),
        seed: Some(Seed(7)),
        seed_blend: Some(SeedBlend { seed: Seed(9), amount: 0.5 }),
        rng: Rng::Cpu,
        sampler_rng: Some(Rng::Cuda),
        batch_count: 3,
        vae_tiling: true,
        vae_tile_size: Some(TileSize::square(16)),
        vae_tile_overlap: Some(0.25),
        flash_attention: true,
        insists_on_flash_attention: true,
        vae_conv_scale: true,
        zero_cond_t: true,
        chroma_dit_mask: false,
        chroma_t5_mask: true,
        chroma_t5_padding: 3,
        vae_format: Some(VaeFormat::Sd3),
        weight_type: Some(TensorType::Q8_0),
        tensor_type_rules: "^vae=f16".parse().unwrap(),
        init: Some(InitImage { image: image("i.png"), strength: 0.5 }),
        mask: Some(image("m.png")),
        further_starts: vec![image("i2.png")],
        start_fit: StartFit::Stretch,
        area: Some(AreaSettings::default()),
        outpaint: Some(Borders { left: 64, ..Borders::default() }),
        hires: Some(Hires {
            strength: 0.5,
            target: Some((1280, 768)),
            steps: Some(5),
            sigmas: vec![3.0, 0.0],
            latent: Some(LatentUpscaler::Bicubic),
            ..Hires::default()
        }),
        upscale: Some(Upscale { repeats: 2, tile_size: Some(64), ..Upscale::by("x4.gguf".into()) }),
        earlier_steps: Recipe::default().steps_until(2, None),
        last_step: Some(3),
        reference_images: vec![image("r.png")],
        resize_references: false,
        number_references: true,
        control: Some(ControlImage { strength: 0.5, preprocessor: Some(Preprocessor::Canny), ..ControlImage::new(image("c.png")) }),
        person: Person { style_strength: 30.0, id_embedding: Some("ids.bin".into()), ..Person::default() },
        loras: vec![Lora::new("l/ink.gguf".into(), 0.5)],
        lora_mode: LoraMode::Immediately,
        disabled_loras: vec![Lora::new("oil.gguf".into(), 0.5)],
        embeddings: vec!["fog.gguf".into()],
        placement: PlacementText {
            backend: "te=cpu".into(),
            max_vram: "6".into(),
            stream_layers: ModuleSet::DIFFUSION,
            ..PlacementText::default()
        },
        memory_map: true,
        threads: Some(4),
    };
    recipe.files.set(FileRole::Photomaker, "p.gguf");
    recipe
}

/// Each setting by itself, written as a command and read again.
#[test]
fn every_setting_comes_back_from_a_command_or_is_told() {
    /// sd-cli has nothing like them.
    const TOLD: [&str; 7] = ["seed_blend", "further_starts", "area", "outpaint", "earlier_steps", "last_step", "guidance_ranges"];
    /// They say nothing of a picture by themselves: what a person may want, where files lie, what
    /// follows from another setting.
    const SILENT: [&str; 6] =
        ["disabled_loras", "embeddings", "insists_on_flash_attention", "negative_in_prompt", "template", "words_seed"];
    let fields = |recipe: &Recipe| serde_json::to_value(recipe).unwrap().as_object().unwrap().clone();
    // With a PhotoMaker the mode of LoRAs is always written.
    let base = Recipe { files: varied().files, lora_mode: LoraMode::AtRuntime, ..defaults() };
    for (key, value) in fields(&varied()) {
        let mut with = fields(&base);
        // What has no effect without another one is there with it.
        for (dependent, on) in [("lora_mode", "loras"), ("start_fit", "init"), ("area", "init"), ("outpaint", "init")] {
            if key == dependent {
                with.insert(on.to_owned(), fields(&varied())[on].clone());
            }
        }
        // What a command says of both of them.
        for (one, other) in [("loras", "lora_mode"), ("flash_attention", "insists_on_flash_attention")] {
            if key == one {
                with.insert(other.to_owned(), fields(&varied())[other].clone());
            }
        }
        let before: Recipe = serde_json::from_value(with.clone().into()).unwrap();
        with.insert(key.clone(), value);
        let recipe: Recipe = serde_json::from_value(with.into()).unwrap();
        assert!(key == "files" || recipe != before, "{key} is not varied");
        let (written, told_before) = (write(&recipe), write(&before).left_out);
        let back = read(&written.line).unwrap();
        if TOLD.contains(&key.as_str()) || key == "start_fit" {
            assert!(written.left_out.len() > told_before.len(), "{key}: {written:?}");
        } else if SILENT.contains(&key.as_str()) {
            assert_eq!(back.recipe, read(&write(&before).line).unwrap().recipe, "{key}: {written:?}");
        } else {
            assert_eq!(back.recipe, recipe, "{key}: {written:?}");
            assert_eq!((back.left_out, written.left_out), (Vec::new(), told_before), "{key}");
        }
    }
}

#[test]
fn how_a_model_is_opened_is_read() {
    let line = "sd -m m --type q8_0 --tensor-type-rules '^vae\\.=f16' --mmap --uncond-diffusion-model u --vae-format sd3";
    let it = pasted(line);
    assert_eq!(it.left_out, []);
    assert_eq!((it.recipe.weight_type, it.recipe.memory_map), (Some(TensorType::Q8_0), true));
    assert_eq!((it.recipe.tensor_type_rules.to_string().as_str(), it.recipe.vae_format), ("^vae\\.=f16", Some(VaeFormat::Sd3)));
    assert_eq!(it.recipe.files.get(FileRole::UncondDiffusion), Some(std::path::Path::new("u")));
    assert_eq!(pasted("sd -m m --vae-format auto").recipe.vae_format, None);
    let left_out = |line: &str| pasted(line).left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    assert!(left_out("sd -m m --type q9").contains("there is no \"q9\"; choose one of f32, f16"), "{}", left_out("sd -m m --type q9"));
    assert!(left_out("sd -m m --vae-format sd9").contains("flux"), "{}", left_out("sd -m m --vae-format sd9"));
    assert!(left_out("sd -m m --tensor-type-rules 'a=q8_0,b'").contains("\"b\" is not a rule"));
}

#[test]
fn pictures_of_a_person_are_named_by_their_folder() {
    let it = pasted("sd -m xl --photo-maker pm -p 'a woman img' --pm-id-images-dir ann --pm-id-embed-path ids.bin --pm-style-strength 30");
    assert_eq!(it.left_out, []);
    assert_eq!(it.person_folder, Some("ann".into()));
    assert_eq!(it.recipe.files.get(FileRole::Photomaker), Some(std::path::Path::new("pm")));
    assert_eq!(it.recipe.person, Person { images: Vec::new(), style_strength: 30.0, id_embedding: Some("ids.bin".into()) });

    let mut recipe = it.recipe;
    recipe.person.images = ["a.png", "b.png"].map(|name| ImageSource::File(std::path::Path::new("ann").join(name))).to_vec();
    let written = write(&recipe);
    assert!(written.line.contains("--pm-id-images-dir ann") && written.line.contains("--pm-style-strength 30"), "{}", written.line);
    assert_eq!(written.left_out, ["The choice of pictures of the person: sd-cli takes all pictures of the folder."]);
    recipe.person.images.push(ImageSource::File("bob/c.png".into()));
    let written = write(&recipe);
    assert!(!written.line.contains("--pm-id-images-dir") && written.left_out[0].contains("not in one folder"), "{written:?}");
    // By itself sd-cli merges the PhotoMaker's LoRA into the weights.
    for (lora_mode, written_as) in
        [(LoraMode::Auto, "at_runtime"), (LoraMode::AtRuntime, "at_runtime"), (LoraMode::Immediately, "immediately")]
    {
        let written = write(&Recipe { lora_mode, ..recipe.clone() });
        assert!(written.line.contains(&format!("--lora-apply-mode {written_as}")), "{}", written.line);
    }
    // Another model's person is nobody.
    assert_eq!(read_over("sd -m other", recipe).unwrap().recipe.person, Person::default());
}

#[test]
fn one_budget_is_written_and_a_note_has_the_others() {
    let it = pasted("sd -m m --max-vram te=2,unet=6.5 --stream-layers diffusion,te");
    assert_eq!((it.left_out.len(), it.recipe.placement.max_vram.as_str()), (0, "te=2,unet=6.5"));
    let written = write(&it.recipe);
    assert!(written.line.contains("--max-vram 6.5"), "{}", written.line);
    assert!(written.left_out[0].contains("te=2,unet=6.5"), "{written:?}");
    let of = |max_vram: &str| {
        write(&Recipe { placement: PlacementText { max_vram: max_vram.into(), ..PlacementText::default() }, ..defaults() })
    };
    assert!(of(" 3 ").line.contains("--max-vram 3") && of("3").left_out.is_empty());
    assert!(!of("").line.contains("--max-vram"));
}

#[test]
fn a_value_may_look_like_an_option_or_stand_behind_an_equals_sign() {
    let it = pasted("sd -n --no-fog -s -3 --steps=9 --backend=te=cpu --max-vram -1 -p --");
    assert_eq!(it.left_out, []);
    assert_eq!(
        (it.recipe.negative_prompt.as_str(), it.recipe.seed, it.recipe.steps, it.recipe.prompt.as_str()),
        ("--no-fog", None, 9, "--")
    );
    assert_eq!((it.recipe.placement.backend.as_str(), it.recipe.placement.max_vram.as_str()), ("te=cpu", "-1"));
}

#[test]
fn every_seed_is_written_and_read_again() {
    for (seed, written, is_told) in [
        (None, "--seed -1 ", false),
        (Some(Seed(i64::MAX.unsigned_abs())), "--seed 9223372036854775807 ", false),
        (Some(Seed(1 << 63)), "--seed 9223372036854775808 ", true),
        (Some(Seed::MAX), "--seed 18446744073709551615 ", true),
    ] {
        let CommandLine { line, left_out } = write(&Recipe { seed, ..Recipe::default() });
        assert!(line.contains(written), "{line}");
        assert_eq!(pasted(&line).recipe.seed, seed);
        // sd-cli has no word for larger ones, and refuses them.
        assert_eq!(left_out == ["The seed: sd-cli takes none above 9223372036854775807."], is_told, "{left_out:?}");
    }
}

#[test]
fn loras_of_one_name_count_together_and_the_folder_may_be_said_later() {
    let it = pasted("sd -p 'a<lora:x.gguf:1><lora:/y/z.safetensors:0.5> cat<lora:x.gguf:0.25>' --lora-model-dir l").recipe;
    assert_eq!(it.prompt, "a cat");
    let expected = [("l/x.gguf", 1.25), ("/y/z.safetensors", 0.5)].map(|(path, strength)| Lora::new(path.into(), strength));
    assert_eq!(it.loras, expected);
    let it = pasted("sd -p 'a [<lora:x.gguf:1>:<lora:x.gguf:0.5>:5]' --steps 10 --lora-model-dir l").recipe;
    let [first, second] = [1.0, 0.5].map(|strength| Lora::new("l/x.gguf".into(), strength));
    assert_eq!((it.prompt.as_str(), it.loras), ("a", vec![Lora { end: 0.5, ..first }, Lora { start: 0.5, ..second }]));
}

#[test]
fn a_sign_of_comments_is_a_letter_to_the_engines_program() {
    let mut recipe = Recipe { prompt: "a cat // or a dog".into(), ..Recipe::default() };
    recipe.loras = vec![Lora::new("l/x.gguf".into(), 0.5)];
    let back = pasted(&write(&recipe).line).recipe;
    assert_eq!((back.prompt, back.loras), (recipe.prompt, recipe.loras));
}

#[test]
fn what_is_no_command_is_refused_with_advice() {
    assert_eq!(read("sd -p 'a cat"), Err(CommandError::Unclosed));
    for text in ["", "a red lake", "sd-cli"] {
        assert_eq!(read(text), Err(CommandError::NoOptions), "{text}");
    }
}

#[test]
fn a_command_written_on_windows_is_read() {
    let it = pasted("C:\\tools\\sd-cli.exe -m \"C:\\my models\\m.safetensors\" ^\r\n -p \"a cat\"");
    assert_eq!(it.left_out, []);
    assert_eq!(it.recipe.files.get(FileRole::Model), Some(std::path::Path::new("C:\\my models\\m.safetensors")));
}

#[test]
fn a_recipe_is_written_as_people_write_commands() {
    let mut recipe = Recipe { prompt: "a red lake".into(), seed: Some(Seed(3)), ..Recipe::default() };
    recipe.files.set(FileRole::Model, "m.gguf");
    recipe.loras = ["/loras/ink.safetensors", "/loras/old/oil.gguf"].map(|path| Lora::new(path.into(), 0.5)).into();
    recipe.placement.backend = " te=cpu ".into();
    let expected = "sd-cli --model m.gguf --lora-model-dir /loras --lora-apply-mode at_runtime --prompt \
                    'a red lake <lora:ink.safetensors:0.5> <lora:old/oil.gguf:0.5>' --width 512 --height 512 --steps 20 --cfg-scale 7 \
                    --seed 3 --backend 'te=cpu' --diffusion-fa";
    assert_eq!(write(&recipe), CommandLine { line: expected.into(), left_out: Vec::new() });
}

#[test]
fn what_a_command_cannot_say_is_told() {
    let pixels = Rgb8::new(1, 1, vec![0; 3]).map(ImageSource::Pixels).unwrap();
    let mut recipe = Recipe { mask: Some(pixels), ..Recipe::default() };
    recipe.files.set(FileRole::Upscaler, "u.pth");
    recipe.loras = vec![Lora::new("a:b.gguf".into(), 1.0)];
    let copied = write(&recipe);
    assert_eq!(copied.left_out.len(), 3, "{:?}", copied.left_out);
    assert!(!copied.line.contains("--mask") && !copied.line.contains("lora"), "{}", copied.line);
}

#[test]
fn words_that_sd_cli_reads_otherwise_are_told_and_written_as_they_are() {
    let told = |prompt: &str, files: &[FileRole]| {
        let files = files.iter().map(|role| (*role, PathBuf::from("m"))).collect();
        let written = write(&Recipe { prompt: prompt.into(), files, ..Recipe::default() });
        let read = pasted(&written.line);
        let is_word = read.left_out.iter().any(|it| it.words == "AND");
        let means = if is_word { prompt.replace(" AND ", " and ") } else { prompt.to_owned() };
        assert_eq!(read.recipe.prompt, means);
        written.left_out.iter().map(|it| it.split(':').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let (clip, language_model, t5) = ([FileRole::Model], [FileRole::Diffusion, FileRole::Llm], [FileRole::Diffusion, FileRole::T5xxl]);
    let (steps, weights, joined) = ("Words that change over the steps", "Weights of words", "Prompts joined by AND");
    assert_eq!(told("a [lake:sea:0.4] (fog:1.2) AND rain :0.5", &clip), [steps, joined]);
    assert_eq!(told("a [lake|sea] (fog:1.2) AND rain", &language_model), [steps, weights]);
    assert_eq!(told("a (lake:1.2) AND fog", &t5), [""; 0]);
    assert_eq!(told("a (lake) [fog], BAND", &clip), [""; 0]);
}

#[test]
fn and_is_a_word_of_sd_cli_and_stays_one_where_prompts_are_joined_here() {
    let read = |files: &str| {
        let read = pasted(&format!("sd-cli {files} -p \"SALT AND (PEPPER:1.2), SAND <lora:ink:1>\" -n \"fog AND mist\""));
        let told = read.left_out.iter().filter(|it| it.words == "AND").count();
        assert_eq!(read.recipe.negative_prompt, "fog AND mist", "nothing is joined there");
        (read.recipe.prompt, told)
    };
    assert_eq!(read("-m sd15.safetensors"), ("SALT and (PEPPER:1.2), SAND".to_owned(), 1));
    for files in ["--diffusion-model f.gguf --clip_l l.safetensors --t5xxl t.gguf", "--diffusion-model z.gguf --llm q.gguf"] {
        assert_eq!(read(files), ("SALT AND (PEPPER:1.2), SAND".to_owned(), 0), "{files}");
    }
    assert_eq!(pasted("sd-cli -m m -p 'a // dog AND cat'").recipe.prompt, "a // dog and cat", "it knows no comments");
}

proptest! {
    #[test]
    fn a_recipe_comes_back_from_its_command(recipe in recipe()) {
        let copied = write(&recipe);
        prop_assert_eq!(&copied.left_out, &Vec::<String>::new());
        let back = read(&copied.line).unwrap();
        let whole = ParsedCommand {
            recipe,
            person_folder: None,
            embeddings_folder: None,
            relative_tile_size: None,
            without_metadata: false,
            left_out: Vec::new(),
        };
        prop_assert_eq!(back, whole, "{}", copied.line);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[ -~\n]{0,80}", wild in any::<String>()) {
        for line in [text.clone(), wild, format!("sd -p {text}")] {
            if let Ok(it) = read(&line) {
                prop_assert!(it.recipe.width > 0 && it.recipe.guidance.is_finite());
            }
        }
    }
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let is_plain = |text: &String| {
        let prompt = Prompt::parse(text);
        !(text.contains("<lora:") || prompt.changes_over_steps() || prompt.has_weights() || prompt.joined() > 0)
    };
    let text = move || any::<String>().prop_filter("a tag is a LoRA, and what sd-cli reads otherwise is told", is_plain);
    let path = || any::<String>().prop_filter("a file has a name", |name| !name.is_empty()).prop_map(PathBuf::from);
    let image = move || path().prop_map(ImageSource::File);
    let files = proptest::collection::btree_map(proptest::sample::select(FILE_FLAGS.map(|(role, _)| role).to_vec()), path(), 0..5);
    let lora = ("(/|)([a-z]{1,3}/){0,2}[a-z ]{1,6}\\.(safetensors|gguf)", -2.0..2.0f32);
    let loras = proptest::collection::btree_map(lora.0, lora.1, 0..3);
    let sampling = (
        proptest::option::of(proptest::sample::select(Sampler::ALL)),
        proptest::option::of(proptest::sample::select(Scheduler::ALL)),
        proptest::option::of(-10.0..10.0f32),
        proptest::option::of(any::<f32>().prop_filter("finite", |it| it.is_finite())),
        proptest::option::of(1..12u32),
        proptest::option::of(1..64u32),
        proptest::sample::select(Rng::ALL),
        proptest::option::of(proptest::sample::select(PredictionType::ALL)),
        proptest::option::of(proptest::sample::select(Rng::ALL)),
    );
    let numbers = (
        1..9999u32,
        1..9999u32,
        1..200u32,
        proptest::option::of(prop_oneof![0..=i64::MAX.unsigned_abs(), Just(i64::MAX.unsigned_abs())].prop_map(Seed)),
        1..99u32,
        -5.0..30.0f32,
        0.0..9.0f32,
        0.0..100.0f32,
        proptest::option::of(path()),
        proptest::option::of(1..99u32),
        proptest::option::of(0.0..0.5f32),
    );
    let guidance = (
        proptest::option::of(0.0..9.0f32),
        proptest::option::of((0.1..9.0f32, proptest::collection::vec(0..99u32, 0..4), 0.0..1.0f32)),
        proptest::collection::vec(0.0..20.0f32, 0..4),
        proptest::option::of(1..999u32),
        "[a-z_=0-9,.]{0,12}",
        proptest::option::of((
            proptest::sample::select(CacheMode::ALL),
            0.0..9.0f32,
            proptest::collection::vec(any::<bool>(), 0..4),
            any::<bool>(),
        )),
        any::<[bool; 8]>(),
        (
            0..512u32,
            proptest::option::of(proptest::sample::select(VaeFormat::ALL)),
            proptest::option::of(proptest::sample::select(TensorType::ALL)),
            proptest::option::of(proptest::sample::select(TensorType::ALL)),
        ),
    );
    let images = (
        proptest::option::of((image(), 0.0..1.0f32)),
        proptest::option::of(image()),
        proptest::collection::vec(image(), 0..3),
        proptest::option::of((image(), 0.0..1.0f32, proptest::option::of(Just(Preprocessor::Canny)))),
    );
    let places = (
        proptest::sample::select(vec!["", "te=cpu", "all=CUDA0,vae=CPU"]),
        proptest::sample::select(vec!["", "disk", "all=CPU,te=disk"]),
        proptest::sample::select(vec!["", "6", "-1.5"]),
        any::<[bool; 4]>(),
    );
    (text(), text(), files, loras, sampling, guidance, numbers, images, places).prop_map(
        |(prompt, negative_prompt, files, loras, sampling, guidance, numbers, images, (backend, params_backend, max_vram, switches))| {
            let mode = if switches[3] { LoraMode::Immediately } else { LoraMode::AtRuntime };
            Recipe {
                lora_mode: if loras.is_empty() && !files.contains_key(&FileRole::Photomaker) { LoraMode::Auto } else { mode },
                upscale: guidance.6[0].then(|| Upscale {
                    repeats: 1 + guidance.7.0 % 4,
                    tile_size: numbers.9,
                    ..Upscale::by("up/x4.gguf".into())
                }),
                image_guidance: guidance.0,
                skip_layers: guidance.1.map(|(scale, layers, start)| SkipLayers { scale, layers, start, ..SkipLayers::default() }),
                sigmas: guidance.2,
                timestep_shift: guidance.3,
                sampler_arguments: guidance.4,
                step_cache: guidance.5.map(|(mode, threshold, mask, is_mask_static)| StepCache {
                    options: [("threshold".to_owned(), threshold)].into(),
                    mask,
                    is_mask_static,
                    ..StepCache::of(mode)
                }),
                seamless_x: guidance.6[0],
                seamless_y: guidance.6[1],
                zero_cond_t: guidance.6[2],
                chroma_dit_mask: guidance.6[3],
                chroma_t5_mask: guidance.6[4],
                resize_references: guidance.6[5],
                number_references: guidance.6[6],
                memory_map: guidance.6[7],
                chroma_t5_padding: guidance.7.0,
                vae_format: guidance.7.1,
                weight_type: guidance.7.2,
                tensor_type_rules: guidance.7.3.map(|it| format!("^model\\.={it},x_[0-9]+={it}").parse().unwrap()).unwrap_or_default(),
                files: files.into_iter().collect(),
                prompt,
                negative_prompt,
                negative_in_prompt: false,
                template: String::new(),
                words_seed: None,
                width: numbers.0,
                height: numbers.1,
                steps: numbers.2,
                seed: numbers.3,
                batch_count: numbers.4,
                guidance: numbers.5,
                guidance_ranges: Vec::new(),
                distilled_guidance: numbers.6,
                sampler: sampling.0,
                scheduler: sampling.1,
                eta: sampling.2,
                flow_shift: sampling.3,
                clip_skip: sampling.4,
                threads: sampling.5,
                rng: sampling.6,
                prediction: sampling.7,
                sampler_rng: sampling.8,
                init: images.0.map(|(image, strength)| InitImage { image, strength }),
                mask: images.1,
                further_starts: Vec::new(),
                start_fit: StartFit::default(),
                area: None,
                outpaint: None,
                hires: None,
                earlier_steps: Vec::new(),
                last_step: None,
                seed_blend: None,
                reference_images: images.2,
                person: Person { style_strength: numbers.7, id_embedding: numbers.8, images: Vec::new() },
                control: images.3.map(|(image, strength, preprocessor)| ControlImage {
                    strength,
                    preprocessor,
                    ..ControlImage::new(image)
                }),
                loras: loras.into_iter().map(|(path, strength)| Lora::new(path.into(), strength)).collect(),
                disabled_loras: Vec::new(),
                embeddings: Vec::new(),
                placement: PlacementText {
                    backend: backend.into(),
                    params_backend: params_backend.into(),
                    max_vram: max_vram.into(),
                    stream_layers: if switches[0] { ModuleSet::DIFFUSION } else { ModuleSet::NONE },
                    ..PlacementText::default()
                },
                flash_attention: switches[1],
                insists_on_flash_attention: switches[1],
                vae_tiling: switches[2],
                vae_tile_size: numbers.9.map(|width| TileSize { width, height: 1 + guidance.7.0 % 64 }),
                vae_tile_overlap: numbers.10,
                vae_conv_scale: switches[3],
            }
        },
    )
}
