use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::PathBuf;
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::protocol::{
    Begin, Cause, Copies, End, Estimate, Failure, JobId, JobPhase, LogLevel, MeasureDevices, MeasuredDevice, MeasuredPlacement,
    MeasuredRates, OutOfMemory, Peak, PhaseKind, PreviewOptions, RememberedTexts, RemoteError, Residency, Resident, ResidentId,
    ResidentPart, ServerAddress, Step, Timings,
};
use atelier_core::canvas::{AreaFill, AreaSettings, Borders, PixelRect, StartFit};
use atelier_core::device::{Device, DeviceKind};
use atelier_core::picture_note::PictureNote;
use atelier_core::placement::{self, Alternative, Change, Module, ModuleNeeds, Needs, Reserve, WeightLocation};
use atelier_core::recipe::{
    CacheMode, ControlImage, FamilySetting, FileRole, GuidanceRange, Hires, InitImage, LatentUpscaler, Lora, LoraMode, ModelFiles, Person,
    PictureInfo, PlacementText, PredictionType, RedrawTiles, Rng, Sampler, Scheduler, Seed, SeedBlend, SkipLayers, StepCache, StepShare,
    TensorType, TileSize, Upscale, VaeFormat,
};
use atelier_core::time::{
    ClassRate, DeviceRates, MachineRates, ModuleWork, NodeSize, PictureWork, TimeCorrection, TimeCorrections, WeightType, Work, WorkAmount,
    WorkClass, WorkKind,
};

/// Asserts that the samples hold every variant. A variant that is missing here does not compile.
macro_rules! assert_every_variant {
    ($samples:expr, $($pattern:pat),+ $(,)?) => {{
        let found: BTreeSet<usize> = $samples.iter().map(|sample| {
            let mut index = 0;
            $(
                if matches!(sample, $pattern) {
                    return index;
                }
                index += 1;
            )+
            // Without a wildcard: a new variant is a compile error.
            match sample { $($pattern => index),+ }
        }).collect();
        let count = [$(stringify!($pattern)),+].len();
        assert_eq!(found, (0..count).collect::<BTreeSet<_>>(), "{:?}", [$(stringify!($pattern)),+]);
    }};
}

const JOB: JobId = JobId(u64::MAX);

fn image(width: u32, height: u32) -> Rgb8 {
    Rgb8::new(width, height, (0..width * height * 3).map(|n| n as u8).collect()).unwrap()
}

fn files() -> ModelFiles {
    FileRole::ALL.into_iter().map(|role| (role, PathBuf::from(format!("/models/{}.gguf", role.key())))).collect()
}

fn placement() -> PlacementText {
    PlacementText {
        backend: "all=CUDA0".into(),
        params_backend: "te=disk".into(),
        max_vram: "6".into(),
        stream_layers: [Module::Diffusion, Module::T5].into_iter().collect(),
        split_batch: "CUDA0".into(),
    }
}

