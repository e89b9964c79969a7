//! What people and other programs call the commands, so that the palette finds them. In lower case.

use crate::gui::canvas::tool::Tool;
use crate::gui::command::Command;
use crate::gui::screen::Screen;
use crate::gui::window_command::WindowCommand;
use crate::gui::{canvas, create, gallery, guides, live, memory, models, palette, program, queue};
use atelier_core::canvas::LayerKind;
use atelier_core::recipe::RecallPart;

/// Words of a command beside those of its label and tooltip.
pub(super) fn synonyms(command: &Command) -> &'static str {
    match command {
        Command::Canvas(command) => of_canvas(command),
        Command::Create(command) => of_create(command),
        Command::Guides(guides::Command::ChooseStart) => "img2img image to image init picture denoise",
        Command::Guides(guides::Command::AddReference) => "ip-adapter edit kontext style picture",
        Command::Guides(guides::Command::ChooseControl) => "controlnet pose depth canny edges",
        Command::Guides(guides::Command::AddPerson) => "face identity photomaker likeness",
        Command::Gallery(gallery::Command::Delete) => "remove trash bin erase",
        Command::Gallery(gallery::Command::Restore) => "undelete recover untrash",
        Command::Gallery(gallery::Command::SetDialog(_)) => "save jpeg jpg webp png share",
        Command::Gallery(gallery::Command::SetAutoAdvance(_)) => "cull culling rating next lightroom preferences settings",
        Command::Gallery(gallery::Command::Rate(_)) => "rating stars favourite favorite",
        Command::Live(live::Command::Toggle) => "realtime real time live painting preview",
        Command::Memory(memory::Command::UnloadAll) => "free vram memory",
        Command::Models(models::Command::ChooseFolder) => "library comfyui a1111 forge path preferences settings",
        Command::Models(models::Command::ChooseModelsRoot) => "location path disk preferences settings",
        Command::Palette(palette::Command::ShowShortcuts(_)) => "hotkeys keys keyboard keybindings help cheat sheet",
        Command::Palette(_) => "commands actions search",
        Command::Program(program::Command::OpenAbout) => "version help preferences settings options",
        Command::Program(program::Command::CheckForUpdates) => "upgrade new version preferences settings",
        Command::Queue(queue::Command::Toggle) => "jobs batch history",
        Command::Queue(queue::Command::CancelAll | queue::Command::CancelWaiting) => "stop clear abort",
        Command::Window(command) => of_window(*command),
        _ => "",
    }
}

fn of_canvas(command: &canvas::Command) -> &'static str {
    use canvas::Command as It;
    match command {
        It::SetTool(Tool::Mask) => "inpaint inpainting repaint fix retouch",
        It::SetTool(Tool::Frame) => "outpaint outpainting uncrop extend expand crop",
        It::SetTool(Tool::Brush) => "paint draw edit sketch",
        It::SetTool(Tool::Eraser) => "erase rubber",
        It::SetTool(Tool::Lasso) => "select selection",
        It::SetTool(Tool::Bucket) => "fill paint bucket",
        It::SetTool(Tool::Pipette) => "eyedropper colour picker color picker",
        It::AddLayer(LayerKind::Mask) => "inpaint inpainting",
        It::AddLayer(LayerKind::Region { .. }) => "regional prompt area",
        It::AddLayer(LayerKind::Control) => "controlnet pose depth canny",
        It::CutOut => "remove background rembg matting transparent segmentation alpha",
        It::FindRegions => "adetailer face detailer detect hands yolo",
        It::HidePanels => "zen distraction free fullscreen preview",
        It::FullScreen => "fullscreen maximise maximize",
        It::Export(_) => "psd layers save png ora krita gimp",
        _ => "",
    }
}

fn of_create(command: &create::Command) -> &'static str {
    use create::Command as It;
    match command {
        It::Generate => "run render make create txt2img go",
        It::Enqueue => "batch later queue",
        It::Cancel => "stop abort interrupt skip",
        It::RollSeed => "random randomise randomize dice",
        It::LockSeed => "freeze fix seed random",
        It::BlendSeeds(true) => "variation variations subseed similar",
        It::RerollFromStep => "variation variations",
        It::StartFromShown => "img2img image to image init picture",
        It::Recall(RecallPart::All) => "remix reuse parameters recall load settings",
        It::Upscale(_) => "enlarge larger bigger hires esrgan upscaler",
        It::SwapSides => "portrait landscape rotate aspect orientation",
        It::SaveAs => "export jpeg jpg webp png download",
        It::ResetSettings => "reset defaults default restore",
        It::AddLora => "lora lycoris adapter",
        It::AddEmbedding => "textual inversion embedding",
        It::MakeDrafts(_) => "draft preview quick",
        _ => "",
    }
}

const fn of_window(command: WindowCommand) -> &'static str {
    match command {
        WindowCommand::ToggleSidePanel => "sidebar collapse fold panel zen",
        WindowCommand::Quit => "exit close leave bye",
        WindowCommand::SetTheme(_) => "preferences settings options appearance colours colors mode night day",
        WindowCommand::Larger | WindowCommand::Smaller | WindowCommand::UsualSize => {
            "preferences settings options zoom text font size scale accessibility"
        }
        WindowCommand::SetScreen(Screen::Devices) => "gpu cpu memory vram placement offload preferences settings",
        WindowCommand::SetScreen(Screen::Models) => "checkpoints download library huggingface civitai",
        WindowCommand::SetScreen(Screen::Gallery) => "pictures images history outputs",
        WindowCommand::SetScreen(Screen::Create) => "txt2img home",
        _ => "",
    }
}
