//! Reads the lists that complete prompts, whenever they may be others.

use crate::gui::context::Context;
use crate::gui::create::state::State;
use crate::gui::create::templates::tell_unread;
use crate::gui::create::word_lists::{ListFolders, ReadLists};
use crate::gui::workers::Worker;

/// Has the lists read where that is due: call it once a frame.
pub(crate) fn refresh(state: &mut State, context: &Context<'_>) {
    let Some(models) = state.list_follower.due(context.shared, context.egui) else { return };
    let folders = ListFolders { wildcards: state.wildcards.clone(), tags: state.tags.clone(), models };
    let (tell, before) = (state.list_follower.teller(context.egui), state.list_follower.take_watch());
    context.run(
        Worker::Files,
        move || {
            let read = folders.read(tell);
            drop(before);
            read
        },
        |ReadLists { lists, watch, unread }, features, context| {
            features.create.word_lists = lists;
            tell_unread(features.create.list_follower.follow(watch, unread), context);
        },
    );
}
