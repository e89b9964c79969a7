//! Work of recipes, counted by the engine's dry run, against counts by hand.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use atelier_core::canvas::Borders;
use atelier_core::placement::{Module, PhaseKind};
use atelier_core::recipe::{
    FileRole, GuidanceRange, Hires, ImageSource, InitImage, ModelFiles, PlacementText, Recipe, RedrawTiles, Rgb8, Sampler,
};
use atelier_core::time::{PictureWork, WeightType, Work, WorkKind};
use support::alone::{Alone, deep};
use support::{folder, recipe};

/// Dimensions of the deep tiny model.
const WIDTH: u64 = 256;
const HIDDEN: u64 = 768;
const LAYERS: u64 = 6;
const ENCODER_WIDTH: u64 = 64;
const ENCODER_LAYERS: u64 = 4;
/// Tokens of "a lake" in the chat form that the engine gives it, and in the diffusion module, which
/// rounds up to 32.
const PROMPT: u64 = 10;
const PADDED_PROMPT: u64 = 32;

fn alone() -> Alone {
    support::alone::alone("GPU0:4,GPU1:4")
}

fn on(backend: &str) -> Recipe {
    let placement = PlacementText { backend: backend.into(), ..PlacementText::default() };
    Recipe { files: deep().clone(), placement, ..recipe() }
}

/// Of this size in pixels.
fn sized(side: u32) -> Recipe {
    Recipe { width: side, height: side, ..on("GPU0") }
}

fn picture(side: u32) -> ImageSource {
    let bytes = side as usize * side as usize * 3;
    ImageSource::Pixels(Rgb8::new(side, side, vec![99; bytes]).unwrap())
}

fn work(alone: &Alone, recipe: &Recipe) -> PictureWork {
    alone.engine.estimate(recipe).unwrap().work
}

/// One repetition of the first pass.
fn once(work: &PictureWork, module: Module, phase: PhaseKind) -> &Work {
    &work.modules.iter().find(|it| it.module == module && it.phase == phase && it.pass == 0).unwrap().work
}

/// Operations of a matrix product.
const fn product(rows: u64, columns: u64, tokens: u64) -> u64 {
    2 * rows * columns * tokens
}

#[test]
fn linear_layers_and_attention_are_counted_as_by_hand() {
    let alone = alone();
    for (side, image) in [(64, 32), (256, 256)] {
        let it = work(&alone, &sized(side));
        let all = image + PADDED_PROMPT;
        let diffusion = once(&it, Module::Diffusion, PhaseKind::Denoising);

        let block = |tokens| product(4 * WIDTH, WIDTH, tokens) + product(3 * HIDDEN, WIDTH, tokens);
        // Each layer sees all tokens, a refiner those of the image, another those of the prompt.
        let blocks = LAYERS * block(all) + block(image) + block(PADDED_PROMPT);
        let patches = u64::from(side / 16).pow(2);
        let embedders = product(WIDTH, 64, patches) + product(WIDTH, ENCODER_WIDTH, PROMPT);
        let modulation = (LAYERS + 1) * product(4 * WIDTH, 256, 1) + product(WIDTH, 256, 1);
        let time = product(WIDTH, 256, 1) + product(256, WIDTH, 1);
        let last = product(64, WIDTH, all);
        let products = blocks + embedders + modulation + time + last;
        assert_eq!(diffusion.of_kind(WorkKind::Product).operations, products, "{side}");

        // Two heads of 128; scores and values.
        let attention = |tokens: u64| 2 * 2 * (128 + 128) * tokens * tokens;
        let of_layers = LAYERS * attention(all) + attention(image) + attention(PADDED_PROMPT);
        let counted = diffusion.of_kind(WorkKind::Attention);
        assert_eq!((counted.operations, counted.nodes), (of_layers, LAYERS + 2), "{side}");
        assert_eq!((diffusion.operations(), diffusion.graphs()), (products + of_layers, 1));
    }
}

