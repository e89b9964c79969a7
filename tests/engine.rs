//! The engine from request to picture, on the tiny model: 64x64, one thread.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::HashSet;
use std::path::PathBuf;

use atelier_core::picture_note::{NoteKind, PictureNote};
use atelier_core::placement::{Change, Module};
use atelier_core::recipe::{FileRole, ImageSource, InitImage, Lora, PlacementText, Recipe, Rgb8, Rng, Sampler, Seed};
use atelier_engine::{End, Event, JobPhase, PreviewOptions, Task};
use support::engine::{Engine, Said};
use support::{files, folder, recipe, tiny};
use testkit::{broken, tiny as make};

/// A picture that is black on the left and white on the right.
fn halves() -> Rgb8 {
    let pixels = (0..64 * 64).flat_map(|n| if n % 64 < 32 { [0; 3] } else { [255; 3] }).collect();
    Rgb8::new(64, 64, pixels).unwrap()
}

/// The event at which a job is cancelled.
type Moment = fn(&Event) -> bool;

fn mean_difference(a: &[u8], b: &[u8]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / a.len() as f64
}

#[test]
fn a_prompt_becomes_the_same_picture_every_time_and_another_seed_another() {
    let engine = Engine::start();
    let said = engine.run(&recipe());
    let (first, again) = (said.pixels(), engine.run(&recipe()));
    assert_eq!(first.len(), 64 * 64 * 3);
    assert!(first.iter().collect::<HashSet<_>>().len() >= 16, "a picture has more than a few values");
    assert_eq!(first, again.pixels());
    assert_eq!(first, Engine::start().run(&recipe()).pixels(), "a fresh engine gives the same bytes");
    assert_ne!(first, engine.run(&Recipe { seed: Some(Seed(43)), ..recipe() }).pixels());
    assert_ne!(first, engine.run(&Recipe { prompt: "something else".into(), ..recipe() }).pixels());
}

#[test]
fn a_job_tells_its_phases_in_order_with_the_bytes_of_each_module_and_where_the_time_went() {
    let said = Engine::start().run(&recipe());
    let phases = said.phases();
    let place = |wanted: fn(&JobPhase) -> bool| phases.iter().position(wanted).unwrap();
    let denoising = place(|phase| matches!(phase, JobPhase::Denoising { .. }));
    assert!(matches!(phases[0], JobPhase::Loading { module: None, .. }));
    assert!(place(|phase| matches!(phase, JobPhase::Encoding)) < denoising);
    assert!(denoising < place(|phase| matches!(phase, JobPhase::Decoding { .. })));
    for (role, module) in [(FileRole::Diffusion, Module::Diffusion), (FileRole::Llm, Module::Llm), (FileRole::Taesd, Module::Vae)] {
        let total = phases.iter().find_map(|phase| match phase {
            JobPhase::Loading { module: Some(it), bytes_done, bytes_total } if *it == module && bytes_done == bytes_total => {
                Some(*bytes_total)
            }
            _ => None,
        });
        let file = files().get(role).unwrap().metadata().unwrap().len();
        assert!(total.is_some_and(|total| total > 0 && total <= file), "{module:?}: {total:?} of {file}");
    }
    let steps: Vec<_> =
        said.events.iter().filter_map(|event| if let Event::Step { step, .. } = event { Some(*step) } else { None }).collect();
    assert!(steps.iter().all(|step| step.total == 3 && step.done <= 3 && (0.0..1.0).contains(&step.fraction)));
    assert!(steps.windows(2).all(|pair| pair[0].done as f32 + pair[0].fraction <= pair[1].done as f32 + pair[1].fraction), "{steps:?}");
    assert!(steps.iter().any(|step| step.done == 3));
    let End::Done { timings, .. } = said.end() else { panic!("{:?}", said.end()) };
    let parts = [timings.load_secs, timings.encode_secs, timings.denoise_secs, timings.decode_secs];
    let (sum, total) = (parts.iter().sum::<f64>(), timings.total_secs);
    assert!(parts.iter().all(|secs| *secs > 0.0), "{timings:?}");
    assert!((total - sum).abs() < 1e-9, "every moment belongs to a phase: {timings:?}");
}

