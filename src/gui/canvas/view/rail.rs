//! The rail of tools at the left edge of the canvas.

use eframe::egui::{Stroke, StrokeKind, Ui};

use super::vision::vision_button;
use crate::gui::canvas::Command;
use crate::gui::canvas::tool::Tool;
use crate::gui::command::Commands;
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{bare_icon, command_control, icon_button};

impl Tool {
    const fn icon(self) -> Icon {
        match self {
            Self::Brush => Icon::Brush,
            Self::Eraser => Icon::Eraser,
            Self::Mask => Icon::Mask,
            Self::Wand => Icon::Wand,
            Self::Move => Icon::Move,
            Self::Lasso => Icon::Lasso,
            Self::Rectangle => Icon::Selection,
            Self::Bucket => Icon::Bucket,
            Self::Gradient => Icon::Gradient,
            Self::Pipette => Icon::Pipette,
            Self::Frame => Icon::Crop,
        }
    }
}

pub(crate) fn rail_panel(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let palette = theme::palette(ui);
    ui.spacing_mut().item_spacing.y = 3.0;
    for tool in Tool::ALL {
        let command = Command::SetTool(tool);
        command_control(ui, state, commands, command.clone(), |ui| {
            let response = bare_icon(ui, tool.icon(), command.label());
            if state.canvas.tool == tool {
                ui.painter().rect_stroke(response.rect, theme::RADIUS, Stroke::new(1.5, palette.accent), StrokeKind::Inside);
            }
            response
        });
    }
    ui.add_space(6.0);
    if state.shared.seamless() != [false; 2] {
        icon_button(ui, state, commands, Icon::Tiled, Command::ToggleCopies);
    }
    vision_button(ui, state, commands);
    icon_button(ui, state, commands, Icon::Layers, Command::ToggleLayers);
    icon_button(ui, state, commands, Icon::Close, Command::Leave);
}
