//! Reads the lists that complete prompts, whenever they may be others.

use crate::gui::context::Context;
use crate::gui::create::state::State;
use crate::gui::create::templates::tell_unread;
use crate::gui::create::word_lists::{ListFolders, ReadLists};
use crate::gui::workers::Worker;

/// Has the lists read where that is due: call it once a frame.
pub(crate) fn refresh(state: &mut State, context: &Context<'_>) {
    let Some(due) = state.list_follower.due(context.shared, context.egui) else { return };
    let folders = ListFolders { wildcards: state.wildcards.clone(), tags: state.tags.clone(), due };
    let (tell, before) = (state.list_follower.teller(context.egui), state.list_follower.take_watch());
    context.run(
        Worker::Files,
        move || {
            let read = folders.read(tell);
            drop(before);
            read
        },
        |ReadLists { words, tags, watch }, features, context| {
            let state = features.create;
            state.word_lists.note_names(&words);
            state.list_follower.keep_watch(watch);
            if let Some((tags, unread)) = tags {
                state.word_lists.tags = tags;
                tell_unread(state.list_follower.note_unread(unread), context);
            }
        },
    );
}