/// A recipe in which every field differs from the default, with pixels wherever there can be some.
fn recipe() -> Recipe {
    Recipe {
        files: files(),
        prompt: "a \"lake\"\nand ünicode".into(),
        negative_prompt: "fog".into(),
        negative_in_prompt: true,
        template: "a {lake|sea}".into(),
        words_seed: Some(Seed(1 << 63)),
        width: 64,
        height: 128,
        steps: 3,
        guidance: 1.1,
        guidance_ranges: vec![GuidanceRange { guidance: 3.0, start: 0.25, end: 0.5 }],
        distilled_guidance: 0.1,
        sampler: Some(Sampler::Dpmpp2sA),
        scheduler: Some(Scheduler::Karras),
        eta: Some(0.3),
        flow_shift: Some(3.7),
        prediction: Some(PredictionType::V),
        image_guidance: Some(1.5),
        skip_layers: Some(SkipLayers { layers: vec![3], ..SkipLayers::default() }),
        sigmas: vec![14.5, 0.0],
        timestep_shift: Some(250),
        sampler_arguments: "apg_eta=1".into(),
        seamless_x: true,
        seamless_y: true,
        step_cache: Some(StepCache { mask: vec![true, false], ..StepCache::of(CacheMode::UCache) }),
        clip_skip: Some(2),
        rng: Rng::Cpu,
        sampler_rng: Some(Rng::StdDefault),
        seed: Some(Seed::MAX),
        batch_count: 2,
        vae_tiling: true,
        vae_tile_size: Some(TileSize { width: 16, height: 12 }),
        vae_tile_overlap: Some(0.25),
        flash_attention: false,
        insists_on_flash_attention: true,
        vae_conv_scale: true,
        zero_cond_t: true,
        chroma_dit_mask: false,
        chroma_t5_mask: true,
        chroma_t5_padding: 2,
        vae_format: Some(VaeFormat::Flux),
        weight_type: Some(TensorType::Q4K),
        tensor_type_rules: "attention=f16".parse().unwrap(),
        init: Some(InitImage { image: ImageSource::Pixels(image(3, 2)), strength: 0.7 }),
        further_starts: vec![ImageSource::File("in-2.png".into())],
        mask: Some(ImageSource::Pixels(image(2, 2))),
        start_fit: StartFit::Stretch,
        area: Some(AreaSettings {
            context: 2.5,
            feather: Some(7),
            fill: Some(AreaFill::Noise),
            crop: Some(PixelRect { left: -1, top: 2, width: 3, height: 4 }),
            soft_mask: false,
            seam_correction: false,
        }),
        outpaint: Some(Borders { left: 1, top: 2, right: 3, bottom: 4 }),
        hires: Some(Hires {
            scale: 1.5,
            strength: 0.25,
            target: Some((96, 64)),
            steps: Some(7),
            sigmas: vec![0.5, 0.0],
            latent: Some(LatentUpscaler::Bicubic),
            upscaler: Some("x4.safetensors".into()),
            tile_size: Some(96),
            allow_pickle: true,
            tiles: Some(RedrawTiles::default()),
        }),
        earlier_steps: Recipe { prompt: "a lake".into(), ..Recipe::default() }.steps_until(2, Some("a.png".into())),
        last_step: Some(2),
        seed_blend: Some(SeedBlend { seed: Seed(1 << 63), amount: 0.5 }),
        reference_images: vec![ImageSource::File("ref.png".into()), ImageSource::Pixels(image(1, 5)), ImageSource::Pixels(image(0, 0))],
        resize_references: false,
        number_references: true,
        control: Some(ControlImage::with_strength(ImageSource::Pixels(image(7, 1)), 0.2)),
        person: Person {
            images: vec![ImageSource::Pixels(image(2, 3)), ImageSource::File("ann.png".into())],
            style_strength: 33.0,
            id_embedding: Some("id_embeds.bin".into()),
        },
        loras: vec![Lora { encoder_strength: Some(0.4), ..Lora::new("ink.safetensors".into(), -0.9) }],
        lora_mode: LoraMode::Immediately,
        upscale: Some(Upscale { repeats: 2, tile_size: Some(64), allow_pickle: true, ..Upscale::by("x4.pth".into()) }),
        disabled_loras: vec![Lora::new("oil.safetensors".into(), 0.2)],
        embeddings: vec!["fog.safetensors".into()],
        placement: placement(),
        memory_map: true,
        threads: Some(3),
    }
}

fn tasks() -> Vec<Task> {
    use PreviewOptions::{Adaptive, Off, Projection, TinyAutoencoder};
    let previews = [Off, Projection { every: 1 }, TinyAutoencoder { every: 9 }, Adaptive];
    assert_every_variant!(previews, Off, Projection { .. }, TinyAutoencoder { .. }, Adaptive);
    let sources = [ImageSource::File("in.png".into()), ImageSource::Pixels(image(5, 4))];
    assert_every_variant!(sources, ImageSource::File(_), ImageSource::Pixels(_));
    let generate = previews.map(|preview| Task::Generate { recipe: Box::new(recipe()), preview, shares_steps: false });
    let upscale =
        sources.map(|image| Task::Upscale { image, model: "esrgan.pth".into(), allow_pickle: true, placement: placement(), threads: None });
    let tasks: Vec<Task> = generate.into_iter().chain(upscale).collect();
    assert_every_variant!(tasks, Task::Generate { .. }, Task::Upscale { .. });
    tasks
}