#[test]
fn a_batch_delivers_each_picture_with_its_seed_and_reads_the_prompt_once() {
    let engine = Engine::start();
    let said = engine.run(&Recipe { batch_count: 3, ..recipe() });
    let pictures = said.pictures();
    assert_eq!(
        pictures.iter().map(|picture| (picture.info.index, picture.info.seed)).collect::<Vec<_>>(),
        [(0, 42), (1, 43), (2, 44)].map(|(index, seed)| (index, Some(Seed(seed))))
    );
    assert_eq!(said.begin().seeds, [42, 43, 44].map(Seed));
    let alone = Engine::start().run(&Recipe { seed: Some(Seed(44)), ..recipe() });
    assert_eq!(pictures[2].image.pixels(), alone.pixels());
    let first = said.events.iter().position(|event| matches!(event, Event::Picture { .. })).unwrap();
    let later = &said.events[first..];
    assert!(
        later.iter().any(|event| matches!(event, Event::Phase { phase: JobPhase::Denoising { picture: 1 }, .. })),
        "delivered as it is decoded"
    );
    // Progress is told by time too, so several times without a byte on a busy machine.
    let phases = said.phases();
    let loads = |module| {
        let is_load = |phase: &JobPhase| matches!(phase, JobPhase::Loading { module: it, .. } if *it == Some(module));
        let begins = |at: usize| is_load(&phases[at]) && at.checked_sub(1).is_none_or(|before| !is_load(&phases[before]));
        (0..phases.len()).filter(|at| begins(*at)).count()
    };
    assert_eq!((loads(Module::Llm), loads(Module::Diffusion)), (1, 1));
}

#[test]
fn a_drawn_seed_is_reported_and_makes_the_picture_again() {
    let engine = Engine::start();
    let said = engine.run(&Recipe { seed: None, ..recipe() });
    let seed = Some(said.begin().seeds[0]);
    assert_eq!(said.pixels(), engine.run(&Recipe { seed, ..recipe() }).pixels());
}

#[test]
fn the_same_seed_draws_other_noise_with_another_generator_and_needs_no_other_model() {
    let engine = Engine::start();
    let with = |rng| engine.run(&Recipe { rng, ..recipe() });
    let (cuda, cpu) = (with(Rng::Cuda), with(Rng::Cpu));
    assert_eq!(cuda.pixels(), engine.run(&recipe()).pixels(), "the usual one");
    let pictures: HashSet<Vec<u8>> = Rng::ALL.iter().map(|rng| with(*rng).pixels().to_vec()).collect();
    assert_eq!(pictures.len(), 3, "each draws its own");
    assert_eq!(cpu.pixels(), with(Rng::Cpu).pixels());
    let reads = |said: &Said| said.phases().iter().any(|phase| matches!(phase, JobPhase::Loading { module: Some(_), .. }));
    assert!(reads(&cuda) && !reads(&cpu), "the weights stay in memory");
}

/// In a sampler that draws noise too. `cuda` reads all bits of a seed, the others the last 32.
#[test]
fn every_bit_of_a_seed_counts_where_its_generator_reads_it() {
    let engine = Engine::start();
    for rng in Rng::ALL {
        let of = |seed| Recipe { seed: Some(Seed(seed)), rng: *rng, sampler: Some(Sampler::EulerA), ..recipe() };
        let with = |seed: u64| engine.run(&of(seed)).pixels().to_vec();
        for high in [1_u64 << 40, 1 << 63] {
            assert_eq!(with(42) != with(42 + high), *rng == Rng::Cuda, "{rng:?}, {high}");
        }
        let last = engine.run(&of(u64::MAX));
        assert_eq!(last.begin().seeds, [Seed::MAX]);
        assert_eq!(last.pixels(), with(u64::MAX), "{rng:?}: no seed is drawn in its place");
    }
}

