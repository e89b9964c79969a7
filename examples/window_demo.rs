//! The window with a painter in the engine's place, to look at and to try the interface without a model.
//!
//! `cargo run --example window_demo --features inspection -- [FOLDER]` keeps settings and pictures in FOLDER (a temporary one if none is
//! named). The prompt plays the part of the model: with "fail" in it the job fails, with "wait" it stays at half way.

use std::f32::consts::TAU;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use atelier::app::{Options, run};
use atelier::engine::{
    Begin, End, Event, Failure, JobId, Phase, Picture, PictureInfo, Port, Preview, Request, Step, Task, Timings, channel,
};
use atelier::placement::Module;
use atelier::recipe::{Recipe, Rgb8};

fn main() -> anyhow::Result<()> {
    let temporary = tempfile::tempdir()?;
    let folder = std::env::args().nth(1).map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let options =
        Options { settings_path: Some(folder.join("settings.json")), pictures_folder: folder.join("Pictures"), ..Options::usual() };
    run(&options, |wake| {
        let (handle, port) = channel(wake);
        thread::spawn(move || play(&port));
        handle
    })?;
    Ok(())
}

fn play(port: &Port) {
    while let Some(request) = port.next() {
        if let Request::Run { job, task: Task::Generate { recipe, .. } } = request
            && let Some(cancel) = port.start(job)
        {
            let end = paint(port, job, &recipe, &cancel);
            port.send(Event::End { job, end });
        }
    }
}

fn paint(port: &Port, job: JobId, recipe: &Recipe, cancel: &AtomicBool) -> End {
    let started = Instant::now();
    let first = if recipe.seed < 0 { 812_645_103 + job.0 as i64 } else { recipe.seed };
    let seeds: Vec<i64> = (0..i64::from(recipe.batch_count)).map(|at| first + at).collect();
    let begin = Begin { width: recipe.width, height: recipe.height, steps: recipe.steps, seeds: seeds.clone(), notes: Vec::new() };
    port.send(Event::Begin { job, begin });
    for part in 0..=10 {
        let phase = Phase::Loading { module: Some(Module::Diffusion), bytes_done: part * 340_000_000, bytes_total: 3_400_000_000 };
        port.send(Event::Phase { job, phase });
        thread::sleep(Duration::from_millis(40));
    }
    if recipe.prompt.contains("fail") {
        return End::Failed(Failure {
            sentence: "The graphics card ran out of memory while the picture was being developed.".into(),
            hint: "Switch on \"VAE tiling\" under More settings, or make the picture smaller.".into(),
            log: vec![
                "vae compute buffer size: 2467.02 MB (VRAM)".into(),
                "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 2467.02 MiB on device 0: out of memory".into(),
            ],
        });
    }
    let mut done = Vec::new();
    for (index, seed) in seeds.into_iter().enumerate() {
        let picture = index as u32;
        port.send(Event::Phase { job, phase: Phase::Denoising { picture } });
        for step in 0..recipe.steps {
            let part = (step + 1) as f32 / recipe.steps as f32;
            for fraction in [0.25, 0.5, 0.75, 1.0] {
                if cancel.load(Ordering::Relaxed) {
                    return End::Cancelled;
                }
                let step = Step { picture, done: step, total: recipe.steps, fraction, step_secs: if step == 0 { 0.0 } else { 0.24 } };
                port.send(Event::Step { job, step });
                thread::sleep(Duration::from_millis(60));
            }
            let image = Arc::new(draw(recipe.width / 8, recipe.height / 8, seed, part));
            port.send(Event::Preview { job, preview: Preview { picture, step: step + 1, image } });
            while recipe.prompt.contains("wait") && part >= 0.5 && !cancel.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(20));
            }
        }
        port.send(Event::Phase { job, phase: Phase::Decoding { picture } });
        let info = PictureInfo { index: picture, seed };
        let image = Arc::new(draw(recipe.width, recipe.height, seed, 1.0));
        port.send(Event::Picture { job, picture: Picture { info, image } });
        done.push(info);
    }
    let timings = Timings { total_secs: started.elapsed().as_secs_f64(), ..Timings::default() };
    End::Done { pictures: done, timings }
}

/// Hills under an evening sky, with as much noise as is left to take away.
fn draw(width: u32, height: u32, seed: i64, done: f32) -> Rgb8 {
    let mut random = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 40) as f32 / (1u64 << 24) as f32
    };
    let (hue, sun_x, sun_y) = (next(), 0.25 + next() * 0.5, 0.3 + next() * 0.2);
    let hills: Vec<[f32; 4]> = (0..4).map(|at| [0.5 + at as f32 * 0.13, 0.03 + next() * 0.05, 1.0 + next() * 2.0, next() * TAU]).collect();
    let color = |turn: f32, light: f32| [0.0, 0.33, 0.67].map(|shift| light * (0.62 + 0.38 * ((turn + shift) * TAU).cos()));
    let mut pixels = Vec::with_capacity((width * height * 3) as usize);
    for y in 0..height {
        for x in 0..width {
            let (u, v) = (x as f32 / width as f32, y as f32 / height as f32);
            let ratio = width as f32 / height as f32;
            let far = ((u - sun_x) * ratio).hypot(v - sun_y);
            let glow = (-far * 5.0).exp() * 0.5 + if far < 0.07 { 0.5 } else { 0.0 };
            let mut rgb = color(hue + v * 0.16, 0.5 + v * 0.5).map(|it| it + glow);
            for (at, [base, rise, waves, phase]) in hills.iter().enumerate() {
                let ridge = base - rise * ((u * waves * TAU + phase).sin() + 0.4 * (u * waves * 2.7 * TAU + phase * 3.0).sin());
                if v > ridge {
                    let mist = 1.0 - (v - ridge) * 1.2;
                    rgb = color(hue + 0.06 * at as f32 + 0.42, (0.62 - 0.14 * at as f32) * mist.clamp(0.4, 1.0));
                }
            }
            for value in rgb {
                let noisy = value * done + next() * (1.0 - done);
                pixels.push((noisy.clamp(0.0, 1.0) * 255.0) as u8);
            }
        }
    }
    Rgb8::new(width, height, pixels).unwrap_or_else(|| unreachable!("three bytes for each pixel"))
}