fn requests() -> Vec<Request> {
    let queries = [Query::Estimate(Box::new(recipe())), Query::Devices];
    assert_every_variant!(queries, Query::Estimate(_), Query::Devices);
    let controls = [
        Control::Cancel(JOB),
        Control::AddServer("studio.local:7".parse().unwrap()),
        Control::UnloadAll,
        Control::Unload(ResidentId(3)),
        Control::Keep { model: ResidentId(4), keep: true },
        Control::SetReserve(Reserve { percent: 7, most_bytes: u64::MAX }),
        Control::PlaceAutomatically(true),
        Control::WatchDevices(true),
        Control::Preload(Some(Box::new(recipe()))),
        Control::Preload(None),
        Control::Measure(Some(MeasureDevices { names: vec!["CPU".into()], again: true, threads: Some(2) })),
        Control::Measure(None),
    ];
    assert_every_variant!(
        controls,
        Control::Cancel(_),
        Control::AddServer(_),
        Control::UnloadAll,
        Control::Unload(_),
        Control::Keep { .. },
        Control::SetReserve(_),
        Control::PlaceAutomatically(_),
        Control::WatchDevices(_),
        Control::Preload(_),
        Control::Measure(_),
    );
    let jobs = tasks().into_iter().map(|task| Request::Job { job: JOB, task });
    let requests: Vec<Request> = jobs.chain(queries.map(Request::Query)).chain(controls.map(Request::Control)).collect();
    assert_every_variant!(requests, Request::Job { .. }, Request::Query(_), Request::Control(_));
    requests
}

fn measured_devices() -> Vec<MeasuredDevice> {
    let rates = DeviceRates { copy_to_per_sec: 1e9, ..DeviceRates::default() };
    let measured = MeasuredRates { rates, samples: 3, unsteady_samples: 1, secs: 0.5 };
    vec![
        MeasuredDevice { device: "CPU".into(), measured: Ok(measured) },
        MeasuredDevice { device: "GPU0".into(), measured: Err(Failure::new("No.", "Try.")) },
    ]
}

fn remote_errors() -> Vec<RemoteError> {
    use RemoteError::{Busy, Lost, NotAtelier, OtherVersion, Silent, StockNames, StockVersion, Unknown, Unreachable};
    let server = || "studio:1".to_owned();
    let errors = vec![
        Unknown(server()),
        Unreachable(server()),
        Silent(server()),
        NotAtelier(server()),
        StockVersion { server: server(), theirs: "3.6.0".into(), ours: "4.0.0".into() },
        StockNames(server()),
        OtherVersion { server: server(), theirs: "1/a".into(), ours: "1/b".into() },
        Busy(server()),
        Lost(server()),
    ];
    assert_every_variant!(
        errors,
        Unknown(_),
        Unreachable(_),
        Silent(_),
        NotAtelier(_),
        StockVersion { .. },
        StockNames(_),
        OtherVersion { .. },
        Busy(_),
        Lost(_)
    );
    errors
}

fn failures() -> Vec<Failure> {
    use PhaseKind::{Decoding, Denoising, Encoding, Loading, Upscaling};
    let phases = [Loading, Encoding, Denoising, Decoding, Upscaling];
    assert_every_variant!(phases, Loading, Encoding, Denoising, Decoding, Upscaling);
    let missing =
        phases.map(|phase| Cause::OutOfMemory(OutOfMemory { device: "GPU0".into(), phase, bytes_wanted: u64::MAX, bytes_free: 1 }));
    let causes: Vec<Cause> = missing.into_iter().chain(remote_errors().into_iter().map(Cause::Remote)).collect();
    assert_every_variant!(causes, Cause::OutOfMemory(_), Cause::Remote(_));
    let caused = causes.into_iter().map(|cause| Failure { log: vec!["a line".into()], cause: Some(cause), ..Failure::new("No.", "Try.") });
    caused.chain([Failure::default()]).collect()
}

fn device(kind: DeviceKind) -> Device {
    Device {
        name: "D0".into(),
        description: "A card".into(),
        kind,
        gpu: Some("0000:01:00.0".into()),
        memory_total_bytes: 8,
        memory_free_bytes: 4,
        memory_allocated_bytes: 2,
    }
}

fn devices() -> Vec<Device> {
    use DeviceKind::{Accelerator, Cpu, Gpu, IntegratedGpu, Remote};
    let kinds = [Cpu, Gpu, IntegratedGpu, Accelerator, Remote];
    assert_every_variant!(kinds, Cpu, Gpu, IntegratedGpu, Accelerator, Remote);
    kinds.map(device).into()
}