#[test]
fn from_an_init_image_strength_decides_how_much_stays() {
    let engine = Engine::start();
    let inverse = Rgb8::new(64, 64, halves().pixels().iter().map(|value| 255 - value).collect()).unwrap();
    let from = |image: Rgb8, strength| {
        let init = Some(InitImage { image: ImageSource::Pixels(image), strength });
        engine.run(&Recipe { init, steps: 8, ..recipe() })
    };
    let differs = |strength| {
        let (one, other) = (from(halves(), strength), from(inverse.clone(), strength));
        (one.begin().steps, mean_difference(one.pixels(), other.pixels()))
    };
    let (few, much_stays) = differs(0.1);
    let (all, nothing_stays) = differs(1.0);
    assert_eq!((few, all), (1, 8));
    assert!(much_stays > 4.0 * nothing_stays, "{much_stays} {nothing_stays}");
}

#[test]
fn a_mask_paints_one_half_and_keeps_the_other() {
    let engine = Engine::start();
    let image = ImageSource::Pixels(halves());
    let recipe = Recipe { init: Some(InitImage { image: image.clone(), strength: 1.0 }), steps: 4, ..recipe() };
    let kept = |mask: Rgb8| engine.run(&Recipe { mask: Some(ImageSource::Pixels(mask)), ..recipe.clone() }).pixels().to_vec();
    let nothing = kept(Rgb8::new(64, 64, vec![0; 64 * 64 * 3]).unwrap());
    let right = kept(halves());
    let (far_left, far_right) = (|p: &[u8]| columns(p, 0..16), |p: &[u8]| columns(p, 48..64));
    assert!(mean_difference(&far_left(&nothing), &far_left(&right)) < 0.25 * mean_difference(&far_right(&nothing), &far_right(&right)));
    let no_init = Recipe { init: None, mask: Some(image), ..recipe };
    assert!(engine.run(&no_init).failure().advice.sentence.contains("mask"));
}

fn columns(pixels: &[u8], range: std::ops::Range<usize>) -> Vec<u8> {
    pixels.chunks_exact(3).enumerate().filter(|(n, _)| range.contains(&(n % 64))).flat_map(|(_, pixel)| pixel.to_vec()).collect()
}