#[test]
fn without_flash_attention_its_two_products_have_the_same_operations() {
    let alone = alone();
    let of = |flash_attention| {
        let it = work(&alone, &Recipe { flash_attention, ..sized(256) });
        let it = once(&it, Module::Diffusion, PhaseKind::Denoising).clone();
        let nodes = it.of_kind(WorkKind::Product).nodes;
        (it.operations(), nodes + it.of_kind(WorkKind::Attention).nodes, it.of_kind(WorkKind::Attention).nodes)
    };
    let (flash, plain) = (of(true), of(false));
    assert_eq!((flash.0, flash.2), (plain.0, LAYERS + 2));
    assert_eq!((plain.1, plain.2), (flash.1 + LAYERS + 2, 0), "a product more for each");
}

#[test]
fn a_text_encoder_is_counted_as_by_hand_to_the_byte() {
    let alone = alone();
    let it = work(&alone, &sized(64));
    let encoder = once(&it, Module::Llm, PhaseKind::Encoding);
    let (heads, inner) = (32 * 128, 4 * ENCODER_WIDTH);
    // Queries, keys, values, output; gate, up, down.
    let layers = [(heads, ENCODER_WIDTH), (1024, ENCODER_WIDTH), (1024, ENCODER_WIDTH), (ENCODER_WIDTH, heads)];
    let layers = layers.into_iter().chain([(inner, ENCODER_WIDTH), (inner, ENCODER_WIDTH), (ENCODER_WIDTH, inner)]);
    let (mut operations, mut bytes) = (0, 0);
    for (rows, columns) in layers {
        operations += ENCODER_LAYERS * product(rows, columns, PROMPT);
        bytes += ENCODER_LAYERS * (2 * rows * columns + 4 * PROMPT * (rows + columns));
    }
    let of_weights =
        encoder.parts().iter().find(|part| part.class.kind == WorkKind::Product && part.class.weights == WeightType::F16).unwrap();
    assert_eq!((of_weights.amount.nodes, of_weights.amount.operations, of_weights.amount.bytes), (7 * ENCODER_LAYERS, operations, bytes));
    let attention = ENCODER_LAYERS * 2 * 2 * heads * PROMPT * PROMPT;
    assert_eq!(encoder.of_kind(WorkKind::Product).operations, operations + attention);
}

/// Operations of the tiny autoencoder's decoder for latents of this many pixels: 64 channels, three
/// times twice as large.
fn decoding(latents: u64) -> u64 {
    let convolution = |from: u64, to: u64, pixels: u64| 2 * 9 * from * to * pixels;
    let inner = |count: u64, pixels| count * convolution(64, 64, pixels);
    convolution(16, 64, latents)
        + inner(9, latents)
        + inner(10, 4 * latents)
        + inner(10, 16 * latents)
        + inner(4, 64 * latents)
        + convolution(64, 3, 64 * latents)
}

#[test]
fn convolutions_are_counted_as_by_hand_and_results_to_the_byte() {
    let alone = alone();
    for side in [64, 256] {
        let it = work(&alone, &sized(side));
        let vae = once(&it, Module::Vae, PhaseKind::Decoding);
        let latents = u64::from(side / 8).pow(2);
        // Direct or unfolded, the operations are the same.
        assert_eq!(vae.of_kind(WorkKind::Convolution).operations, decoding(latents), "{side}");
        assert_eq!(vae.operations(), decoding(latents));
        assert_eq!(vae.output_bytes(), u64::from(side).pow(2) * 3 * 4, "the picture");
        let diffusion = once(&it, Module::Diffusion, PhaseKind::Denoising);
        assert_eq!(diffusion.output_bytes(), latents * 16 * 4, "the latents");
        assert!(diffusion.input_bytes() > latents * 16 * 4 + 4 * PROMPT * ENCODER_WIDTH, "latents and prompt");
    }
}

