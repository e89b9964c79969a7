//! The engine used as plainly as can be: one context, no callbacks, no hooks. `cargo xtask bench` runs it beside Atelier.
//!
//! Arguments: role=file ..., then size=N steps=N cfg=X threads=N pictures=N. Makes a picture for each line on standard input and prints
//! `made`; the engine writes its own lines between.

use std::collections::HashMap;
use std::ffi::CString;
use std::process::ExitCode;
use std::ptr::null;

use diffusion_rs_sys::{free_sd_images, generate_image, new_sd_ctx};
use ggml_sys::{sd_ctx_params_init, sd_img_gen_params_init};

fn main() -> ExitCode {
    let arguments: HashMap<String, String> =
        std::env::args().skip(1).filter_map(|argument| argument.split_once('=').map(|(key, value)| (key.into(), value.into()))).collect();
    let number = |key: &str, otherwise: f32| arguments.get(key).and_then(|value| value.parse().ok()).unwrap_or(otherwise);
    let texts: HashMap<&String, CString> =
        arguments.iter().filter_map(|(key, value)| CString::new(value.as_str()).ok().map(|value| (key, value))).collect();
    let path = |role: &str| texts.get(&role.to_owned()).map_or(null(), |text| text.as_ptr());
    let cpu = c"CPU";

    let mut load = std::mem::MaybeUninit::uninit();
    // SAFETY: the engine's initialiser writes every field.
    let mut load = unsafe {
        sd_ctx_params_init(load.as_mut_ptr());
        load.assume_init()
    };
    load.model_path = path("model");
    load.diffusion_model_path = path("diffusion");
    load.llm_path = path("llm");
    load.taesd_path = path("taesd");
    load.n_threads = number("threads", 1.0) as i32;
    load.diffusion_flash_attn = true;
    load.backend = cpu.as_ptr();
    // SAFETY: `load` and the texts it points to live past the call.
    let context = unsafe { new_sd_ctx(&raw const load) };
    if context.is_null() {
        eprintln!("the engine could not open the model");
        return ExitCode::FAILURE;
    }

    for picture in 0..number("pictures", 1.0) as i64 {
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line).is_err() {
            return ExitCode::FAILURE;
        }
        let prompt = format!("picture {picture}");
        let Ok(prompt) = CString::new(prompt) else { return ExitCode::FAILURE };
        let mut shot = std::mem::MaybeUninit::uninit();
        // SAFETY: the engine's initialiser writes every field.
        let mut shot = unsafe {
            sd_img_gen_params_init(shot.as_mut_ptr());
            shot.assume_init()
        };
        shot.prompt = prompt.as_ptr();
        shot.width = number("size", 64.0) as i32;
        shot.height = shot.width;
        shot.seed = picture;
        shot.sample_params.sample_steps = number("steps", 1.0) as i32;
        shot.sample_params.guidance.txt_cfg = number("cfg", 1.0);
        // SAFETY: a live context, and parameters that live past the call.
        let images = unsafe { generate_image(context, &raw const shot) };
        if images.is_null() {
            eprintln!("the engine made no picture");
            return ExitCode::FAILURE;
        }
        println!("\nmade");
        // SAFETY: one picture that the engine gave to us.
        unsafe { free_sd_images(images, 1) };
    }
    ExitCode::SUCCESS
}
