//! What people and other programs call the commands, so that the palette finds them. In lower case.

use crate::gui::canvas::tool::Tool;
use crate::gui::command::Command;
use crate::gui::screen::Screen;
use crate::gui::window_command::WindowCommand;
use crate::gui::{canvas, create, gallery, guides, live, memory, models, palette, program, queue};
use crate::settings::Fold;
use atelier_core::canvas::LayerKind;
use atelier_core::recipe::RecallPart;
use atelier_language::tr;

/// Words of a command beside those of its label and tooltip.
pub(super) fn synonyms(command: &Command) -> &'static str {
    match command {
        Command::Canvas(command) => of_canvas(command),
        Command::Create(command) => of_create(command),
        Command::Guides(guides::Command::ChooseStart) => tr!("palette-img2img-image-to-image"),
        Command::Guides(guides::Command::AddReference) => tr!("palette-ip-adapter-edit-kontext"),
        Command::Guides(guides::Command::ChooseControl) => tr!("palette-controlnet-pose-depth-canny"),
        Command::Guides(guides::Command::AddPerson) => tr!("palette-face-identity-photomaker-likeness"),
        Command::Guides(guides::Command::ChooseFaces) => tr!("palette-id-embeds-photomaker-v2"),
        Command::Gallery(gallery::Command::Delete) => tr!("palette-remove-trash-bin-erase"),
        Command::Gallery(gallery::Command::Restore) => tr!("palette-undelete-recover-untrash"),
        Command::Gallery(gallery::Command::SetDialog(_)) => tr!("palette-save-jpeg-jpg-webp"),
        Command::Gallery(gallery::Command::SetAutoAdvance(_)) => tr!("palette-cull-culling-rating-next"),
        Command::Gallery(gallery::Command::Rate(_)) => tr!("palette-rating-stars-favourite-favorite"),
        Command::Live(live::Command::Toggle) => tr!("palette-realtime-real-time-live"),
        Command::Memory(memory::Command::UnloadAll) => tr!("palette-free-vram-memory"),
        Command::Models(models::Command::ChooseFolder) => tr!("palette-library-comfyui-a1111-forge"),
        Command::Models(models::Command::ChooseModelsRoot) => tr!("palette-location-path-disk-preferences"),
        Command::Palette(palette::Command::ShowShortcuts(_)) => tr!("palette-hotkeys-keys-keyboard-keybindings"),
        Command::Palette(_) => tr!("palette-commands-actions-search"),
        Command::Phrases(_) => tr!("palette-heatmap-attention-map"),
        Command::Program(program::Command::OpenAbout) => tr!("palette-version-help-preferences-settings"),
        Command::Program(program::Command::CheckForUpdates) => tr!("palette-upgrade-new-version-preferences"),
        Command::Queue(queue::Command::Toggle) => tr!("palette-jobs-batch-history"),
        Command::Queue(queue::Command::CancelAll | queue::Command::CancelWaiting) => tr!("palette-stop-clear-abort"),
        Command::Window(command) => of_window(*command),
        _ => "",
    }
}

fn of_canvas(command: &canvas::Command) -> &'static str {
    use canvas::Command as It;
    match command {
        It::SetTool(Tool::Mask) => tr!("palette-inpaint-inpainting-repaint-fix"),
        It::SetTool(Tool::Frame) => tr!("palette-outpaint-outpainting-uncrop-extend"),
        It::SetTool(Tool::Brush) => tr!("palette-paint-draw-edit-sketch"),
        It::SetTool(Tool::Eraser) => tr!("palette-erase-rubber"),
        It::SetTool(Tool::Lasso) => tr!("palette-select-selection"),
        It::SetTool(Tool::Bucket) => tr!("palette-fill-paint-bucket"),
        It::SetTool(Tool::Pipette) => tr!("palette-eyedropper-colour-picker-color"),
        It::AddLayer(LayerKind::Mask) => tr!("palette-inpaint-inpainting"),
        It::AddLayer(LayerKind::Region { .. }) => tr!("palette-regional-prompt-area"),
        It::AddLayer(LayerKind::Control) => tr!("palette-controlnet-pose-depth-canny-2"),
        It::CutOut => tr!("palette-remove-background-rembg-matting"),
        It::FindRegions => tr!("palette-adetailer-face-detailer-detect"),
        It::HidePanels => tr!("palette-zen-distraction-free-fullscreen"),
        It::FullScreen => tr!("palette-fullscreen-maximise-maximize"),
        It::Export(_) => tr!("palette-psd-layers-save-png"),
        _ => "",
    }
}

fn of_create(command: &create::Command) -> &'static str {
    use create::Command as It;
    match command {
        It::Generate => tr!("palette-run-render-make-create"),
        It::Enqueue => tr!("palette-batch-later-queue"),
        It::Cancel => tr!("palette-stop-abort-interrupt-skip"),
        It::RollSeed => tr!("palette-random-randomise-randomize-dice"),
        It::LockSeed => tr!("palette-freeze-fix-seed-random"),
        It::RollWordsSeed => tr!("palette-dynamic-prompts-wildcards-seed"),
        It::BlendSeeds(true) => tr!("palette-variation-variations-subseed-similar"),
        It::RerollFromStep => tr!("palette-variation-variations"),
        It::StartFromShown => tr!("palette-img2img-image-to-image-init-picture"),
        It::Recall(RecallPart::All) => tr!("palette-remix-reuse-parameters-recall"),
        It::Upscale(_) => tr!("palette-enlarge-larger-bigger-hires"),
        It::SwapSides => tr!("palette-portrait-landscape-rotate-aspect"),
        It::SaveAs => tr!("palette-export-jpeg-jpg-webp"),
        It::ResetSettings => tr!("palette-reset-defaults-default-restore"),
        It::AddLora => tr!("palette-lora-lycoris-adapter"),
        It::AddEmbedding => tr!("palette-textual-inversion-embedding"),
        It::SetFold(Fold::Steps, _) => tr!("palette-schedule-timeline-prompt-editing"),
        It::MakeDrafts(_) => tr!("palette-draft-preview-quick"),
        _ => "",
    }
}

fn of_window(command: WindowCommand) -> &'static str {
    match command {
        WindowCommand::ToggleSidePanel => tr!("palette-sidebar-collapse-fold-panel"),
        WindowCommand::Quit => tr!("palette-exit-close-leave-bye"),
        WindowCommand::SetLanguage(_) => tr!("palette-language-locale-translation-english"),
        WindowCommand::SetTheme(_) => tr!("palette-preferences-settings-options-appearance"),
        WindowCommand::Larger | WindowCommand::Smaller | WindowCommand::UsualSize => {
            tr!("palette-preferences-settings-options-zoom")
        }
        WindowCommand::SetScreen(Screen::Devices) => tr!("palette-gpu-cpu-memory-vram"),
        WindowCommand::SetScreen(Screen::Models) => tr!("palette-checkpoints-download-library-huggingface"),
        WindowCommand::SetScreen(Screen::Gallery) => tr!("palette-pictures-images-history-outputs"),
        WindowCommand::SetScreen(Screen::Create) => tr!("palette-txt2img-home"),
        _ => "",
    }
}