#[test]
fn steps_multiply_guidance_and_samplers_of_second_order_double() {
    let alone = alone();
    let plain = work(&alone, &sized(64));
    let denoising = |work: &PictureWork| work.total(Module::Diffusion, PhaseKind::Denoising);
    let step = once(&plain, Module::Diffusion, PhaseKind::Denoising);
    assert_eq!(denoising(&plain), step.times(3));
    let more = work(&alone, &Recipe { steps: 20, ..sized(64) });
    assert_eq!(denoising(&more), step.times(20));
    let from_picture = Recipe { steps: 20, init: Some(InitImage { image: picture(64), strength: 0.5 }), ..sized(64) };
    let from_picture = work(&alone, &from_picture);
    assert_eq!(denoising(&from_picture), step.times(11));
    assert!(from_picture.total(Module::Vae, PhaseKind::Encoding).operations() > 0, "the picture is encoded");

    let guided = work(&alone, &Recipe { guidance: 3.0, ..sized(64) });
    let twice = once(&guided, Module::Diffusion, PhaseKind::Denoising);
    assert_eq!(twice.graphs(), 2);
    // The empty prompt has fewer tokens, which are filled up to as many; its embedding alone is
    // smaller.
    let share = twice.operations() as f64 / step.operations() as f64;
    assert!((1.999..=2.0).contains(&share), "{share}");
    assert_eq!(once(&guided, Module::Llm, PhaseKind::Encoding).graphs(), 2);
    // AND is a word to this model.
    let words = Recipe { prompt: "a lake AND fog".into(), guidance: 3.0, ..sized(64) };
    assert_eq!(once(&work(&alone, &words), Module::Diffusion, PhaseKind::Denoising).graphs(), 2);
    let heun = work(&alone, &Recipe { sampler: Some(Sampler::Heun), ..sized(64) });
    assert_eq!(denoising(&heun), step.times(6));
}

#[test]
fn a_step_without_guidance_has_one_evaluation() {
    let alone = alone();
    let ranged = |guidance, start, end| {
        let guidance_ranges = vec![GuidanceRange { guidance, start, end }];
        Recipe { steps: 10, guidance: 3.0, guidance_ranges, ..sized(64) }
    };
    let graphs = |recipe: &Recipe| work(&alone, recipe).total(Module::Diffusion, PhaseKind::Denoising).graphs();
    let guided = Recipe { guidance_ranges: Vec::new(), ..ranged(1.0, 0.0, 0.0) };
    assert_eq!([graphs(&guided), graphs(&ranged(2.0, 0.0, 0.4)), graphs(&ranged(1.0, 0.0, 0.4))], [20, 20, 16]);
    assert_eq!(graphs(&Recipe { sampler: Some(Sampler::Heun), ..ranged(1.0, 0.0, 0.4) }), 32);
    // A second pass goes on with the guidance of the last step.
    let hires = Some(Hires { scale: 2.0, strength: 0.5, steps: Some(4), ..Hires::default() });
    let twice = |recipe| graphs(&Recipe { hires: hires.clone(), ..recipe });
    assert_eq!([twice(ranged(1.0, 0.0, 0.4)), twice(ranged(1.0, 0.4, 1.0))], [16 + 8, 14 + 4]);

    let (all, first) = (work(&alone, &guided), work(&alone, &ranged(1.0, 0.0, 0.4)));
    assert_eq!(once(&first, Module::Llm, PhaseKind::Encoding), once(&all, Module::Llm, PhaseKind::Encoding), "both prompts are read");
    let later = ranged(1.0, 0.3, 1.0);
    assert_eq!(first.with_steps_of(&later), work(&alone, &later));
}

#[test]
fn tiles_add_up() {
    let alone = alone();
    let it = work(&alone, &Recipe { vae_tiling: true, ..sized(512) });
    let tiles = once(&it, Module::Vae, PhaseKind::Decoding);
    // Tiles of 256 pixels that overlap by half: three in each direction.
    assert_eq!((tiles.graphs(), tiles.operations()), (9, 9 * decoding(32 * 32)));
}