fn time() -> (PictureWork, MachineRates, TimeCorrections) {
    let class = WorkClass { kind: WorkKind::Product, weights: WeightType::Q4K, size: NodeSize::Large };
    let mut work = Work::of_graphs(1, 2, 3);
    work.add_nodes(class, WorkAmount { nodes: 4, operations: 5, bytes: 6 });
    let modules =
        vec![ModuleWork { module: Module::Llm, phase: PhaseKind::Encoding, pass: 7, work, repetitions: 8, share: StepShare::All }];
    let rates = DeviceRates { classes: vec![ClassRate { class, per_sec: 1.5 }], graph_secs: 0.25, ..DeviceRates::default() };
    let devices = BTreeMap::from([("GPU0".into(), rates)]);
    let correction = TimeCorrection { device: "GPU0".into(), phase: PhaseKind::Encoding, factor: 1.25 };
    (PictureWork { modules }, MachineRates { devices, open_secs: 0.5 }, TimeCorrections(vec![correction]))
}

fn estimate() -> Estimate {
    let compute_bytes = placement::Phase::ALL.into_iter().zip(1..).collect();
    let needs = ModuleNeeds { weight_bytes: 5, lora_bytes: 6, compute_bytes, least_bytes: Some(7), packed_bytes: 8 };
    let needs = Needs { modules: Module::ALL.into_iter().map(|module| (module, needs.clone())).collect() };
    let locations = [WeightLocation::Device("CPU".into()), WeightLocation::Disk];
    assert_every_variant!(locations, WeightLocation::Device(_), WeightLocation::Disk);
    let weights = locations.map(|location| Change::Weights { module: Module::Llm, location });
    let changes: Vec<Change> = [
        Change::VaeTiling,
        Change::WeightType { module: Module::T5, weight_type: TensorType::Q8_0, bytes: 7 },
        Change::VaeConvScale,
        Change::FlashAttentionOff,
        Change::OwnSchedule,
        Change::Unset { setting: FamilySetting::SkipLayers },
        Change::WithoutLora { name: "ink.safetensors".into() },
        Change::Pieces { module: Module::Vae },
        Change::RunsOn { module: Module::Vae, device: "CPU".into() },
        Change::Budget { device: "GPU0".into(), gib: 0.375 },
        Change::Size { width: 64, height: 32 },
        Change::Quantisation { module: Module::Diffusion, name: "q4.gguf".into() },
    ]
    .into_iter()
    .chain(weights)
    .collect();
    assert_every_variant!(
        changes,
        Change::VaeTiling,
        Change::WeightType { .. },
        Change::VaeConvScale,
        Change::FlashAttentionOff,
        Change::OwnSchedule,
        Change::Unset { .. },
        Change::WithoutLora { .. },
        Change::Weights { .. },
        Change::RunsOn { .. },
        Change::Pieces { .. },
        Change::Budget { .. },
        Change::Size { .. },
        Change::Quantisation { .. },
    );
    let (work, rates, corrections) = time();
    Estimate {
        needs: needs.clone(),
        alternatives: vec![Alternative { changes, needs }],
        slack_bytes: BTreeMap::from([("GPU0".into(), 9)]),
        work,
        rates,
        corrections,
        trials: vec![MeasuredPlacement { placement: placement(), steps: 4, secs: 1.5 }],
        ignores_references: true,
        reads_control: true,
    }
}

fn notes() -> Vec<PictureNote> {
    vec![PictureNote::changed("Snapped."), PictureNote::wrong("Flat.", vec![Change::FlashAttentionOff])]
}

fn residency() -> Residency {
    let part = ResidentPart { module: Module::Llm, device: "CPU".into(), bytes: 1, owner: ResidentId(2), shared: true };
    let model = Resident {
        id: ResidentId(1),
        files: files(),
        placement: placement(),
        parts: vec![part],
        used_at_secs: 9,
        in_use: true,
        kept: true,
        encodings_found: 1,
        encodings_made: 2,
    };
    let encodings = RememberedTexts { found: 1, made: 2, bytes: 3 };
    Residency { models: vec![model], unreturned_bytes: BTreeMap::from([("GPU0".into(), 5)]), encodings }
}