#[test]
fn previews_arrive_while_denoising_by_either_way() {
    let engine = Engine::start();
    let preview =
        |preview| engine.run_task(Task::Generate { recipe: Box::new(Recipe { steps: 4, ..recipe() }), preview, shares_steps: false });
    let said = preview(PreviewOptions::Projection { every: 1 });
    let shown: Vec<_> = said.previews();
    assert_eq!(shown.iter().map(|preview| preview.step).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(shown.iter().all(|preview| (preview.image.width(), preview.image.height()) == (8, 8)));
    assert_ne!(shown[0].image, shown[3].image);
    let first_preview = said.events.iter().position(|event| matches!(event, Event::Preview { .. })).unwrap();
    let decoding = said.events.iter().position(|event| matches!(event, Event::Phase { phase: JobPhase::Decoding { .. }, .. })).unwrap();
    assert!(first_preview < decoding);

    let said = preview(PreviewOptions::TinyAutoencoder { every: 2 });
    let shown = said.previews();
    assert_eq!(shown.iter().map(|preview| preview.step).collect::<Vec<_>>(), [2, 4]);
    assert_eq!((shown[0].image.width(), shown[0].image.height()), (64, 64));
    assert!(mean_difference(shown[1].image.pixels(), said.pixels()) < mean_difference(shown[0].image.pixels(), said.pixels()));

    assert!(preview(PreviewOptions::Off).previews().is_empty());
}

#[test]
fn thrifty_previews_begin_small_leave_the_last_step_out_and_change_nothing() {
    let engine = Engine::start();
    let recipe = Recipe { steps: 12, width: 128, height: 128, ..recipe() };
    let run = |preview| engine.run_task(Task::Generate { recipe: Box::new(recipe.clone()), preview, shares_steps: false });
    let plain = run(PreviewOptions::Off);
    for _ in 0..2 {
        let said = run(PreviewOptions::Adaptive);
        let shown = said.previews();
        let sides: Vec<_> = shown.iter().map(|preview| (preview.image.width(), preview.image.height())).collect();
        assert!(sides.iter().all(|side| [(64, 64), (128, 128)].contains(side)), "{sides:?}");
        assert_eq!(shown[0].step, 1, "what a change does is seen at once");
        assert!(shown.iter().all(|preview| preview.step < 12));
        assert_eq!(said.pixels(), plain.pixels(), "looking on changes nothing");
    }
    let fresh = Engine::start();
    let said = fresh.run_task(Task::Generate { recipe: Box::new(recipe.clone()), preview: PreviewOptions::Adaptive, shares_steps: false });
    let first = said.previews()[0];
    assert_eq!((first.step, first.image.width()), (1, 64), "what it costs is not known yet");
    let fine = run(PreviewOptions::TinyAutoencoder { every: 6 });
    assert!(fine.previews().iter().all(|preview| preview.image.width() == 128), "the decoder is itself again");
}

#[test]
fn a_cancel_in_any_phase_ends_there_and_leaves_the_context_whole() {
    let engine = Engine::start();
    let good = engine.run(&recipe()).pixels().to_vec();
    let moments: [(&str, Moment); 4] = [
        ("encode", |event| matches!(event, Event::Phase { phase: JobPhase::Encoding, .. })),
        ("denoise", |event| matches!(event, Event::Step { step, .. } if step.done == 1)),
        ("inside a step", |event| matches!(event, Event::Phase { phase: JobPhase::Denoising { .. }, .. })),
        ("decode", |event| matches!(event, Event::Phase { phase: JobPhase::Decoding { .. }, .. })),
    ];
    for (name, moment) in moments {
        // Another prompt, so that the text encoder really runs.
        let cancelled = engine.run_until(&Recipe { prompt: format!("cancelled while {name}"), steps: 50, ..recipe() }, moment);
        assert_eq!(cancelled.end(), &End::Cancelled, "{name}");
        assert!(cancelled.pictures().is_empty(), "{name}");
        let last_step =
            cancelled.events.iter().filter_map(|event| if let Event::Step { step, .. } = event { Some(step.done) } else { None }).max();
        assert!(name == "decode" || last_step.unwrap_or(0) <= 1, "{name}: no step was finished after the cancel: {last_step:?}");
        let after = engine.run(&recipe());
        assert_eq!(after.pixels(), good, "{name}");
        assert!(!after.phases().iter().any(|phase| matches!(phase, JobPhase::Loading { .. })), "{name}: the model was still there");
    }
}

#[test]
fn a_cancel_while_a_module_loads_stops_the_loading() {
    let expected = Engine::start().run(&recipe()).pixels().to_vec();
    for module in [Module::Llm, Module::Diffusion, Module::Vae] {
        let engine = Engine::start();
        let cancelled = engine.run_until(&recipe(), move |event| matches!(event, Event::Phase { phase: JobPhase::Loading { module: it, bytes_done: 0, .. }, .. } if *it == Some(module)));
        assert_eq!(cancelled.end(), &End::Cancelled, "{module:?}");
        assert!(
            !cancelled.phases().iter().any(|phase| matches!(phase, JobPhase::Loading { module: it, bytes_done, bytes_total } if *it == Some(module) && bytes_done == bytes_total)),
            "{module:?} was not read to its end"
        );
        assert_eq!(engine.run(&recipe()).pixels(), expected, "{module:?}");
    }
}

#[test]
fn every_bad_model_gives_a_sentence_and_leaves_the_next_job_working() {
    let engine = Engine::start();
    let good = engine.run(&recipe()).pixels().to_vec();
    let dir = folder("broken");
    let mut bad: Vec<(String, Recipe)> = Vec::new();
    for (name, path) in broken::diffusion_files(&dir).unwrap() {
        let mut recipe = recipe();
        recipe.files.set(FileRole::Diffusion, path);
        bad.push((name.to_owned(), recipe));
    }
    for (name, made) in [
        ("wrong width", broken::wrong_width(&folder("wrong-width"))),
        ("small vocabulary", broken::small_vocabulary(&folder("small-vocabulary"))),
        ("an LLM as diffusion", broken::llm_as_diffusion(&folder("llm-as-diffusion"))),
    ] {
        let made = made.unwrap();
        let files = [(FileRole::Diffusion, made.diffusion), (FileRole::Llm, made.llm), (FileRole::Taesd, made.taesd)].into_iter().collect();
        bad.push((name.to_owned(), Recipe { files, ..recipe() }));
    }
    let mut missing = recipe();
    missing.files.remove(FileRole::Llm);
    bad.push(("no text encoder".into(), missing));
    let mut gone = recipe();
    gone.files.set(FileRole::Llm, dir.join("nowhere.safetensors"));
    bad.push(("a file that is gone".into(), gone));
    bad.push(("no files".into(), Recipe { files: [].into_iter().collect(), ..recipe() }));
    assert!(bad.len() > 10);
    for (name, recipe) in bad {
        let said = engine.run(&recipe);
        let failure = said.failure();
        assert!(
            failure.advice.sentence.ends_with('.') && failure.advice.sentence.len() > 15 && !failure.advice.hint.is_empty(),
            "{name}: {failure:?}"
        );
    }
    assert_eq!(engine.run(&recipe()).pixels(), good);
}

#[test]
fn what_was_changed_is_said() {
    let engine = Engine::start();
    let said = engine.run(&Recipe { width: 70, height: 60, vae_tiling: true, batch_count: 0, ..recipe() });
    assert_eq!(said.pictures().len(), 1);
    assert_eq!((said.begin().width, said.begin().height), (64, 64));
    assert!(said.begin().notes.iter().any(|note| note.contains("64 x 64")), "{:?}", said.begin().notes);
    assert!(said.begin().notes.iter().any(|note| note.contains("tiling")));
}

#[test]
fn a_lora_changes_the_picture_without_loading_the_model_again_and_one_that_does_not_fit_is_an_error() {
    let engine = Engine::start();
    let dir = folder("loras");
    let plain = engine.run(&recipe()).pixels().to_vec();
    let lora = |path, strength| Recipe { loras: vec![Lora::new(path, strength)], ..recipe() };
    let fits = make::lora(&dir, &make::Options::default()).unwrap();
    let with = engine.run(&lora(fits.clone(), 1.0));
    assert_ne!(with.pixels(), plain);
    assert!(!with.phases().iter().any(|phase| matches!(phase, JobPhase::Loading { module: Some(Module::Diffusion), .. })));
    assert_ne!(engine.run(&lora(fits, 0.5)).pixels(), with.pixels());
    assert_eq!(engine.run(&recipe()).pixels(), plain);
    for path in [make::unmatched_lora(&dir).unwrap(), broken::wide_lora(&folder("wide-lora")).unwrap()] {
        let said = engine.run(&lora(path.clone(), 1.0));
        let (failure, name) = (said.failure(), path.file_name().unwrap().to_str().unwrap());
        assert!(failure.advice.sentence.contains(name) && failure.advice.hint.contains("LoRA"), "{failure:?}");
    }
    assert_eq!(engine.run(&recipe()).pixels(), plain);
}

#[test]
fn of_a_lora_that_is_not_wholly_used_the_picture_says_how_much_was() {
    let engine = Engine::start();
    let dir = folder("partial-lora");
    let lora = |path| Recipe { loras: vec![Lora::new(path, 1.0)], ..recipe() };
    let (whole, partial) =
        (make::lora(&dir, &make::Options::default()).unwrap(), make::partial_lora(&dir, &make::Options::default()).unwrap());
    assert_eq!(engine.run(&lora(whole.clone())).pictures()[0].notes, []);
    assert_eq!(engine.run(&lora(whole)).pictures()[0].notes, [], "also where the prompt's encoding is cached");
    let said = engine.run(&lora(partial));
    let [note] = &said.pictures()[0].notes[..] else { panic!("{:?}", said.pictures()[0].notes) };
    let total = 2 * 7 * make::Options::default().layers + 2;
    assert_eq!(
        note.sentence,
        format!("Only {} of {total} parts of the LoRA partial-lora.safetensors fit this model and were used.", total - 2)
    );
    assert_eq!(note.remedies, [Change::WithoutLora { name: "partial-lora.safetensors".into() }]);
    assert!(matches!(said.end(), End::Done { .. }));
}

#[test]
fn a_picture_of_one_colour_says_so_and_the_next_one_shows_whether_flash_attention_was_the_cause() {
    let dir = folder("flat");
    let options = make::Options::default();
    let made = make::zimage(&dir, &options).unwrap();
    broken::without_numbers(&made.taesd).unwrap();
    let files = [(FileRole::Diffusion, made.diffusion), (FileRole::Llm, made.llm), (FileRole::Taesd, made.taesd)].into_iter().collect();
    let recipe = Recipe { files, flash_attention: true, ..recipe() };
    let memory = dir.join("measured.json");
    // Of an earlier run of this test.
    drop(std::fs::remove_file(&memory));
    let engine = Engine::start_remembering(&memory);
    let said = engine.run(&recipe);
    let [note] = &said.pictures()[0].notes[..] else { panic!("{:?}", said.pictures()[0].notes) };
    assert_eq!(note.kind, NoteKind::Wrong);
    assert!(note.sentence.contains("one colour") && note.remedies.contains(&Change::FlashAttentionOff), "{note:?}");
    drop(engine);

    let engine = Engine::start_remembering(&memory);
    let said = engine.run(&recipe);
    assert!(
        said.begin().notes[0].starts_with("Flash attention is off: the last picture of this model on CPU had a single colour"),
        "{:?}",
        said.begin()
    );
    assert_eq!(said.pictures()[0].notes[0], PictureNote::of_change(Change::FlashAttentionOff, said.begin().notes[0].clone()));
    // Without it there was no picture either: it is the decoder, and the other files are innocent.
    assert_eq!(engine.run(&recipe).begin().notes, Vec::<String>::new());
    assert_eq!(Engine::start().run(&recipe).begin().notes, Vec::<String>::new(), "another memory");
}

#[test]
fn a_picture_of_which_a_part_is_no_numbers_says_so() {
    let made = make::zimage(&folder("without-red"), &make::Options::default()).unwrap();
    broken::without_red(&made.taesd).unwrap();
    let files = [(FileRole::Diffusion, made.diffusion), (FileRole::Llm, made.llm), (FileRole::Taesd, made.taesd)].into_iter().collect();
    let engine = Engine::start();
    let said = engine.run(&Recipe { files, ..recipe() });
    let [note] = &said.pictures()[0].notes[..] else { panic!("{:?}", said.pictures()[0].notes) };
    assert_eq!(note.kind, NoteKind::Wrong);
    assert!(note.sentence.starts_with("Parts of this picture are missing: numbers overflowed during generation."), "{note:?}");
    let next = engine.run(&recipe());
    assert!(next.pictures()[0].notes.iter().all(|note| note.kind != NoteKind::Wrong), "the next one has all of them");
}

#[test]
fn an_upscaler_upscales_a_picture() {
    let engine = Engine::start();
    let model = make::upscaler(&folder("upscaler"), 4, 1).unwrap();
    let said = engine.run_task(upscale_with(model, false));
    let picture = said.pictures()[0];
    assert_eq!((picture.image.width(), picture.image.height()), (256, 256));
    assert!(said.phases().iter().any(|phase| matches!(phase, JobPhase::Loading { module: Some(Module::Upscaler), .. })));
    assert!(engine.run_task(upscale_with(tiny().llm.clone(), false)).failure().advice.sentence.len() > 15);
}

#[test]
fn an_upscaler_stays_open_for_the_next_picture_until_everything_is_unloaded() {
    let engine = Engine::start();
    let model = make::upscaler(&folder("kept-upscaler"), 2, 1).unwrap();
    let reads = |said: &Said| said.phases().iter().any(|phase| matches!(phase, JobPhase::Loading { module: Some(Module::Upscaler), .. }));
    let first = engine.run_task(upscale_with(model.clone(), false));
    let second = engine.run_task(upscale_with(model.clone(), false));
    assert_eq!((reads(&first), reads(&second)), (true, false));
    assert_eq!(first.pixels(), second.pixels());
    engine.handle().unload().unwrap();
    engine.residency(|residency| residency.models.is_empty());
    assert!(reads(&engine.run_task(upscale_with(model, false))));
}

fn upscale_with(model: PathBuf, allow_pickle: bool) -> Task {
    Task::Upscale { image: ImageSource::Pixels(halves()), model, allow_pickle, placement: PlacementText::default(), threads: Some(1) }
}

#[test]
fn a_pickled_upscaler_is_opened_only_where_the_person_agreed_and_gives_the_same_picture() {
    let engine = Engine::start();
    let dir = folder("pickle");
    let (plain, pickle) = (make::upscaler(&dir, 2, 1).unwrap(), make::upscaler_pth(&dir, 2, 1).unwrap());
    let refused = engine.run_task(upscale_with(pickle.clone(), false));
    assert!(refused.failure().advice.sentence.contains("PyTorch checkpoint") && refused.phases().is_empty(), "{:?}", refused.failure());
    let expected = engine.run_task(upscale_with(plain, false));
    assert_eq!(engine.run_task(upscale_with(pickle, true)).pictures()[0].image, expected.pictures()[0].image);
}

#[test]
fn a_placement_that_names_no_device_is_refused_before_anything_loads() {
    let engine = Engine::start();
    let place = |backend: &str| Recipe { placement: PlacementText { backend: backend.into(), ..PlacementText::default() }, ..recipe() };
    let said = engine.run(&place("cuda9"));
    assert!(said.failure().advice.sentence.contains("cuda9") && said.failure().advice.sentence.contains("CPU"), "{:?}", said.failure());
    assert!(said.phases().is_empty());
    assert_eq!(engine.run(&place("te=cpu,diffusion=CPU,vae=cpu")).pixels(), engine.run(&recipe()).pixels());
}

#[test]
fn weights_on_disk_give_the_same_picture() {
    let engine = Engine::start();
    let placement = PlacementText { params_backend: "disk".into(), ..PlacementText::default() };
    assert_eq!(engine.run(&Recipe { placement, ..recipe() }).pixels(), Engine::start().run(&recipe()).pixels());
}

#[test]
fn an_unloaded_model_loads_again() {
    let engine = Engine::start();
    let first = engine.run(&recipe()).pixels().to_vec();
    engine.handle().unload().unwrap();
    let again = engine.run(&recipe());
    assert!(again.phases().iter().any(|phase| matches!(phase, JobPhase::Loading { module: Some(Module::Diffusion), .. })));
    assert_eq!(again.pixels(), first);
}

#[test]
fn the_devices_are_listed_with_their_memory() {
    let engine = Engine::start();
    engine.handle().list_devices().unwrap();
    let devices = engine.devices();
    let cpu = devices.iter().find(|device| device.name == "CPU").unwrap();
    assert!(cpu.memory_total_bytes > 1 << 28 && cpu.memory_free_bytes > 0 && !cpu.description.is_empty());
}

#[test]
fn jobs_wait_their_turn_and_one_cancelled_while_waiting_never_starts() {
    let engine = Engine::start();
    let handle = engine.handle();
    let task = |seed| Task::Generate {
        recipe: Box::new(Recipe { seed: Some(Seed(seed)), ..recipe() }),
        preview: PreviewOptions::Off,
        shares_steps: false,
    };
    let jobs = [handle.submit(task(1)).unwrap(), handle.submit(task(2)).unwrap(), handle.submit(task(3)).unwrap()];
    handle.cancel(jobs[1]);
    let events = engine.until_ends(3);
    let ends: Vec<_> = jobs
        .iter()
        .map(|job| {
            events
                .iter()
                .filter_map(|event| if let Event::End { job: it, end } = event { (it == job).then_some(end) } else { None })
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(ends.iter().all(|ends| ends.len() == 1));
    assert!(matches!((ends[0][0], ends[1][0], ends[2][0]), (End::Done { .. }, End::Cancelled, End::Done { .. })));
    assert!(!events.iter().any(|event| matches!(event, Event::Begin { job, .. } if *job == jobs[1])));
}