#[test]
fn passes_and_parts_are_counted_one_by_one() {
    let alone = alone();
    let plain = work(&alone, &sized(64));
    let upscaled = Recipe { hires: Some(Hires { scale: 2.0, strength: 0.5, ..Hires::default() }), steps: 4, ..sized(64) };
    let it = work(&alone, &upscaled);
    let of = |pass| it.modules.iter().filter(move |it| it.pass == pass);
    assert_eq!(of(0).map(|it| it.module).collect::<Vec<_>>(), plain.modules.iter().map(|it| it.module).collect::<Vec<_>>());
    assert!(of(0).zip(&plain.modules).all(|(it, plain)| it.work == plain.work));
    let large = work(&alone, &sized(128));
    let second = of(1).find(|it| it.phase == PhaseKind::Denoising).unwrap();
    assert_eq!((&second.work, second.repetitions), (once(&large, Module::Diffusion, PhaseKind::Denoising), 4));
    assert!(of(1).all(|it| it.module != Module::Llm), "the prompt is known");
    assert!(of(1).any(|it| it.module == Module::Vae && it.phase == PhaseKind::Encoding), "it begins with a picture");

    let hires =
        upscaled.hires.clone().map(|hires| Hires { tiles: Some(RedrawTiles { side: Some(64), ..RedrawTiles::default() }), ..hires });
    let tiles = work(&alone, &Recipe { hires, ..upscaled.clone() });
    let in_passes = |module, phase| -> Vec<u32> {
        tiles.modules.iter().filter(|it| (it.module, it.phase) == (module, phase)).map(|it| it.pass).collect()
    };
    let denoised = in_passes(Module::Diffusion, PhaseKind::Denoising);
    assert!(denoised.len() > 4 && denoised.is_sorted(), "the picture, and each tile: {denoised:?}");
    assert_eq!(in_passes(Module::Llm, PhaseKind::Encoding), [0, 1], "the words of the picture, and those of all tiles");

    let only_upscaled = Recipe { init: Some(InitImage { image: picture(64), strength: 0.0 }), ..upscaled };
    let passes: Vec<u32> = work(&alone, &only_upscaled).modules.iter().map(|it| it.pass).collect();
    assert!(passes.iter().all(|pass| *pass == 0) && !passes.is_empty(), "{passes:?}");

    let outpaint = Borders { right: 64, ..Borders::default() };
    let init = Some(InitImage { image: picture(64), strength: 1.0 });
    let extended = work(&alone, &Recipe { outpaint: Some(outpaint), init, ..sized(64) });
    assert!(extended.modules.iter().any(|it| it.phase == PhaseKind::Denoising && it.repetitions == 3), "{extended:?}");
}

#[test]
fn an_upscaler_is_counted_as_by_hand_tile_by_tile() {
    let alone = alone();
    let home = folder("upscaler");
    let convolution = |from: u64, to: u64| 2 * 9 * from * to;
    // Five convolutions of a dense block, three dense blocks of a residual one.
    let block: u64 = 3 * ((64..192).step_by(32).map(|from| convolution(from, 32)).sum::<u64>() + convolution(192, 64));
    for (factor, upscaling) in [(1, 0), (2, 4), (4, 4 + 16)] {
        let model = testkit::tiny::upscaler(&home, factor, 7).unwrap();
        let large = u64::from(factor).pow(2);
        let of_pixel = convolution(3, 64)
            + block
            + convolution(64, 64)
            + upscaling * convolution(64, 64)
            + large * (convolution(64, 64) + convolution(64, 3));
        let hires = |strength| Some(Hires { scale: 2.0, strength, upscaler: Some(model.clone()), ..Hires::default() });
        // Tiles of 128 pixels that overlap by a quarter at least.
        for (side, tiles, tile) in [(64, 1, 64_u64), (256, 9, 128)] {
            let it = work(&alone, &Recipe { hires: hires(0.5), ..sized(side) });
            let upscaler = it.modules.iter().find(|it| it.module == Module::Upscaler).unwrap();
            assert_eq!((upscaler.phase, upscaler.pass, upscaler.repetitions), (PhaseKind::Upscaling, 1, tiles), "{side}");
            assert_eq!(upscaler.work.operations(), tile * tile * of_pixel, "{factor} {side}");
        }
        let only_upscaled = Recipe { init: Some(InitImage { image: picture(200), strength: 0.0 }), hires: hires(0.0), ..sized(64) };
        let it = work(&alone, &only_upscaled);
        let [upscaler] = &it.modules[..] else { panic!("nothing else is computed: {it:?}") };
        assert_eq!((upscaler.module, upscaler.pass, upscaler.repetitions), (Module::Upscaler, 0, 4));
    }
    let no_upscaler = Some(Hires { upscaler: deep().get(FileRole::Vae).map(ToOwned::to_owned), ..Hires::default() });
    let it = work(&alone, &Recipe { hires: no_upscaler, ..sized(64) });
    assert!(it.modules.iter().all(|it| it.module != Module::Upscaler), "the job will say it");
}

/// A recipe of 1024 x 1024 for files of which there are only headers.
fn large(files: ModelFiles) -> Recipe {
    Recipe { files, flash_attention: true, ..sized(1024) }
}