fn events() -> Vec<Event> {
    let job = JOB;
    let phases = [
        JobPhase::Loading { module: Some(Module::Llm), bytes_done: 1, bytes_total: 2 },
        JobPhase::Loading { module: None, bytes_done: 0, bytes_total: 0 },
        JobPhase::Encoding,
        JobPhase::Denoising { picture: 1 },
        JobPhase::Decoding { picture: 2 },
        JobPhase::Upscaling { tile: 1, tiles: 4 },
    ];
    assert_every_variant!(
        phases,
        JobPhase::Loading { .. },
        JobPhase::Encoding,
        JobPhase::Denoising { .. },
        JobPhase::Decoding { .. },
        JobPhase::Upscaling { .. }
    );
    let levels = [LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error];
    assert_every_variant!(levels, LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error);
    let info = PictureInfo { index: 1, seed: Some(Seed::MAX), cpu_math: None, merged_loras: false };
    let timings = Timings { load_secs: 0.125, encode_secs: 0.375, denoise_secs: 12.5, decode_secs: 0.001_953_125, total_secs: 1e9 };
    let ends: Vec<End> = [End::Done { pictures: vec![info], timings, notes: vec!["Hm.".into()] }, End::Cancelled]
        .into_iter()
        .chain(failures().into_iter().map(End::Failed))
        .collect();
    assert_every_variant!(ends, End::Done { .. }, End::Cancelled, End::Failed(_));
    let peaks = placement::Phase::ALL.map(|phase| Peak {
        device: "GPU0".into(),
        phase,
        bytes: 3,
        others_bytes: 2,
        predicted_bytes: Some(u64::MAX),
    });
    let server: ServerAddress = "[::1]:7".parse().unwrap();
    let estimated = |estimate| Event::Estimated { recipe: Box::new(recipe()), estimate };
    let mut events = vec![
        Event::Begin { job, begin: Begin { width: 1, height: 2, steps: 3, seeds: vec![Seed::MAX, Seed(7)], notes: vec!["No.".into()] } },
        Event::Step { job, step: Step { picture: 1, done: 2, total: 3, fraction: 0.1, step_secs: 0.7 } },
        Event::Preview {
            job,
            preview: Preview { picture: 1, step: 2, place: Some(PixelRect::of_size(4, 4)), image: Arc::new(image(4, 4)) },
        },
        Event::Picture { job, picture: Picture { info, notes: notes(), image: Arc::new(image(300, 200)) } },
        Event::Measured {
            job,
            peaks: peaks.into(),
            copies: vec![Copies { module: Module::T5, bytes: 1, count: 2, waited_secs: 0.5, hidden_secs: 0.25 }],
            evaluations: 40,
        },
        Event::Waiting { job, behind: vec!["another".into()] },
        Event::Residency(residency()),
        Event::Devices(devices()),
        Event::Rates { devices: measured_devices(), is_measuring: true },
        Event::Server { server: server.clone(), added: Ok(devices()) },
        estimated(Ok(estimate())),
        estimated(Err(Failure::new("No.", "Try."))),
    ];
    events.extend(phases.map(|phase| Event::Phase { job, phase }));
    events.extend(levels.map(|level| Event::Log { job: Some(job), level, text: "\"quoted\"\n\u{0}".into() }));
    events.extend(remote_errors().into_iter().map(|error| Event::Server { server: server.clone(), added: Err(error) }));
    events.extend(ends.into_iter().map(|end| Event::End { job, end }));
    assert_every_variant!(
        events,
        Event::Begin { .. },
        Event::Phase { .. },
        Event::Step { .. },
        Event::Preview { .. },
        Event::Picture { .. },
        Event::Log { .. },
        Event::Estimated { .. },
        Event::Measured { .. },
        Event::Waiting { .. },
        Event::Residency(_),
        Event::Devices(_),
        Event::Rates { .. },
        Event::Server { .. },
        Event::End { .. },
    );
    events
}

/// Sends messages through a pipe of the system, read by another thread.
fn through_a_pipe<M: Message + Clone + PartialEq + Debug + Send + 'static>(messages: &[M]) {
    let (mut from, mut to) = io::pipe().unwrap();
    let reader = thread::spawn(move || {
        let mut received = Vec::new();
        while let Some(message) = read::<M>(&mut from).unwrap() {
            received.push(message);
        }
        received
    });
    for message in messages {
        write(&mut to, message.clone()).unwrap();
    }
    drop(to);
    let received = reader.join().unwrap();
    assert_eq!(received.len(), messages.len());
    for (received, sent) in received.iter().zip(messages) {
        assert_eq!(received, sent);
    }
}

#[test]
fn every_request_crosses_a_pipe_and_comes_back_equal() {
    through_a_pipe(&requests());
}

#[test]
fn every_event_crosses_a_pipe_and_comes_back_equal() {
    through_a_pipe(&events());
}

fn frame(message: Event) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes, message).unwrap();
    bytes
}

