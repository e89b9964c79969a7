//! The engine used as plainly as can be: one context, no callbacks, no hooks. `cargo xtask bench`
//! runs it beside Atelier.
//!
//! Arguments: role=file ..., then size=N steps=N cfg=X threads=N pictures=N. Makes a picture for
//! each line on standard input and prints `made`; the engine writes its own lines between.

#![allow(unsafe_code, reason = "calls C")]

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

    let mut context_params = std::mem::MaybeUninit::uninit();
    // SAFETY: the engine's initialiser writes every field.
    let mut context_params = unsafe {
        sd_ctx_params_init(context_params.as_mut_ptr());
        context_params.assume_init()
    };
    context_params.model_path = path("model");
    context_params.diffusion_model_path = path("diffusion");
    context_params.llm_path = path("llm");
    context_params.taesd_path = path("taesd");
    context_params.n_threads = number("threads", 1.0) as i32;
    context_params.diffusion_flash_attn = true;
    context_params.backend = cpu.as_ptr();
    // SAFETY: `context_params` and the texts it points to live past the call.
    let context = unsafe { new_sd_ctx(&raw const context_params) };
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
        let mut params = std::mem::MaybeUninit::uninit();
        // SAFETY: the engine's initialiser writes every field.
        let mut params = unsafe {
            sd_img_gen_params_init(params.as_mut_ptr());
            params.assume_init()
        };
        params.prompt = prompt.as_ptr();
        params.width = number("size", 64.0) as i32;
        params.height = params.width;
        params.seed = picture;
        params.sample_params.sample_steps = number("steps", 1.0) as i32;
        params.sample_params.guidance.txt_cfg = number("cfg", 1.0);
        // SAFETY: a live context, and parameters that live past the call.
        let images = unsafe { generate_image(context, &raw const params) };
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
