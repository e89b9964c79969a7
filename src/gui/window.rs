//! The frame round the window: opening it, its icon, its place on the screen, and closing it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use eframe::egui;

use crate::gui::app::App;
use crate::gui::options::Options;
use crate::settings::{self, Settings};
use crate::studio::EngineWake;
use atelier_engine::{Handle, choose_cpu_math};

/// The window's first size, in points.
const FIRST_SIZE: [f32; 2] = [1360.0, 860.0];
/// The window's smallest size, in points.
const LEAST_SIZE: [f32; 2] = [820.0, 560.0];
const ICON: &[u8] = include_bytes!("../../assets/icon.png");

/// The window could not be opened, or broke.
#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    /// The system would not open it.
    #[error("The window could not be opened: {0}. Check the graphics driver, or use `atelier generate` without a window.")]
    Open(String),
}

/// Opens the window and returns when it is closed and everything is written.
///
/// `start_engine` is called at once, on this thread, so that the engine starts while the window opens.
///
/// # Errors
/// Fails if the system cannot open a window.
pub fn run(options: &Options, start_engine: impl FnOnce(EngineWake) -> Handle) -> Result<(), WindowError> {
    let settings = options.settings_path.as_deref().map(settings::load).unwrap_or_default();
    // Before the engine starts; a flag has chosen already.
    choose_cpu_math(settings.cpu_math);
    let slot: Arc<OnceLock<egui::Context>> = Arc::default();
    let window = Arc::clone(&slot);
    let handle = start_engine(Box::new(move || {
        if let Some(ctx) = window.get() {
            // Asking for "now" paints two frames; a millisecond paints one.
            ctx.request_repaint_after(Duration::from_millis(1));
        }
    }));
    let native = native_options(options, &settings);
    let options = options.clone();
    let create: eframe::AppCreator<'_> = Box::new(move |cc| {
        let app = App::new(&cc.egui_ctx, handle, &options, settings)?;
        // Only the first window of a process fills the slot; there is never another.
        let _ = slot.set(cc.egui_ctx.clone());
        cc.egui_ctx.request_repaint();
        Ok(Box::new(Framed(Some(app))))
    });
    eframe::run_native("Atelier", native, create).map_err(|error| WindowError::Open(error.to_string()))
}

fn native_options(options: &Options, settings: &Settings) -> eframe::NativeOptions {
    let mut viewport = egui::ViewportBuilder::default()
        .with_title("Atelier")
        .with_app_id("atelier")
        .with_inner_size(FIRST_SIZE)
        .with_min_inner_size(LEAST_SIZE);
    if let Some(icon) = icon() {
        viewport = viewport.with_icon(icon);
    }
    if let Some(place) = settings.window {
        viewport = viewport.with_inner_size([place.width, place.height]).with_maximized(place.maximized);
        if let (Some(x), Some(y)) = (place.x, place.y) {
            viewport = viewport.with_position([x, y]);
        }
    }
    eframe::NativeOptions { viewport, renderer: renderer(options.wgpu || settings.wgpu), persist_window: false, ..Default::default() }
}

#[cfg(feature = "wgpu")]
fn renderer(wgpu: bool) -> eframe::Renderer {
    if wgpu { eframe::Renderer::Wgpu } else { eframe::Renderer::Glow }
}

#[cfg(not(feature = "wgpu"))]
fn renderer(wgpu: bool) -> eframe::Renderer {
    if wgpu {
        tracing::warn!("this build of Atelier cannot draw with wgpu; it draws with OpenGL");
    }
    eframe::Renderer::Glow
}

/// The picture on the window and in the task bar.
fn icon() -> Option<egui::IconData> {
    let image = image::load_from_memory_with_format(ICON, image::ImageFormat::Png).ok()?.into_rgba8();
    let (width, height) = image.dimensions();
    Some(egui::IconData { rgba: image.into_raw(), width, height })
}

/// Adapter to `eframe`; empty once the window is closed.
struct Framed(Option<App>);

impl eframe::App for Framed {
    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        if let Some(app) = &mut self.0 {
            app.logic(ctx);
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        if let Some(app) = &mut self.0 {
            app.ui(ui);
        }
    }

    fn on_exit(&mut self, _gl: Option<&eframe::glow::Context>) {
        if let Some(app) = self.0.take() {
            app.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icon_can_be_read() {
        let icon = icon().unwrap();
        assert!(icon.width == icon.height && icon.width >= 128);
    }
}