#[test]
fn pixels_travel_as_bytes_behind_the_header() {
    let image = image(300, 200);
    let picture = Picture {
        info: PictureInfo { index: 0, seed: Some(Seed(1)), cpu_math: None, merged_loras: false },
        notes: Vec::new(),
        image: Arc::new(image.clone()),
    };
    let bytes = frame(Event::Picture { job: JOB, picture });
    assert!(bytes.ends_with(image.pixels()) && bytes.len() < image.pixels().len() + 300, "{} bytes", bytes.len());
}

#[test]
fn a_number_that_json_lacks_is_refused_before_anything_is_written() {
    let mut bytes = Vec::new();
    let request = Request::Query(Query::Estimate(Box::new(Recipe { guidance: f32::INFINITY, ..Recipe::default() })));
    assert_eq!(write(&mut bytes, request).unwrap_err().kind(), io::ErrorKind::InvalidData);
    assert!(bytes.is_empty());
}

#[test]
fn a_pipe_that_closes_is_the_end_between_frames_and_an_error_within_one() {
    let bytes = frame(Event::Preview { job: JOB, preview: Preview { picture: 0, step: 1, place: None, image: Arc::new(image(2, 2)) } });
    assert!(read::<Event>(&mut &bytes[..0]).unwrap().is_none());
    for length in 1..bytes.len() {
        assert_eq!(read::<Event>(&mut &bytes[..length]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "{length} bytes");
    }
}

#[test]
fn sizes_are_checked_before_memory_is_taken_for_them() {
    let framed = |length: u32, header: &str| [&length.to_le_bytes(), header.as_bytes()].concat();
    let announced = |images: &str, message: &str| {
        let header = format!("{{\"images\":{images},\"message\":{message}}}");
        framed(u32::try_from(header.len()).unwrap(), &header)
    };
    let no_pixels = r#"{"Preview":{"job":1,"preview":{"picture":0,"step":1,"image":{"width":0,"height":0,"pixels":[]}}}}"#;
    let many = format!("[{}[1,1,0]]", "[1,1,0],".repeat(MAX_IMAGES));
    for bytes in [
        framed(u32::MAX, "{}"),
        announced("[[4294967295,4294967295,0]]", no_pixels),
        announced("[[40000,40000,0]]", no_pixels),
        announced("[[1,1,18446744073709551615]]", no_pixels),
        announced(&many, no_pixels),
        announced("[]", no_pixels),
        announced("[[1,1,0],[1,1,0]]", no_pixels),
        announced("[[1,1,0]]", r#"{"Devices":[]}"#),
        announced("[]", "null"),
    ] {
        assert_eq!(
            read::<Event>(&mut &bytes[..]).unwrap_err().kind(),
            io::ErrorKind::InvalidData,
            "{}",
            String::from_utf8_lossy(&bytes[4..60])
        );
    }
    // Announced within the bounds, and never sent.
    let bytes = announced("[[30000,30000,0]]", no_pixels);
    assert_eq!(read::<Event>(&mut &bytes[..]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn the_colours_of_a_picture_s_file_go_with_it() {
    use atelier_core::recipe::{FineColours, Samples};
    let fine = FineColours {
        samples: Samples::Sixteen(vec![1, 2, 3, 65_535]),
        has_alpha: true,
        profile: Some(vec![7; 9]),
        is_beyond_srgb: true,
        from_print: None,
    };
    let image = Rgb8::new(1, 1, vec![1, 2, 3]).unwrap().with_fine(Some(fine)).unwrap();
    let info = PictureInfo { index: 0, seed: Some(Seed(1)), cpu_math: None, merged_loras: false };
    let event = Event::Picture { job: JobId(1), picture: Picture { info, notes: Vec::new(), image: Arc::new(image.clone()) } };
    let mut bytes = Vec::new();
    write(&mut bytes, event).unwrap();
    let Some(Event::Picture { picture, .. }) = read(&mut &bytes[..]).unwrap() else { panic!("no picture") };
    assert_eq!(*picture.image, image);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), length in 0_u32..64, is_framed in any::<bool>()) {
        let bytes = if is_framed { [&length.to_le_bytes()[..], &bytes].concat() } else { bytes };
        let _ = read::<Event>(&mut &bytes[..]);
        let _ = read::<Request>(&mut &bytes[..]);
    }

    #[test]
    fn a_changed_byte_panics_nowhere(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = frame(Event::Preview { job: JOB, preview: Preview { picture: 0, step: 1, place: None, image: Arc::new(image(2, 2)) } });
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read::<Event>(&mut &bytes[..]);
    }
}