#[test]
fn the_catalogues_figures_are_those_of_dry_runs() {
    let alone = alone();
    let catalogue = atelier_library::Catalogue::shipped();
    let near = |counted: u64, written: f64| (counted as f64 / 1e12 / written - 1.0).abs();
    let compare = |id: &str, files: ModelFiles| {
        let model = catalogue.entry(id).unwrap();
        let (width, height) = (model.defaults.width.unwrap(), model.defaults.height.unwrap());
        let it = work(&alone, &Recipe { files, width, height, flash_attention: true, ..sized(64) });
        let written = model.work.unwrap();
        let step = once(&it, Module::Diffusion, PhaseKind::Denoising).operations();
        let decoded = once(&it, Module::Vae, PhaseKind::Decoding).operations();
        assert!(near(step, written.step) < 0.1, "{id}: a step has {step} operations");
        assert!(near(decoded, written.decode) < 0.1, "{id}: decoding has {decoded} operations");
    };
    let xl = folder("sdxl figures").join("model.safetensors");
    testkit::headers::sdxl(&xl).unwrap();
    compare("sdxl", [(FileRole::Model, xl)].into_iter().collect());
    let parts = testkit::headers::flux_dev(&folder("flux figures")).unwrap();
    let mut files: ModelFiles =
        [(FileRole::Diffusion, parts.diffusion), (FileRole::Vae, parts.vae), (FileRole::T5xxl, parts.text)].into_iter().collect();
    files.set(FileRole::ClipL, parts.clip_l.unwrap());
    compare("flux.1-schnell", files);
    let parts = testkit::headers::zimage(&folder("zimage figures")).unwrap();
    compare(
        "z-image-turbo",
        [(FileRole::Diffusion, parts.diffusion), (FileRole::Llm, parts.text), (FileRole::Vae, parts.vae)].into_iter().collect(),
    );
}

#[test]
fn headers_of_large_models_give_the_operations_that_are_known_of_them() {
    let alone = alone();
    // Scores and values of all heads together.
    let attention = |width: u64, queries: u64, keys: u64| 2 * 2 * width * queries * keys;
    let trillions = |operations: u64| operations as f64 / 1e12;

    let xl = folder("sdxl").join("model.safetensors");
    testkit::headers::sdxl(&xl).unwrap();
    let it = work(&alone, &large([(FileRole::Model, xl)].into_iter().collect()));
    let step = once(&it, Module::Diffusion, PhaseKind::Denoising);
    // Ten transformer layers at 64 x 64, sixty at 32 x 32; each looks at the image and at the 77
    // tokens of the prompt.
    let of_level = |layers: u64, width: u64, tokens: u64| layers * (attention(width, tokens, tokens) + attention(width, tokens, 77));
    assert_eq!(step.of_kind(WorkKind::Attention).operations, of_level(10, 640, 64 * 64) + of_level(60, 1280, 32 * 32));
    // 2.99 million million multiplications without attention, as published.
    let without_attention = trillions(step.operations() - step.of_kind(WorkKind::Attention).operations);
    assert!((without_attention / 5.98 - 1.0).abs() < 0.01, "{without_attention}");
    let decoded = trillions(once(&it, Module::Vae, PhaseKind::Decoding).of_kind(WorkKind::Convolution).operations);
    assert!((decoded / 9.92 - 1.0).abs() < 0.01, "{decoded}");

    let parts = testkit::headers::flux_dev(&folder("flux")).unwrap();
    let files = [(FileRole::Diffusion, parts.diffusion), (FileRole::Vae, parts.vae), (FileRole::T5xxl, parts.text)];
    let mut files: ModelFiles = files.into_iter().collect();
    files.set(FileRole::ClipL, parts.clip_l.unwrap());
    let it = work(&alone, &large(files));
    let step = once(&it, Module::Diffusion, PhaseKind::Denoising);
    // 57 blocks see the image's patches and 256 tokens of the prompt.
    let (width, tokens) = (3072, 64 * 64 + 256);
    assert_eq!(step.of_kind(WorkKind::Attention).operations, 57 * attention(width, tokens, tokens));
    // Queries, keys, values, output, and four times as wide inside: 12 squares of the width for
    // each token and block.
    let blocks = 57 * product(12 * width, width, tokens);
    let rest = step.of_kind(WorkKind::Product).operations - blocks;
    assert!(rest < blocks / 200, "embedders, modulation and last layer: {rest} beside {blocks}");
}
